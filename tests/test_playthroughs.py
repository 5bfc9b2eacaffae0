"""The committed playthroughs are what the domains do now."""

from __future__ import annotations

import pytest

from tests.domains.test_contract import NAMES, domain_of
from tests.playthroughs import FOLDER, NOT_OURS_TO_SHOW, path_of, text_of
from tests.shared import shared_folder


@pytest.mark.parametrize("name", NAMES)
def test_playthrough_is_up_to_date(name: str) -> None:
    domain_of(name)  # skips where data is missing
    assert path_of(name).exists(), f"make it: python -m tests.playthroughs {name}"
    # If the change is meant: python -m tests.playthroughs, and read the difference.
    assert text_of(name).splitlines() == path_of(name).read_text(encoding="utf-8").splitlines()


def test_no_playthrough_is_left_over() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(NAMES)


@pytest.mark.parametrize("name", [name for name in NOT_OURS_TO_SHOW if name in NAMES])
def test_playthroughs_hold_no_data_of_others(name: str) -> None:
    shared_folder("data")
    domain = domain_of(name)
    problem = domain.problem(1)
    text = path_of(name).read_text(encoding="utf-8")
    walk = [problem.start, *problem.successors(problem.start)]
    assert len(walk) > 1
    assert not [title for title in map(problem.render, walk) if title in text]
