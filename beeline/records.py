"""Records: everything measured in one trial of one condition, one line of JSON each.

A record is appended and synced when its trial ends and never changed. A run that is started
again keeps what it finds and runs what is owed. What a crash can leave is a torn last line; it
is cut off when the file is next opened for writing and its trial is owed again. A damaged line
further up is named in a note, skipped, and its trial owed again too.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from beeline.errors import StorageError

__all__ = ["SCHEMA", "Cell", "Reading", "Record", "RecordLog", "find_cells", "read_records"]

SCHEMA = 1
"""Version of the record's form. New fields may join within a schema; a reader keeps those it
does not know. A number above ours means fields we would misread: such a file is refused."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Where the records of one (version, model, study, domain, condition) lie."""

    version: str
    model: str
    study: str
    domain: str
    condition: str

    def path(self, results: Path) -> Path:
        """The records file below a results folder."""
        return results / self.version / self.model / self.study / f"{self.domain}.{self.condition}.jsonl"

    def archive_path(self, results: Path, trial: int, repeat: int) -> Path:
        """The archive of one trial's answers."""
        folder = results / "archive" / self.version / self.model / self.study
        return folder / f"{self.domain}.{self.condition}" / f"{trial}.{repeat}.jsonl.gz"

    def trace_path(self, results: Path, trial: int, repeat: int) -> Path:
        """The trace of one trial."""
        folder = results / "traces" / self.version / self.model / self.study
        return folder / f"{self.domain}.{self.condition}" / f"{trial}.{repeat}.jsonl.gz"


@dataclass(frozen=True, slots=True)
class Record:
    """One trial of one condition; field names are those of the JSON line."""

    version: str
    definition: str
    """Digest of the resolved definition."""
    spec: str
    """Digest of the whole spec that produced the record."""
    suite: str
    domain: str
    heuristic: str
    model: str
    """Short name; ``none`` where no model was asked."""
    model_id: str | None
    """The name the API was asked for; None where no model was asked."""
    study: str
    condition: str
    trial: int
    repeat: int
    shortest_path: int
    """This and the two below: 0, and not in the line, in a suite without searches."""
    states_reachable: int
    states_reaching_goal: int
    arms: Mapping[str, Mapping[str, Any]]
    """Results by arm: oracle, heuristic, random, model (those that ran)."""
    started_utc: str
    finished_utc: str
    code: str
    """Revision of the code that ran it."""
    schema: int = SCHEMA
    world: str | None = None
    """The world's id, in the suite of worlds alone."""
    container: Mapping[str, str] | None = None
    """Where it ran in a container: digests of the image and of the lock it was installed from."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a later program, kept as they are."""

    @property
    def key(self) -> tuple[int, int]:
        """(trial, repeat): what identifies a record within its cell."""
        return self.trial, self.repeat

    @property
    def cell(self) -> Cell:
        """The cell that the record belongs to."""
        return Cell(self.version, self.model, self.study, self.domain, self.condition)

    def line(self) -> str:
        """The JSON line, newline included; raises ValueError for NaN or an infinity."""
        data: dict[str, Any] = {"schema": self.schema}
        fields = _WORLD_FIELDS if self.suite == "worlds" else _FIELDS
        data |= {name: getattr(self, name) for name in fields}
        if self.container is not None:
            data["container"] = dict(self.container)
        data |= self.extra
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"

    @classmethod
    def read(cls, line: str) -> Record:
        """Parse a line; raises ValueError saying what is wrong with it, NewerSchema for a line
        of a later program."""
        data = json.loads(line)
        if not isinstance(data, dict):
            raise ValueError("not a JSON object")
        schema = data.pop("schema", None)
        if type(schema) is not int:
            raise ValueError("no schema number")
        if schema > SCHEMA:
            raise NewerSchema(schema)
        worlds = data.get("suite") == "worlds"
        values: dict[str, Any] = dict.fromkeys(_SEARCH_FIELDS, 0) if worlds else {}
        for name, kinds in (_WORLD_FIELDS if worlds else _FIELDS).items():
            if name not in data:
                raise ValueError(f"no field {name}")
            value = data.pop(name)
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise ValueError(f"field {name} holds {value!r}")
            values[name] = value
        for arm, result in values["arms"].items():
            if worlds:
                _check_world_arm(arm, result)
                continue
            if not isinstance(result, dict) or type(result.get("expansions")) is not int:
                raise ValueError(f"arm {arm} holds no expansions")
            score = result.get("score")
            if not isinstance(score, int | float) or not 0 < score <= 1:
                raise ValueError(f"arm {arm} holds the score {score!r}")
        container = data.pop("container", None)
        if container is not None and not (
            isinstance(container, dict) and all(isinstance(value, str) for value in container.values())
        ):
            raise ValueError(f"field container holds {container!r}")
        return cls(schema=schema, container=container, extra=data, **values)


