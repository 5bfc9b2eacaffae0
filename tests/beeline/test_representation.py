"""Other ways to write a state: found by name, one text a state, and nothing of the space changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beeline.draws import Draws
from beeline.errors import SettingError
from beeline.representation import Representation, find_representation, problems_own, represent
from beeline.space import explore
from tests.beeline.graphs import Graph
from tests.domains_found import make, targets

SHOUTED = Representation(
    "shouted",
    render=lambda problem, state: f"STATE {problem.render(state)}!",
    objective=lambda problem: f"{problem.objective}reach s2",
    context=lambda problem: f"{problem.context}walk",
)


@pytest.mark.parametrize("name", sorted(targets()))
@given(trial=st.integers(1, 100), steps=st.lists(st.integers(0, 2**16), min_size=5, max_size=40))
@settings(max_examples=8, deadline=None)
def test_two_states_of_a_trial_never_share_a_text(name: str, trial: int, steps: list[int]) -> None:
    domain = make(name)
    problem: Any = domain.build(trial, domain.draw(trial, Draws(name, trial)))
    state, met = problem.start, {problem.start: None}
    for step in steps:
        following = list(problem.successors(state))
        met.update(dict.fromkeys(following))
        # From a dead end anew.
        state = following[step % len(following)] if following else problem.start
    for representation in domain.representations:
        texts = {representation.render(problem, state) for state in met}
        assert len(texts) == len(met)
        assert texts == {representation.render(problem, state) for state in met}


@pytest.mark.parametrize("name", sorted(targets()))
def test_names_find_representations(name: str) -> None:
    domain = make(name)
    first, *others = domain.representations
    assert len(others) >= 2
    assert find_representation(domain, None) is None
    assert find_representation(domain, first.name) is None
    for representation in others:
        assert find_representation(domain, representation.name) is representation
    with pytest.raises(
        SettingError, match=rf"^domain {name} has no representation 'nope': \(one of: "
    ) as error:
        find_representation(domain, "nope")
    for representation in domain.representations:
        assert representation.name in str(error.value)


def test_a_problem_writes_its_own() -> None:
    problem = Graph([[1, 2], [2], []])
    own = problems_own("own")
    assert own.render(problem, 1) == problem.render(1)
    assert (own.objective(problem), own.context(problem)) == (problem.objective, problem.context)


def test_only_texts_change() -> None:
    problem = Graph([[1, 2], [2], []])
    space = explore(problem)
    before = [space.text(state) for state in range(3)]
    written = represent(space, problem, SHOUTED)
    assert [written.text(state) for state in range(3)] == [f"STATE {text}!" for text in before]
    assert (written.objective, written.context) == ("reach s2", "walk")
    for field in ("start", "shortest_path", "to_goal", "from_start", "successors", "is_goal", "heuristic"):
        assert getattr(written, field) is getattr(space, field)
    assert [space.text(state) for state in range(3)] == before
