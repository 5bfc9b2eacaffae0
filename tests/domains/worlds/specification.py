"""What the specification says of a family's plans, to be compared with what the family makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from beeline.world import INDEXES, LEVELS, Coordinate, Interface
from beeline.world_domain import WorldDomain

Span = tuple[int, int]
"""Least and most over all instances."""


@dataclass(frozen=True, slots=True)
class Specified:
    """Equal in both interfaces, so one is looked at."""

    budgets: Mapping[str, tuple[int, int, int]]
    """Of instances 1, 2 and 3 by level."""
    calls: Span
    """Calls of a plan."""
    costs: Span
    """Cost of a plan."""
    full: Span
    """Cost of the full catalogue."""
    interface: Interface = Interface.DIRECT

    def check(self, domain: WorldDomain[Any]) -> None:
        """By the instances as they are first drawn: sizes do not depend on the attempt."""
        calls, costs, full = [], [], []
        for level, index in product(LEVELS, INDEXES):
            made = domain.generated(level, index, 1)
            world = domain.world(made, Coordinate(level, index, self.interface))
            assert world.budget == self.budgets[level][index - 1]
            for plan in domain.plans(made, self.interface):
                calls.append(len(plan.calls))
                costs.append(world.cost_of(plan.calls))
            full.append(world.cost_of(domain.catalogue(made, self.interface)))
        assert (min(calls), max(calls)) == self.calls
        assert (min(costs), max(costs)) == self.costs
        assert (min(full), max(full)) == self.full
