"""From the records of a family of worlds to its summary: by arm, level and interface.

Each world counts once. Means of shares stand without intervals: the 24 worlds are the whole suite
of a family, not a sample of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from beeline.errors import StorageError
from beeline.records import Cell, Record
from beeline.world import LEVELS, Interface, parse_world_id
from beeline.world_score import Outcome

__all__ = ["ARMS", "GroupSummary", "WorldSummary", "summarise_worlds"]

ARMS = ("oracle", "heuristic", "random", "model")


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One arm over some worlds. Shares are in 0..1, utility in 0..100."""

    worlds: int
    exact: float
    """Share with the exact optimum."""
    feasible: float
    utility: float
    sufficient: float
    """Share that learnt all that a plan tells."""
    coverage: float
    """Mean share of a sufficient set that was learnt."""
    calls: float
    spend: float
    budget_share: float
    """Mean share of the budget that was spent."""
    outcomes: Mapping[str, int]
    """Worlds by outcome, all classes named."""
    uninformed: int
    """Not exact, and not told enough: missing information."""
    misreasoned: int
    """Not exact, though told enough: bad reasoning."""
    lucky: int
    """Exact without having been told enough."""


@dataclass(frozen=True, slots=True)
class WorldSummary:
    """One family. Groups are ``all``, each level, each interface, and each of both together
    (``L1 direct``), those that have worlds."""

    cell: Cell
    suite: str
    heuristic: str
    model_id: str | None
    definition: str
    trials: int
    records: int
    arms: Mapping[str, Mapping[str, GroupSummary]]
    alarms: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return asdict(self)


def summarise_worlds(records: Sequence[Record]) -> WorldSummary:
    """Summarise the records of one family. Raises ValueError without records, StorageError when
    they are not of one cell and definition or name no world."""
    if not records:
        raise ValueError("no records to summarise")
    first = records[0]
    for record in records:
        for name in ("cell", "definition", "model_id"):
            if getattr(record, name) != getattr(first, name):
                raise StorageError(
                    f"the records of {first.domain}.{first.condition} differ in {name}: keep them in "
                    "separate results folders"
                )
    arms = {}
    for arm in ARMS:
        rows = [(_groups(record), record.arms[arm]) for record in records if arm in record.arms]
        names = dict.fromkeys(["all", *LEVELS, *Interface, *(f"{x} {i}" for x in LEVELS for i in Interface)])
        found = {name: [result for groups, result in rows if name in groups] for name in names}
        if rows:
            arms[arm] = {name: _group(results) for name, results in found.items() if results}
    return WorldSummary(
        cell=first.cell,
        suite=first.suite,
        heuristic=first.heuristic,
        model_id=first.model_id,
        definition=first.definition,
        trials=len({record.trial for record in records}),
        records=len(records),
        arms=arms,
        alarms=_alarms(records),
    )


def _alarms(records: Sequence[Record]) -> tuple[str, ...]:
    """Calls that a family's own code could not answer: an error of ours, not of an agent."""
    return tuple(
        f"{record.world}, arm {arm}: {result['faults']} call(s) failed in the family's own code"
        for record in records
        for arm, result in record.arms.items()
        if result.get("faults")
    )


def _groups(record: Record) -> tuple[str, ...]:
    if record.world is None:
        raise StorageError(f"trial {record.trial} of {record.domain} names no world: it is of another suite")
    _, coordinate = parse_world_id(record.world)
    level, interface = coordinate.level, coordinate.interface.value
    return "all", level, interface, f"{level} {interface}"


def _group(results: Sequence[Mapping[str, Any]]) -> GroupSummary:
    count = len(results)

    def share(name: str) -> float:
        return sum(float(result[name]) for result in results) / count

    outcomes = {outcome.value: 0 for outcome in Outcome}
    for result in results:
        outcomes[result["outcome"]] = outcomes.get(result["outcome"], 0) + 1
    return GroupSummary(
        worlds=count,
        exact=share("exact"),
        feasible=share("feasible"),
        utility=share("utility"),
        sufficient=share("sufficient"),
        coverage=share("coverage"),
        calls=share("calls"),
        spend=share("spend"),
        budget_share=sum(r["spend"] / r["budget"] for r in results) / count,
        outcomes=outcomes,
        uninformed=sum(not r["exact"] and not r["sufficient"] for r in results),
        misreasoned=sum(not r["exact"] and r["sufficient"] for r in results),
        lucky=sum(r["exact"] and not r["sufficient"] for r in results),
    )
