"""A trial's state space with states numbered by integers, and all distances measured.

Every search runs over a :class:`Space`. Numbers make sets, tables and caches cheap: a
distance is one index into an array, a text or a heuristic value is computed once a state.
:func:`explore` makes a Space of any :class:`~beeline.problem.Problem` by the obvious
exhaustive breadth-first search; domains with kernels make theirs in bulk.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from beeline.errors import DomainError
from beeline.problem import Problem

__all__ = ["UNREACHABLE", "Space", "backward_distances", "cached", "explore"]

UNREACHABLE = 2**31 - 1
"""Distance of a state that reaches no goal (or that the start does not reach): the largest
32-bit integer, so that it compares as infinite and fits the arrays."""


@dataclass(slots=True)
class Space:
    """The states of one trial as integers.

    ``to_goal[s]`` is the fewest moves from s to any goal, ``from_start[s]`` the fewest from the
    start to s, both UNREACHABLE where there is no way; anything that indexes to Python ints
    will do (``array('i')``, a memoryview of an int32 numpy array). ``states_reachable`` counts
    the states reachable from the start, itself included, goals expanded like any other;
    ``states_reaching_goal`` those of them with a distance to a goal.

    ``heuristic(s)`` values compare with each other (less is better) and need not be the
    problem's own objects, only in the same order. ``text(s)`` is the option text and
    ``state(s)`` the problem's own state.
    """

    start: int
    shortest_path: int
    states_reachable: int
    states_reaching_goal: int
    to_goal: Sequence[int]
    from_start: Sequence[int]
    successors: Callable[[int], Sequence[int]]
    is_goal: Callable[[int], bool]
    heuristic: Callable[[int], Any]
    text: Callable[[int], str]
    state: Callable[[int], Any]
    objective: str
    context: str


class _Cached(dict[int, Any]):
    """A dictionary that fills itself: ``cache[s]`` calls the function once a state."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[int], Any]) -> None:
        self.function = function

    def __missing__(self, key: int) -> Any:
        value = self[key] = self.function(key)
        return value


def cached(function: Callable[[int], Any]) -> Callable[[int], Any]:
    """Remember ``function`` by state; a hit costs one dictionary lookup."""
    return _Cached(function).__getitem__


def explore(problem: Problem[Any]) -> Space:
    """Number every state the start reaches, in breadth-first order, and measure distances.

    Plain on purpose: this is the definition that kernels are tested against. Raises
    DomainError when no goal can be reached.
    """
    numbers: dict[Any, int] = {problem.start: 0}
    states: list[Any] = [problem.start]
    arcs: list[tuple[int, ...]] = []
    from_start = array("i", [0])
    for state in states:  # grows while it is walked: the list is its own queue
        row = []
        for successor in problem.successors(state):
            number = numbers.get(successor)
            if number is None:
                number = numbers[successor] = len(states)
                states.append(successor)
                from_start.append(from_start[len(arcs)] + 1)
            row.append(number)
        arcs.append(tuple(row))
    goals = [number for number, state in enumerate(states) if problem.is_goal(state)]
    to_goal = backward_distances(arcs, goals)
    if to_goal[0] == UNREACHABLE:
        raise DomainError(
            f"{type(problem).__name__}: no goal can be reached from the start "
            f"({len(states)} states searched); a trial without a solution is an error"
        )
    return Space(
        start=0,
        shortest_path=to_goal[0],
        states_reachable=len(states),
        states_reaching_goal=sum(d != UNREACHABLE for d in to_goal),
        to_goal=to_goal,
        from_start=from_start,
        successors=arcs.__getitem__,
        is_goal=frozenset(goals).__contains__,
        heuristic=cached(lambda s: problem.heuristic(states[s])),
        text=cached(lambda s: problem.render(states[s])),
        state=states.__getitem__,
        objective=problem.objective,
        context=problem.context,
    )


def backward_distances(arcs: Sequence[Sequence[int]], goals: Sequence[int]) -> array[int]:
    """Fewest moves from each state to any goal, by breadth-first search over reversed arcs.

    ``arcs[s]`` are the successors of s. Moves need not be reversible. Returns one int a state,
    UNREACHABLE where no goal can be reached.
    """
    backward: list[list[int]] = [[] for _ in arcs]
    for source, row in enumerate(arcs):
        for target in row:
            backward[target].append(source)
    distance = array("i", [UNREACHABLE]) * len(arcs)
    queue = list(goals)
    for goal in queue:
        distance[goal] = 0
    for state in queue:
        further = distance[state] + 1
        for source in backward[state]:
            if distance[source] == UNREACHABLE:
                distance[source] = further
                queue.append(source)
    return distance
