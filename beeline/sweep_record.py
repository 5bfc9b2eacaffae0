"""A sweep as a whole: which jobs it had and what became of each, ``<results>/sweeps/<id>.json``.

The same jobs are the same sweep, so one that is resumed replaces its file. What was measured is in the
records alone; this says what belongs together, and why a job has no records.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeGuard

from beeline.digest import digest_of
from beeline.errors import StorageError

__all__ = [
    "SCHEMA",
    "STATES",
    "SweepJob",
    "SweepReading",
    "SweepRecord",
    "masked_override",
    "read_sweeps",
    "write_text",
]

SCHEMA = 1
"""Version of the JSON form. New fields may join within a schema and are passed over by a reader."""
STATES = ("done", "failed", "stopped", "left out")
"""What becomes of a job, in the order in which they are counted."""

_SECRET = (
    r"(?:api_?keys?|keys?|tokens?|secrets?|passwords?|passwd|passphrase|auth|authorization|credentials?)"
)
_COUNTED = re.compile(r"(?:max|context|batch|input|output)_(?:\w+_)?tokens")
"""Settings whose tokens are those of a text."""
_SECRET_KEY = re.compile(rf"(?<![a-z0-9]){_SECRET}(?![a-z0-9])")
_SECRET_INSIDE = re.compile(
    rf"(?<![a-z0-9]){_SECRET}(?:_\w+)?['\"]?\s*[:=]|\b(?:bearer|basic)\s", re.IGNORECASE
)
_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|gsk|ghp|hf|xai|pplx)[-_][A-Za-z0-9_-]{20,}")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WITH_USER = re.compile(r"//[^/@\s]*@")


@dataclass(frozen=True, slots=True)
class SweepJob:
    """One job: one domain with one model, version and study."""

    version: str
    domain: str
    model: str
    """Short name; ``none`` where the study asks no model."""
    study: str
    suite: str
    state: str
    """One of STATES. ``left out``: it belongs to another suite than was asked for."""
    reason: str | None
    """The sentence of the error; a user and password in a URL are masked."""
    finished: int
    """Trials that are on file, those of earlier runs included."""
    wanted: int

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise ValueError(f"a job is {', '.join(STATES)}, not {self.state!r}")
        if self.reason is not None:
            object.__setattr__(self, "reason", _without_users(self.reason))

    @property
    def key(self) -> tuple[str, str, str, str]:
        """(version, model, study, domain): where its records lie."""
        return self.version, self.model, self.study, self.domain

    @property
    def ran(self) -> bool:
        """Whether its records are this sweep's: it ended well, or got at least a trial on file."""
        return self.state == "done" or (self.state != "left out" and self.finished > 0)


