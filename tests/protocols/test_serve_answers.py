"""What a function may return, and the reply made of it."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.serve.answers import Senseless, reply_for

CHOICE = {"type": "choice", "criteria": {"a": None, "b": "second", "c": None}}
SCORE = {"type": "score", "criteria": ["low", "middle", "high"]}
NOUL = {"type": "noul"}


def answer(question: dict[str, Any], result: Any, digits: int | None = None) -> dict[str, Any]:
    made: dict[str, Any] = reply_for({"questions": {"q": question}}, {"q": result}, "m", digits)["answers"][
        "q"
    ]
    return made


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ([1, 2, 1], [0.25, 0.5, 0.25]),
        ((1, 2, 1), [0.25, 0.5, 0.25]),
        (np.array([1, 2, 1]), [0.25, 0.5, 0.25]),
        ({"b": 3}, [0, 1, 0]),
        ({"c": np.float32(0.5), "a": 0.5}, [0.5, 0, 0.5]),
        ({"b": True, "a": False}, [0, 1, 0]),
        ("b", [0, 1, 0]),
        ([1e308, 1e308, 0], [0.5, 0.5, 0]),
        ([0.1, 0.2, 0.7], [0.1, 0.2, 0.7]),
    ],
)
def test_weights_become_probabilities(result: Any, expected: list[float]) -> None:
    made = answer(CHOICE, result)
    assert list(made["probabilities"]) == ["a", "b", "c"]
    assert list(made["probabilities"].values()) == expected
    assert made["choice"] == "abc"[expected.index(max(expected))]
    assert made["confidence"] == pytest.approx((max(expected) - 1 / 3) / (2 / 3))


def test_an_answer_is_kept_as_it_is() -> None:
    given_answer = {
        "probabilities": {"a": 0.3, "b": 0.33},
        "choice": "a",
        "confidence": 0.1,
        "x_ms": 4,
        "z": 1,
    }
    assert answer(CHOICE, given_answer) == {
        "type": "choice",
        "choice": "a",
        "confidence": 0.1,
        "probabilities": {"a": 0.3, "b": 0.33, "c": 0.0},
        "x_ms": 4,
    }
    assert answer(CHOICE, {"probabilities": [0, 0, 0]})["probabilities"] == {"a": 0, "b": 0, "c": 0}
    assert answer(CHOICE, {"probabilities": np.array([0.2, 0.5, 0.3])})["choice"] == "b"
    scored = answer(SCORE, {"probabilities": [0.5, 0.25, 0.25], "score": 0.7})
    assert (scored["score"], scored["probabilities"]) == (0.7, {"0": 0.5, "1": 0.25, "2": 0.25})


def test_an_option_may_be_called_probabilities() -> None:
    odd = {"type": "choice", "criteria": {"probabilities": None, "choice": None}}
    assert answer(odd, {"probabilities": 3, "choice": 1})["probabilities"] == {
        "probabilities": 0.75,
        "choice": 0.25,
    }
    both = {"probabilities": {"probabilities": 0.1, "choice": 0.9}}
    assert answer(odd, both)["choice"] == "choice"


def test_a_question_may_be_called_answers() -> None:
    made = reply_for({"questions": {"answers": NOUL}}, {"answers": {"noul": 0.5}}, "m")
    assert made["answers"] == {"answers": {"type": "noul", "noul": 0.5}}


def test_a_whole_reply_brings_its_usage() -> None:
    made = reply_for(
        {"questions": {"q": NOUL}}, {"answers": {"q": 0.5}, "usage": {"input_tokens": 12.0}}, "m"
    )
    assert made == {
        "model": "m",
        "answers": {"q": {"type": "noul", "noul": 0.5}},
        "usage": {"input_tokens": 12, "output_tokens": 0},
    }


def test_scores() -> None:
    made = answer(SCORE, {0: 1, "2": 3})
    assert made["probabilities"] == {"0": 0.25, "1": 0.0, "2": 0.75}
    assert made["score"] == 1.5
    assert made["legend"] == {"0": "low", "1": "middle", "2": "high"}
    # D = (1 + 0 + 1) / 3; the mean distance from level 2 is 0.5.
    assert made["confidence"] == pytest.approx(1 - 0.5 / (2 / 3))
    assert answer(SCORE, [1, 0, 1])["confidence"] == 0.0


@pytest.mark.parametrize("result", [0.25, {"noul": 0.25}, np.float64(0.25)])
def test_nouls(result: Any) -> None:
    assert answer(NOUL, result) == {"type": "noul", "noul": 0.25}


def test_rounding() -> None:
    made = answer(CHOICE, [1, 1, 1], digits=2)
    assert made["probabilities"] == {"a": 0.33, "b": 0.33, "c": 0.33}
    assert answer(NOUL, 0.126, digits=2)["noul"] == 0.13
    assert answer(SCORE, [1, 1, 1], digits=1)["score"] == 1.0


@pytest.mark.parametrize(
    ("question", "result", "said"),
    [
        (CHOICE, None, "is None, not weights"),
        (CHOICE, 0.5, "type float, not weights"),
        (CHOICE, "d", "'d', which is no option"),
        (CHOICE, b"abc", "type bytes, not weights"),
        (CHOICE, [1, 2], "2 weights for 3 options"),
        (CHOICE, [0, 0, 0], "weighs every option 0"),
        (CHOICE, {}, "weighs every option 0"),
        (CHOICE, [1, -1, 1], "'b' -1, which is no weight"),
        (CHOICE, [1, math.nan, 1], "'b' = nan, which is no finite number"),
        (CHOICE, [1, math.inf, 1], "no finite number"),
        (CHOICE, [1, 10**400, 1], "no finite number"),
        (CHOICE, [1, "2", 1], "no finite number"),
        (CHOICE, {"A": 1}, "'A', which is no option"),
        (CHOICE, {"probabilities": [0.5, 1.5, 0]}, "'b' 1.5, which is no probability"),
        (CHOICE, {"probabilities": [1, 0, 0], "choice": "d"}, "'d' as its choice"),
        (CHOICE, {"probabilities": [1, 0, 0], "choice": ["a"]}, "as its choice"),
        (CHOICE, {"probabilities": [1, 0, 0], "confidence": 2}, "confidence=2, outside 0 to 1"),
        (SCORE, {"3": 1}, "'3', which is no level"),
        (SCORE, {"probabilities": [1, 0, 0], "score": 2.5}, "score=2.5, outside 0 to 2"),
        (NOUL, 1.5, "is 1.5, not a probability"),
        (NOUL, "yes", "no finite number"),
        (NOUL, {"yes": 1}, "a mapping without noul"),
    ],
)
def test_nonsense_is_named(question: dict[str, Any], result: Any, said: str) -> None:
    with pytest.raises(Senseless, match="its result for the question 'q'") as caught:
        answer(question, result)
    assert said in str(caught.value)


@pytest.mark.parametrize("usage", [{"input_tokens": -1}, {"output_tokens": 1.5}, {"input_tokens": "3"}])
def test_usage_that_is_no_count(usage: dict[str, Any]) -> None:
    with pytest.raises(Senseless, match="usage"):
        reply_for({"questions": {"q": NOUL}}, {"answers": {"q": 0.5}, "usage": usage}, "m")


numbers = st.floats(min_value=0, max_value=1.7e308)


@settings(max_examples=200, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=40).filter(any))
def test_any_weights_are_a_distribution_in_their_order(weights: list[float]) -> None:
    options = [f"o{i}" for i in range(len(weights))]
    made = answer({"type": "choice", "criteria": dict.fromkeys(options)}, weights)
    shares = list(made["probabilities"].values())
    assert math.fsum(shares) == pytest.approx(1)
    assert all(0 <= p <= 1 for p in shares)
    assert made["choice"] == options[shares.index(max(shares))]
    assert 0 <= made["confidence"] <= 1 + 1e-12
    for (w, p), (v, q) in zip(
        zip(weights, shares, strict=True), list(zip(weights, shares, strict=True))[1:], strict=False
    ):
        assert (p <= q) if w <= v else (p >= q)


results: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(["a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "b", "q", "answers", "usage", "probabilities", "noul", "0"]), inner
        )
    ),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(results, st.sampled_from([CHOICE, SCORE, NOUL]))
def test_anything_returned_is_a_sound_reply_or_senseless(returned: Any, question: dict[str, Any]) -> None:
    for value in (returned, {"q": returned}):
        try:
            made = reply_for({"questions": {"q": question}}, value, "m")
        except Senseless:
            continue
        else:
            json.dumps(made, allow_nan=False)
            assert list(made["answers"]) == ["q"]
            assert made["answers"]["q"]["type"] == question["type"]
