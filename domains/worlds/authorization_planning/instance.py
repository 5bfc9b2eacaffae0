"""The hidden instance of authorization planning, its JSON form and its checker.

Stages 0..n-1 follow each other, each with w plays. A play has a base cost b, an adjustment a that the
override policy makes, and a clearance residue r. A handoff leads from the source to every play of stage 0,
and from every play to g plays of the next stage; it has a cost k of its own. A package takes one play a
stage; it is legal when each step is a handoff that exists and its residues sum to R modulo M. Minimised is

    base costs + adjustments + handoff costs,

the one from the source included; nothing is subtracted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from beeline.errors import DomainError
from beeline.world import INFEASIBLE, Verdict

__all__ = ["SAFE", "Authorization", "Handoff", "Package", "Play", "check", "price", "resolve_plays"]

Ints = NDArray[np.int64]
SAFE = 2**61
"""The cost of every package stays below this, so that 64-bit arithmetic is exact and 2^62 can stand for
infinity."""


class Play(NamedTuple):
    """One play."""

    id: str
    base: int
    adjustment: int
    residue: int


class Handoff(NamedTuple):
    """An authorized step. ``before`` is a position in the stage before (0 for the source), ``after`` one
    in the stage that is entered."""

    before: int
    after: int
    cost: int


@dataclass(frozen=True)
class Authorization:
    """An instance. Plays of a stage are sorted by id, handoffs by their positions: the canonical order."""

    modulus: int
    required: int
    source: str
    stages: tuple[str, ...]
    """In order."""
    plays: tuple[tuple[Play, ...], ...]
    """By stage; every stage has as many."""
    handoffs: tuple[tuple[Handoff, ...], ...]
    """By the stage that they enter; those of stage 0 come from the source."""

    def __post_init__(self) -> None:
        n, w = len(self.stages), self.width
        if n < 2 or len(self.plays) != n or len(self.handoffs) != n or w < 1:
            raise DomainError("authorization_planning: two stages or more, each with plays, are needed")
        if any(len(stage) != w for stage in self.plays):
            raise DomainError("authorization_planning: every stage must have as many plays")
        for stage in self.plays:
            if any(one.id >= other.id for one, other in pairwise(stage)):
                raise DomainError("authorization_planning: plays must be sorted by id and different")
        if not 0 <= self.required < self.modulus:
            raise DomainError("authorization_planning: the required residue must be below the modulus")
        for play in (play for stage in self.plays for play in stage):
            if min(play.base, play.adjustment) < 0 or not 0 <= play.residue < self.modulus:
                raise DomainError(f"authorization_planning: play {play.id} has numbers out of range")
        if len(self.places) != n * w or self.source in self.places:
            raise DomainError("authorization_planning: the plays and the source must have different ids")
        for i, rows in enumerate(self.handoffs):
            self._check_handoffs(i, rows)
        dearest = sum(max(p.base + p.adjustment for p in stage) for stage in self.plays)
        if dearest + sum(max(row.cost for row in rows) for rows in self.handoffs) >= SAFE:
            raise DomainError("authorization_planning: costs of this size would not fit 64-bit sums")

    def _check_handoffs(self, stage: int, rows: tuple[Handoff, ...]) -> None:
        w, degree = self.width, self.degree if stage else self.width
        if any(one[:2] >= other[:2] for one, other in pairwise(rows)) or any(row.cost < 0 for row in rows):
            raise DomainError(
                f"authorization_planning: the handoffs into stage {stage} must be sorted, "
                "different and not negative"
            )
        leaving = Counter(row.before for row in rows)
        if leaving != dict.fromkeys(range(w if stage else 1), degree):
            raise DomainError(
                f"authorization_planning: as many handoffs must leave each play before stage {stage}"
            )
        if {row.after for row in rows} != set(range(w)):
            raise DomainError(f"authorization_planning: each play of stage {stage} must be entered")

    @property
    def width(self) -> int:
        """Plays a stage, w."""
        return len(self.plays[0]) if self.plays else 0

    @property
    def degree(self) -> int:
        """Handoffs that leave a play, g (those of the last stage have none)."""
        return len(self.handoffs[1]) // self.width

    @cached_property
    def totals(self) -> Ints:
        """[stage, play]: base cost and adjustment together."""
        return np.array([[p.base + p.adjustment for p in stage] for stage in self.plays], dtype=np.int64)

    @cached_property
    def residues(self) -> Ints:
        """[stage, play]."""
        return np.array([[play.residue for play in stage] for stage in self.plays], dtype=np.int64)

    @cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """Stage and position of each play id."""
        return {play.id: (i, j) for i, stage in enumerate(self.plays) for j, play in enumerate(stage)}

    @cached_property
    def costs(self) -> tuple[dict[tuple[int, int], int], ...]:
        """By stage entered: the cost of each handoff by its two positions."""
        return tuple({(row.before, row.after): row.cost for row in rows} for rows in self.handoffs)

    def ids(self, positions: list[int]) -> list[str]:
        """The play ids of one position a stage."""
        return [stage[j].id for stage, j in zip(self.plays, positions, strict=True)]

    def as_json(self) -> dict[str, Any]:
        """Interface-neutral JSON data."""
        return {
            "modulus": self.modulus,
            "required": self.required,
            "source": self.source,
            "stages": list(self.stages),
            "plays": [[list(play) for play in stage] for stage in self.plays],
            "handoffs": [[list(row) for row in rows] for rows in self.handoffs],
        }

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Authorization:
        """Inverse of :meth:`as_json`."""
        return cls(
            data["modulus"],
            data["required"],
            data["source"],
            tuple(data["stages"]),
            tuple(tuple(Play(*play) for play in stage) for stage in data["plays"]),
            tuple(tuple(Handoff(*row) for row in rows) for rows in data["handoffs"]),
        )


class Package(NamedTuple):
    """What one play a stage costs."""

    base: int
    adjustment: int
    authorization: int
    residue: int

    @property
    def total(self) -> int:
        """What is minimised."""
        return self.base + self.adjustment + self.authorization


def resolve_plays(instance: Authorization, value: Any) -> list[int] | None:
    """The positions, by stage, of a list of play ids in any order with one play a stage; None when it is
    anything else."""
    if not isinstance(value, list) or len(value) != len(instance.stages):
        return None
    found: dict[int, int] = {}
    for name in value:
        place = instance.places.get(name) if isinstance(name, str) else None
        if place is None:
            return None
        found[place[0]] = place[1]
    if len(found) != len(instance.stages):
        return None
    return [found[i] for i in range(len(instance.stages))]


def price(instance: Authorization, positions: list[int]) -> Package | None:
    """What a package costs, whatever its residue; None when a step of it is not authorized."""
    plays = [stage[j] for stage, j in zip(instance.plays, positions, strict=True)]
    steps = zip(instance.costs, [0, *positions], positions, strict=False)
    handoffs = [costs.get((before, after)) for costs, before, after in steps]
    return (
        None
        if None in handoffs
        else Package(
            base=sum(play.base for play in plays),
            adjustment=sum(play.adjustment for play in plays),
            authorization=sum(cost for cost in handoffs if cost is not None),
            residue=sum(play.residue for play in plays) % instance.modulus,
        )
    )


def check(instance: Authorization, value: Any) -> Verdict:
    """The checker: one known play a stage in any order, every step authorized, the required residue."""
    positions = resolve_plays(instance, value)
    package = None if positions is None else price(instance, positions)
    if package is None or package.residue != instance.required:
        return INFEASIBLE
    return Verdict(True, package.total)
