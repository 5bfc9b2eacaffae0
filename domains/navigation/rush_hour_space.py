"""Rush Hour's Space on top of the kernel, and the decision which boards are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beeline.errors import DomainError
from beeline.space import UNREACHABLE, Space, cached
from domains.navigation.rush_hour import Positions, RushHourProblem
from domains.navigation.rush_hour_board import EXIT_COLUMN, EXIT_ROW, SIZE, Vehicle
from domains.navigation.rush_hour_easy import solvable_within
from domains.navigation.rush_hour_kernel import FAR, States, join, sweep
from domains.navigation.rush_hour_lines import lines_of

__all__ = ["needs_moves", "pack", "space_of", "unpack"]

Distances = NDArray[np.int16]


def needs_moves(vehicles: tuple[Vehicle, ...], least: int) -> bool:
    """Whether a board has a solution and its shortest is ``least`` moves or longer."""
    if solvable_within(vehicles, least - 1):
        return False
    measured = _measured(vehicles)
    if measured is None:
        return False
    states, to_goal = measured
    return least <= int(to_goal[states.start]) < FAR


# One board is remembered: the one that a trial keeps is wanted again at once, for its space.
@lru_cache(maxsize=1)
def _measured(vehicles: tuple[Vehicle, ...]) -> tuple[States, Distances] | None:
    """The states of a board and their distances to the goal; None when it cannot be solved for
    a reason that needs no search."""
    lines = lines_of(vehicles)
    if lines is None:
        return None
    states = join(lines)
    return states, sweep(states, states.solved())


def space_of(problem: RushHourProblem) -> Space:
    """All states and distances of a board; raises DomainError when it has no solution."""
    measured = _measured(problem.vehicles)
    if measured is None or measured[1][measured[0].start] == FAR:
        raise DomainError(
            f"rush_hour: the red car cannot get out of {problem.render(problem.start)}; "
            "a trial without a solution is an error"
        )
    states, to_goal = measured
    return _space(problem, states, to_goal, sweep(states, [states.start]))


def pack(space: Space) -> dict[str, NDArray[np.integer[Any]]]:
    """The distances of a space that :func:`space_of` made, a byte a state where that is enough."""
    return {"to_goal": _narrow(space.to_goal), "from_start": _narrow(space.from_start)}


def unpack(problem: RushHourProblem, arrays: Mapping[str, NDArray[np.integer[Any]]]) -> Space:
    """The same space again. Raises DomainError when the arrays are not those of this board."""
    lines = lines_of(problem.vehicles)
    states = None if lines is None else join(lines)
    if states is None or any(len(arrays[name]) != states.size for name in ("to_goal", "from_start")):
        raise DomainError(
            f"rush_hour: the distances kept for {problem.render(problem.start)} are those of another board; "
            "delete them"
        )
    return _space(problem, states, _widen(arrays["to_goal"]), _widen(arrays["from_start"]))


def _narrow(distances: Any) -> NDArray[np.integer[Any]]:
    wide = np.array(distances, np.int32)
    far = wide == UNREACHABLE
    wide[far] = 0
    kind: Any = np.uint8 if wide.max() < 255 else np.int16
    wide[far] = 255 if kind is np.uint8 else FAR
    return wide.astype(kind)


def _widen(distances: NDArray[np.integer[Any]]) -> Distances:
    wide = distances.astype(np.int16)
    if distances.dtype == np.uint8:
        wide[distances == 255] = FAR
    return wide


def _memory(distances: Distances) -> memoryview:
    wide = distances.astype(np.int32)
    wide[distances == FAR] = UNREACHABLE
    return wide.data


_ROW = (1 << SIZE) - 1

_BLOCKING = np.array(
    [
        [0 if column == EXIT_COLUMN else 1 + (row >> column + 2).bit_count() for row in range(_ROW + 1)]
        for column in range(EXIT_COLUMN + 1)
    ],
    np.uint8,
)
"""blocking_cars by the red car's column and the covered cells of its row."""


def _space(problem: RushHourProblem, states: States, to_goal: Distances, from_start: Distances) -> Space:
    red = states.positions[0]
    row = (states.masks >> np.uint64(SIZE * EXIT_ROW)).astype(np.uint8) & np.uint8(_ROW)
    nowhere = states.size
    steps = [memoryview(steps) for steps in states.steps]
    reachable = from_start != FAR

    def successors(state: int) -> list[int]:
        # Towards smaller coordinates by one, two... cells and then larger, vehicle by vehicle.
        after = []
        for step in steps:
            there = step[state]
            while there != nowhere:
                after.append(there)
                there = step[there]
        return after

    def positions(state: int) -> Positions:
        return tuple(states.positions[:, state].tolist())

    return Space(
        start=states.start,
        shortest_path=int(to_goal[states.start]),
        states_reachable=int(np.count_nonzero(reachable)),
        states_reaching_goal=int(np.count_nonzero(reachable & (to_goal != FAR))),
        to_goal=_memory(to_goal),
        from_start=_memory(from_start),
        successors=cached(successors),
        is_goal=(red == EXIT_COLUMN).tolist().__getitem__,
        heuristic=_BLOCKING[red, row].tobytes().__getitem__,
        text=cached(_renderer(problem.vehicles, states)),
        state=positions,
        objective=problem.objective,
        context=problem.context,
    )


def _renderer(vehicles: tuple[Vehicle, ...], states: States) -> Callable[[int], str]:
    """Texts as :meth:`RushHourProblem.render` makes them, in a third of the time."""
    positions = states.positions
    empty = " | ".join(["." * SIZE] * SIZE).encode()
    down = SIZE + len(" | ")
    # For each vehicle and position: where its letters go in the text.
    slices: list[tuple[bytes, list[slice]]] = []
    for vehicle in vehicles:
        step = 1 if vehicle.horizontal else down
        first = vehicle.row * down if vehicle.horizontal else vehicle.column
        places = [
            slice(first + step * position, first + step * (position + vehicle.length), step)
            for position in range(SIZE + 1 - vehicle.length)
        ]
        slices.append((vehicle.name.encode() * vehicle.length, places))

    def text(state: int) -> str:
        board = bytearray(empty)
        for (letters, places), position in zip(slices, positions[:, state].tolist(), strict=True):
            board[places[position]] = letters
        return board.decode()

    return text
