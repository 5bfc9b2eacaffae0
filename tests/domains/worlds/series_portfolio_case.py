"""What the shared checks need to know of series portfolio."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, ClassVar

from beeline.draws import Draws
from beeline.facts import Call
from beeline.world_solution import Work
from domains.worlds.families import UNCERTIFIED
from domains.worlds.series_portfolio import SeriesPortfolio
from domains.worlds.series_portfolio.facts import directory
from domains.worlds.series_portfolio.generate import Size, generate
from domains.worlds.series_portfolio.instance import Portfolio, Series
from tests.domains.worlds.contract import Case


class SeriesCase(Case):
    domain = SeriesPortfolio("reference", UNCERTIFIED)
    sizes: ClassVar = {"L1": 381, "L2": 732, "L3": 1177, "L4": 1458}
    unordered = True

    def small(self, draws: Draws) -> Portfolio:
        """Up to nine titles from the generator; or with values and series drawn anew: any members, some of
        them those of another series, and adjustments so small that totals tie."""
        titles = 2 + draws.below(8)
        made = generate(Size(titles, 2 + draws.below(titles - 1)), draws)
        if draws.below(3) == 0:
            return made
        plain = [
            title._replace(
                zero=title.zero._replace(value=1 + draws.below(3)),
                one=title.one._replace(value=1 + draws.below(3)),
            )
            for title in made.titles
        ]
        series = []
        for number in range(1 + draws.below(30)):
            count = 2 + draws.below(2) if titles > 2 else 2
            members = sorted(draws.sample(range(titles), count))
            table = [draws.below(9) - 4 for _ in range(2**count)]
            if len(set(table)) == 1:
                table[-1] += 1
            series.append(Series(f"SER-{number * 7 % 31:02}", tuple(members), tuple(table)))
        return Portfolio(tuple(plain), tuple(series))

    def decisions(self, instance: Portfolio) -> Iterator[Any]:
        """One lot of each title."""
        for lots in product(*((title.zero.id, title.one.id) for title in instance.titles)):
            yield list(lots)

    def plain_work(self, instance: Portfolio) -> Work:
        """The algorithm of solve.py with states as tuples of choices in dictionaries."""
        span = max(row.members[-1] - row.members[0] + 1 for row in instance.series)
        stored: list[dict[tuple[int, ...], int]] = [{(): 0}]
        states, transitions, checks, updates = 1, 0, 0, 0  # the start
        before: list[dict[tuple[int, ...], tuple[int, ...]]] = []
        for i, title in enumerate(instance.titles):
            after: dict[tuple[int, ...], int] = {}
            came: dict[tuple[int, ...], tuple[int, ...]] = {}
            for state, value in stored[-1].items():
                states += 1
                for choice in (0, 1):
                    transitions += 1
                    last = (*state, choice)
                    total = value + title.gains[choice]
                    for row in instance.series:
                        if row.members[-1] != i:
                            continue
                        code = 0
                        places = row.members if len(row.members) == 3 else (row.members[0], *row.members)
                        for member in places:
                            checks += 1
                            code = 2 * code + last[member - i - 1]
                        total += row.adjustments[code % len(row.adjustments)]
                        updates += 1
                    kept = last[max(0, len(last) - span + 1) :]
                    if kept not in after or total > after[kept]:
                        after[kept] = total
                        came[kept] = last
            stored.append(after)
            before.append(came)
        states += 1  # the end
        state = max(stored[-1], key=lambda state: stored[-1][state])
        assert stored[-1][state] == self.domain.solve(instance).objective
        choices = []
        for came in reversed(before):
            last = came[state]
            choices.append(last[-1])
            state = last[:-1]
        return Work(states, transitions, checks, updates, len(choices))

    def directory(self, instance: Portfolio) -> Sequence[Call]:
        """The index of each title."""
        return directory(instance)


CASE = SeriesCase()