@dataclass(frozen=True, slots=True)
class SweepRecord:
    """All jobs of one command with ``-m``, in the order of the command."""

    jobs: tuple[SweepJob, ...]
    overrides: tuple[str, ...]
    """The command line's KEY=VALUE; values that look like secrets are masked here."""
    started_utc: str
    finished_utc: str
    code: str
    """Revision of the code that ran it."""

    def __post_init__(self) -> None:
        masked = tuple(masked_override(text) for text in self.overrides if not text.startswith("-"))
        object.__setattr__(self, "overrides", masked)

    @property
    def id(self) -> str:
        """12 hexadecimal digits: the same for the same jobs, whenever they ran and in whatever order."""
        return digest_of(sorted(job.key for job in self.jobs))[:12]

    @property
    def counts(self) -> Mapping[str, int]:
        """Jobs by state, in the order of STATES, without zeros."""
        found = {state: sum(job.state == state for job in self.jobs) for state in STATES}
        return {state: count for state, count in found.items() if count}

    def path(self, results: Path) -> Path:
        """Its file below a results folder."""
        return results / "sweeps" / f"{self.id}.json"

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "schema": SCHEMA,
            "id": self.id,
            "started_utc": self.started_utc,
            "finished_utc": self.finished_utc,
            "code": self.code,
            "overrides": list(self.overrides),
            "jobs": [asdict(job) for job in self.jobs],
        }

    def write(self, results: Path) -> Path:
        """Write the file, in place of one of an earlier run; returns its path. Raises StorageError."""
        path = self.path(results)
        write_text(path, json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n")
        return path

    @classmethod
    def read(cls, text: str) -> SweepRecord:
        """Parse a file's text; raises ValueError saying what is wrong with it."""
        data = json.loads(text)
        if not isinstance(data, dict) or type(data.get("schema")) is not int:
            raise ValueError("no schema number")
        if data["schema"] > SCHEMA:
            raise ValueError(f"schema {data['schema']}, of a newer beeline")
        jobs, overrides = data.get("jobs"), data.get("overrides")
        if not isinstance(jobs, list) or not _texts(overrides):
            raise ValueError("no jobs or no overrides")
        values = [data.get(name) for name in ("started_utc", "finished_utc", "code")]
        if not _texts(values):
            raise ValueError("no times or no code")
        started, finished, code = values
        return cls(tuple(_job(job) for job in jobs), tuple(overrides), started, finished, code)


@dataclass(frozen=True, slots=True)
class SweepReading:
    """The sweeps of a results folder, the oldest first, and a sentence for each file passed over."""

    sweeps: tuple[SweepRecord, ...]
    notes: tuple[str, ...]


def read_sweeps(results: Path) -> SweepReading:
    """All sweeps below a results folder, sorted by start. Files that cannot be read are noted."""
    found, notes = [], []
    for path in sorted((results / "sweeps").glob("*.json")):
        try:
            record = SweepRecord.read(path.read_text("utf-8"))
            if record.path(results) != path:
                raise ValueError(f"it holds the sweep {record.id}")
        except (OSError, ValueError) as error:
            notes.append(f"{path} is passed over ({error}): the same sweep, run again, writes it anew")
        else:
            found.append(record)
    found.sort(key=lambda record: (record.started_utc, record.id))
    return SweepReading(tuple(found), tuple(notes))


def masked_override(text: str) -> str:
    """``KEY=VALUE`` with ``***`` for a value that may be a secret: by its key, by a key inside it or by
    its looks; of a URL, the user and password alone are masked."""
    key, equals, value = text.partition("=")
    if not equals:
        return _without_users(text)
    last = re.split(r"[./]", key.lower())[-1]
    words = re.sub(r"[^a-z0-9]+", " ", _HUMP.sub(" ", key).lower())
    told = _SECRET_KEY.search(words) and not _COUNTED.fullmatch(last)
    inside = _SECRET_INSIDE.search(_COUNTED.sub("", value)) or _LIKE_A_KEY.search(value)
    return f"{key}=***" if value and (told or inside) else _without_users(text)


def write_text(path: Path, text: str) -> None:
    """Write under a temporary name first; raises StorageError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, "utf-8", errors="backslashreplace")
        os.replace(temporary, path)
    except OSError as error:
        raise StorageError(
            f"cannot write {path} ({error.strerror or error}): the records are safe; choose a folder you may "
            "write with results=DIR"
        ) from error


def _job(data: Any) -> SweepJob:
    if not isinstance(data, dict):
        raise ValueError("a job that is no object")
    names = {field.name for field in fields(SweepJob)}
    values = {name: data[name] for name in data if name in names}
    if set(values) != names:
        raise ValueError(f"a job without {', '.join(sorted(names - set(values)))}")
    reason = values["reason"]
    texts = [values[name] for name in ("version", "domain", "model", "study", "suite", "state")]
    counts = (values["finished"], values["wanted"])
    if not _texts(texts) or not isinstance(reason, str | None) or any(type(n) is not int for n in counts):
        raise ValueError("a job with a field of the wrong kind")
    return SweepJob(**values)


def _texts(value: Any) -> TypeGuard[Sequence[str]]:
    return (
        isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(v, str) for v in value)
    )


def _without_users(text: str) -> str:
    return _WITH_USER.sub("//***@", text)
