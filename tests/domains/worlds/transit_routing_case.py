"""What the shared checks need to know of transit routing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import ceil, log2
from typing import Any, ClassVar

from beeline.draws import Draws
from beeline.world_solution import Work
from domains.worlds.families import UNCERTIFIED
from domains.worlds.transit_routing import TransitRouting
from domains.worlds.transit_routing.generate import Size, generate
from domains.worlds.transit_routing.instance import Transit
from tests.domains.worlds.contract import Case


class TransitCase(Case):
    domain = TransitRouting("reference", UNCERTIFIED)
    sizes: ClassVar = {"L1": 1755, "L2": 3107, "L3": 4843, "L4": 6963}
    unordered = False
    infeasible_happens = True

    def small(self, draws: Draws) -> Transit:
        """Two to four stages; in half of the instances all costs are tiny, so that totals tie."""
        size = Size(2 + draws.below(3), 1 + draws.below(4), 2 + draws.below(4), 1 + draws.below(5))
        instance = generate(size, draws)
        if draws.below(2):
            return instance
        stages = tuple(
            tuple(leg._replace(time=1 + draws.below(3)) for leg in stage) for stage in instance.legs
        )
        p = size.lines
        rows = tuple(tuple(0 if a == b else draws.below(3) for b in range(p)) for a in range(p))
        return replace(instance, legs=stages, transfers=rows)

    def decisions(self, instance: Transit) -> Iterator[Any]:
        for legs in product(*instance.legs):
            yield [leg.id for leg in legs]

    def plain_work(self, instance: Transit) -> Work:
        """The algorithm of solve.py in plain loops over dictionaries."""
        d, k, modulus = len(instance.legs), len(instance.legs[0]), instance.modulus
        p = len(instance.lines)
        states = transitions = checks = 0
        before = {}
        for j, leg in enumerate(instance.legs[0]):
            before[j, leg.residue] = leg.time
        updates = len(before)
        for i in range(1, d):
            states += len(before)
            now: dict[tuple[int, int], int] = {}
            for j, leg in enumerate(instance.legs[i]):
                order = sorted(
                    range(k),
                    key=lambda a: (
                        instance.transfers[instance.legs[i - 1][a].line][leg.line],
                        instance.legs[i - 1][a].line,
                        a,
                    ),
                )
                for m in range(modulus):
                    checks += 1
                    for a in order:
                        if (a, m) not in before:
                            continue
                        transitions += 1
                        change = instance.transfers[instance.legs[i - 1][a].line][leg.line]
                        cost = before[a, m] + change + leg.time
                        node = j, (m + leg.residue) % modulus
                        if node not in now or cost < now[node]:
                            now[node] = cost
                            updates += 1
            before = now
        states += len(before)
        checks += k + p * p * ceil(log2(p))
        return Work(states, transitions, checks, updates, d)


CASE = TransitCase()
