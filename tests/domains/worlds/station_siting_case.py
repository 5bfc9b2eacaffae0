"""What the shared checks need to know of station siting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

from beeline.draws import Draws
from beeline.world_solution import Work
from domains.worlds.families import UNCERTIFIED
from domains.worlds.station_siting import StationSiting
from domains.worlds.station_siting.generate import Size, generate
from domains.worlds.station_siting.instance import Siting
from tests.domains.worlds.contract import Case

Key = tuple[tuple[int, ...], int]
"""Options of the last zones, the oldest first, and how many zones are basic."""


class SitingCase(Case):
    domain = StationSiting("reference", UNCERTIFIED)
    sizes: ClassVar = {"L1": 326, "L2": 306, "L3": 284, "L4": 291}
    unordered = True

    def small(self, draws: Draws) -> Siting:
        """Two to seven zones, any limit. A third as generated, so saturated; a third saturated too, with
        nearly equal numbers and demands for any options, so that totals tie; a third with small numbers
        and demands for any options, seldom saturated."""
        n = 2 + draws.below(6)
        size = Size(n, 1 + draws.below(n - 1), draws.below(n + 1), 5 + draws.below(600))
        made = generate(size, draws)
        kind = draws.below(3)
        if kind == 0:
            return made
        if kind == 1:
            zones = [z._replace(costs=(10**6 + draws.below(2), 1)) for z in made.zones]
            demands = [
                d._replace(left_option=draws.below(2), right_option=draws.below(2), reward=1 + draws.below(2))
                for d in made.demands
            ]
        else:
            zones = [z._replace(costs=(1 + draws.below(6), 1 + draws.below(6))) for z in made.zones]
            demands = [
                d._replace(left_option=draws.below(2), right_option=draws.below(2), reward=1 + draws.below(5))
                for d in made.demands
            ]
        return replace(made, zones=tuple(zones), demands=tuple(demands))

    def decisions(self, instance: Siting) -> Iterator[Any]:
        for sites in product(*(zone.sites for zone in instance.zones)):
            yield list(sites)

    def plain_work(self, instance: Siting) -> Work:
        """The algorithm of solve.py, one state at a time."""
        limit = len(instance.zones) - instance.most_extended
        between = {(demand.left, demand.right): demand for demand in instance.demands}
        layer: dict[Key, int] = {((), 0): 0}
        states, transitions, checks, updates = 1, 0, 0, 0
        for i, zone in enumerate(instance.zones):
            after: dict[Key, int] = {}
            for (options, basic), value in sorted(layer.items()):
                first = i - len(options)
                for option in (0, 1):
                    transitions += 1
                    count = basic + (option == 0)
                    checks += 1
                    if count > limit:
                        if instance.saturated:
                            continue
                        count = limit
                    candidate = value - zone.costs[option]
                    for place, earlier in enumerate(options, first):
                        demand = between[place, i]
                        checks += 1
                        if demand.right_option != option:
                            continue
                        checks += 1
                        if demand.left_option == earlier:
                            candidate += demand.reward
                    key = (*options, option)[-instance.bandwidth :], count
                    checks += 1
                    if key not in after or candidate > after[key]:
                        after[key] = candidate
                        updates += 1
            layer = after
            states += len(layer)
        return Work(states, transitions, checks, updates, len(instance.zones))


CASE = SitingCase()
