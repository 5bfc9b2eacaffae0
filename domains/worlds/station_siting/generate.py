"""Generator of station siting: a demand pattern that no cheap layout can serve whole.

One contiguous block of zones, as many as must stay basic, and the pattern "option 0 in the block, option 1
elsewhere"; each demand asks for what the pattern has in its two zones. Serving all demands would keep
exactly the block basic. But a basic site is dear, by a shuffled ladder of prices: the zones that are cheapest
to keep basic lie elsewhere, and each of them loses the demands that want it extended. Zones act on each
other through the band, so neither costs nor rewards alone decide.

The lowest step of the ladder exceeds all rewards that a zone can be paid (2 bandwidth demands of at most 149)
and the dearest extended site (20): every instance is saturated, see
:attr:`~domains.worlds.station_siting.instance.Siting.saturated`.
"""

from __future__ import annotations

from typing import NamedTuple

from beeline.draws import Draws
from domains.worlds.handles import make_handles
from domains.worlds.station_siting.instance import Demand, Siting, Zone, band

__all__ = ["SIZES", "Size", "generate"]

LEAST_REWARD = 100
REWARDS = 50
EXTENDED_COSTS = 20


class Size(NamedTuple):
    """Generator parameters."""

    zones: int
    bandwidth: int
    most_extended: int
    """H: at most so many sites have option 1; the others, at least h = zones - H, have option 0."""
    spread: int
    """From the lowest to the highest step of the ladder of basic costs."""


SIZES = {
    "L1": Size(42, 4, 36, 4_000),
    "L2": Size(24, 12, 19, 11_200),
    "L3": Size(21, 16, 15, 14_800),
    "L4": Size(21, 18, 13, 16_600),
}


def generate(size: Size, draws: Draws) -> Siting:
    """Draw an instance: block, costs of extended sites, ladder, rewards."""
    n = size.zones
    basic = n - size.most_extended
    start = draws.below(n - basic + 1)
    wanted = [int(not start <= i < start + basic) for i in range(n)]
    extended = [1 + draws.below(EXTENDED_COSTS) for _ in range(n)]
    ranks = list(range(n))
    draws.shuffle(ranks)
    lowest = 2 * size.bandwidth * (LEAST_REWARD + REWARDS - 1) + EXTENDED_COSTS + 2
    ladder = [lowest + size.spread * rank // (n - 1) for rank in ranks]

    zones = make_handles(draws, "zone", "ZON", n, 14)
    sites = make_handles(draws, "site", "STE", 2 * n, 14)
    pairs = band(n, size.bandwidth)
    demands = make_handles(draws, "demand", "DMD", len(pairs), 14)
    return Siting(
        size.bandwidth,
        size.most_extended,
        tuple(Zone(zones[i], (sites[2 * i], sites[2 * i + 1]), (ladder[i], extended[i])) for i in range(n)),
        tuple(
            Demand(name, i, j, wanted[i], wanted[j], LEAST_REWARD + draws.below(REWARDS))
            for name, (i, j) in zip(demands, pairs, strict=True)
        ),
    )
