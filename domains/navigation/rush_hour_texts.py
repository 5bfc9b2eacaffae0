"""rush_hour: other ways to write a board.

Rows as in version 1.0.0, cells with other symbols, the vehicles with rows and columns in words, and
the vehicles with the squares of their ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from beeline.representation import Representation, problems_own

if TYPE_CHECKING:
    from domains.navigation.rush_hour import Positions, RushHourProblem

__all__ = ["REPRESENTATIONS"]

COLUMNS = "abcdef"

MOVES = (
    "Vehicles never turn: a horizontal one moves only left and right, a vertical one only up and down. One "
    "move slides one vehicle over one or more free cells; vehicles cannot pass through one another or leave "
    "the board."
)


def cells(problem: RushHourProblem, state: Positions) -> str:
    """Rows in square brackets, cells apart, ``-`` for a free one."""
    return " ".join(f"[{' '.join(row.replace('.', '-'))}]" for row in problem.rows(state))


def vehicles(problem: RushHourProblem, state: Positions) -> str:
    """Each vehicle with its row and columns, or its column and rows, counted from 1."""
    return "; ".join(
        f"{vehicle.name} in row {vehicle.line + 1}, columns {first + 1} to {first + vehicle.length}"
        if vehicle.horizontal
        else f"{vehicle.name} in column {vehicle.line + 1}, rows {first + 1} to {first + vehicle.length}"
        for vehicle, first in zip(problem.vehicles, state, strict=True)
    )


def squares(problem: RushHourProblem, state: Positions) -> str:
    """Each vehicle with the squares of its ends: columns a to f, rows 1 to 6 from the top."""
    texts = []
    for vehicle, first in zip(problem.vehicles, state, strict=True):
        ends = vehicle.cells(first)
        texts.append(f"{vehicle.name} {_square(ends[0])}-{_square(ends[-1])}")
    return ", ".join(texts)


def _square(cell: int) -> str:
    row, column = divmod(cell, len(COLUMNS))
    return f"{COLUMNS[column]}{row + 1}"


REPRESENTATIONS = (
    problems_own("rows"),
    Representation(
        "cells",
        cells,
        lambda problem: (
            "Bring the red car X to the right edge: it covers the last two cells of the third row, "
            "which then ends in X X]"
        ),
        lambda problem: (
            "The car park has six rows and six columns, written as six rows in square brackets, top row "
            "first; - is a free cell. A vehicle covers two or three cells in a line, written with its "
            "letter; X is the red car. " + MOVES
        ),
    ),
    Representation(
        "vehicles",
        vehicles,
        lambda problem: "Bring the red car to the right edge: X in row 3, columns 5 to 6",
        lambda problem: (
            "The car park has six rows, numbered from top to bottom, and six columns, numbered from left to "
            "right. A state lists every vehicle and the cells it covers; all other cells are free. X is the "
            "red car. A vehicle in a row is horizontal, one in a column is vertical. " + MOVES
        ),
    ),
    Representation(
        "squares",
        squares,
        lambda problem: "Bring the red car to the right edge: X e3-f3",
        lambda problem: (
            "The car park has six rows and six columns. A square is a letter for its column, a to f from "
            "left to right, and a number for its row, 1 to 6 from top to bottom. A state lists every vehicle "
            "with the squares of its two ends, between which it covers two or three squares in a line; all "
            "other squares are free. X is the red car. " + MOVES
        ),
    ),
)
