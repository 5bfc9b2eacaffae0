"""The search and the tally against plain references on random graphs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from beeline.draws import Draws
from beeline.errors import DomainError
from beeline.problem import Problem
from beeline.search import Limits, Outcome, search
from beeline.space import UNREACHABLE, Space, explore
from beeline.tally import Tally


class Graph(Problem[int]):
    """A graph given by its arcs; the last state is the goal."""

    objective = context = ""
    start = 0

    def __init__(self, arcs: list[list[int]]) -> None:
        self.arcs = arcs

    def successors(self, state: int) -> list[int]:
        return self.arcs[state]

    def is_goal(self, state: int) -> bool:
        return state == len(self.arcs) - 1

    def heuristic(self, state: int) -> int:
        return (state * 7) % 5

    def render(self, state: int) -> str:
        return f"s{state}"


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    size = draw(st.integers(3, 14))
    arcs = draw(st.lists(st.lists(st.integers(0, size - 1), max_size=5), min_size=size, max_size=size))
    try:
        return explore(Graph(arcs))
    except DomainError:
        arcs[0] = [*arcs[0], size - 1]
        return explore(Graph(arcs))


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
