"""Whether a kernel's space is the plain one, state by state, whatever their numbers are."""

from __future__ import annotations

from itertools import pairwise

from beeline.space import Space

__all__ = ["assert_same_space"]


def assert_same_space(kernel: Space, plain: Space) -> None:
    """Every state that the start reaches has the same distances, successors, text, goal test and
    place in the order of the heuristic."""
    for name in ("shortest_path", "states_reachable", "states_reaching_goal", "objective", "context"):
        assert getattr(kernel, name) == getattr(plain, name), name
    number = {plain.start: kernel.start}
    for state in range(plain.states_reachable):  # numbered breadth first: a parent comes before
        other = number[state]
        ours, theirs = kernel.successors(other), plain.successors(state)
        assert len(ours) == len(theirs)
        for successor, match in zip(theirs, ours, strict=True):
            assert number.setdefault(successor, match) == match
        assert kernel.state(other) == plain.state(state)
        assert kernel.text(other) == plain.text(state)
        assert kernel.is_goal(other) is plain.is_goal(state)
        assert kernel.to_goal[other] == plain.to_goal[state]
        assert kernel.from_start[other] == plain.from_start[state]
    assert len(set(number.values())) == plain.states_reachable
    by_value = sorted(number, key=plain.heuristic)
    for less, more in pairwise(by_value):
        equal = plain.heuristic(less) == plain.heuristic(more)
        ours, theirs = kernel.heuristic(number[less]), kernel.heuristic(number[more])
        assert ours == theirs if equal else ours < theirs
