"""Generator of authorization planning: four lanes from stage to stage, in a graph of dearer steps.

A lane is one play a stage, each with a cheap handoff to the next. Its steps cost, handoff included,

    planted        150   meets the residue rule
    false bargain  149   does not
    free base      250   base cost 0, so that it looks cheap in the catalog
    free policy    250   adjustment 0, so that it looks cheap in the policy

All other plays cost what those of the first two lanes do (base and adjustment 50 to 60 each), and all
other handoffs cost 90 or more, so a step by one costs 190 or more. A package with such a step costs at
least 149 (n - 1) + 190, which exceeds 150 n for n <= 40; one without is a lane, and of the lanes only the
planted one is legal. It is the only optimum, at 150 n; the solvers find it anew. Leaving out the residue
rule leads into the false bargain. To enter or leave it with one dear handoff, which can mend its residue,
costs 41 - n more than the optimum at the least.

Every play is left and entered by the same number g of handoffs.
"""

from __future__ import annotations

from typing import NamedTuple

from beeline.draws import Draws
from domains.worlds.authorization_planning.instance import Authorization, Handoff, Play
from domains.worlds.handles import make_handles

__all__ = ["SIZES", "Size", "generate"]

PLANTED, BARGAIN = 150, 149
"""Cost of a step in the first two lanes."""
LANES = 4
FREE_BASE, FREE_POLICY = 2, 3
DEAR = 230
"""The part of a free play that is not free."""
FREE_STEP = 20
"""Handoff within a free lane."""


class Size(NamedTuple):
    """Generator parameters."""

    stages: int
    width: int
    """Plays a stage."""
    degree: int
    """Handoffs that leave a play."""
    modulus: int


SIZES = {
    "L1": Size(24, 14, 5, 11),
    "L2": Size(28, 16, 6, 167),
    "L3": Size(32, 18, 7, 809),
    "L4": Size(36, 20, 8, 2879),
}


def generate(size: Size, draws: Draws) -> Authorization:
    """Draw an instance: rule, costs, residues, handoffs. Within a stage, plays 0 to 3 are those of the lanes
    in the order above, until the plays are sorted by their handles."""
    n, w, _, modulus = size
    stages = make_handles(draws, "stage", "STG", n, 12)
    (source,) = make_handles(draws, "source", "SRC", 1, 12)
    names = make_handles(draws, "play", "PLY", n * w, 12)
    draws.shuffle(stages)
    draws.shuffle(names)
    required = draws.below(modulus)
    costs = [[_costs(draws, j) for j in range(w)] for _ in range(n)]
    residues = _residues(draws, size, required)
    plays, handoffs = [], []
    before = [0]  # rank of each play of the stage before, among the sorted handles
    for i in range(n):
        made = [Play(names[i * w + j], *costs[i][j], residues[i][j]) for j in range(w)]
        plays.append(tuple(sorted(made)))
        rank = [plays[i].index(play) for play in made]
        rows = []
        for u, v in _wired(draws, size) if i else [(0, j) for j in range(w)]:
            in_lane = v < LANES and (u == v or i == 0)
            cost = _lane_handoff(v, costs[i][v]) if in_lane else _dear_handoff(draws, v)
            rows.append(Handoff(before[u], rank[v], cost))
        handoffs.append(tuple(sorted(rows)))
        before = rank
    return Authorization(modulus, required, source, tuple(stages), tuple(plays), tuple(handoffs))


def _costs(draws: Draws, play: int) -> tuple[int, int]:
    """Base cost and adjustment."""
    if play == FREE_BASE:
        return 0, DEAR
    if play == FREE_POLICY:
        return DEAR, 0
    return 50 + draws.below(11), 50 + draws.below(11)


def _lane_handoff(play: int, costs: tuple[int, int]) -> int:
    """Handoff within a lane, or from the source into it."""
    return FREE_STEP if play in (FREE_BASE, FREE_POLICY) else (PLANTED, BARGAIN)[play] - sum(costs)


def _dear_handoff(draws: Draws, play: int) -> int:
    """Any other handoff; one into a free play costs more."""
    return 300 + draws.below(131) if play in (FREE_BASE, FREE_POLICY) else 90 + draws.below(240)


def _residues(draws: Draws, size: Size, required: int) -> list[list[int]]:
    """[stage][play]: drawn, but such that of the lanes just the planted one has the required sum."""
    n, w, _, modulus = size
    residues = [[draws.below(modulus) for _ in range(w)] for _ in range(n)]
    for lane in range(min(LANES, w)):
        rest = (required - sum(row[lane] for row in residues[:-1])) % modulus
        if lane == 0:
            residues[-1][lane] = rest
        while lane and modulus > 1 and residues[-1][lane] == rest:
            residues[-1][lane] = draws.below(modulus)
    return residues


def _wired(draws: Draws, size: Size) -> list[tuple[int, int]]:
    """The handoffs between two stages: g permutations of the plays that agree nowhere, the first of which
    keeps the lanes. They are shifts of a circle in a drawn order."""
    _, w, g, _ = size
    rest, order = list(range(LANES, w)), list(range(w))
    draws.shuffle(rest)
    draws.shuffle(order)
    kept = [*range(min(LANES, w)), *rest]
    shifts = [0, *draws.sample(range(1, w), g - 1)]
    return [(u, kept[order[(place + shift) % w]]) for place, u in enumerate(order) for shift in shifts]
