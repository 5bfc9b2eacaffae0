"""The hidden instance of series portfolio, its JSON form and its checker.

Titles stand in a fixed order. Each has two lots, choice 0 (the lot whose id sorts first) and choice 1, with
a base value each. A series names two or three titles by position and has an adjustment, often negative, for
every combination of their choices. A decision takes one lot of each title. Maximised is

    sum over titles of (value of the chosen lot - smaller value of the two)
    + sum over series of the adjustment of the combination chosen.

The span of a series is the number of positions from its first to its last title, both included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from beeline.errors import DomainError
from beeline.world import INFEASIBLE, Verdict

__all__ = ["Lot", "Portfolio", "Series", "Title", "check", "choices_of", "worth"]

SAFE = 2**61
"""The values of all lots and the largest adjustments together stay below this, so that 64-bit sums are
exact."""
MOST_SPAN = 20
"""The solvers hold tables of 2^span entries."""


class Lot(NamedTuple):
    """One lot."""

    id: str
    value: int


class Title(NamedTuple):
    """One title with its lots, choice 0 and choice 1: the smaller id first."""

    id: str
    zero: Lot
    one: Lot

    @property
    def gains(self) -> tuple[int, int]:
        """What each choice adds: its value above the smaller one."""
        least = min(self.zero.value, self.one.value)
        return self.zero.value - least, self.one.value - least


class Series(NamedTuple):
    """One series."""

    id: str
    members: tuple[int, ...]
    """Two or three positions of titles, ascending."""
    adjustments: tuple[int, ...]
    """4 or 8, by the choices of the members read as a binary number, the first member's digit highest."""

    @property
    def span(self) -> int:
        """Positions from the first to the last member, both included."""
        return self.members[-1] - self.members[0] + 1

    def adjustment(self, choices: list[int]) -> int:
        """The adjustment under the choices of all titles."""
        code = 0
        for place in self.members:
            code = 2 * code + choices[place]
        return self.adjustments[code]


@dataclass(frozen=True)
class Portfolio:
    """An instance; titles and series are in the order that the prompt states."""

    titles: tuple[Title, ...]
    series: tuple[Series, ...]

    def __post_init__(self) -> None:
        names = [title.id for title in self.titles]
        lots = [lot for title in self.titles for lot in (title.zero, title.one)]
        if not names or len(set(names)) != len(names):
            raise DomainError("series_portfolio: titles must be different, and at least one")
        if len({lot.id for lot in lots}) != len(lots):
            raise DomainError("series_portfolio: lots must be different")
        if any(title.zero.id > title.one.id for title in self.titles):
            raise DomainError("series_portfolio: the two lots of a title must be sorted by id")
        if any(type(lot.value) is not int or lot.value < 1 for lot in lots):
            raise DomainError("series_portfolio: the value of a lot must be an integer of 1 or more")
        if len({row.id for row in self.series}) != len(self.series):
            raise DomainError("series_portfolio: series must be different")
        for row in self.series:
            self._look_at(row)
        if self.span > MOST_SPAN:
            raise DomainError(f"series_portfolio: a series may span {MOST_SPAN} titles, not {self.span}")
        largest = sum(max(map(abs, row.adjustments)) for row in self.series)
        if sum(lot.value for lot in lots) + largest >= SAFE:
            raise DomainError("series_portfolio: values of this size would not fit 64-bit sums")

    def _look_at(self, row: Series) -> None:
        count = len(row.members)
        ascending = list(row.members) == sorted(set(row.members))
        if count not in (2, 3) or not ascending or not 0 <= row.members[0] <= row.members[-1] < self.size:
            raise DomainError(f"series_portfolio: series {row.id} must name two or three ascending positions")
        if len(row.adjustments) != 2**count or any(type(a) is not int for a in row.adjustments):
            raise DomainError(f"series_portfolio: series {row.id} needs {2**count} integer adjustments")
        if len(set(row.adjustments)) == 1:
            raise DomainError(f"series_portfolio: the adjustments of series {row.id} are all equal")

    @property
    def size(self) -> int:
        """How many titles there are."""
        return len(self.titles)

    @cached_property
    def span(self) -> int:
        """The largest span of a series; 1 without any."""
        return max((row.span for row in self.series), default=1)

    @cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """Position of the title and choice of each lot id."""
        return {
            lot.id: (i, choice)
            for i, title in enumerate(self.titles)
            for choice, lot in enumerate((title.zero, title.one))
        }

    def lots_of(self, choices: list[int]) -> list[str]:
        """The ids of the chosen lots in the order of the titles."""
        return [
            (title.one if choice else title.zero).id
            for title, choice in zip(self.titles, choices, strict=True)
        ]

    def as_json(self) -> dict[str, Any]:
        """Interface-neutral JSON data."""
        return {
            "titles": [[title.id, list(title.zero), list(title.one)] for title in self.titles],
            "series": [[row.id, list(row.members), list(row.adjustments)] for row in self.series],
        }

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Portfolio:
        """Inverse of :meth:`as_json`."""
        return cls(
            tuple(Title(name, Lot(*zero), Lot(*one)) for name, zero, one in data["titles"]),
            tuple(Series(name, tuple(places), tuple(table)) for name, places, table in data["series"]),
        )


def choices_of(instance: Portfolio, value: Any) -> list[int] | None:
    """The choice for each title that a decision names, in any order; None when it is anything else."""
    if not isinstance(value, list) or len(value) != instance.size:
        return None
    choices: list[int | None] = [None] * instance.size
    for lot in value:
        place = instance.places.get(lot) if isinstance(lot, str) else None
        if place is None or choices[place[0]] is not None:
            return None
        choices[place[0]] = place[1]
    # As many lots as titles, and none of them of the same title: every title has one.
    return [choice for choice in choices if choice is not None]


def worth(instance: Portfolio, choices: list[int]) -> int:
    """The objective, in plain integers."""
    gains = sum(title.gains[choice] for title, choice in zip(instance.titles, choices, strict=True))
    return gains + sum(row.adjustment(choices) for row in instance.series)


def check(instance: Portfolio, value: Any) -> Verdict:
    """The checker: a list of one known lot for each title, in any order."""
    choices = choices_of(instance, value)
    return INFEASIBLE if choices is None else Verdict(True, worth(instance, choices))
