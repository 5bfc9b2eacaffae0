"""The ledger's file: an SQLite database that many processes write at once.

The write-ahead log lets readers in at any time and makes a commit a few microseconds; it does not
work between machines, so on a network file system the rollback journal is used instead (slower: it
waits for the disk at each commit). Either survives a killed process. When the power fails, the
last seconds before it may be forgotten in write-ahead mode.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from beeline.errors import StorageError

__all__ = ["BUSY_S", "SCHEMA", "connect", "connect_to_read", "immediate", "network_filesystem", "telling"]

SCHEMA = 1
BUSY_S = 30.0
"""Seconds to wait for another process that writes."""

_STEP_MS = 3

_COUNTS = [
    "requests",
    "rejected",
    "unanswered",
    "abandoned",
    "unknown_cost",
    "unknown_input",
    "unknown_output",
    "input_exact",
    "input_estimated",
    "output_exact",
    "output_estimated",
    "usd_exact",
    "usd_estimated",
    "open_requests",
    "open_tokens",
    "open_usd",
]

_TABLES = (
    # Dollars are picodollars. The open_* columns are the sums over this model's reservations.
    "CREATE TABLE spent (model TEXT PRIMARY KEY, "
    + ", ".join(f"{name} INTEGER NOT NULL DEFAULT 0" for name in _COUNTS)
    + ") WITHOUT ROWID",
    "CREATE TABLE reserved (ticket INTEGER PRIMARY KEY, model TEXT NOT NULL, run INTEGER NOT NULL, "
    "input INTEGER, output INTEGER, usd INTEGER)",
    # AUTOINCREMENT: tickets begin with the run's number, which must never come again.
    "CREATE TABLE runs (run INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, place TEXT NOT NULL, "
    "boot TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL, opened_utc TEXT NOT NULL)",
    # The caps last used, for reports; scope '' is all models.
    "CREATE TABLE caps (scope TEXT PRIMARY KEY, usd REAL, tokens INTEGER, requests INTEGER) WITHOUT ROWID",
)

_NETWORK = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb2",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "lustre",
        "gpfs",
        "beegfs",
        "beegfs_nodev",
        "glusterfs",
        "ocfs2",
        "gfs2",
        "orangefs",
        "pvfs2",
        "davfs",
        "ncpfs",
        "virtiofs",
        "vboxsf",
    ]
)


def connect(path: Path, busy_s: float = BUSY_S, network: bool | None = None) -> sqlite3.Connection:
    """Open the ledger to write, made when it is not there; safe when many processes do so at
    once. ``network`` says on which kind of file system it lies (None: look). Raises StorageError."""
    with telling(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
        try:
            _journal(db, network_filesystem(path.parent) if network is None else network, busy_s)
            _create(db, path)
        except BaseException:
            db.close()
            raise
        return db


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open an existing ledger to read, also from a folder that cannot be written. Raises
    StorageError."""
    if not path.is_file():
        raise StorageError(f"there is no {path}: nothing has been spent with this results folder")
    with telling(path):
        address = path.resolve().as_uri()
        db = sqlite3.connect(f"{address}?mode=ro", timeout=BUSY_S, isolation_level=None, uri=True)
        try:
            _check_schema(db, path)
        except sqlite3.OperationalError:
            db.close()
            # Without a log beside it, the file alone is the whole truth, and nobody writes it
            # where we may not.
            if path.with_name(path.name + "-wal").exists():
                raise
            db = sqlite3.connect(f"{address}?immutable=1", isolation_level=None, uri=True)
            _check_schema(db, path)
        return db


def network_filesystem(path: Path, mounts: str | None = None) -> bool:
    """Whether ``path`` lies on a file system that several machines may share. ``mounts`` is the
    text of /proc/self/mounts; where there is none, it counts as local."""
    if mounts is None:
        try:
            mounts = Path("/proc/self/mounts").read_text("utf-8", "surrogateescape")
        except OSError:
            return False
    here = path.resolve()
    kind, longest = "", -1
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(fields[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\"))
        # The last mount on a point hides those before it.
        if (point == here or point in here.parents) and len(point.parts) >= longest:
            kind, longest = fields[2], len(point.parts)
    return kind in _NETWORK or kind.startswith("fuse.")


@contextlib.contextmanager
def immediate(db: sqlite3.Connection, busy_s: float = BUSY_S) -> Iterator[sqlite3.Connection]:
    """A transaction that has the right to write from the start, so that it never fails midway."""
    try:
        _begin(db, busy_s)
        yield db
        db.execute("COMMIT")
    except BaseException:  # Ctrl-C too
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _begin(db: sqlite3.Connection, busy_s: float) -> None:
    deadline = None
    while True:
        try:
            db.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            deadline = deadline or time.monotonic() + busy_s
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise


@contextlib.contextmanager
def telling(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one sentence of ours."""
    try:
        yield
    except sqlite3.OperationalError as error:
        said = str(error)
        if "locked" in said or "busy" in said:
            raise StorageError(
                f"{path} stays locked by another process: nothing is sent without counting it, so end that "
                "process, or choose another folder with results=DIR"
            ) from error
        if "readonly" in said or "unable to open" in said:
            raise StorageError(
                f"cannot write {path} ({said}): nothing is sent without counting it, so choose a folder you "
                "may write with results=DIR"
            ) from error
        raise StorageError(f"cannot use {path} ({said}): nothing more is sent") from error
    except sqlite3.ProgrammingError:  # a bug of ours
        raise
    except sqlite3.DatabaseError as error:
        raise StorageError(
            f"{path} is damaged ({error}): move it away and run again; what was spent before is then no "
            "longer counted, so lower the caps by it"
        ) from error
    except OSError as error:
        raise StorageError(
            f"cannot write {path} ({error.strerror or error}): choose a folder you may write with results=DIR"
        ) from error


def _journal(db: sqlite3.Connection, network: bool, busy_s: float) -> None:
    """Choose the journal. Changing it needs the file alone, and SQLite does not wait for that."""
    wanted = "delete" if network else "wal"
    deadline = time.monotonic() + busy_s
    while True:
        try:
            mode = db.execute("PRAGMA journal_mode").fetchone()[0]
            if mode != wanted:
                mode = db.execute(f"PRAGMA journal_mode={wanted}").fetchone()[0]
            break
        except sqlite3.OperationalError as error:
            busy = "locked" in str(error) or "busy" in str(error)
            if not busy and wanted == "wal":
                wanted = "delete"  # a file system without shared memory
            elif not busy or time.monotonic() > deadline:
                raise
            else:
                time.sleep(0.005)
    if mode == "wal":
        # A commit to the log need not wait for the disk: a killed process loses nothing by that.
        db.execute("PRAGMA synchronous=NORMAL")
        # SQLite waits in steps of up to 100 ms and is overtaken meanwhile; immediate() asks again
        # after a few milliseconds. (Slowest of 20,000 pairs with four processes: 980 ms before.)
        db.execute(f"PRAGMA busy_timeout={_STEP_MS}")
    else:
        db.execute("PRAGMA synchronous=FULL")


def _create(db: sqlite3.Connection, path: Path) -> None:
    if _check_schema(db, path) == SCHEMA:
        return
    with immediate(db):
        if _check_schema(db, path) != SCHEMA:  # nobody made them while we waited
            for statement in _TABLES:
                db.execute(statement)
            db.execute(f"PRAGMA user_version={SCHEMA}")


def _check_schema(db: sqlite3.Connection, path: Path) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA:
        raise StorageError(
            f"{path} was written by a later version of beeline: upgrade, or choose another folder with "
            "results=DIR"
        )
    return version
