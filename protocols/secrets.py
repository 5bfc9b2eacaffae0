"""API keys: read from the environment, never shown.

A config names the variable that holds a key, never the key. The key lives in a
:class:`Secret`, which prints as ``***``, and :func:`masked` takes it out of any text that came
from elsewhere (some hosts repeat the key they refuse).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from beeline.errors import SettingError

__all__ = ["Secret", "masked", "masked_bytes", "read_key"]


class Secret:
    """A text that does not print itself."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The text, for the one place that sends it."""
        return self._value

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled: read it anew where it is needed")


def masked(text: str, secrets: Iterable[Secret]) -> str:
    """``text`` with every secret replaced by ``***``."""
    for secret in secrets:
        text = text.replace(secret.reveal(), "***")
    return text


def masked_bytes(body: bytes, secrets: Iterable[Secret]) -> bytes:
    """The same for bytes."""
    for secret in secrets:
        body = body.replace(secret.reveal().encode(), b"***")
    return body


def read_key(variable: str, environment: Mapping[str, str] | None = None) -> Secret:
    """The key that the environment variable holds, blanks around it left out.

    Raises SettingError when it is absent, empty or cannot be sent in a header (the message
    names the variable, never the value).
    """
    value = (os.environ if environment is None else environment).get(variable, "").strip()
    if not value:
        raise SettingError(
            f"the environment variable {variable} holds no key: type export {variable}=YOUR_KEY and run again"
        )
    if not (value.isascii() and value.isprintable()):
        raise SettingError(
            f"the key in the environment variable {variable} has characters that no HTTP header can carry: "
            "copy it again"
        )
    return Secret(value)
