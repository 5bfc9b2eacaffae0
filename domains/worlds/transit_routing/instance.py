"""The hidden instance of transit routing, its JSON form and its checker.

Stations 0..d stand in a chain. Stage i leads from station i to i+1 and offers k legs; leg j has a
travel time t, a ticket residue r and a line. Changing from line a to line b between two stages
costs C[a][b], 0 when a = b. A route takes one leg a stage; it is legal when its residues sum to R
modulo M. Minimised is

    travel times + transfer costs - (sum over stages of the least travel time) + 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from beeline.errors import DomainError
from beeline.world import INFEASIBLE, Verdict

__all__ = ["Leg", "Route", "Transit", "price", "resolve_legs"]

Ints = NDArray[np.int64]
SAFE = 2**61
"""Sums stay below this, so that 64-bit arithmetic is exact and 2^62 can stand for infinity."""


class Leg(NamedTuple):
    """One leg. ``line`` is a position in the list of lines."""

    id: str
    time: int
    residue: int
    line: int


@dataclass(frozen=True)
class Transit:
    """An instance. Legs of a stage are sorted by id, which is their canonical order."""

    modulus: int
    required: int
    stations: tuple[str, ...]
    lines: tuple[str, ...]
    """In the order of the survey."""
    legs: tuple[tuple[Leg, ...], ...]
    """By stage; every stage has as many."""
    transfers: tuple[tuple[int, ...], ...]
    """[from line][to line]; 0 on the diagonal."""

    def __post_init__(self) -> None:
        longest = sum(max(leg.time for leg in stage) for stage in self.legs)
        dearest = max(map(max, self.transfers)) * len(self.legs)
        if longest + dearest >= SAFE:
            raise DomainError("transit_routing: costs of this size would not fit 64-bit sums")

    @property
    def offset(self) -> int:
        """What the objective subtracts."""
        return sum(min(leg.time for leg in stage) for stage in self.legs) - 1

    @cached_property
    def times(self) -> Ints:
        """[stage, leg]."""
        return np.array([[leg.time for leg in stage] for stage in self.legs], dtype=np.int64)

    @cached_property
    def residues(self) -> Ints:
        """[stage, leg]."""
        return np.array([[leg.residue for leg in stage] for stage in self.legs], dtype=np.int64)

    @cached_property
    def line_of(self) -> Ints:
        """[stage, leg]."""
        return np.array([[leg.line for leg in stage] for stage in self.legs], dtype=np.int64)

    @cached_property
    def costs(self) -> Ints:
        """[from line, to line]."""
        return np.array(self.transfers, dtype=np.int64)

    @cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """Stage and position of each leg id."""
        return {leg.id: (i, j) for i, stage in enumerate(self.legs) for j, leg in enumerate(stage)}

    def as_json(self) -> dict[str, Any]:
        """Interface-neutral JSON data."""
        return {
            "modulus": self.modulus,
            "required": self.required,
            "stations": list(self.stations),
            "lines": list(self.lines),
            "legs": [[list(leg) for leg in stage] for stage in self.legs],
            "transfers": [list(row) for row in self.transfers],
        }

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Transit:
        """Inverse of :meth:`as_json`."""
        return cls(
            data["modulus"],
            data["required"],
            tuple(data["stations"]),
            tuple(data["lines"]),
            tuple(tuple(Leg(*leg) for leg in stage) for stage in data["legs"]),
            tuple(tuple(row) for row in data["transfers"]),
        )


class Route(NamedTuple):
    """What a list of legs costs."""

    transfers: int
    travel_time: int
    transfer_cost: int
    residue: int

    @property
    def raw(self) -> int:
        """Travel time and transfer cost together."""
        return self.travel_time + self.transfer_cost


def resolve_legs(instance: Transit, value: Any) -> list[Leg] | None:
    """The legs that a decision names, one a stage in order; None when it is anything else."""
    if not isinstance(value, list) or len(value) != len(instance.legs):
        return None
    found = []
    for stage, leg in enumerate(value):
        place = instance.places.get(leg) if isinstance(leg, str) else None
        if place is None or place[0] != stage:
            return None
        found.append(instance.legs[stage][place[1]])
    return found


def price(instance: Transit, legs: list[Leg]) -> Route:
    """What a route costs, legal or not."""
    pairs = [(a.line, b.line) for a, b in pairwise(legs)]
    return Route(
        transfers=sum(a != b for a, b in pairs),
        travel_time=sum(leg.time for leg in legs),
        transfer_cost=sum(instance.transfers[a][b] for a, b in pairs),
        residue=sum(leg.residue for leg in legs) % instance.modulus,
    )


def check(instance: Transit, value: Any) -> Verdict:
    """The checker: one known leg a stage, in stage order, with the required residue."""
    legs = resolve_legs(instance, value)
    if legs is None:
        return INFEASIBLE
    route = price(instance, legs)
    if route.residue != instance.required:
        return INFEASIBLE
    return Verdict(True, route.raw - instance.offset)
