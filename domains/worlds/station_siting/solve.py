"""Construction solver of station siting: the frontier of the band, forward, with a count of basic zones.

After zone i all that matters is which options the last ``bandwidth`` zones have, s, and how many zones are
basic so far, z. A layout is legal exactly when at least h = zones - ``most_extended`` zones are basic, so z
need not be told above h:

    f(before the first zone; nothing, 0) = 0
    f(i; s with b, count(z, b)) = max over the oldest option in s of
        f(i-1; s, z) - cost(i, b) + rewards of demands between i and zones of s that s and b meet

with s cut to its last ``bandwidth`` options and count(z, 1) = z. The optimum is the greatest
f(last zone; s, h). In a **saturated** instance every optimal layout has exactly h basic zones, so
count(z, 0) = z + 1 and candidates above h are dropped. Else count(z, 0) = min(z + 1, h). Work:

- states: reachable (s, z) of each layer, the empty and the last one included;
- transitions: both options from every state but those of the last layer;
- checks: one test of the count for each candidate; for each one that is kept, one test of the new zone's
  option for each demand that closes there, a second test, of the earlier zone, where the first holds, and
  one comparison with the value stored;
- updates: values stored for the first time or raised, states in ascending order of (s, z);
- reconstructions: zones.

A layer is a table of h + 1 rows by all option strings, the newest option in the lowest bit. Two strings that
differ only in their oldest option lie half a table apart, so a layer is made of its predecessor by adding
and comparing halves. Each layout takes one path; optimal ones are counted along, up to 2.

Exact: costs and rewards together are below 2^61 (checked by the instance), minus infinity is -2^62, and only
reached cells are ever extended. Time and memory O(zones (h + 1) 2^bandwidth).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beeline.draws import Draws
from beeline.world_solution import Solution, Work
from domains.worlds.station_siting.instance import Siting, sites_of

__all__ = ["random_layout", "reference", "solve"]

NEVER = -(2**62)
Ints = NDArray[np.int64]
Counts = NDArray[np.uint8]


class _Layer(NamedTuple):
    """Values and numbers of optimal ways, up to 2 (0: not reachable), by z and s."""

    value: Ints
    ways: Counts


def solve(instance: Siting) -> Solution:
    """The optimum, its sites in corridor order (of several layouts, the one traced back through the first
    states in ascending order), the number of optima up to 2, and the work."""
    basic = instance.least_basic
    layer = _Layer(np.full((basic + 1, 1), NEVER), np.zeros((basic + 1, 1), dtype=np.uint8))
    layer.value[0, 0], layer.ways[0, 0] = 0, 1
    values, gains = [layer.value], []
    states, transitions, checks, updates = 1, 0, 0, 0
    for i in range(len(instance.zones)):
        transitions += 2 * (here := int(np.count_nonzero(layer.ways)))
        kept = here - int(np.count_nonzero(layer.ways[basic])) * instance.saturated, here
        closing = instance.closing[i]
        checks += 2 * here + sum(kept) * (len(closing) + 1)
        checks += sum(kept[demand.right_option] for demand in closing)
        gains.append((_gain(instance, i, 0), _gain(instance, i, 1)))
        layer, improved = _extend(layer, gains[i], i >= instance.bandwidth, instance.saturated)
        updates += improved
        states += int(np.count_nonzero(layer.ways))
        values.append(layer.value)

    last, ways = layer.value[basic], layer.ways[basic]
    best = int(last.max())
    ends = np.flatnonzero(last == best)
    optima = min(2, int(ways[ends].sum()))
    options = _trace(instance, values, gains, int(ends[0]))
    work = Work(states, transitions, checks, updates, len(options))
    return Solution(sites_of(instance, options), best - instance.baseline, optima, work)


def _gain(instance: Siting, i: int, option: int) -> Ints:
    """For each string of options before zone i: rewards paid to an option of zone i, less its cost."""
    gain = np.full(1, -instance.zones[i].costs[option], dtype=np.int64)
    for demand in instance.closing[i]:  # oldest first: each next zone is the next lower bit
        paid = np.zeros(2, dtype=np.int64)
        if demand.right_option == option:
            paid[demand.left_option] = demand.reward
        gain = (gain[:, np.newaxis] + paid).ravel()
    return gain


def _extend(layer: _Layer, gains: tuple[Ints, Ints], full: bool, saturated: bool) -> tuple[_Layer, int]:
    """The next layer and the number of updates. ``full``: the oldest option leaves the string."""
    rows, width = layer.value.shape
    half = width // 2 if full else width
    # Split by the new option; joined to one axis below, where it becomes the lowest bit.
    value = np.full((rows, half, 2), NEVER)
    ways = np.zeros((rows, half, 2), dtype=np.uint8)
    updates = 0
    for start in range(0, width, half):
        part = slice(start, start + half)
        for option in (0, 1):
            offered = layer.value[:, part] + gains[option][part]
            number = layer.ways[:, part]
            to = _Layer(value[:, :, option], ways[:, :, option])
            if option == 1:
                updates += _offer(to, offered, number)
                continue
            updates += _offer(_Layer(to.value[1:], to.ways[1:]), offered[:-1], number[:-1])
            if not saturated:
                updates += _offer(_Layer(to.value[-1:], to.ways[-1:]), offered[-1:], number[-1:])
    return _Layer(value.reshape(rows, 2 * half), ways.reshape(rows, 2 * half)), updates


def _offer(to: _Layer, offered: Ints, number: Counts) -> int:
    """Keep what is better than stored, in place; returns how many cells that were."""
    reached = number > 0
    better = (offered > to.value) & reached
    equal = (offered == to.value) & reached
    np.copyto(to.value, offered, where=better)
    np.copyto(to.ways, np.minimum(to.ways + number, 2), where=equal)
    np.copyto(to.ways, number, where=better)
    return int(np.count_nonzero(better))


def _trace(instance: Siting, values: list[Ints], gains: list[tuple[Ints, Ints]], string: int) -> list[int]:
    """Options of a layout that ends with a string of options and h basic zones at its greatest value."""
    options: list[int] = []
    z = basic = instance.least_basic
    for i in range(len(instance.zones) - 1, -1, -1):
        here = int(values[i + 1][z, string])
        option, later = string & 1, string >> 1
        oldest = (0, 1 << (instance.bandwidth - 1)) if i >= instance.bandwidth else (0,)
        if option == 1:
            counts = [z]
        else:
            counts = [z - 1] if z > 0 else []
            counts += [z] if z == basic and not instance.saturated else []
        string, z = next(
            (before, count)
            for before in (old | later for old in oldest)
            for count in counts
            if values[i][count, before] != NEVER
            and int(values[i][count, before]) + int(gains[i][option][before]) == here
        )
        options.append(option)
    return options[::-1]


def reference(instance: Siting) -> list[str]:
    """The economics-only layout: best when no demand pays."""
    return sites_of(instance, instance.economics)


def random_layout(instance: Siting, draws: Draws) -> list[str]:
    """As many extended zones as are allowed, drawn; a layout with fewer would be far worse where extended
    sites are cheap."""
    extended = set(draws.sample(range(len(instance.zones)), instance.most_extended))
    return sites_of(instance, [int(i in extended) for i in range(len(instance.zones))])
