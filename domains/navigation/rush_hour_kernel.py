"""All states of a Rush Hour board and their distances, in numpy.

**Numbering.** :func:`rush_hour_lines.lines_of` gives the places of each line. States are made by
joining lines one after the other: each partial state with each place of the next line that covers
none of its cells. The lines that shrink the product most come first, so hardly more is made than
is kept: about one partial state for two states. The result holds every state that the start reaches,
and usually no other; states are numbered in the order in which they come out.

**Moves.** A move over one cell changes one line's place. Where it leads is worked out while lines
are joined: for a line that was joined before, a partial state's neighbour is its parent's
neighbour followed by the same place of the new line, if there is such a partial state. Longer
moves are chains of these.

**Distances** by breadth-first sweeps, level by level. Moves can be undone, so the sweep from all
solved states gives distances to the goal. All states that a vehicle can take without another
moving are one move from each other; a chain can therefore stop at a state of an earlier level,
or of this level: what lies beyond was, or will be, reached from there.

Numbers, moves and both sweeps of a board of 27,000 states (the average) take 8 ms, where the plain
search takes 800.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domains.navigation.rush_hour_board import EXIT_COLUMN
from domains.navigation.rush_hour_lines import Line

__all__ = ["FAR", "States", "join", "sweep"]

Ints = NDArray[np.int32]

FAR = 2**15 - 1
"""Distance of a state that a sweep did not reach."""


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """The states of a board, numbered 0..n-1."""

    start: int
    positions: NDArray[np.uint8]
    """(vehicles, n): the position of each vehicle."""
    masks: NDArray[np.uint64]
    """(n,): cells covered, bit 6 * row + column."""
    steps: Ints
    """(2 * vehicles, n + 1): where vehicle v gets by one cell towards smaller (row 2v) and larger
    (2v + 1) coordinates; n where it cannot, and for the state n, which there is not."""

    @property
    def size(self) -> int:
        """How many states there are."""
        return len(self.masks)

    def solved(self) -> NDArray[np.intp]:
        """The states in which the red car is out."""
        return np.flatnonzero(self.positions[0] == EXIT_COLUMN)


def join_order(lines: Sequence[Line]) -> list[int]:
    """Indices of the lines, each next one growing the partial states least by the look of it:
    its places, times the share of pairs of places that fit for each line before it."""
    left = list(range(len(lines)))
    growth = [float(len(line.places)) for line in lines]
    order: list[int] = []
    while left:
        best = min(left, key=growth.__getitem__)
        left.remove(best)
        order.append(best)
        masks = lines[best].masks
        for i in left:
            others = lines[i].masks
            fits = sum([not mask & other for mask in masks for other in others])
            growth[i] *= fits / (len(masks) * len(others))
    return order


def join(lines: Sequence[Line]) -> States:
    """All states made of the lines' places in which no two vehicles overlap."""
    count = sum(len(line.vehicles) for line in lines)
    vehicles: list[int] = []
    masks = np.zeros(1, np.uint64)
    positions = np.zeros((0, 1), np.uint8)
    smaller = np.zeros((0, 2), np.int32)
    start = 0
    for i in join_order(lines):
        line = lines[i]
        width, known = len(line.places), len(vehicles)
        before = len(masks)
        covered = np.array(line.masks, np.uint64)
        found = np.flatnonzero((masks[:, None] & covered) == 0).astype(np.int32)
        size = len(found)
        parent, place = np.divmod(found, np.int32(width))
        # Partial state ``before`` stands for "there is none" and leads to ``size``, the same.
        child = np.full((before + 1) * width, size, np.int32)
        child[found] = np.arange(size, dtype=np.int32)
        masks = masks[parent] | covered[place]
        start = int(child[start * width + line.start])
        vehicles += line.vehicles
        own = np.array(line.places, np.uint8).T
        positions = np.concatenate([positions.take(parent, axis=1), own.take(place, axis=1)])
        after = np.empty((len(vehicles), size + 1), np.int32)
        after[:, size] = size
        # Vehicles that were there before: the neighbour of the parent, with the same place.
        child_of_neighbour = (smaller * np.int32(width)).take(parent, axis=1)
        child_of_neighbour += place
        after[:known, :size] = child.take(child_of_neighbour)
        # Those of this line: the same parent, with another place.
        number = {there: j for j, there in enumerate(line.places)}
        for v in range(len(line.vehicles)):
            to = [number.get((*there[:v], there[v] - 1, *there[v + 1 :]), -1) for there in line.places]
            moved = np.array(to, np.int32)[place]
            after[known + v, :size] = child[np.where(moved < 0, before * width, found + (moved - place))]
        smaller = after
    size = len(masks)
    steps = np.full((2 * count, size + 1), size, np.int32)
    numbers = np.arange(size, dtype=np.int32)
    for row, vehicle in enumerate(vehicles):
        steps[2 * vehicle] = smaller[row]
        # The inverse; where there is no way it writes to the extra column.
        steps[2 * vehicle + 1, smaller[row, :size]] = numbers
    steps[:, size] = size
    return States(start, positions[np.argsort(vehicles)], masks, steps)


def sweep(states: States, sources: Sequence[int] | NDArray[np.intp]) -> NDArray[np.int16]:
    """Fewest moves from the nearest source to each state (n,), FAR where there is no way."""
    steps = states.steps
    size, width = states.size, states.size + 1
    flat = steps.reshape(-1)
    # The state past the last stands for "no step": it never looks further than any level.
    distance = np.full(width, FAR, np.int16)
    distance[size] = -1
    level = np.asarray(sources)
    distance[level] = 0
    depth = 0
    while level.size:
        count = level.size
        there = steps.take(level, axis=1).reshape(-1)
        ways = np.flatnonzero(distance.take(there) > depth)
        there = there[ways]
        ways //= count
        ways *= width
        while there.size:
            distance[there] = depth + 1
            there = flat.take(ways + there)
            further = np.flatnonzero(distance.take(there) > depth)
            there, ways = there[further], ways[further]
        depth += 1
        # Each once and in order; looking through all states takes some 10 us a level.
        level = np.flatnonzero(distance == depth)
    return distance[:size]
