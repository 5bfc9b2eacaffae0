"""The hidden instance of station siting, its JSON form and its checker.

Zones stand along a corridor; each has two sites, option 0 (basic) and option 1 (extended), each with a
positive operating cost. Any two zones that are at most ``bandwidth`` apart have one demand, which asks for
one site in each and pays its reward when both are chosen. A decision x chooses one site in each zone, at
most ``most_extended`` of them extended. Maximised is

    raw(x) - raw(economics-only layout),  raw(x) = rewards that are paid - operating costs of chosen sites

The **economics-only layout** looks at operating costs alone; it scores 0 and is the reference decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from beeline.errors import DomainError
from beeline.world import INFEASIBLE, Verdict

__all__ = ["SAFE", "Demand", "Siting", "Zone", "band", "check", "sites_of", "why_illegal"]

SAFE = 2**61
"""All costs and rewards together stay below this, so that 64-bit arithmetic is exact and 2^62 can stand
for infinity."""
MOST_STRINGS = 2**23
"""Zones times the option strings of a band; above it the tables of a solver would fill the memory."""


class Zone(NamedTuple):
    """One zone. ``sites`` and ``costs`` are those of option 0 and option 1."""

    id: str
    sites: tuple[str, str]
    costs: tuple[int, int]


class Demand(NamedTuple):
    """One demand, between the zones at positions ``left`` < ``right``."""

    id: str
    left: int
    right: int
    left_option: int
    right_option: int
    reward: int


def band(zones: int, bandwidth: int) -> list[tuple[int, int]]:
    """The pairs of zones that have a demand, by left zone, then by distance."""
    return [(i, j) for i in range(zones) for j in range(i + 1, min(i + bandwidth, zones - 1) + 1)]


@dataclass(frozen=True)
class Siting:
    """An instance. Zones are in corridor order, demands in that of :func:`band`."""

    bandwidth: int
    most_extended: int
    zones: tuple[Zone, ...]
    demands: tuple[Demand, ...]

    def __post_init__(self) -> None:
        n = len(self.zones)
        if not 1 <= self.bandwidth < n or not 0 <= self.most_extended <= n:
            raise DomainError(
                f"station_siting: {n} zones allow no bandwidth of {self.bandwidth} "
                f"and no limit of {self.most_extended}"
            )
        if n << self.bandwidth > MOST_STRINGS:
            raise DomainError(f"station_siting: a band of {self.bandwidth} is too wide to be solved exactly")
        if [(demand.left, demand.right) for demand in self.demands] != band(n, self.bandwidth):
            raise DomainError("station_siting: demands must be one for each pair of the band, in its order")
        handles = [zone.id for zone in self.zones] + [demand.id for demand in self.demands]
        handles += [site for zone in self.zones for site in zone.sites]
        if len(set(handles)) != len(handles):
            raise DomainError("station_siting: zones, sites and demands must have different ids")
        options = [option for demand in self.demands for option in (demand.left_option, demand.right_option)]
        if not all(type(option) is int and option in (0, 1) for option in options):
            raise DomainError("station_siting: a demand asks for option 0 or option 1")
        numbers = [cost for zone in self.zones for cost in zone.costs]
        numbers += [demand.reward for demand in self.demands]
        if not all(type(number) is int and number > 0 for number in numbers):
            raise DomainError("station_siting: costs and rewards must be 1 or more")
        if sum(numbers) >= SAFE:
            raise DomainError("station_siting: costs and rewards of this size would not fit 64-bit sums")

    @property
    def least_basic(self) -> int:
        """How many zones at least keep option 0."""
        return len(self.zones) - self.most_extended

    @cached_property
    def place(self) -> dict[str, tuple[int, int]]:
        """Zone position and option of each site."""
        return {
            site: (i, option) for i, zone in enumerate(self.zones) for option, site in enumerate(zone.sites)
        }

    @cached_property
    def closing(self) -> tuple[tuple[Demand, ...], ...]:
        """For each zone the demands whose right zone it is, the farthest left zone first."""
        found: list[list[Demand]] = [[] for _ in self.zones]
        for demand in self.demands:
            found[demand.right].append(demand)
        return tuple(map(tuple, found))

    @cached_property
    def saturated(self) -> bool:
        """Whether in each zone the extended site saves more than all demands that touch it could pay.

        Then exactly ``most_extended`` zones of every optimal layout are extended: in a layout with fewer,
        extending any further zone would gain."""
        touching = [0] * len(self.zones)
        for demand in self.demands:
            touching[demand.left] += demand.reward
            touching[demand.right] += demand.reward
        return all(
            zone.costs[0] - zone.costs[1] > paid for zone, paid in zip(self.zones, touching, strict=True)
        )

    @cached_property
    def economics(self) -> tuple[int, ...]:
        """Options of the economics-only layout: the cheaper one in each zone, option 0 when equal; of more
        than ``most_extended`` extended zones, those where option 0 costs least more go back to it, of
        equal ones the first."""
        options = [int(zone.costs[1] < zone.costs[0]) for zone in self.zones]
        extended = [i for i, option in enumerate(options) if option]
        extended.sort(key=lambda i: (self.zones[i].costs[0] - self.zones[i].costs[1], i))
        for i in extended[: max(0, len(extended) - self.most_extended)]:
            options[i] = 0
        return tuple(options)

    @cached_property
    def baseline(self) -> int:
        """Raw value of the economics-only layout."""
        return self.raw(self.economics)

    def raw(self, options: Sequence[int]) -> int:
        """Rewards paid less operating costs, of one option for each zone."""
        paid = sum(
            demand.reward
            for demand in self.demands
            if options[demand.left] == demand.left_option and options[demand.right] == demand.right_option
        )
        return paid - sum(zone.costs[option] for zone, option in zip(self.zones, options, strict=True))

    def as_json(self) -> dict[str, Any]:
        """Interface-neutral JSON data."""
        return {
            "bandwidth": self.bandwidth,
            "most_extended": self.most_extended,
            "zones": [[zone.id, list(zone.sites), list(zone.costs)] for zone in self.zones],
            "demands": [list(demand) for demand in self.demands],
        }

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Siting:
        """Inverse of :meth:`as_json`."""
        return cls(
            data["bandwidth"],
            data["most_extended"],
            tuple(Zone(name, tuple(sites), tuple(costs)) for name, sites, costs in data["zones"]),
            tuple(Demand(*row) for row in data["demands"]),
        )


def sites_of(instance: Siting, options: Sequence[int]) -> list[str]:
    """The chosen sites in corridor order."""
    return [zone.sites[option] for zone, option in zip(instance.zones, options, strict=True)]


def why_illegal(instance: Siting, value: Any) -> str | None:
    """What is wrong with a decision (any JSON value), or None when it is legal."""
    if not isinstance(value, list) or not all(isinstance(site, str) for site in value):
        return "sites must be a list of site ids"
    if len(set(value)) != len(value):
        return "a site is named twice"
    places = [instance.place[site] for site in value if site in instance.place]
    if len(places) != len(value):
        return "an id is not that of a site"
    if sorted(zone for zone, _ in places) != list(range(len(instance.zones))):
        return "each zone needs exactly one site"
    if sum(option for _, option in places) > instance.most_extended:
        return f"more than {instance.most_extended} sites have option 1"
    return None


def check(instance: Siting, value: Any) -> Verdict:
    """The checker: a list of one site for each zone, in any order, at most ``most_extended`` extended."""
    if why_illegal(instance, value) is not None:
        return INFEASIBLE
    options = [option for _, option in sorted(instance.place[site] for site in value)]
    return Verdict(True, instance.raw(options) - instance.baseline)
