"""The ledger of a results folder: asked before each request, by every process of every run on it.

A request is first *reserved* at what it is expected to take, in one transaction that compares the
sum of all that is spent and reserved, this request included, with the caps of its model and of all
models. Then it is *closed*: settled with what the host says, turned away, or left unknown. What the
host does not say stays as it was reserved and is reported as estimated; what could not be
estimated either is counted as unknown, never as 0. So spending passes a cap by no more than the
requests on their way took above their estimates.

Closed requests are folded into one row a model, so the file stays small. A process that is killed
leaves its reservations: they stay counted, and whoever opens the ledger next moves them to the
estimated part as *abandoned*.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from beeline.clock import utc_now
from beeline.errors import SpendError
from beeline.services import Estimate
from beeline.spend_caps import Amounts, Caps, first_reached, picodollars, tokens
from beeline.spend_owner import Owner, state_of, this_process
from beeline.spend_store import BUSY_S, connect, immediate, telling

__all__ = ["FILE", "Account", "Ledger"]

FILE = "spend.sqlite"
"""The ledger's name in a results folder."""

_TICKETS = 2**32
"""A ticket is a run's number times this, plus a count."""


@dataclass(frozen=True, slots=True)
class _Held:
    """What a ticket reserves; None is unknown."""

    model: str
    input: int | None
    output: int | None
    usd: int | None

    @property
    def amounts(self) -> Amounts:
        known = [count for count in (self.input, self.output) if count is not None]
        return Amounts(1, sum(known) if known else None, self.usd)


class Ledger:
    """One process's way to the file at ``path``; ``total`` caps all models together.

    Threads may share it, and a forked child gets a connection of its own. Raises StorageError when
    the file cannot be written, or another process locks it for longer than ``busy_s`` seconds.
    """

    _db: sqlite3.Connection
    _run: int
    _closed: bool

    def __init__(self, path: Path, total: Caps | None = None, busy_s: float = BUSY_S) -> None:
        self.path = path
        self.total = total or Caps()
        self._busy_s = busy_s
        self._lock = threading.RLock()
        self._inherited: list[sqlite3.Connection] = []
        self._open()

    def account(self, model: str, caps: Caps | None = None) -> Account:
        """The meter of one model (by its short name), with caps of its own."""
        caps = caps or Caps()
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO spent (model) VALUES (?)", (model,))
            _keep_caps(db, model, caps)
        return Account(self, model, caps)

    def close(self) -> None:
        """Leave the ledger. Requests still on their way are counted as unknown; harmless twice."""
        with self._lock:
            if self._pid != os.getpid() or self._closed:
                return
            with self._transaction() as db:
                for ticket, held in self._held.items():
                    _close(db, ticket, held, None, "unanswered")
                db.execute("DELETE FROM runs WHERE run = ?", (self._run,))
            self._held.clear()
            self._closed = True
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> None:
        self._pid = os.getpid()
        self._closed = False
        self._held: dict[int, _Held] = {}
        self._count = 0
        self._db = connect(self.path, self._busy_s)
        me = this_process()
        with telling(self.path), immediate(self._db, self._busy_s) as db:
            _fold_dead(db)
            _keep_caps(db, "", self.total)
            cursor = db.execute(
                "INSERT INTO runs (host, place, boot, pid, started, opened_utc) VALUES (?,?,?,?,?,?)",
                (me.host, me.place, me.boot, me.pid, me.started, utc_now()),
            )
            assert cursor.lastrowid is not None
            self._run = cursor.lastrowid

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._pid != os.getpid():
                # A connection must not be used, or closed, on the other side of a fork.
                self._inherited.append(self._db)
                self._open()
            with telling(self.path), immediate(self._db, self._busy_s) as db:
                yield db

    def reserve(self, model: str, caps: Caps, held: _Held) -> int:
        """Reserve and return a ticket; see :class:`Account`."""
        if self._closed and self._pid == os.getpid():
            raise RuntimeError("a request after the ledger was closed")
        with self._transaction() as db:
            if caps or self.total:
                self._compare(db, model, caps, held.amounts)
            self._count += 1
            ticket = self._run * _TICKETS + self._count
            coming = held.amounts
            db.execute(
                "INSERT INTO reserved VALUES (?,?,?,?,?,?)",
                (ticket, model, self._run, held.input, held.output, held.usd),
            )
            db.execute(
                "UPDATE spent SET open_requests = open_requests + 1, open_tokens = open_tokens + ?, "
                "open_usd = open_usd + ? WHERE model = ?",
                (coming.tokens or 0, coming.usd or 0, model),
            )
            self._held[ticket] = held
            return ticket

    def finish(self, ticket: int, took: _Held | None, how: str) -> None:
        """Close a ticket; ``how`` is the counter of its end (empty for an answer)."""
        with self._lock:
            if self._closed:
                return  # counted as unknown when the ledger was closed
            held = self._held.get(ticket)
            if held is None:
                raise ValueError(f"ticket {ticket} is not open: a request is closed once")
            with self._transaction() as db:
                _close(db, ticket, held, took, how)
            del self._held[ticket]

    def cancel(self, ticket: int) -> None:
        """Give a reservation back as if it had never been: nothing was sent for it."""
        with self._lock:
            held = None if self._closed else self._held.get(ticket)
            if held is None:
                return
            with self._transaction() as db:
                if db.execute("DELETE FROM reserved WHERE ticket = ?", (ticket,)).rowcount:
                    amounts = held.amounts
                    db.execute(
                        "UPDATE spent SET open_requests = open_requests - 1, open_tokens = open_tokens - ?, "
                        "open_usd = open_usd - ? WHERE model = ?",
                        (amounts.tokens or 0, amounts.usd or 0, held.model),
                    )
            del self._held[ticket]

    def _compare(self, db: sqlite3.Connection, model: str, caps: Caps, coming: Amounts) -> None:
        mine, mine_held, all_, all_held = [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]
        for name, *row in db.execute(
            "SELECT model, requests, input_exact + input_estimated + output_exact + output_estimated, "
            "usd_exact + usd_estimated, open_requests, open_tokens, open_usd FROM spent"
        ):
            for i in range(3):
                all_[i] += row[i]
                all_held[i] += row[i + 3]
            if name == model:
                mine, mine_held = row[:3], row[3:]
        reached = first_reached(caps, Amounts(*mine), Amounts(*mine_held), coming)
        if reached is not None:
            self._refuse(f"model.{reached[0]}", f"model {model}, model.{reached[1]}")
        reached = first_reached(self.total, Amounts(*all_), Amounts(*all_held), coming)
        if reached is not None:
            self._refuse(f"spend.{reached[0]}", f"all models of {self.path.parent}, spend.{reached[1]}")

    def _refuse(self, setting: str, where: str) -> None:
        raise SpendError(
            f"a cap is reached for {where}. Finished trials are kept: raise {setting} and run the same "
            "command again"
        )


