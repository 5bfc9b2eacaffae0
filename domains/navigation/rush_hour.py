"""rush_hour: slide vehicles about a crowded board until the red car can leave.

The board has 6 x 6 cells. The red car X lies on row 2 (rows and columns count from 0) and is out
when it stands at column 4, the right edge. Vehicles are two or three cells long and move only
along their own row or column; one move slides one vehicle over any number of free cells. Moves
can be undone.

This module says what the rules are, plainly. A trial draws twelve boards, on average, to
keep one, and that one has some 27,000 states; the work is done elsewhere:

* :mod:`domains.navigation.rush_hour_board` draws boards,
* :mod:`domains.navigation.rush_hour_easy` tells those that few moves solve,
* :mod:`domains.navigation.rush_hour_lines` tells most of those that nothing solves,
* :mod:`domains.navigation.rush_hour_kernel` numbers all states and measures distances,
* :mod:`domains.navigation.rush_hour_space` makes a Space of that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from beeline.draws import Draws
from beeline.errors import DomainError
from beeline.problem import Domain, Problem
from beeline.space import Space
from domains.navigation.rush_hour_board import (
    EXIT_COLUMN,
    EXIT_ROW,
    NAMES,
    SIZE,
    Vehicle,
    draw_vehicles,
    vehicles_of,
)
from domains.navigation.rush_hour_texts import REPRESENTATIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Positions", "RushHour", "RushHourProblem"]

Positions = tuple[int, ...]
"""The smallest coordinate of each vehicle along its line: a column if horizontal, else a row."""

MOST_BOARDS = 100_000
"""Boards thrown away before the parameters are called hopeless; 1.0.0 draws 12 for each it keeps."""

TASK = (
    "Rush Hour: cars and lorries stand in a crowded square car park, and the red car X has to get out at the "
    "right edge of its row."
)
CONTEXT = (
    "The car park has six rows and six columns, written row by row, top row first, with | between rows and . "
    "for a free cell. A vehicle covers two or three cells in a line, written with its letter; X is the red "
    "car. Vehicles never turn: a horizontal one moves only left and right, a vertical one only up and down. "
    "One move slides one vehicle over one or more free cells; vehicles cannot pass through one another or "
    "leave the board."
)


class RushHourProblem(Problem[Positions]):
    """One board; ``vehicles[0]`` is the red car, and their order is that of the moves."""

    objective = "Bring the red car X to the right edge: it covers the last two cells of the third row"
    context = CONTEXT

    def __init__(self, vehicles: Sequence[Vehicle]) -> None:
        self.vehicles = tuple(vehicles)
        self.start = tuple(vehicle.position for vehicle in self.vehicles)

    def board(self, state: Positions) -> list[str]:
        """The 36 cells, a letter or ``.`` each."""
        cells = ["."] * SIZE * SIZE
        for vehicle, position in zip(self.vehicles, state, strict=True):
            for cell in vehicle.cells(position):
                cells[cell] = vehicle.name
        return cells

    def successors(self, state: Positions) -> list[Positions]:
        """Each vehicle in order; towards smaller coordinates by 1, 2, ... cells, then larger."""
        board = self.board(state)
        after = []
        for i, (vehicle, position) in enumerate(zip(self.vehicles, state, strict=True)):
            for step in (-1, 1):
                there = position + step
                while 0 <= there <= SIZE - vehicle.length:
                    if any(board[cell] not in (".", vehicle.name) for cell in vehicle.cells(there)):
                        break
                    after.append((*state[:i], there, *state[i + 1 :]))
                    there += step
        return after

    def is_goal(self, state: Positions) -> bool:
        """Whether the red car is at the right edge."""
        return state[0] == EXIT_COLUMN

    def heuristic(self, state: Positions) -> int:
        """``blocking_cars``: 0 if solved, else 1 + vehicles between the red car and the right edge.
        Never more than the moves needed: each of these has to move, and so has the red car."""
        if self.is_goal(state):
            return 0
        board = self.board(state)
        front = SIZE * EXIT_ROW + state[0] + 2
        # One vehicle a cell: no other horizontal one lies on this row.
        return 1 + sum(board[cell] != "." for cell in range(front, SIZE * EXIT_ROW + SIZE))

    def rows(self, state: Positions) -> list[str]:
        """The six rows of the board as texts."""
        board = "".join(self.board(state))
        return [board[first : first + SIZE] for first in range(0, SIZE * SIZE, SIZE)]

    def render(self, state: Positions) -> str:
        """The option text: six rows of letters and dots."""
        return " | ".join(self.rows(state))


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a version fixes."""

    vehicles: int
    """Vehicles beside the red car, as far as they find a place."""
    min_moves: int
    """Boards that can be solved in fewer moves are drawn again."""

    def __post_init__(self) -> None:
        if not 1 <= self.vehicles <= len(NAMES):
            raise ValueError(f"vehicles must be between 1 and {len(NAMES)}, not {self.vehicles}")
        # The hardest boards known of this size need about 50 moves.
        if not 1 <= self.min_moves <= 60:
            raise ValueError(f"min_moves must be between 1 and 60, not {self.min_moves}")


class RushHour(Domain):
    """The family of Rush Hour boards."""

    name = "rush_hour"
    title = "Rush Hour"
    task = TASK
    heuristics = ("blocking_cars",)
    representations = REPRESENTATIONS
    Parameters: ClassVar[type] = Parameters

    def draw(self, trial: int, draws: Draws) -> list[str]:
        """Draw boards until the shortest solution of one is ``min_moves`` or longer.

        Returns the six rows of the board; raises DomainError when 100,000 boards were too easy or
        had no solution.
        """
        from domains.navigation.rush_hour_space import needs_moves

        vehicles, min_moves = self.parameters.vehicles, self.parameters.min_moves
        for _ in range(MOST_BOARDS):
            board = draw_vehicles(vehicles, draws)
            if needs_moves(board, min_moves):
                problem = RushHourProblem(board)
                return problem.rows(problem.start)
        raise DomainError(
            f"rush_hour, trial {trial}: none of {MOST_BOARDS} boards of {vehicles} vehicles has a shortest "
            f"solution of min_moves {min_moves} moves or more; lower min_moves or take more vehicles"
        )

    def build(self, trial: int, instance: Any) -> RushHourProblem:
        """The problem of a drawn board."""
        return RushHourProblem(vehicles_of(instance))

    def space(self, trial: int, instance: Any) -> Space:
        """All states by the kernel."""
        from domains.navigation.rush_hour_space import space_of

        return space_of(self.build(trial, instance))

    def pack(self, space: Space) -> Mapping[str, NDArray[np.integer[Any]]]:
        """The distances of a space of this domain, small enough to keep on disk."""
        from domains.navigation.rush_hour_space import pack

        return pack(space)

    def unpack(self, trial: int, instance: Any, arrays: Mapping[str, NDArray[np.integer[Any]]]) -> Space:
        """The space that was packed into ``arrays``, without measuring distances again."""
        from domains.navigation.rush_hour_space import unpack

        return unpack(self.build(trial, instance), arrays)