class NewerSchema(ValueError):
    """A line written by a later program."""

    def __init__(self, schema: int) -> None:
        super().__init__(f"schema {schema}")
        self.schema = schema


_TEXT, _COUNT, _MAYBE = (str,), (int,), (str, type(None))
_FIELDS: Mapping[str, tuple[type, ...]] = {
    "version": _TEXT,
    "definition": _TEXT,
    "spec": _TEXT,
    "suite": _TEXT,
    "domain": _TEXT,
    "heuristic": _TEXT,
    "model": _TEXT,
    "model_id": _MAYBE,
    "study": _TEXT,
    "condition": _TEXT,
    "trial": _COUNT,
    "repeat": _COUNT,
    "shortest_path": _COUNT,
    "states_reachable": _COUNT,
    "states_reaching_goal": _COUNT,
    "arms": (dict,),
    "started_utc": _TEXT,
    "finished_utc": _TEXT,
    "code": _TEXT,
}
_SEARCH_FIELDS = ("shortest_path", "states_reachable", "states_reaching_goal")
_WORLD_FIELDS: Mapping[str, tuple[type, ...]] = {
    name: kinds
    for field_name, field_kinds in _FIELDS.items()
    for name, kinds in ([("world", _TEXT)] if field_name == "shortest_path" else [(field_name, field_kinds)])
    if name not in _SEARCH_FIELDS
}
assert {*_FIELDS, "schema", "world", "container", "extra"} == {f.name for f in fields(Record)}

_WORLD_ARM: Mapping[str, type | tuple[type, ...]] = {
    "outcome": str,
    "feasible": bool,
    "exact": bool,
    "objective": (int, type(None)),
    "optimum": int,
    "utility": (int, float),
    "sufficient": bool,
    "coverage": (int, float),
    "calls": int,
    "spend": int,
    "budget": int,
}


def _check_world_arm(arm: str, result: Any) -> None:
    """Raise ValueError when an arm of a world lacks what every summary needs."""
    if not isinstance(result, dict):
        raise ValueError(f"arm {arm} is no object")
    for name, kinds in _WORLD_ARM.items():
        value = result.get(name)
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise ValueError(f"arm {arm} holds {name} {value!r}")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a records file holds: one record a (trial, repeat), sorted, and notes on the rest."""

    records: list[Record]
    notes: list[str]
    """One sentence for each line that was passed over or kept with unknown fields."""


def read_records(path: Path) -> Reading:
    """Read a records file; a missing one is empty. A later line for the same (trial, repeat)
    replaces an earlier one. Raises StorageError when the file cannot be read or was
    written by a later program."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return Reading([], [])
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
    found: dict[tuple[int, int], Record] = {}
    notes: list[str] = []
    unknown: dict[str, int] = {}
    lines = text.split(b"\n")
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        try:
            record = Record.read(raw.decode("utf-8"))
        except NewerSchema as newer:
            raise StorageError(
                f"{path} line {number} was written by a newer beeline (record schema {newer.schema}, "
                f"this one reads up to {SCHEMA}): update beeline, or choose another folder with results=DIR"
            ) from newer
        except ValueError as error:
            torn = number == len(lines)
            what = "is torn" if torn else f"is damaged ({error})"
            notes.append(f"{path} line {number} {what}: skipped, its trial is owed again")
            continue
        for name in record.extra:
            unknown[name] = unknown.get(name, 0) + 1
        found[record.key] = record
    for name, count in sorted(unknown.items()):
        notes.append(f"{path}: unknown field {name!r} in {count} record(s), kept as it is")
    return Reading([found[key] for key in sorted(found)], notes)


