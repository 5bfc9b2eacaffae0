"""Best-first search: one sans-I/O generator that every arm drives.

The generator yields its frontier whenever a choice is to be made and is sent the index of the
state to expand. Offline arms answer in a plain loop, a model answers with ``await``; the rules
below exist once:

* one state in the frontier is taken without asking (a *forced* step);
* the goal test is made when a state leaves the frontier, never when it enters;
* successors that were not seen join the end of the frontier, one deeper than their parent;
* above ``max_frontier`` states are *evicted* by seeded draws, may be found again, and expanded
  states never are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Protocol

from beeline.draws import Draws
from beeline.space import Space

__all__ = ["Frontier", "Limits", "Outcome", "Watcher", "search"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a search; part of a version's definition."""

    max_expansions: int
    max_frontier: int


@dataclass(slots=True)
class Frontier:
    """The open states in the order found, with three parallel lists. Read only for choosers."""

    states: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    keys: list[Any] = field(default_factory=list)
    """What the arm wants to know of each state, computed when it entered."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a search ended. ``path_length`` is None when unsolved (censored)."""

    solved: bool
    expansions: int
    path_length: int | None


class Watcher(Protocol):
    """Told of every state that enters or leaves the frontier, and of forced steps."""

    def enter(self, state: int) -> None:
        """``state`` joined the frontier."""

    def leave(self, state: int) -> None:
        """``state`` left the frontier: expanded or evicted."""

    def force(self, state: int) -> None:
        """A forced step takes ``state``; called before it leaves."""


def search(
    space: Space,
    limits: Limits,
    evict: Draws,
    key: Callable[[int], Any],
    watcher: Watcher | None = None,
) -> Generator[Frontier, int, Outcome]:
    """Search from the start; yield the frontier for each unforced step, be sent an index.

    ``key(state)`` is stored beside each state when it enters (a heuristic value, a distance,
    an option text). The yielded Frontier is the same object each time and changes between
    steps. Returns the Outcome; raises IndexError for an index outside the frontier.
    """
    frontier = Frontier([space.start], [0], [key(space.start)])
    states, depths, keys = frontier.states, frontier.depths, frontier.keys
    is_goal, successors = space.is_goal, space.successors
    max_expansions, max_frontier = limits.max_expansions, limits.max_frontier
    seen = {space.start}
    if watcher is not None:
        watcher.enter(space.start)
    expansions = 0
    while states and expansions < max_expansions:
        if len(states) > 1:
            index = yield frontier
        else:
            index = 0
            if watcher is not None:
                watcher.force(states[0])
        state = states.pop(index)
        depth = depths.pop(index)
        del keys[index]
        if watcher is not None:
            watcher.leave(state)
        expansions += 1
        if is_goal(state):
            return Outcome(True, expansions, depth)
        depth += 1
        for successor in successors(state):
            if successor not in seen:
                seen.add(successor)
                states.append(successor)
                depths.append(depth)
                keys.append(key(successor))
                if watcher is not None:
                    watcher.enter(successor)
        while len(states) > max_frontier:
            index = evict.below(len(states))
            evicted = states.pop(index)
            del depths[index], keys[index]
            seen.remove(evicted)
            if watcher is not None:
                watcher.leave(evicted)
    return Outcome(False, expansions, None)
