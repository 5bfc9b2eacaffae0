"""API keys: read from .env, the environment or a mounted file, never shown.

A config names the variable that holds a key, never the key. The key lives in a
:class:`Secret`, which prints as ``***``, and :func:`masked` takes it out of any text that came
from elsewhere (some hosts repeat the key they refuse).
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from urllib.parse import quote, quote_plus

from beeline.errors import SettingError

__all__ = ["Secret", "check_variable", "masked", "masked_bytes", "read_key"]

#: A key shorter than this has no encoded forms that could be told from ordinary text.
ENCODED_FROM = 6


class Secret:
    """A text that does not print itself."""

    __slots__ = ("_forms", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        self._forms: tuple[bytes, ...] | None = None

    def reveal(self) -> str:
        """The text, for the one place that sends it."""
        return self._value

    def encoded(self) -> set[str]:
        """The text as base64 (wherever it stands in what was encoded) and in hexadecimal digits;
        empty for one so short that its forms are everywhere."""
        data = self._value.encode()
        if len(data) < ENCODED_FROM:
            return set()
        found = {data.hex(), data.hex().upper()}
        for before in range(3):
            # Characters that hold nothing but bits of the key, whatever stands before and after it.
            text = b64encode(b"\0" * before + data).decode()
            core = text[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
            found |= {core, core.replace("+", "-").replace("/", "_")}
        return found

    def forms(self) -> tuple[bytes, ...]:
        """How a body may hold the text, longest first: as it is, escaped as JSON, in a URL or in
        HTML, encoded."""
        if self._forms is None:
            key = self._value
            found = {
                key,
                json.dumps(key)[1:-1],
                quote(key, safe=""),
                quote(key),
                quote_plus(key),
                escape(key),
            }
            found |= {
                "".join(form % ord(c) for c in key) for form in ("\\u%04x", "\\u%04X", "%%%02x", "%%%02X")
            }
            found |= self.encoded()
            self._forms = tuple(form.encode() for form in sorted(found, key=lambda f: (-len(f), f)) if form)
        return self._forms

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
    """The same for the bytes of a body, where a secret may also stand escaped or encoded. (Pieces
    of one are found by protocols.scrub, in what people are shown.)"""
    for secret in secrets:
        for form in secret.forms():
            body = body.replace(form, b"***")
    return body


def check_variable(name: str, what: str) -> None:
    """Raise SettingError unless ``name`` can be that of an environment variable; ``what`` says where
    it was given. The message does not repeat it: it may be the key itself, typed in its place."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise SettingError(
            f"{what} is not the name of an environment variable (letters, digits and '_'): give the name of "
            "the variable that holds the key, never the key"
        )


def read_key(
    variable: str,
    environment: Mapping[str, str] | None = None,
    *,
    dotenv: Path | None = None,
    run_secrets: Path = Path("/run/secrets"),
) -> Secret:
    """The key named ``variable``, blanks around it left out. Looked for in this order:

    1. the line ``NAME=...`` of the file ``.env`` in the working directory,
    2. the environment variable NAME,
    3. the file that the environment variable (or line of .env) ``NAME_FILE`` names,
    4. the file ``/run/secrets/NAME``, as Docker and Kubernetes mount it.

    The first that is there and not empty counts. Raises SettingError when there is none, a file
    cannot be read, or the key cannot be sent in a header; messages name the place, never the value.
    """
    check_variable(variable, "what is given as the variable of the key")
    env = os.environ if environment is None else environment
    path = dotenv if dotenv is not None else Path(".env")
    lines = _dotenv(path)
    named = lines.get(f"{variable}_FILE", "").strip() or env.get(f"{variable}_FILE", "").strip()
    mounted = run_secrets / variable
    for value, place in (
        (lines.get(variable, ""), f"{variable} in {path}"),
        (env.get(variable, ""), f"the environment variable {variable}"),
        (_file(Path(named)) if named else "", f"the file {named} of {variable}_FILE"),
        (_file(mounted) if mounted.is_file() else "", f"the file {mounted}"),
    ):
        key = value.strip()
        if not key:
            continue
        if not (key.isascii() and key.isprintable()):
            raise SettingError(
                f"the key in {place} has characters that no HTTP header can carry: copy it again"
            )
        return Secret(key)
    raise SettingError(
        f"the environment variable {variable} holds no key: type export {variable}=YOUR_KEY and run again or "
        f"put {variable}=YOUR_KEY into a file .env here, name a file with {variable}_FILE or mount {mounted}"
    )


def _dotenv(path: Path) -> Mapping[str, str]:
    if not path.is_file():
        return {}
    from dotenv import dotenv_values

    try:
        # No interpolation: a key may hold a dollar sign.
        found = dotenv_values(path, interpolate=False)
    except (OSError, ValueError) as error:
        raise SettingError(f"cannot read {path.absolute()}: {_reason(error)}") from None
    return {name: value for name, value in found.items() if value is not None}


def _file(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")  # some editors write a byte-order mark
    except (OSError, ValueError) as error:
        raise SettingError(f"cannot read the key file {path}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    # A decoding error quotes what it could not read.
    return getattr(error, "strerror", None) or "it is not UTF-8 text"
