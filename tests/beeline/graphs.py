"""Random small problems for the tests of the search, the tally and the model arm."""

from __future__ import annotations

from hypothesis import strategies as st

from beeline.errors import DomainError
from beeline.problem import Problem
from beeline.space import Space, explore


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
    """A space with cycles, repeats and dead ends, in which the goal can be reached."""
    size = draw(st.integers(3, 14))
    arcs = draw(st.lists(st.lists(st.integers(0, size - 1), max_size=5), min_size=size, max_size=size))
    try:
        return explore(Graph(arcs))
    except DomainError:
        arcs[0] = [*arcs[0], size - 1]
        return explore(Graph(arcs))
