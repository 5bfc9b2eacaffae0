"""Every error beeline raises on purpose, each blaming exactly one boundary.

::

    BeelineError            anything below; its text is one message for a person
    ├── SettingError        a setting, option or file the user chose is wrong (exit code 2)
    ├── DataError           downloaded or mirrored data is missing or not what it should be
    ├── DomainError         a domain broke its contract (two states with one text, no solution...)
    ├── ModelError          the model cannot be used: the run stops, what is finished stays
    │   ├── HostError       the host of the model refused or kept failing after all retries
    │   └── SpendError      a cap on dollars, tokens or requests is reached
    ├── StorageError        results, traces or caches cannot be written or read
    └── WorkerError         a worker process died again and again while holding a trial

A message says what went wrong, where, and what to do next. Anything that is not a
``BeelineError`` is a bug of ours or of a plug-in and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "BeelineError",
    "DataError",
    "DomainError",
    "HostError",
    "ModelError",
    "SettingError",
    "SpendError",
    "StorageError",
    "WorkerError",
    "nearest",
]


class BeelineError(Exception):
    """Base class: a failure with a message a person can act on."""


class SettingError(BeelineError):
    """A setting is wrong; nothing was run and nothing was sent."""


class DataError(BeelineError):
    """Data that a domain needs is missing, damaged or altered."""


class DomainError(BeelineError):
    """A domain broke its contract; this is an error of the domain, not of the model."""


class ModelError(BeelineError):
    """The model cannot be used; its run stops with this reason."""


class HostError(ModelError):
    """The host refused the request for good, or failed on every try."""


class SpendError(ModelError):
    """A cap on dollars, tokens or requests is reached; nothing more is sent."""


class StorageError(BeelineError):
    """A results, trace or cache file cannot be written or read."""


class WorkerError(BeelineError):
    """A worker process died repeatedly while it held a trial."""


def nearest(wrong: str, valid: Iterable[str]) -> str:
    """Return a hint such as ``did you mean rush_hour? (one of: countdown, rush_hour)``.

    ``valid`` may come in any order and is listed sorted; an empty ``valid`` says that there
    is nothing to choose from.
    """
    names = sorted(set(valid))
    if not names:
        return "there is nothing to choose from"
    close = get_close_matches(wrong, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return f"{hint}(one of: {', '.join(names)})"
