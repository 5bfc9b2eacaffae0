"""Rush Hour's board, its vehicles, and how a board is drawn.

Cells are numbered 6 * row + column, rows and columns from 0. A set of cells is an int with one
bit a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from beeline.draws import Draws

__all__ = ["EXIT_COLUMN", "EXIT_ROW", "MASKS", "SIZE", "Vehicle", "draw_vehicles", "vehicles_of"]

SIZE = 6
"""Rows and columns of the board."""
EXIT_ROW = 2
"""The red car's row."""
EXIT_COLUMN = 4
"""Where the red car's left cell is when it has got out."""
NAMES = "ABCDEFGHIJKLMNOPQ"
"""The other vehicles; 17 cars of two cells fill the board."""
TRIES = 50
"""How often a place is drawn for a vehicle before it is left out."""


@dataclass(frozen=True, slots=True)
class Vehicle:
    """One vehicle where it stands at the start."""

    name: str
    horizontal: bool
    length: int
    row: int
    column: int

    @property
    def line(self) -> int:
        """The row that a horizontal vehicle keeps, the column that a vertical one keeps."""
        return self.row if self.horizontal else self.column

    @property
    def position(self) -> int:
        """Its smallest coordinate along its line, which moves change."""
        return self.column if self.horizontal else self.row

    def cells(self, position: int) -> list[int]:
        """The cells it covers at a position."""
        step = 1 if self.horizontal else SIZE
        first = SIZE * self.row + position if self.horizontal else SIZE * position + self.column
        return [first + step * i for i in range(self.length)]


def _mask(horizontal: bool, length: int, line: int, position: int) -> int:
    row, column = (line, position) if horizontal else (position, line)
    return sum(1 << cell for cell in Vehicle("", horizontal, length, row, column).cells(position))


MASKS = {
    (horizontal, length, line): tuple(
        _mask(horizontal, length, line, position) for position in range(SIZE + 1 - length)
    )
    for horizontal in (False, True)
    for length in (2, 3)
    for line in range(SIZE)
}
"""The cells that a vehicle covers at each position, by (horizontal, length, line)."""


def vehicles_of(rows: Sequence[str]) -> tuple[Vehicle, ...]:
    """The vehicles on a board of six texts, X first and then by name."""
    text = "".join(rows)
    vehicles = []
    for name in sorted(set(text) - {"."}, key=lambda name: (name != "X", name)):
        row, column = divmod(text.index(name), SIZE)
        vehicles.append(
            Vehicle(name, text.count(name) == rows[row].count(name), text.count(name), row, column)
        )
    return tuple(vehicles)


def draw_vehicles(count: int, draws: Draws) -> tuple[Vehicle, ...]:
    """Draw one board: the red car, then up to ``count`` others, 50 tries each. All four draws of
    a try are made before it is judged; a name that finds no place is left out."""
    random = draws.random
    red = Vehicle("X", True, 2, EXIT_ROW, draws.below(EXIT_COLUMN))
    vehicles, taken = [red], MASKS[True, 2, EXIT_ROW][red.column]
    for name in NAMES[:count]:
        for _ in range(TRIES):
            horizontal = random() < 0.5
            length = 3 if random() < 0.25 else 2
            # below(6) for the line, below(7 - length) along it; the row comes first.
            if horizontal:
                line = row = int(random() * SIZE)
                position = column = int(random() * (SIZE + 1 - length))
            else:
                position = row = int(random() * (SIZE + 1 - length))
                line = column = int(random() * SIZE)
            mask = MASKS[horizontal, length, line][position]
            if not mask & taken and not (horizontal and row == EXIT_ROW):
                vehicles.append(Vehicle(name, horizontal, length, row, column))
                taken |= mask
                break
    return tuple(vehicles)
