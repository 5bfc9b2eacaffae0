"""Construction solver of transit routing: a program over residues and last legs.

F_i[j][m] is the least cost of a choice for stages 0..i that takes leg j at stage i with residue sum m:

    F_i[j][m] = t_ij + min over legs a of stage i-1 of F_{i-1}[a][(m - r_ij) mod M] + C[line a][line j]

For each leg j, predecessors are scanned in the order of (C[line a][line j], survey order of the line,
leg order). Work of that scan:

- states: (stage, leg, residue) with a finite value;
- transitions: pairs of a finite state and a leg of the next stage;
- checks: (d-1) k M tests whether a residue class is reached, k tests of the last residue, and
  p^2 ceil(log2 p) comparisons to sort predecessors;
- updates: the k values of stage 0, and each strict improvement during a scan;
- reconstructions: d.

Exact: all sums are below 2^61 (checked by the instance), infinity is 2^62, and infinity plus a
transfer cost stays below 2^63 and above every finite value. Time O(d k^2 M), vectorised over (leg,
residue); memory 9 d k M bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beeline.draws import Draws
from beeline.world_solution import Solution, Work
from domains.worlds.transit_routing.instance import Transit

__all__ = ["INFINITE", "random_route", "reference", "solve"]

INFINITE = np.int64(2**62)


def solve(instance: Transit) -> Solution:
    """The optimum, its first route in canonical order (smallest leg positions from the last stage
    back), the number of optima up to 2, and the work."""
    times, residues, line_of, costs = instance.times, instance.residues, instance.line_of, instance.costs
    d, k = times.shape
    p, modulus = len(costs), instance.modulus
    legs, classes = np.arange(k), np.arange(modulus)
    value = np.full((d, k, modulus), INFINITE)
    value[0, legs, residues[0]] = times[0]
    count = (value[0] < INFINITE).astype(np.uint8)
    states = transitions = 0
    updates = k
    for i in range(1, d):
        before = value[i - 1]
        finite = int(np.count_nonzero(before < INFINITE))
        states += finite
        transitions += finite * k
        change = costs[line_of[i - 1]][:, line_of[i]]  # [predecessor, leg]
        by_line = np.lexsort((legs, line_of[i - 1]))
        order = by_line[np.argsort(change[by_line], axis=0, kind="stable")]
        best = np.full((k, modulus), INFINITE)
        ways = np.zeros((k, modulus), dtype=np.uint8)
        for row in order:  # the s-th predecessor of every leg at once
            candidate = before[row] + change[row, legs][:, None]
            improved = candidate < best
            updates += int(np.count_nonzero(improved))
            same = candidate == best
            np.minimum(best, candidate, out=best)
            arriving = count[row]
            ways = np.where(improved, arriving, np.minimum(ways + same * arriving, 2)).astype(np.uint8)
        source = (classes[None, :] - residues[i][:, None]) % modulus
        shifted = np.take_along_axis(best, source, axis=1)
        value[i] = np.where(shifted < INFINITE, shifted + times[i][:, None], INFINITE)
        count = np.take_along_axis(ways, source, axis=1)
    states += int(np.count_nonzero(value[d - 1] < INFINITE))
    checks = (d - 1) * k * modulus + k + p * p * (p - 1).bit_length()
    work = Work(states, transitions, checks, updates, d)
    last = value[d - 1, :, instance.required]
    least = last.min()
    if least >= INFINITE:
        return Solution(None, None, 0, work)
    optima = min(2, int(count[last == least, instance.required].sum()))
    route = _trace_back(instance, value, int(last.argmin()))
    ids = [instance.legs[i][j].id for i, j in enumerate(route)]
    return Solution(ids, int(least) - instance.offset, optima, work)


def _trace_back(instance: Transit, value: NDArray[np.int64], leg: int) -> list[int]:
    residue = instance.required
    route = [leg]
    for i in range(len(instance.legs) - 1, 0, -1):
        left = value[i, leg, residue] - instance.times[i, leg]
        residue = (residue - int(instance.residues[i, leg])) % instance.modulus
        change = instance.costs[instance.line_of[i - 1], instance.line_of[i, leg]]
        leg = int(np.argmax(value[i - 1, :, residue] + change == left))
        route.append(leg)
    return route[::-1]


def reference(instance: Transit) -> list[str] | None:
    """Least travel time under the residue constraint, transfer costs ignored; of equal ones, the
    smallest leg ids from the first stage on. None when no route is legal."""
    modulus = instance.modulus
    classes = np.arange(modulus)
    d = len(instance.legs)
    rest = np.full((d + 1, modulus), INFINITE)  # rest[i][q]: stages i.. with residue sum q
    rest[d, 0] = 0
    for i in range(d - 1, -1, -1):
        source = (classes[None, :] - instance.residues[i][:, None]) % modulus
        after = rest[i + 1][source]
        rest[i] = np.where(after < INFINITE, after + instance.times[i][:, None], INFINITE).min(axis=0)
    if rest[0, instance.required] >= INFINITE:
        return None
    residue, route = instance.required, []
    for i, stage in enumerate(instance.legs):
        for leg in stage:
            after = (residue - leg.residue) % modulus
            if rest[i + 1, after] < INFINITE and leg.time + int(rest[i + 1, after]) == int(rest[i, residue]):
                break
        residue = after
        route.append(leg.id)
    return route


def random_route(instance: Transit, draws: Draws) -> list[str] | None:
    """One leg a stage, each drawn among those from which the required residue can still be reached.
    None when no route is legal."""
    modulus = instance.modulus
    d = len(instance.legs)
    reach = np.zeros((d + 1, modulus), dtype=bool)
    reach[d, 0] = True
    for i in range(d - 1, -1, -1):
        for residue in sorted({leg.residue for leg in instance.legs[i]}):
            reach[i] |= np.roll(reach[i + 1], residue)
    if not reach[0, instance.required]:
        return None
    residue, route = instance.required, []
    for i, stage in enumerate(instance.legs):
        leg = draws.choice([leg for leg in stage if reach[i + 1, (residue - leg.residue) % modulus]])
        residue = (residue - leg.residue) % modulus
        route.append(leg.id)
    return route
