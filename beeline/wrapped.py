"""What models that stand before another one share: all but the answers is the inner model's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beeline.errors import SettingError
from beeline.model import Model
from beeline.services import Caps, Services

__all__ = ["Wrapped"]


class Wrapped(Model):
    """``inner`` under its name. Subclasses answer."""

    written: str
    """What a person writes to get one, for an error."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner
        self.name, self.model_id = inner.name, inner.model_id
        self.max_options, self.placement = inner.max_options, inner.placement
        self.concurrency, self.kinds = inner.concurrency, inner.kinds
        self.suites = inner.suites  # type: ignore[misc]
        self.needs, self.elsewhere = inner.needs, inner.elsewhere
        self.deterministic = inner.deterministic

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Model:
        """Not made from settings: raises SettingError."""
        raise SettingError(
            f"model.target may not be {cls.__module__}:{cls.__name__}: write {cls.written}, which wraps the "
            "model that a config names"
        )

    def check(self) -> None:
        """As the inner model's."""
        self.inner.check()

    def attach(self, services: Services) -> None:
        """As the inner model's."""
        self.inner.attach(services)

    def caps(self) -> Caps | None:
        """As the inner model's."""
        return self.inner.caps()

    async def open(self) -> None:
        """As the inner model's."""
        await self.inner.open()

    async def close(self) -> None:
        """As the inner model's."""
        await self.inner.close()

    def describe(self) -> dict[str, Any]:
        """As the inner model's."""
        return self.inner.describe()
