"""Construction solver of authorization planning: a forward program over the product of play and residue.

F_i[v][m] is the least cost of plays for stages 0..i that are authorized step by step, end in play v and
have residue sum m:

    F_0[v][r_v] = k(source, v) + b_v + a_v
    F_i[v][m] = b_v + a_v + min over u with a handoff to v of F_{i-1}[u][(m - r_v) mod M] + k(u, v)

and the optimum is the least F_{n-1}[v][R]. Plays u are taken in canonical order, and each reached state of u
is relaxed along each of its handoffs. Work of that:

- states: (stage, play, residue) that are reached;
- transitions: relaxations, one for each handoff that leaves a reached state, and the w from the source;
- checks: as many; each asks whether the state entered was reached before at no greater cost;
- updates: relaxations that did improve it;
- reconstructions: n.

Exact: the cost of every package is below 2^61 (checked by the instance), infinity is 2^62, and infinity
plus a handoff stays below 2^63 and is never less than infinity. Time O(M (V + E)), vectorised over the
handoffs of a play and the residues; memory 8 n w M bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beeline.draws import Draws
from beeline.world_solution import Solution, Work
from domains.worlds.authorization_planning.instance import Authorization, Ints

__all__ = ["INFINITE", "random_package", "reference", "solve"]

INFINITE = np.int64(2**62)


def solve(instance: Authorization) -> Solution:
    """The optimum, its first package in canonical order (smallest positions from the last stage back), the
    number of optima up to 2, and the work."""
    totals, residues, modulus = instance.totals, instance.residues, instance.modulus
    n, w = totals.shape
    g = instance.degree
    plays = np.arange(w)
    value = np.full((n, w, modulus), INFINITE)
    value[0, plays, residues[0]] = totals[0] + np.array([row.cost for row in instance.handoffs[0]])
    count = (value[0] < INFINITE).astype(np.uint8)
    states, transitions, updates = 0, w, w
    for i in range(1, n):
        before = value[i - 1]
        after, cost = successors(instance, i)
        reached = int(np.count_nonzero(before < INFINITE))
        states += reached
        transitions += reached * g
        best = np.full((w, modulus), INFINITE)
        ways = np.zeros((w, modulus), dtype=np.uint8)
        for u in range(w):
            to = after[u]
            candidate = before[u] + cost[u][:, None]
            old, known = best[to], ways[to]
            improved = candidate < old
            updates += int(np.count_nonzero(improved))
            # Where both are unreached, nothing arrives.
            same = np.minimum(known + (candidate == old) * count[u], 2)
            ways[to] = np.where(improved, count[u], same)
            best[to] = np.minimum(candidate, old)
        value[i] = shifted(best, residues[i])
        value[i] = np.where(value[i] < INFINITE, value[i] + totals[i][:, None], INFINITE)
        count = shifted(ways, residues[i])
    states += int(np.count_nonzero(value[n - 1] < INFINITE))
    work = Work(states, transitions, transitions, updates, n)
    last = value[n - 1, :, instance.required]
    least = last.min()
    if least >= INFINITE:
        return Solution(None, None, 0, work)
    optima = min(2, int(count[last == least, instance.required].sum()))
    positions = _trace_back(instance, value, int(last.argmin()))
    return Solution(instance.ids(positions), int(least), optima, work)


def successors(instance: Authorization, stage: int) -> tuple[Ints, Ints]:
    """[play of the stage before, number of the handoff]: position entered in ``stage``, and cost."""
    rows = np.array(instance.handoffs[stage], dtype=np.int64).reshape(instance.width, instance.degree, 3)
    return rows[:, :, 1], rows[:, :, 2]


def shifted(table: NDArray[np.generic], by: Ints) -> NDArray[np.generic]:
    """Each row of a table by residue moved up by its number, cyclically."""
    source = (np.arange(table.shape[1]) - by[:, None]) % table.shape[1]
    return np.take_along_axis(table, source, axis=1)


def _trace_back(instance: Authorization, value: Ints, play: int) -> list[int]:
    residue = instance.required
    positions = [play]
    for i in range(len(instance.stages) - 1, 0, -1):
        left = int(value[i, play, residue] - instance.totals[i, play])
        residue = (residue - int(instance.residues[i, play])) % instance.modulus
        play = next(
            row.before
            for row in instance.handoffs[i]
            if row.after == play and int(value[i - 1, row.before, residue]) + row.cost == left
        )
        positions.append(play)
    return positions[::-1]


def _completions(instance: Authorization) -> Ints:
    """[stage, play, residue]: the least sum of base costs and adjustments, handoffs ignored, of authorized
    plays from that play to the last stage with that residue sum; INFINITE when there are none."""
    totals, residues = instance.totals, instance.residues
    n, w = totals.shape
    rest = np.full((n, w, instance.modulus), INFINITE)
    rest[n - 1, np.arange(w), residues[n - 1]] = totals[n - 1]
    for i in range(n - 2, -1, -1):
        after, _ = successors(instance, i + 1)
        tail = shifted(rest[i + 1][after].min(axis=1), residues[i])
        rest[i] = np.where(tail < INFINITE, tail + totals[i][:, None], INFINITE)
    return rest


def reference(instance: Authorization) -> list[str] | None:
    """Least base costs and adjustments over the legal packages, handoff costs ignored; of equal ones, the
    smallest play ids from the first stage on. None when no package is legal."""
    rest = _completions(instance)
    residue = instance.required
    left = int(rest[0, :, residue].min())
    if left >= INFINITE:
        return None
    positions: list[int] = []
    for i in range(len(instance.stages)):
        play = next(j for j in _entered(instance, positions) if rest[i, j, residue] == left)
        left -= int(instance.totals[i, play])
        residue = (residue - int(instance.residues[i, play])) % instance.modulus
        positions.append(play)
    return instance.ids(positions)


def random_package(instance: Authorization, draws: Draws) -> list[str] | None:
    """One play a stage, each drawn among those authorized from which a legal package can still be
    completed. None when no package is legal."""
    reach = _completions(instance) < INFINITE
    residue = instance.required
    if not reach[0, :, residue].any():
        return None
    positions: list[int] = []
    for i in range(len(instance.stages)):
        play = draws.choice([j for j in _entered(instance, positions) if reach[i, j, residue]])
        residue = (residue - int(instance.residues[i, play])) % instance.modulus
        positions.append(play)
    return instance.ids(positions)


def _entered(instance: Authorization, positions: list[int]) -> list[int]:
    """Plays that may follow, in canonical order."""
    last = positions[-1] if positions else 0
    return [row.after for row in instance.handoffs[len(positions)] if row.before == last]
