from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.draws import Draws
from beeline.errors import DomainError, SettingError
from beeline.space import UNREACHABLE, explore
from domains.navigation.word_ladder import (
    WordLadder,
    WordLadderProblem,
    letters_different,
    neighbours,
)
from domains.navigation.word_ladder_kernel import far_words, official_graph, word_graph, word_space
from tests.domains.same_space import assert_same_space
from tests.shared import shared_folder


@pytest.fixture
def domain() -> WordLadder:
    shared_folder("data")
    return WordLadder("letters_different", {"min_steps": 5})


def test_word_graph_has_the_known_counts() -> None:
    shared_folder("data")
    graph = official_graph()
    assert len(graph.words) == 5757
    assert len(graph.arcs.ends) == 2 * 14_135
    largest, left = 0, set(range(5757))
    while left:
        reached = np.flatnonzero(graph.arcs.distances(min(left)) != UNREACHABLE).tolist()
        largest = max(largest, len(reached))
        left.difference_update(reached)
    assert largest == 4493
    assert int((graph.arcs.lengths() == 0).sum()) == 671  # words without any neighbour


def test_neighbours_in_the_graph_are_those_of_the_definition() -> None:
    shared_folder("data")
    graph = official_graph()
    words = frozenset(graph.words)
    for i in range(0, 5757, 19):
        assert [graph.words[j] for j in graph.successors(i)] == neighbours(graph.words[i], words)


WORDS = st.lists(st.text("abc", min_size=3, max_size=3), min_size=2, max_size=27, unique=True).map(sorted)


@given(WORDS, st.data())
def test_kernel_agrees_with_the_plain_search(words: list[str], data: st.DataObject) -> None:
    start, target = data.draw(st.sampled_from(words)), data.draw(st.sampled_from(words))
    problem = WordLadderProblem(words, start, target)
    try:
        plain = explore(problem)
    except DomainError:
        with pytest.raises(DomainError, match="cannot be reached"):
            word_space(word_graph(words), start, target)
        return
    assert_same_space(word_space(word_graph(words), start, target), plain)


@given(WORDS, st.data(), st.integers(1, 6))
def test_far_words_are_those_that_a_plain_search_finds(
    words: list[str], data: st.DataObject, steps: int
) -> None:
    start = data.draw(st.sampled_from(words))
    plain = explore(WordLadderProblem(words, start, start))
    far = [plain.state(s) for s in range(plain.states_reachable) if plain.from_start[s] >= steps]
    assert far_words(word_graph(words), start, steps) == sorted(far)


@pytest.mark.parametrize("trial", [1, 2])
def test_official_trial_agrees_with_the_plain_search(domain: WordLadder, trial: int) -> None:
    instance = json.loads(json.dumps(domain.draw(trial, Draws("word_ladder", trial))))
    assert_same_space(domain.space(trial, instance), explore(domain.build(trial, instance)))


def test_trial_one(domain: WordLadder) -> None:
    problem = domain.problem(1)
    assert problem.render(problem.start) == "KITTY"
    assert problem.objective == "Reach the word HEDGE."
    assert problem.successors("kitty") == ["bitty", "ditty", "kilty", "nitty", "titty", "witty"]
    assert problem.heuristic("kitty") == 5
    assert domain.space(1, {"start": "kitty", "target": "hedge"}).shortest_path == 9


def test_trials_are_far_enough(domain: WordLadder) -> None:
    for trial in range(1, 30):
        instance = domain.draw(trial, Draws("word_ladder", trial))
        assert domain.space(trial, instance).shortest_path >= 5


def test_start_without_far_words_is_drawn_again(domain: WordLadder) -> None:
    graph = official_graph()
    for trial in range(1, 50):
        draws = Draws("word_ladder", trial)
        barren = 0
        while not far_words(graph, start := draws.choice(graph.words), 5):
            barren += 1
        assert domain.draw(trial, Draws("word_ladder", trial)) == {
            "start": start,
            "target": draws.choice(far_words(graph, start, 5)),
        }
        if barren:
            return
    pytest.fail("no trial has a barren start")


def test_heuristic_is_zero_at_the_target_only() -> None:
    assert letters_different("abcde", "abcde") == 0
    assert letters_different("abcde", "abcdf") == 1
    assert letters_different("abcde", "eabcd") == 5


def test_settings_and_ends_that_cannot_be(domain: WordLadder, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingError, match="min_steps must be 1 or more, not 0"):
        WordLadder("letters_different", {"min_steps": 0})
    for attempt in (domain.build, domain.space):
        with pytest.raises(DomainError, match="'zzzzz': it is not in the word list"):
            attempt(1, {"start": "kitty", "target": "zzzzz"})
    with pytest.raises(DomainError, match="aargh cannot be reached from kitty"):
        domain.space(1, {"start": "kitty", "target": "aargh"})
    monkeypatch.setattr("domains.navigation.word_ladder.MAX_TRIES", 20)
    domain = WordLadder("letters_different", {"min_steps": 400})
    with pytest.raises(DomainError, match="no words 400 steps apart in 20 tries; lower min_steps"):
        domain.draw(1, Draws("word_ladder", 1))
