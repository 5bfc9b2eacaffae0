"""Version 2.0.0: the trials of 1.0.0, other ties, and no option that is a bare integer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from beeline.arms import OFFLINE_ARMS
from beeline.digest import differences
from beeline.model_arm import UsabilityGuard
from beeline.question import Answer, Question
from beeline.versions import PINNED
from beeline.worker import TrialTask, begin_model_arm, open_space, run_offline
from protocols.first_option import FirstOption
from tests.domains_found import definition
from tests.plans import plan
from tests.shared import shared_folder


@pytest.fixture
def _data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEELINE_DATA_MIRROR", str(shared_folder("data")))


def test_what_changed_and_nothing_else() -> None:
    changed = list(differences(definition("1.0.0").as_dict(), definition("2.0.0").as_dict()))
    assert changed == [
        'domains.countdown.representation: (absent) -> "list"',
        'ties: "frontier_order" -> "seeded_draw"',
    ]


def test_released_definitions_stay() -> None:
    for version in ("1.0.0", "2.0.0"):
        assert definition(version).digest == PINNED[version]


@pytest.mark.usefixtures("_data")
@pytest.mark.parametrize("domain", list(definition("2.0.0").domains))
def test_offline_arms_are_those_of_the_ground_truth(domain: str) -> None:
    truth = json.loads(shared_folder("data", "conformance", f"{domain}.json").read_text())
    made = plan(domain, "2.0.0")
    for true in truth["trials"][:12]:
        found = run_offline(TrialTask(made, true["trial"]))
        facts = ("shortest_path", "states_reachable", "states_reaching_goal")
        assert {k: found[k] for k in facts} == {k: true[k] for k in facts}
        for arm in OFFLINE_ARMS:
            kept = ("expansions", "solved", "path_length")
            assert {k: found["arms"][arm][k] for k in kept} == {k: true[arm][k] for k in kept}, arm


@pytest.mark.usefixtures("_data")
@pytest.mark.parametrize("domain", list(definition("2.0.0").domains))
def test_no_option_is_a_bare_integer(domain: str) -> None:
    made = plan(domain, "2.0.0")
    for trial in (1, 2, 3):
        space = open_space(made, trial, run_offline(TrialTask(made, trial))["instance"])
        seen, queue = {space.start}, [space.start]
        for state in queue:
            text = space.text(state)
            assert text
            assert not text.strip("+-").isdigit(), text
            if len(queue) < 3_000:
                new = [s for s in dict.fromkeys(space.successors(state)) if s not in seen]
                seen.update(new)
                queue += new
        assert len(queue) > 20


def test_countdown_of_one_number_was_a_bare_integer_in_the_first_version() -> None:
    texts = {}
    for version in ("1.0.0", "2.0.0"):
        made = plan("countdown", version)
        space = open_space(made, 1, run_offline(TrialTask(made, 1))["instance"])
        goal = next(s for s in range(space.states_reachable) if space.is_goal(s))
        texts[version] = space.text(goal)
    assert texts["1.0.0"].isdigit()
    assert texts["2.0.0"] == f"[{texts['1.0.0']}]"


def searched(domain: str, version: str, trial: int, answer: Any) -> tuple[dict[str, Any], list[Question]]:
    made = plan(domain, version)
    space = open_space(made, trial, run_offline(TrialTask(made, trial))["instance"])
    steps = begin_model_arm(made, space, trial, FirstOption("first_option"), UsabilityGuard(), False)
    asked = []
    try:
        question = next(steps)
        while True:
            asked.append(question)
            question = steps.send(answer(question))
    except StopIteration as stop:
        return stop.value.as_dict(space.shortest_path, made.limits), asked


def test_ties_go_to_the_first_found_then_to_a_draw() -> None:
    def all_alike(question: Question) -> Answer:
        return Answer([0.5] * len(question.options))

    arms = {v: searched("blocksworld", v, 3, all_alike)[0] for v in ("1.0.0", "2.0.0")}
    assert all(arm["ties"] == arm["requests"] > 0 for arm in arms.values())
    # Always the first found is a breadth-first search; drawn ties are another one, and the same again.
    assert arms["1.0.0"]["expansions"] != arms["2.0.0"]["expansions"]
    assert searched("blocksworld", "2.0.0", 3, all_alike)[0]["expansions"] == arms["2.0.0"]["expansions"]


def test_without_ties_both_versions_are_one_search() -> None:
    def distinct(question: Question) -> Answer:
        return Answer({o: 1 + sum(map(ord, o)) + i / 1000 for i, o in enumerate(sorted(question.options))})

    first, asked = searched("tiles", "1.0.0", 2, distinct)
    second, again = searched("tiles", "2.0.0", 2, distinct)
    assert first["ties"] == second["ties"] == 0
    assert first["expansions"] == second["expansions"]
    assert asked == again
