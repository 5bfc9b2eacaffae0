"""The contract of every navigation domain in the config tree (see ``contract.py``)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beeline.errors import SettingError
from beeline.problem import Domain
from tests.domains import contract
from tests.domains_found import definition, instance_of, make, targets
from tests.shared import shared_folder

NAMES = list(targets())
TRIALS = (1, 2, 3)

SMALL: dict[str, dict[str, Any]] = {
    "blocksworld": {"blocks": 4},
    "countdown": {"numbers": 3, "largest_number": 12, "smallest_target": 5, "largest_target": 60},
    "keys_doors": {"doors": 5, "min_moves": 4},
    "rush_hour": {"vehicles": 6, "min_moves": 2},
    "tiles": {"scramble": 5},
}
"""Parameters of trials that are cheap to make and to search in full; a domain that is not named
is tried as version 1.0.0 has it."""

NEEDS_DATA = {"wikispeedia", "word_ladder"}

LEAST_AT_GOALS_ONLY = {"blocksworld", "countdown", "rush_hour", "tiles", "word_ladder"}
LEAST_AT_GOALS = {*LEAST_AT_GOALS_ONLY, "keys_doors"}
"""Whose heuristic promises what. keys_doors keeps the least value when the exit was entered and
left again; wikispeedia's prefers well-linked articles of the target's category to the target."""

SHARED_TEXTS = {"wikispeedia"}
"""Whose texts need not differ outside a frontier: two titles may decode alike."""


def domain_of(name: str, small: bool = False) -> Domain:
    if name in NEEDS_DATA and not Path(os.environ["BEELINE_DATA_MIRROR"]).exists():
        shared_folder("data")
        pytest.skip(f"no data for {name}: {os.environ['BEELINE_DATA_MIRROR']} is missing")
    return make(name, SMALL.get(name) if small else None)


def test_every_domain_of_the_version_is_found() -> None:
    assert set(NAMES) == set(definition().domains)


@pytest.mark.parametrize("name", NAMES)
def test_domain_says_who_it_is(name: str) -> None:
    domain = domain_of(name)
    assert (domain.name, domain.suite) == (name, "navigation")
    assert domain.heuristic == domain.heuristics[0]
    assert domain.title != ""
    with pytest.raises(SettingError, match=f"domain {name} knows no heuristic 'crystal_ball'"):
        type(domain)("crystal_ball", definition().domain(name).parameters)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_needed_and_typed(name: str) -> None:
    domain = domain_of(name)
    given_ = dict(definition().domain(name).parameters)
    for parameter in given_:
        rest = {key: value for key, value in given_.items() if key != parameter}
        for wrong in (
            rest,
            {**given_, parameter: None},
            {**given_, parameter: "x"},
            {**given_, parameter: -1},
        ):
            with pytest.raises(SettingError, match=rf"domain {name}.*{parameter}"):
                type(domain)(domain.heuristic, wrong)


@pytest.mark.parametrize("name", NAMES)
def test_instances_survive_json(name: str) -> None:
    for trial in TRIALS:
        contract.check_instance_survives_json(domain_of(name), trial)


@pytest.mark.parametrize("name", NAMES)
def test_trials_repeat_and_differ(name: str) -> None:
    contract.check_trial_is_repeatable(domain_of(name), domain_of(name), range(1, 7))


@pytest.mark.parametrize("name", NAMES)
def test_successors_repeat(name: str) -> None:
    for trial in TRIALS:
        contract.check_successors_are_repeatable(domain_of(name), trial)


@pytest.mark.parametrize("name", NAMES)
def test_texts_differ_on_every_frontier(name: str) -> None:
    contract.check_texts_differ_on_frontiers(domain_of(name), 4, definition().limits)


@pytest.mark.parametrize("small", [True, False], ids=["small", "official"])
@pytest.mark.parametrize("name", NAMES)
def test_kernel_equals_the_plain_search(name: str, small: bool) -> None:
    domain = domain_of(name, small)
    for trial in TRIALS if small and name in SMALL and name != "tiles" else TRIALS[:1]:
        contract.check_kernel_is_the_plain_search(domain, trial, injective=name not in SHARED_TEXTS)


@pytest.mark.parametrize("name", NAMES)
def test_distances_are_consistent(name: str) -> None:
    for trial in (5, 6):
        contract.check_distances(domain_of(name).space(trial, instance_of(domain_of(name), trial)))


@pytest.mark.parametrize("name", sorted(LEAST_AT_GOALS & set(NAMES)))
def test_heuristic_is_least_at_goals(name: str) -> None:
    domain = domain_of(name)
    space = domain.space(7, instance_of(domain, 7))
    contract.check_least_value_at_goals(space, only=name in LEAST_AT_GOALS_ONLY)


@pytest.mark.parametrize("name", NAMES)
def test_searches_over_kernel_and_plain_space_are_equal(name: str) -> None:
    contract.check_arms_of_kernel_and_plain(domain_of(name), 8, definition().limits)


@pytest.mark.parametrize("name", NAMES)
def test_arms_keep_their_bounds(name: str) -> None:
    for trial in (9, 10):
        contract.check_arms_keep_their_bounds(domain_of(name), trial, definition().limits)


@pytest.mark.parametrize("name", NAMES)
def test_any_trial_number_will_do(name: str) -> None:
    domain = domain_of(name, small=True)

    @given(st.integers(1, 10**6))
    @settings(max_examples=10, deadline=None, derandomize=True, database=None)
    def check(trial: int) -> None:
        contract.check_start_and_wording(domain, trial)
        if name != "tiles":  # 181,440 states whatever the parameters
            contract.check_arms_keep_their_bounds(domain, trial, definition().limits)

    check()
