"""tiles: the 8-puzzle. Slide tiles into a gap until the numbers stand in order.

A board is nine cells row by row, 0 the gap; solved it reads 1..8 and then the gap. A move slides
the tile above, below, left of or right of the gap into it, and successors come in that order. A
trial is a seeded walk away from the solved board, so every board can be solved; half of all
arrangements (181,440) can be reached. Distances come from
:mod:`domains.navigation.tiles_kernel`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from beeline.draws import Draws
from beeline.problem import Domain, Problem
from beeline.space import Space
from domains.navigation.tiles_texts import REPRESENTATIONS

__all__ = ["GOAL", "NEIGHBOURS", "Board", "Tiles", "TilesProblem", "manhattan", "render", "slides"]

Board = tuple[int, ...]

GOAL: Board = (1, 2, 3, 4, 5, 6, 7, 8, 0)

NEIGHBOURS: tuple[tuple[int, ...], ...] = (
    (3, 1),
    (4, 0, 2),
    (5, 1),
    (0, 6, 4),
    (1, 7, 3, 5),
    (2, 8, 4),
    (3, 7),
    (4, 6, 8),
    (5, 7),
)
"""Cells beside each cell: above, below, left, right, without those outside the board."""

TASK = (
    "Sliding-tile puzzle: eight numbered tiles and one gap on a board of three rows and three columns. "
    "Tiles are slid into the gap until the board looks as wanted."
)
CONTEXT = (
    "A board is written row by row, top row first, with | between rows and · for the gap. One move slides "
    "one tile that lies directly above, below, left of or right of the gap into the gap, and the gap is then "
    "where that tile was."
)


def slides(board: Board) -> tuple[Board, ...]:
    """The boards one slide away, in the order of NEIGHBOURS."""
    gap = board.index(0)
    boards = []
    for cell in NEIGHBOURS[gap]:
        after = list(board)
        after[gap], after[cell] = after[cell], 0
        boards.append(tuple(after))
    return tuple(boards)


def manhattan(board: Board) -> int:
    """Sum over tiles 1..8 of row distance and column distance to their home: never more than the
    moves needed, and 0 at the goal only."""
    total = 0
    for cell, tile in enumerate(board):
        if tile:
            home = tile - 1
            total += abs(cell // 3 - home // 3) + abs(cell % 3 - home % 3)
    return total


def render(board: Board) -> str:
    """The option text.

    >>> render(GOAL)
    '1 2 3 | 4 5 6 | 7 8 ·'
    """
    cells = [str(tile) if tile else "·" for tile in board]
    return " | ".join(" ".join(cells[row : row + 3]) for row in (0, 3, 6))


class TilesProblem(Problem[Board]):
    """One scrambled board."""

    objective = f"Reach this board: {render(GOAL)}"
    context = CONTEXT

    def __init__(self, start: Board) -> None:
        self.start = start

    def successors(self, state: Board) -> tuple[Board, ...]:
        """The tile above, below, left of, right of the gap slides in."""
        return slides(state)

    def is_goal(self, state: Board) -> bool:
        """Whether the tiles stand in order, gap last."""
        return state == GOAL

    def heuristic(self, state: Board) -> int:
        """:func:`manhattan`."""
        return manhattan(state)

    def render(self, state: Board) -> str:
        """:func:`render`."""
        return render(state)


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a version fixes."""

    scramble: int
    """Slides of the walk that makes a trial; the shortest solution is never longer."""

    def __post_init__(self) -> None:
        if not 1 <= self.scramble <= 1_000_000:
            raise ValueError(f"scramble must be between 1 and 1000000, not {self.scramble}")


class Tiles(Domain):
    """The family of 8-puzzle trials."""

    name = "tiles"
    title = "8-puzzle"
    task = TASK
    heuristics = ("manhattan",)
    representations = REPRESENTATIONS
    Parameters: ClassVar[type] = Parameters

    def draw(self, trial: int, draws: Draws) -> list[int]:
        """Walk ``scramble`` slides from the goal, never straight back; walk again while the walk
        ends where it began. The board, as a list of nine."""
        while True:
            before, board = None, GOAL
            for _ in range(self.parameters.scramble):
                ways = [after for after in slides(board) if after != before]
                before, board = board, draws.choice(ways)
            if board != GOAL:
                return list(board)

    def build(self, trial: int, instance: Any) -> TilesProblem:
        """The problem that starts at the drawn board."""
        return TilesProblem(tuple(instance))

    def space(self, trial: int, instance: Any) -> Space:
        """All boards from tables that every trial shares."""
        from domains.navigation.tiles_kernel import tiles_space

        return tiles_space(self.build(trial, instance))
