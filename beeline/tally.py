"""The choice tally: how good each decision was, measured against true distances.

A *decision* is an unforced step at which some frontier state reaches a goal. It is *optimal*
when the chosen state's distance is the least in the frontier; its *regret* is chosen minus
least distance; choosing a state that reaches no goal is a *dead end* (and has no regret). A
decision is *contested* when the frontier holds both a state on a shortest path (distance from
start + distance to goal = shortest path) and one that is not; *on_path* counts contested
decisions that took one on a shortest path.

The tally follows the frontier as it changes, in constant work a change: it counts the frontier
states at each distance instead of looking at all of them at each step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from beeline.space import UNREACHABLE, Space

__all__ = ["Choices", "Judgement", "Tally"]


@dataclass(slots=True)
class Choices:
    """Counts over the decisions of one search; the fields are those of a record."""

    decisions: int = 0
    optimal: int = 0
    regret: int = 0
    dead_ends: int = 0
    contested: int = 0
    on_path: int = 0

    def as_dict(self) -> dict[str, int]:
        """The counts by name, in the order of the record."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is true of one choice; distances are None for a state that reaches no goal.

    ``decision`` is False when no frontier state reaches a goal: nothing is counted then.
    """

    decision: bool
    distance: int | None
    best: int | None
    contested: bool
    on_path: bool


class Tally:
    """Watches a search (see :class:`beeline.search.Watcher`) and counts its choices."""

    __slots__ = (
        "_at",
        "_best",
        "_from_start",
        "_on_path",
        "_shortest",
        "_to_goal",
        "choices",
        "on_forced",
        "size",
    )

    def __init__(self, space: Space) -> None:
        self.choices = Choices()
        self.on_forced: Callable[[int], None] | None = None
        self.size = 0
        self._to_goal = space.to_goal
        self._from_start = space.from_start
        self._shortest = space.shortest_path
        self._at: dict[int, int] = {}
        self._best = UNREACHABLE
        self._on_path = 0

    def enter(self, state: int) -> None:
        """A state joins the frontier."""
        distance = self._to_goal[state]
        self.size += 1
        self._at[distance] = self._at.get(distance, 0) + 1
        if distance < self._best:
            self._best = distance
        if distance + self._from_start[state] == self._shortest:
            self._on_path += 1

    def leave(self, state: int) -> None:
        """A state is expanded or evicted."""
        distance = self._to_goal[state]
        self.size -= 1
        left = self._at[distance] - 1
        if left:
            self._at[distance] = left
        else:
            del self._at[distance]
            if distance == self._best:
                # At most as many keys as there are distances: a few dozen.
                self._best = min(self._at, default=UNREACHABLE)
        if distance + self._from_start[state] == self._shortest:
            self._on_path -= 1

    def force(self, state: int) -> None:
        """A forced step is no decision."""
        if self.on_forced is not None:
            self.on_forced(state)

    def choose(self, state: int) -> None:
        """Count the choice of ``state``, which is still in the frontier."""
        best = self._best
        if best == UNREACHABLE:
            return
        choices = self.choices
        choices.decisions += 1
        distance = self._to_goal[state]
        if distance == best:
            choices.optimal += 1
        elif distance == UNREACHABLE:
            choices.dead_ends += 1
        else:
            choices.regret += distance - best
        if 0 < self._on_path < self.size:
            choices.contested += 1
            if distance + self._from_start[state] == self._shortest:
                choices.on_path += 1

    def judge(self, state: int) -> Judgement:
        """What :meth:`choose` would count for ``state``, for a trace; counts nothing."""
        distance, best = self._to_goal[state], self._best
        return Judgement(
            decision=best != UNREACHABLE,
            distance=None if distance == UNREACHABLE else distance,
            best=None if best == UNREACHABLE else best,
            contested=best != UNREACHABLE and 0 < self._on_path < self.size,
            on_path=distance + self._from_start[state] == self._shortest,
        )
