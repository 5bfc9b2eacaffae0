"""A file of answers, one line of JSON each, appended and synced; a torn last line is cut off."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from beeline.errors import StorageError
from beeline.lines import compact

__all__ = ["SCHEMA", "AnswerLog", "read_answers"]

SCHEMA = 1


class AnswerLog:
    """Open for appending, locked against other runs; raises StorageError in one sentence."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._lock()
            data = os.pread(self._file, os.fstat(self._file).st_size, 0)
            if data and not data.endswith(b"\n"):
                os.ftruncate(self._file, data.rfind(b"\n") + 1)
        except OSError as error:
            self.close()
            raise _cannot(self.path, "write", error) from error
        except StorageError:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the file and its lock; one that holds nothing is removed."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):
            if not os.fstat(self._file).st_size:
                self.path.unlink()
        os.close(self._file)
        self._file = None

    def append(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Append and sync: all of them are on disk when this returns, or none is."""
        assert self._file is not None, "open the log first"
        data = "".join(compact(line) + "\n" for line in lines).encode("utf-8", "surrogatepass")
        before = os.fstat(self._file).st_size
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before)
            raise _cannot(self.path, "write", error) from error

    def _lock(self) -> None:
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StorageError(
                f"another run is writing {self.path}: wait until it ends, or choose another folder with "
                "results=DIR"
            ) from error
        except OSError as error:
            # Some network file systems have no locks; a run there is on its own honour.
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
                raise


def read_answers(path: Path) -> list[dict[str, Any]]:
    """The lines of a file, damaged ones passed over (they are asked again); none where there is no
    file. Raises StorageError when it cannot be read or a later program wrote it."""
    try:
        raw = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _cannot(path, "read", error) from error
    found = []
    for text in raw:
        try:
            line = json.loads(text.decode("utf-8", "surrogatepass")) if text.strip() else None
        except ValueError:
            continue
        if not isinstance(line, dict):
            continue
        schema = line.get("schema")
        if isinstance(schema, int) and schema > SCHEMA:
            raise StorageError(
                f"{path} was written by a newer beeline (schema {schema}, this one reads up to {SCHEMA}): "
                "update beeline, or choose another folder with results=DIR"
            )
        if isinstance(line.get("trial"), int) and isinstance(line.get("weights"), list) and "asked" in line:
            found.append(line)
    return found


def _cannot(path: Path, what: str, error: OSError) -> StorageError:
    return StorageError(
        f"cannot {what} {path} ({error.strerror or error}): what was finished before is kept; choose a "
        "folder you may write with results=DIR"
    )
