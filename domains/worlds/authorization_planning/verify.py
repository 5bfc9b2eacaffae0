"""Verification solver of authorization planning: a reverse program over suffixes.

B_i[u][q] is the least cost of plays for stages i..n-1 that begin with play u, are authorized step by step and
whose residues sum to q, the handoff into u left out:

    B_{n-1}[u][r_u] = b_u + a_u
    B_i[u][q] = b_u + a_u + min over x with a handoff from u of k(u, x) + B_{i+1}[x][(q - r_u) mod M]

and the optimum is the least k(source, u) + B_0[u][R], added up in plain integers. Each play x hands its
costs to all plays before it at once. It shares nothing with the construction but the instance: the other
direction, sums still needed in place of sums gathered, and the package is read from the front. Exactness as
there: sums below 2^61, infinity 2^62.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beeline.world_solution import Solution
from domains.worlds.authorization_planning.instance import Authorization

__all__ = ["verify"]

FAR = np.int64(2**62)


def verify(instance: Authorization) -> Solution:
    """The optimum, one optimal package (smallest positions from the first stage on) and the number of
    optima up to 2."""
    n, w, modulus = len(instance.stages), instance.width, instance.modulus
    rest = np.full((n, w, modulus), FAR)
    ways = np.zeros((w, modulus), dtype=np.int8)
    for u, play in enumerate(instance.plays[-1]):
        rest[n - 1, u, play.residue] = play.base + play.adjustment
        ways[u, play.residue] = 1
    for i in range(n - 2, -1, -1):
        least = np.full((w, modulus), FAR)
        number = np.zeros((w, modulus), dtype=np.int8)
        entering: list[list[tuple[int, int]]] = [[] for _ in range(w)]
        for u, x, cost in instance.handoffs[i + 1]:
            entering[x].append((u, cost))
        for x, rows in enumerate(entering):
            before = [u for u, _ in rows]
            costs = np.array([cost for _, cost in rows], dtype=np.int64)
            offer = rest[i + 1, x][None, :] + costs[:, None]
            held = least[before]
            less, equal = offer < held, offer == held
            more = np.minimum(number[before] + equal * ways[x], 2)
            number[before] = np.where(less, ways[x], more)
            least[before] = np.where(less, offer, held)
        ways = np.empty_like(number)
        for u, play in enumerate(instance.plays[i]):
            tail = np.roll(least[u], play.residue)
            rest[i, u] = np.where(tail < FAR, tail + (play.base + play.adjustment), FAR)
            ways[u] = np.roll(number[u], play.residue)
    total, optima = None, 0
    for _, u, cost in instance.handoffs[0]:
        if rest[0, u, instance.required] >= FAR:
            continue
        here = cost + int(rest[0, u, instance.required])
        if total is None or here < total:
            total, optima = here, int(ways[u, instance.required])
        elif here == total:
            optima += int(ways[u, instance.required])
    if total is None:
        return Solution(None, None, 0)
    return Solution(_walk(instance, rest, total), total, min(optima, 2))


def _walk(instance: Authorization, rest: NDArray[np.int64], left: int) -> list[str]:
    """The package with the smallest positions, from the front, that costs ``left``."""
    need, last, package = instance.required, 0, []
    for i, rows in enumerate(instance.handoffs):
        for before, after, cost in rows:
            if before == last and rest[i, after, need] < FAR and cost + int(rest[i, after, need]) == left:
                break
        play = instance.plays[i][after]
        left -= cost + play.base + play.adjustment
        need, last = (need - play.residue) % instance.modulus, after
        package.append(play.id)
    return package
