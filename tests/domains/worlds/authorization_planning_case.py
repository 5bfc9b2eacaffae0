"""What the shared checks need to know of authorization planning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

from beeline.draws import Draws
from beeline.world_solution import Work
from domains.worlds.authorization_planning import AuthorizationPlanning
from domains.worlds.authorization_planning.generate import Size, generate
from domains.worlds.authorization_planning.instance import Authorization
from domains.worlds.families import UNCERTIFIED
from tests.domains.worlds.contract import Case


class AuthorizationCase(Case):
    domain = AuthorizationPlanning("reference", UNCERTIFIED)
    sizes: ClassVar = {"L1": 2633, "L2": 3953, "L3": 5653, "L4": 7781}
    unordered = True
    infeasible_happens = True

    def small(self, draws: Draws) -> Authorization:
        """Two to four stages of up to six plays with lanes as generated; or up to four plays with the
        residues drawn anew, so that there may be no legal package, and in half of these tiny costs, some of
        them 0, so that totals tie."""
        kind = draws.below(3)
        width = 1 + draws.below(4) if kind else 2 + draws.below(5)
        size = Size(2 + draws.below(3), width, 1 + draws.below(min(width, 3)), 1 + draws.below(6))
        made = generate(size, draws)
        if kind == 0:
            return made
        plays = tuple(
            tuple(play._replace(residue=draws.below(size.modulus)) for play in stage) for stage in made.plays
        )
        if kind == 1:
            return replace(made, plays=plays)
        return replace(
            made,
            plays=tuple(
                tuple(p._replace(base=draws.below(3), adjustment=draws.below(2)) for p in stage)
                for stage in plays
            ),
            handoffs=tuple(
                tuple(row._replace(cost=draws.below(3)) for row in rows) for rows in made.handoffs
            ),
        )

    def decisions(self, instance: Authorization) -> Iterator[Any]:
        for plays in product(*instance.plays):
            yield [play.id for play in plays]

    def plain_work(self, instance: Authorization) -> Work:
        """The algorithm of solve.py in plain loops over dictionaries."""
        transitions = checks = updates = states = 0
        before: dict[tuple[int, int], int] = {(0, 0): 0}  # the source
        for plays, rows in zip(instance.plays, instance.handoffs, strict=True):
            now: dict[tuple[int, int], int] = {}
            for u, residue in sorted(before):
                for row in rows:
                    if row.before != u:
                        continue
                    transitions += 1
                    play = plays[row.after]
                    cost = before[u, residue] + row.cost + play.base + play.adjustment
                    state = row.after, (residue + play.residue) % instance.modulus
                    checks += 1
                    if state not in now or cost < now[state]:
                        now[state] = cost
                        updates += 1
            states += len(now)
            before = now
        return Work(states, transitions, checks, updates, len(instance.stages))


CASE = AuthorizationCase()
