"""Verification solver of transit routing: dense relaxation, from the destination back.

B_i[a][q] is the least cost of stages i+1..d-1 after a leg on line a at stage i, when the residues of
those stages sum to q. All d p M nodes are held, none is sorted, nothing stops early:

    B_{d-1}[a][0] = 0
    B_{i-1}[a][q] = min over legs j of stage i of C[a][line j] + t_ij + B_i[line j][(q - r_ij) mod M]

It shares nothing with the construction but the instance: other direction, other states (lines in
place of legs), and the route is read from the front. Exactness as there: sums below 2^61, infinity
2^62.
"""

from __future__ import annotations

import numpy as np

from beeline.world_solution import Solution
from domains.worlds.transit_routing.instance import Transit

__all__ = ["verify"]

FAR = np.int64(2**62)


def verify(instance: Transit) -> Solution:
    """The optimum, one optimal route (smallest leg positions from the first stage on) and the number
    of optima up to 2."""
    d, k = instance.times.shape
    p, modulus = len(instance.lines), instance.modulus
    rest = np.full((d, p, modulus), FAR)
    rest[d - 1, :, 0] = 0
    ways = (rest[d - 1] < FAR).astype(np.int8)
    for i in range(d - 1, 0, -1):
        best = np.full((p, modulus), FAR)
        number = np.zeros((p, modulus), dtype=np.int8)
        for j in range(k):
            line, residue = int(instance.line_of[i, j]), int(instance.residues[i, j])
            tail = np.roll(rest[i, line], residue)
            tail = np.where(tail < FAR, tail + instance.times[i, j], FAR)
            candidate = tail[None, :] + instance.costs[:, line][:, None]
            arriving = np.roll(ways[line], residue)[None, :]
            less = candidate < best
            number = np.where(less, arriving, np.minimum(number + (candidate == best) * arriving, 2))
            best = np.where(less, candidate, best)
        rest[i - 1], ways = best, number.astype(np.int8)
    # The first stage, in plain integers.
    total, optima = None, 0
    for leg in instance.legs[0]:
        node = leg.line, (instance.required - leg.residue) % modulus
        if rest[0][node] >= FAR:
            continue
        here = leg.time + int(rest[0][node])
        if total is None or here < total:
            total, optima = here, int(ways[node])
        elif here == total:
            optima += int(ways[node])
    if total is None:
        return Solution(None, None, 0)
    offset = int(instance.times.min(axis=1).sum()) - 1
    return Solution(_walk(instance, rest, total), total - offset, min(optima, 2))


def _walk(instance: Transit, rest: np.ndarray[tuple[int, ...], np.dtype[np.int64]], left: int) -> list[str]:
    """The route with the smallest leg positions, from the front, that costs ``left``."""
    need, line, route = instance.required, None, []
    for i, stage in enumerate(instance.legs):
        for leg in stage:
            after = (need - leg.residue) % instance.modulus
            change = 0 if line is None else instance.transfers[line][leg.line]
            if rest[i, leg.line, after] < FAR and change + leg.time + int(rest[i, leg.line, after]) == left:
                break
        left, need, line = int(rest[i, leg.line, after]), after, leg.line
        route.append(leg.id)
    return route
