"""Generator of transit routing: no route is planted.

Travel times of a stage are a shuffled ladder, one in each interval of length 2^20, and so are the
costs of changing into one line: neither the fastest leg nor staying on a line is good. The low 20 bits
are drawn, which makes equal totals all but impossible.
"""

from __future__ import annotations

from typing import NamedTuple

from beeline.draws import Draws
from domains.worlds.handles import make_handles
from domains.worlds.transit_routing.instance import Leg, Transit

__all__ = ["SIZES", "Size", "generate"]

STEP = 2**20


class Size(NamedTuple):
    """Generator parameters."""

    stages: int
    width: int
    """Legs a stage."""
    lines: int
    modulus: int


SIZES = {
    "L1": Size(24, 24, 26, 3),
    "L2": Size(32, 32, 34, 31),
    "L3": Size(40, 40, 42, 131),
    "L4": Size(48, 48, 50, 409),
}


def generate(size: Size, draws: Draws) -> Transit:
    """Draw an instance: required residue; per stage times, residues, lines; then transfer costs."""
    d, k, p, modulus = size
    stations = make_handles(draws, "station", "STN", d + 1)
    lines = make_handles(draws, "line", "LIN", p)
    names = make_handles(draws, "leg", "LEG", d * k)
    draws.shuffle(stations)
    draws.shuffle(lines)
    required = draws.below(modulus)
    stages = []
    for i in range(d):
        ranks = list(range(k))
        draws.shuffle(ranks)
        times = [max(1, rank * STEP + draws.below(STEP)) for rank in ranks]
        residues = [draws.below(modulus) for _ in range(k)]
        served = draws.sample(range(p), min(p, max(k - 1, 1)))
        # k - 1 lines for k legs: one of them takes two.
        on = (served + [draws.choice(served) for _ in range(k)])[:k]
        draws.shuffle(on)
        ids = sorted(names[i * k : (i + 1) * k])
        stages.append(tuple(Leg(*row) for row in zip(ids, times, residues, on, strict=True)))
    into = []
    for target in range(p):
        ranks = list(range(p - 1))
        draws.shuffle(ranks)
        column = [max(1, rank * STEP + draws.below(STEP)) for rank in ranks]
        column.insert(target, 0)
        into.append(column)
    transfers = tuple(tuple(into[b][a] for b in range(p)) for a in range(p))
    return Transit(modulus, required, tuple(stations), tuple(lines), tuple(stages), transfers)
