"""Compressed files of JSON lines, header first, one a trial: traces and archives."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from beeline.errors import StorageError

__all__ = ["compact", "read_lines", "write_lines"]

_MOST = 1 << 30
"""Bytes that a file may unpack to: a damaged one must not fill the memory."""


def compact(value: Any) -> str:
    """One line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def write_lines(path: Path, header: dict[str, Any], lines: Sequence[str], what: str) -> None:
    """Write header and lines under a temporary name first; raises StorageError naming ``what``.

    The compressed bytes carry no time of day, so equal lines are equal files.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    text = compact(header) + "\n" + "".join(line + "\n" for line in lines)
    # A lone surrogate in a text from a host must not lose the trial.
    body = text.encode("utf-8", "surrogatepass")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(gzip.compress(body, compresslevel=3, mtime=0))
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageError(f"cannot write the {what} {path}: {error.strerror or error}") from error


def read_lines(path: Path, what: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header and the lines of a file; raises StorageError naming it."""
    try:
        with gzip.open(path) as file:
            text = file.read(_MOST + 1)
        if len(text) > _MOST:
            raise ValueError("it unpacks to more than 1 GiB")
        header, *lines = (json.loads(line.decode("utf-8", "surrogatepass")) for line in text.splitlines())
        if not all(isinstance(line, dict) for line in (header, *lines)):
            raise ValueError("a line that is not an object")
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise StorageError(f"cannot read the {what} {path}: {error}") from error
    return header, lines
