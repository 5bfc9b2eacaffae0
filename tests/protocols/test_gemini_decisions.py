"""Google's Decisions API: what is sent, and what becomes of each reply."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beeline.errors import HostError, ModelError
from beeline.model_arm import option_weights
from beeline.question import Answer
from protocols.fake import FakeServer
from protocols.fake.answers import weight
from protocols.gemini_decisions import GeminiDecisions, GeminiDecisionsSettings
from tests.protocols.asking import Script, ask, no_sleep, question, reply

OPTIONS_255 = tuple(f"{i} stands on {i * 7 % 255}" for i in range(255))


def gemini(base_url: str = "http://host/v1beta", **more: Any) -> GeminiDecisions:
    chosen = GeminiDecisionsSettings(**{"base_url": base_url, "id": "models/gemini-decision-1", **more})
    return GeminiDecisions("gemini", chosen, sleep=no_sleep)


def read(body: Any, **more: Any) -> Answer:
    """The Answer for a JSON value."""
    model = gemini(**more)
    model._transport = Script(reply(200, json.dumps(body).encode()))
    [answer] = ask(model, question())
    return answer


def test_the_request_is_exactly_the_protocol_and_no_more() -> None:
    body = gemini().request_body(question("B\u00c4C", 'C"AB'))
    assert json.loads(body) == {
        "model": "models/gemini-decision-1",
        "input": "Task: Reach the goal.\nGoal: ABC\nContext: Letters swap.",
        "questions": {
            "choose": {
                "type": "choice",
                "instructions": "Which?",
                "criteria": {"B\u00c4C": "", 'C"AB': ""},
            }
        },
    }
    assert list(json.loads(body)) == ["model", "input", "questions"]


def test_the_right_answer_comes_back_with_the_key_in_its_own_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "planted-key")
    with FakeServer(key="planted-key") as server:
        model = gemini(f"{server.origin}/v1beta", key_variable="TEST_KEY", price_input=0.1)
        [answer] = ask(model, question(*OPTIONS_255))
        headers = server.counters.last_headers
        assert server.counters.shapes == {"gemini": 1}
    assert headers["x-goog-api-key"] == "planted-key"
    assert "Authorization" not in headers
    weights = {option: weight(option) for option in OPTIONS_255}
    assert answer.probabilities == pytest.approx({o: w / sum(weights.values()) for o, w in weights.items()})
    assert answer.choice == max(weights, key=weights.__getitem__)
    assert answer.input_tokens is not None
    assert answer.cost_usd == pytest.approx(answer.input_tokens * 1e-7)


def test_a_reply_as_the_vendors_package_types_it() -> None:
    given = {"type": "choice", "choice": "CAB", "confidence": 0.6, "probabilities": {"BAC": 0.4, "CAB": 0.6}}
    usage = {"total_input_tokens": 96, "total_output_tokens": 1, "total_tokens": 97}
    answer = read({"answers": {"choose": given}, "usage": usage})
    assert (answer.input_tokens, answer.output_tokens, answer.served_model) == (96, 1, None)
    assert option_weights(answer, question().options) == ([0.4, 0.6, 0.0], None)


@pytest.mark.parametrize(
    "usage", [None, {"total_tokens": 97}, {"input_tokens": 5}, {"total_input_tokens": "5"}, [], "many"]
)
def test_counts_under_other_names_stay_unknown(usage: Any) -> None:
    answer = read({"answers": {"choose": {"probabilities": {"BAC": 1}}}, "usage": usage}, price_input=1.0)
    assert (answer.input_tokens, answer.output_tokens, answer.cost_usd) == (None, None, None)


def test_a_blocked_input_is_a_refusal_with_its_usage() -> None:
    with FakeServer("refusal") as server:
        [answer] = ask(gemini(f"{server.origin}/v1beta"), question())
    assert answer.refused
    assert answer.input_tokens is not None
    blocked = {"prompt_feedback": {"block_reason": "safety", "block_reason_message": "no"}}
    assert read(blocked).refused


@pytest.mark.parametrize("body", [{}, {"prompt_feedback": {}}, {"answers": {}}, {"answers": []}])
def test_no_answer_without_a_reason_is_no_refusal(body: Any) -> None:
    answer = read(body)
    assert (answer.refused, answer.problem) == (False, "no answer to the question in the reply")


def test_the_other_shape_says_so() -> None:
    answer = read({"answers": {"choose": {"probabilities": [{"value": "BAC", "probability": 1}]}}})
    assert answer.problem == "probabilities that are not a map from option to number"


BAD = ["", " a", "a ", "\ta", "a\n", "a\nb", "a\x00b", "a\x7f", "a\u0085b", "\u00a0a", "a\r"]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_name_that_the_host_refuses_is_not_sent(bad: str, place: int) -> None:
    options = ["good one", "also good"]
    options.insert(place, bad)
    with FakeServer() as server:
        with pytest.raises(ModelError) as caught:
            ask(gemini(f"{server.origin}/v1beta"), question(*options))
        assert server.requests == 0
    assert f"refuses the option {bad!r}: it may not be empty, hold control characters" in str(caught.value)


@settings(max_examples=200)
@given(st.lists(st.text(max_size=4), min_size=2, max_size=5, unique=True))
def test_exactly_the_names_of_the_rule_are_refused(options: list[str]) -> None:
    refused = any(
        not name or name != name.strip() or any(unicodedata.category(c) == "Cc" for c in name)
        for name in options
    )
    try:
        gemini().request_body(question(*options))
    except ModelError:
        assert refused
    else:
        assert not refused


def test_a_wrong_key_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "wrong")
    with (
        FakeServer(key="right") as server,
        pytest.raises(HostError, match=r"API key not valid.*Check the key in TEST_KEY"),
    ):
        ask(gemini(f"{server.origin}/v1beta", key_variable="TEST_KEY"), question())
