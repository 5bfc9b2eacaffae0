"""What a server is told when it starts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from beeline.errors import SettingError

__all__ = ["ServeSettings"]


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """Raises SettingError for a value that makes no sense, naming the option of the command."""

    target: str
    """``module:function``; the name of a configured model."""
    host: str = "127.0.0.1"
    port: int = 8000
    """0 takes a free one."""
    batch: int | None = None
    """None: the function takes one body. N: it takes a list of up to N."""
    wait_s: float = 0.005
    """How long a batch waits for more after its first request."""
    model: str | None = None
    """The name that replies carry; the target when None."""
    aliases: tuple[str, ...] = ("jev-latest",)
    """Other names that may be asked for; what the official SDKs ask by default is one."""
    key_variable: str | None = None
    """Where the key is that requests must carry; None asks for no key."""
    queue: int = 256
    """Requests that may wait or run; one more is answered 529."""
    max_options: int = 255
    max_body: int = 32 * 1024 * 1024
    """Bytes of a request, also after decompression; more is answered 413."""
    read_s: float = 30.0
    """Seconds for a whole body to arrive; longer is answered 408."""
    digits: int | None = None
    """Decimals of every number in an answer (Jev gives 2); None rounds nothing."""

    def __post_init__(self) -> None:
        for option, good, meaning in (
            ("--port", 0 <= self.port <= 65535, "from 0 to 65535"),
            ("--batch", self.batch is None or self.batch >= 1, "1 or more"),
            ("--wait", math.isfinite(self.wait_s) and 0 <= self.wait_s <= 60, "from 0 to 60 seconds"),
            ("--queue", self.queue >= 1, "1 or more"),
            ("--max-options", self.max_options >= 1, "1 or more"),
            ("--max-body", self.max_body >= 1, "1 or more"),
            ("--round", self.digits is None or 0 <= self.digits <= 17, "from 0 to 17"),
            ("--model", self.model is None or bool(self.model), "a name"),
        ):
            if not good:
                raise SettingError(f"{option} must be {meaning}")

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model if self.model is not None else self.target

    @property
    def names(self) -> tuple[str, ...]:
        """Every model name that is answered, the real one first."""
        return (self.name, *(alias for alias in self.aliases if alias != self.name))
