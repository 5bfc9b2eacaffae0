"""Drawing the buildings of keys_doors, and telling the easy ones quickly.

Rooms are numbers here: 0 the start, i the room behind door i. A trial draws about ten buildings
to keep one, so the decision is made without the whole state space. Only *needed* rooms matter:
the exit, and, of each needed room, the room it is entered from and the room its key lies in. A
shortest solution enters these rooms and no others, since leaving out a visit to any other room
closes no door that it uses. Hence two exact shortcuts:

* It walks each door between start and exit at least once and every other needed door at least
  twice: at least twice the needed rooms less the exit's depth.
* Otherwise a search over needed rooms alone, with the rooms entered as bits, and no deeper than
  it must be.
"""

from __future__ import annotations

from dataclasses import dataclass

from beeline.draws import Draws

__all__ = ["COLOURS", "START", "Layout", "draw_layout", "solvable_within"]

START = "start"

COLOURS = (
    "red",
    "blue",
    "green",
    "yellow",
    "purple",
    "orange",
    "white",
    "black",
    "silver",
    "gold",
    "pink",
    "brown",
)


@dataclass(frozen=True, slots=True)
class Layout:
    """One building in numbers; the lists by room have an entry for the start (unused: 0)."""

    colours: list[str]
    """Colour of door i at i - 1."""
    parent: list[int]
    """The room that leads on to each room."""
    key_room: list[int]
    """The room where each door's key lies."""
    placed: list[int]
    """The doors in the order in which their keys were placed."""
    exit: int


def draw_layout(doors: int, draws: Draws) -> Layout:
    """Draw one building. Keys are placed as if walking: a door whose key is placed counts as
    passed, and the next keys may lie behind it, so every door can be opened."""
    below = draws.below
    colours = draws.sample(COLOURS, doors)
    parent = [0] * (doors + 1)
    behind: list[list[int]] = [[] for _ in range(doors + 1)]
    for door in range(1, doors + 1):
        parent[door] = below(door)
        behind[parent[door]].append(door)
    key_room = [0] * (doors + 1)
    reachable, waiting = [0], behind[0].copy()
    while waiting:
        door = waiting.pop(below(len(waiting)))
        key_room[door] = draws.choice(reachable)
        reachable.append(door)
        waiting += behind[door]
    leaves = [door for door in range(1, doors + 1) if not behind[door]]
    return Layout(colours, parent, key_room, reachable[1:], draws.choice(leaves))


def solvable_within(layout: Layout, moves: int) -> bool:
    """Whether the exit can be reached in ``moves`` moves or fewer."""
    parent, key_room = layout.parent, layout.key_room
    needed = {0}
    waiting = [layout.exit]
    while waiting:
        room = waiting.pop()
        if room not in needed:
            needed.add(room)
            waiting += (parent[room], key_room[room])
    depth, room = 0, layout.exit
    while room:
        depth, room = depth + 1, parent[room]
    if 2 * (len(needed) - 1) - depth > moves:
        return False

    # A state is the bits of the rooms entered, shifted past the room one is in.
    shift = len(parent).bit_length()
    mask = (1 << shift) - 1
    behind: list[list[tuple[int, int, int]]] = [[] for _ in parent]
    for room in needed - {0}:  # the order of successors does not matter here
        behind[parent[room]].append((room, 1 << room + shift, 1 << key_room[room] + shift))
    level = {1 << shift}
    seen = set(level)
    for _ in range(moves):
        following = set()
        for state in level:
            room = state & mask
            entered = state ^ room
            following.add(entered | parent[room])
            for door, bit, key in behind[room]:
                if entered & (bit | key):
                    if door == layout.exit:
                        return True
                    following.add(entered | bit | door)
        level = following - seen
        seen |= level
    return False
