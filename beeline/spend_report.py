"""What a ledger says, for reports: read while runs go on, nothing is changed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from beeline.spend_caps import Caps
from beeline.spend_owner import Owner, state_of
from beeline.spend_store import connect_to_read, telling

__all__ = ["ALL", "Spending", "Spent", "read_spending"]

ALL = "all models"


@dataclass(frozen=True, slots=True)
class Spent:
    """What one model took. Dollars are in picodollars; ``exact`` is what hosts said, ``estimated``
    what they did not say and was expected."""

    model: str
    requests: int = 0
    """Closed ones, whatever their end."""
    rejected: int = 0
    """Turned away by the host: no tokens, no dollars."""
    unanswered: int = 0
    """Nobody knows whether the host did the work: estimated."""
    abandoned: int = 0
    """Reserved by a process that died: estimated. Those still open in the file are included."""
    unknown_cost: int = 0
    """Requests whose dollars nobody knows; they are in no sum."""
    unknown_input: int = 0
    unknown_output: int = 0
    input_exact: int = 0
    input_estimated: int = 0
    output_exact: int = 0
    output_estimated: int = 0
    usd_exact: int = 0
    usd_estimated: int = 0
    flying: int = 0
    """Requests on their way, by processes that live or that are elsewhere."""
    flying_tokens: int = 0
    flying_usd: int = 0
    elsewhere: int = 0
    """Those of ``flying`` whose process is on another machine or in another container."""

    def plus(self, other: Spent) -> Spent:
        """The sum of both, under this one's name."""
        mine, theirs = asdict(self), asdict(other)
        del mine["model"], theirs["model"]
        return Spent(self.model, **{name: mine[name] + theirs[name] for name in mine})


@dataclass(frozen=True, slots=True)
class Spending:
    """A ledger's content: models sorted by name, and the caps last used (scope '' for all)."""

    models: tuple[Spent, ...]
    caps: dict[str, Caps]

    @property
    def total(self) -> Spent:
        """The sum over all models."""
        total = Spent(ALL)
        for spent in self.models:
            total = total.plus(spent)
        return total


def read_spending(path: Path) -> Spending:
    """Read the ledger at ``path``; StorageError when there is none or it cannot be read.

    Reservations of dead processes count as abandoned, as the next run will book them.
    """
    db = connect_to_read(path)
    known = {field.name for field in fields(Spent)} - {"model"}
    with telling(path):
        try:
            db.execute("BEGIN")  # one moment for all tables
            cursor = db.execute("SELECT * FROM spent ORDER BY model")
            names = [column[0] for column in cursor.description]
            rows: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in cursor]
            held = db.execute(
                "SELECT model, run, count(*), count(input), count(output), count(usd), "
                "coalesce(sum(input), 0), coalesce(sum(output), 0), coalesce(sum(usd), 0) "
                "FROM reserved GROUP BY model, run"
            ).fetchall()
            owners = {
                run: Owner(*owner)
                for run, *owner in db.execute("SELECT run, host, place, boot, pid, started FROM runs")
            }
            caps = {scope: Caps(*values) for scope, *values in db.execute("SELECT * FROM caps")}
        finally:
            db.close()
    models = {
        row["model"]: Spent(row["model"], **{n: v for n, v in row.items() if n in known}) for row in rows
    }
    states = {run: state_of(owner) for run, owner in owners.items()}
    for model, run, count, inputs, outputs, prices, input_, output, usd in held:
        state = states.get(run, "dead")
        if state == "dead":
            more = Spent(
                model,
                requests=count,
                abandoned=count,
                unknown_cost=count - prices,
                unknown_input=count - inputs,
                unknown_output=count - outputs,
                input_estimated=input_,
                output_estimated=output,
                usd_estimated=usd,
            )
        else:
            more = Spent(
                model,
                flying=count,
                flying_tokens=input_ + output,
                flying_usd=usd,
                elsewhere=count if state == "elsewhere" else 0,
            )
        models[model] = models.get(model, Spent(model)).plus(more)
    return Spending(tuple(models[name] for name in sorted(models)), caps)
