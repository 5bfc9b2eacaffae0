"""tiles: other ways to write a board.

rows as in version 1.0.0, cells in brackets, a sentence a row, and where each tile lies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from beeline.representation import Representation, problems_own

if TYPE_CHECKING:
    from domains.navigation.tiles import Board, TilesProblem

__all__ = ["REPRESENTATIONS"]

MOVE = (
    "One move slides one tile that lies directly above, below, left of or right of the gap into the gap, and "
    "the gap is then where that tile was."
)
SOLVED = (1, 2, 3, 4, 5, 6, 7, 8, 0)
ROWS = ("Top row", "Middle row", "Bottom row")


def cells(board: Board) -> str:
    """Every cell in brackets, ``_`` for the gap.

    >>> cells(SOLVED)
    '[1][2][3] [4][5][6] [7][8][_]'
    """
    boxes = [f"[{tile or '_'}]" for tile in board]
    return " ".join("".join(boxes[row : row + 3]) for row in (0, 3, 6))


def sentences(board: Board) -> str:
    """A sentence a row.

    >>> sentences(SOLVED)
    'Top row: 1, 2, 3. Middle row: 4, 5, 6. Bottom row: 7, 8, gap.'
    """
    names = [str(tile) if tile else "gap" for tile in board]
    return " ".join(f"{row}: {', '.join(names[3 * i : 3 * i + 3])}." for i, row in enumerate(ROWS))


def positions(board: Board) -> str:
    """Where each tile lies, then the gap: columns a to c from the left, rows 1 to 3 from the top.

    >>> positions(SOLVED)
    '1 at a1, 2 at b1, 3 at c1, 4 at a2, 5 at b2, 6 at c2, 7 at a3, 8 at b3, gap at c3'
    """
    places = [f"{tile or 'gap'} at {'abc'[cell % 3]}{cell // 3 + 1}" for tile, cell in _tiles(board)]
    return ", ".join(places)


def _tiles(board: Board) -> list[tuple[int, int]]:
    """(tile, cell), tiles 1 to 8 and then the gap."""
    return [(tile, board.index(tile)) for tile in SOLVED]


def _written(name: str, render: Any, context: str) -> Representation:
    def objective(problem: TilesProblem) -> str:
        return f"Reach this board: {render(SOLVED)}"

    def text(problem: TilesProblem, state: Board) -> str:
        return str(render(state))

    return Representation(name, text, objective, lambda problem: context)


REPRESENTATIONS = (
    problems_own("rows"),
    _written(
        "cells",
        cells,
        "A board is written as three rows of three cells, top row first, each cell in square brackets; "
        "[_] is the gap. " + MOVE,
    ),
    _written(
        "sentences",
        sentences,
        "A board is described by three sentences, which name what lies in the top, middle and bottom row "
        "from left to right. " + MOVE,
    ),
    _written(
        "positions",
        positions,
        "A board is a list of where each tile and the gap lie. A place is a letter for the column, a to c "
        "from left to right, and a number for the row, 1 to 3 from top to bottom. " + MOVE,
    ),
)
