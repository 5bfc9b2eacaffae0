"""The search and the tally against plain references on random graphs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.draws import Draws
from beeline.search import Limits, Outcome, search
from beeline.space import UNREACHABLE, Space, explore
from beeline.tally import Tally
from tests.beeline.graphs import Graph, spaces


def reference(space: Space, limits: Limits, evict: Draws, choose: Draws) -> tuple[Outcome, dict[str, int]]:
    """The rules once more, looking at the whole frontier at each step."""
    frontier = [(space.start, 0)]
    seen = {space.start}
    tally = dict.fromkeys(("decisions", "optimal", "regret", "dead_ends", "contested", "on_path"), 0)
    expansions = 0
    while frontier and expansions < limits.max_expansions:
        index = 0
        if len(frontier) > 1:
            index = choose.below(len(frontier))
            distances = [space.to_goal[state] for state, _ in frontier]
            on = [space.from_start[s] + space.to_goal[s] == space.shortest_path for s, _ in frontier]
            best, mine = min(distances), distances[index]
            if best != UNREACHABLE:
                tally["decisions"] += 1
                tally["optimal"] += mine == best
                tally["dead_ends"] += mine == UNREACHABLE
                tally["regret"] += 0 if mine == UNREACHABLE else mine - best
                if any(on) and not all(on):
                    tally["contested"] += 1
                    tally["on_path"] += on[index]
        state, depth = frontier.pop(index)
        expansions += 1
        if space.is_goal(state):
            return Outcome(True, expansions, depth), tally
        for successor in space.successors(state):
            if successor not in seen:
                seen.add(successor)
                frontier.append((successor, depth + 1))
        while len(frontier) > limits.max_frontier:
            gone, _ = frontier.pop(evict.below(len(frontier)))
            seen.remove(gone)
    return Outcome(False, expansions, None), tally


@given(spaces(), st.integers(1, 30), st.integers(2, 6), st.integers(0, 1000))
def test_search_and_tally_equal_the_reference(space: Space, steps: int, width: int, seed: int) -> None:
    limits = Limits(steps, width)
    expected, counts = reference(space, limits, Draws("evict", seed), Draws("choose", seed))
    tally, choose = Tally(space), Draws("choose", seed)
    driven = search(space, limits, Draws("evict", seed), space.text, tally)
    outcome = None
    try:
        frontier = next(driven)
        while True:
            index = choose.below(len(frontier.states))
            assert frontier.keys == [space.text(state) for state in frontier.states]
            tally.choose(frontier.states[index])
            driven.send(index)
    except StopIteration as stop:
        outcome = stop.value
    assert outcome == expected
    assert tally.choices.as_dict() == counts


def test_steps_without_a_choice_ask_nothing() -> None:
    line = explore(Graph([[1], [2], [3], []]))
    with pytest.raises(StopIteration) as stop:
        next(search(line, Limits(9, 2), Draws("x"), line.text))
    assert stop.value.value == Outcome(True, 4, 3)


def test_expansions_end_a_search_before_the_goal_leaves_the_frontier() -> None:
    # The goal is in the frontier after three expansions, and counts only when it is expanded.
    line = explore(Graph([[1], [2], [3], []]))
    with pytest.raises(StopIteration) as stop:
        next(search(line, Limits(3, 2), Draws("x"), line.text))
    assert stop.value.value == Outcome(False, 3, None)


def test_an_empty_frontier_ends_a_search() -> None:
    # Evicting the only way to the goal leaves dead ends alone.
    space = explore(Graph([[1, 2, 3], [], [], [4], []]))
    ended = set()
    for seed in range(20):
        driven = search(space, Limits(9, 2), Draws(seed), space.text)
        try:
            next(driven)
            while True:
                driven.send(0)
        except StopIteration as stop:
            ended.add(stop.value)
    assert ended == {Outcome(False, 3, None), Outcome(True, 4, 2)}


def test_an_evicted_state_is_found_again_and_an_expanded_one_is_not() -> None:
    # Both middle states lead to all others and back to the start.
    space = explore(Graph([[1, 2, 3], [0, 2, 3], [0, 1, 3], [4], []]))
    entered: list[int] = []
    left: list[int] = []

    class Watch:
        def enter(self, state: int) -> None:
            entered.append(state)

        def leave(self, state: int) -> None:
            left.append(state)

        def force(self, state: int) -> None:
            pass

    again = 0
    for seed in range(20):
        entered.clear()
        left.clear()
        driven = search(space, Limits(9, 2), Draws(seed), space.text, Watch())
        try:
            frontier = next(driven)
            expanded = {space.start}
            while True:
                assert not expanded & set(frontier.states)
                assert len(frontier.states) == 2
                expanded.add(frontier.states[0])
                driven.send(0)
        except StopIteration:
            pass
        assert entered.count(space.start) == 1
        again += any(entered.count(state) > 1 for state in entered)
    assert again


@pytest.mark.parametrize("index", [2, -3])
def test_an_index_outside_the_frontier_is_an_error(index: int) -> None:
    space = explore(Graph([[1, 2], [], []]))
    driven = search(space, Limits(9, 9), Draws("x"), space.text)
    next(driven)
    with pytest.raises(IndexError):
        driven.send(index)