class Account:
    """The :class:`beeline.services.Meter` of one model."""

    __slots__ = ("caps", "ledger", "model")

    def __init__(self, ledger: Ledger, model: str, caps: Caps) -> None:
        self.ledger = ledger
        self.model = model
        self.caps = caps

    def begin(self, expected: Estimate) -> int:
        """Reserve what is expected. SpendError when a cap has no room for it: nothing may be
        sent then. StorageError when it cannot be written down."""
        return self.ledger.reserve(self.model, self.caps, self._amounts(expected))

    def settle(self, ticket: int, took: Estimate) -> None:
        """The host answered; what it did not say stays as reserved, as estimated."""
        self.ledger.finish(ticket, self._amounts(took), "")

    def reject(self, ticket: int) -> None:
        """No work was done: a request, and nothing else."""
        self.ledger.finish(ticket, _Held(self.model, 0, 0, 0), "rejected")

    def unknown(self, ticket: int) -> None:
        """The work may have been done: what was reserved stays, as estimated."""
        self.ledger.finish(ticket, None, "unanswered")

    def cancel(self, ticket: int) -> None:
        """Nothing was sent for this reservation: no request either."""
        self.ledger.cancel(ticket)

    def _amounts(self, estimate: Estimate) -> _Held:
        return _Held(
            self.model,
            tokens(estimate.input_tokens),
            tokens(estimate.output_tokens),
            picodollars(estimate.cost_usd),
        )


_CLOSE = """UPDATE spent SET
requests = requests + 1, rejected = rejected + ?, unanswered = unanswered + ?, abandoned = abandoned + ?,
unknown_cost = unknown_cost + ?, unknown_input = unknown_input + ?, unknown_output = unknown_output + ?,
usd_exact = usd_exact + ?, input_exact = input_exact + ?, output_exact = output_exact + ?,
usd_estimated = usd_estimated + ?, input_estimated = input_estimated + ?,
output_estimated = output_estimated + ?,
open_requests = open_requests - 1, open_tokens = open_tokens - ?, open_usd = open_usd - ?
WHERE model = ?"""


def _close(db: sqlite3.Connection, ticket: int, held: _Held, took: _Held | None, how: str) -> None:
    """Move a reservation into the totals. One that somebody took for that of a dead process has
    been counted as estimated; there it stays."""
    if db.execute("DELETE FROM reserved WHERE ticket = ?", (ticket,)).rowcount == 0:
        return
    said = (None, None, None) if took is None else (took.usd, took.input, took.output)
    kept = (held.usd, held.input, held.output)
    exact = [value or 0 for value in said]
    estimated = [0 if s is not None else k or 0 for s, k in zip(said, kept, strict=True)]
    unknown = [int(s is None and k is None) for s, k in zip(said, kept, strict=True)]
    ends = [int(how == end) for end in ("rejected", "unanswered", "abandoned")]
    amounts = held.amounts
    db.execute(
        _CLOSE, (*ends, *unknown, *exact, *estimated, amounts.tokens or 0, amounts.usd or 0, held.model)
    )


def _fold_dead(db: sqlite3.Connection) -> None:
    """Count what dead processes had reserved as estimated, and forget those processes."""
    for run, *owner in db.execute("SELECT run, host, place, boot, pid, started FROM runs").fetchall():
        if state_of(Owner(*owner)) != "dead":
            continue
        for ticket, *held in db.execute(
            "SELECT ticket, model, input, output, usd FROM reserved WHERE run = ?", (run,)
        ).fetchall():
            _close(db, ticket, _Held(*held), None, "abandoned")
        db.execute("DELETE FROM runs WHERE run = ?", (run,))


def _keep_caps(db: sqlite3.Connection, scope: str, caps: Caps) -> None:
    db.execute("INSERT OR REPLACE INTO caps VALUES (?,?,?,?)", (scope, caps.usd, caps.tokens, caps.requests))