class RecordLog:
    """A records file open for appending, locked against other runs. Use as a context manager.

    Opening makes the folder, takes the lock, and cuts off a torn last line. Raises StorageError
    in one sentence when any of it fails.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._locked = False

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._open()
            # A run that ends without a record removes its file; one that opened it just before
            # would then write where nobody reads.
            while self._file is not None and not os.fstat(self._file).st_nlink:
                self.close()
                self._open()
            self._mend()
        except OSError as error:
            self.close()
            raise _cannot_write(self.path, error) from error
        except StorageError:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release lock and file; harmless when closed. A file that got no record is removed."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):
            # Without the lock, the file is another run's that has yet to write its first record.
            status = os.fstat(self._file)
            if self._locked and status.st_size == 0 and status.st_nlink:
                self.path.unlink()
        os.close(self._file)
        self._file = None
        self._locked = False

    def append(self, records: Sequence[Record]) -> None:
        """Append and sync; all of them are on disk when this returns. Raises StorageError and
        leaves no torn line behind where that can be helped."""
        if not records:
            return
        assert self._file is not None, "open the log first"
        data = "".join(record.line() for record in records).encode()
        before = os.fstat(self._file).st_size
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before)
            raise _cannot_write(self.path, error) from error

    def _open(self) -> None:
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._lock()

    def _lock(self) -> None:
        import fcntl

        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._locked = True
        except BlockingIOError as error:
            raise StorageError(
                f"another run is writing {self.path}: wait until it ends, or choose another folder "
                "with results=DIR"
            ) from error
        except OSError as error:
            # Some network file systems have no locks; a run there is on its own honour.
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
                raise

    def _mend(self) -> None:
        assert self._file is not None
        size = os.fstat(self._file).st_size
        if not size:
            return
        data = os.pread(self._file, size, 0)
        if data.endswith(b"\n"):
            return
        start = data.rfind(b"\n") + 1
        try:
            Record.read(data[start:].decode("utf-8"))
        except NewerSchema:
            os.write(self._file, b"\n")  # not ours to judge, so not ours to cut off
        except ValueError:
            os.ftruncate(self._file, start)
        else:
            os.write(self._file, b"\n")  # whole but for its newline
        os.fsync(self._file)


def _cannot_write(path: Path, error: OSError) -> StorageError:
    kept = "what was finished before is kept"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(
            f"no space left to write {path}: {kept}; make room and run the same command again"
        )
    return StorageError(
        f"cannot write {path} ({error.strerror or error}): {kept}; choose a folder you may "
        "write with results=DIR"
    )


def find_cells(results: Path, versions: Iterable[str] | None = None) -> list[tuple[Cell, Path]]:
    """All records files below a results folder, sorted by path. ``versions`` restricts to some.

    Files that do not lie and look as a records file are passed over.
    """
    found = []
    wanted = set(versions) if versions is not None else None
    for path in sorted(results.glob("*/*/*/*.jsonl")):
        version, model, study = path.relative_to(results).parts[:3]
        domain, _, condition = path.name.removesuffix(".jsonl").partition(".")
        if version == "traces" or not condition or (wanted is not None and version not in wanted):
            continue
        found.append((Cell(version, model, study, domain, condition), path))
    return found
