"""The closed table of outcomes: it explains every record, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.model_arm import UsabilityGuard, model_arm
from beeline.outcomes import ENDINGS, EVENTS, Ending, unaccounted
from beeline.question import Answer
from beeline.search import Limits
from beeline.space import Space
from beeline.wording import Wording
from tests.beeline.graphs import spaces

KINDS = ("clear", "tied", "refused", "zero", "foreign")


def reply(kind: str, options: tuple[str, ...], wrong_pick: bool) -> Answer:
    answer = Answer(choice=options[-1] if wrong_pick else None)
    if kind == "refused":
        answer.refused = True
    elif kind == "clear":
        answer.probabilities = {options[0]: 1.0}
    elif kind == "tied":
        answer.probabilities = [1.0] * len(options)
    elif kind == "zero":
        answer.probabilities = [0.0] * len(options)
    else:
        answer.probabilities = {"nobody": 1.0}
    return answer


@given(space=spaces(), kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=30), wrong=st.booleans())
def test_every_search_is_explained(space: Space, kinds: list[str], wrong: bool) -> None:
    guard = UsabilityGuard(10**9)
    arm = model_arm(space, "d", "t", 1, "m", Limits(50, 9), Wording("w", "?"), guard)
    expected = dict.fromkeys(Ending, 0)
    given_kinds = []
    try:
        question = next(arm)
        while True:
            kind = kinds[len(given_kinds) % len(kinds)]
            given_kinds.append(kind)
            question = arm.send(reply(kind, question.options, wrong))
    except StopIteration as stop:
        usage = stop.value.usage
    # An independent count: bad replies come in ones and twos, since two end a decision.
    pending = None
    for kind in given_kinds:
        bad = kind not in ("clear", "tied")
        if pending is None and bad:
            pending = kind
        elif pending is None:
            expected[Ending.TIE if kind == "tied" else Ending.ANSWERED] += 1
        else:
            refused = pending == "refused"
            reasked = Ending.REASKED_REFUSED if refused else Ending.REASKED_INVALID
            expected[Ending.FALLBACK if bad else reasked] += 1
            pending = None
    assert usage.outcomes == expected
    assert unaccounted(usage.as_dict()) == []


def arm(**changes: Any) -> dict[str, Any]:
    outcomes = {
        "answered": 5,
        "tie": 2,
        "reasked_after_refusal": 1,
        "reasked_after_invalid": 0,
        "fallback": 1,
    }
    good = {"requests": 11, "refusals": 2, "invalid_answers": 1, "fallbacks": 1, "outcomes": outcomes}
    return good | changes


def test_a_sound_record_has_nothing_unexplained() -> None:
    assert unaccounted(arm()) == []
    assert unaccounted({"requests": 5}) == []  # from before the table


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"outcomes": arm()["outcomes"] | {"guessed": 1}, "requests": 12}, "'guessed', which is no known"),
        ({"requests": 10}, "10 questions asked, but 11"),
        ({"refusals": 3}, "3 refusals and 1 invalid answers, but 3"),
        ({"fallbacks": 0}, "0 fallbacks, but 1"),
        ({"outcomes": {"answered": -1}}, "no counts"),
        ({"outcomes": [1]}, "no counts"),
    ],
)
def test_what_is_not_in_the_table_is_said(changes: dict[str, Any], said: str) -> None:
    assert any(said in problem for problem in unaccounted(arm(**changes)))


def test_the_table_is_whole() -> None:
    assert set(ENDINGS) == set(Ending)
    counters = [event.counter for event in EVENTS.values() if event.counter]
    assert len(set(counters)) == len(counters)
