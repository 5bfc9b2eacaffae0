"""OpenAI Decisions: what is sent, and what becomes of each reply."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beeline.errors import HostError, ModelError
from beeline.model_arm import option_weights
from beeline.question import Answer
from protocols.fake import FakeServer
from protocols.fake.answers import weight
from protocols.openai_decisions import OpenAIDecisions, OpenAIDecisionsSettings, read_pairs
from tests.protocols.asking import Script, ask, no_sleep, question, reply

OPTIONS_255 = tuple(f"{i} stands on {i * 7 % 255}" for i in range(255))
STRANGE = (
    "1 2 3 | 4 5 6 | 7 8 ·",
    "caf\u00e9",
    "cafe\u0301",
    'quote " \\ /',
    "a\nb\x00",
    "10",
    "2",
    "true",
    " ",
)


def luna(base_url: str = "http://host/v1", **more: Any) -> OpenAIDecisions:
    chosen = OpenAIDecisionsSettings(**{"base_url": base_url, "id": "gpt-6-luna", **more})
    return OpenAIDecisions("luna", chosen, sleep=no_sleep)


def read(body: Any, **more: Any) -> Answer:
    """The Answer for a JSON value or bytes."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    model = luna(**more)
    model._transport = Script(reply(200, raw))
    [answer] = ask(model, question())
    return answer


def answered(**changes: Any) -> dict[str, Any]:
    pairs = [{"value": "BAC", "probability": 0.75}, {"value": "CAB", "probability": 0.25}]
    given = {"type": "choice", "name": "choose", "choice": "BAC", "confidence": 0.75, "probabilities": pairs}
    return {"model": "gpt-6-luna", "answers": [given | changes]}


# --- requests -------------------------------------------------------------------------------


def test_the_request_is_exactly_the_protocol_and_no_more() -> None:
    body = luna().request_body(question("B\u00c4C", 'C"AB', goal="A\nB"))
    assert json.loads(body) == {
        "model": "gpt-6-luna",
        "input": "Task: Reach the goal.\nGoal: A\nB\nContext: Letters swap.",
        "questions": [
            {
                "type": "choice",
                "name": "choose",
                "instructions": "Which?",
                "choices": [{"value": "B\u00c4C"}, {"value": 'C"AB'}],
            }
        ],
    }
    assert list(json.loads(body)) == ["model", "input", "questions"]
    assert "B\u00c4C".encode() in body


def test_options_keep_the_order_shown() -> None:
    client = luna()
    for shown in (OPTIONS_255, OPTIONS_255[::-1]):
        [asked] = json.loads(client.request_body(question(*shown)))["questions"]
        assert tuple(choice["value"] for choice in asked["choices"]) == shown


@settings(max_examples=100)
@given(st.lists(st.text(), min_size=2, max_size=8, unique=True), st.text())
def test_any_text_arrives_byte_for_byte(options: list[str], goal: str) -> None:
    body = json.loads(luna().request_body(question(*options, goal=goal)))
    assert [choice["value"] for choice in body["questions"][0]["choices"]] == options
    assert body["input"] == f"Task: Reach the goal.\nGoal: {goal}\nContext: Letters swap."


# --- answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [OPTIONS_255, STRANGE], ids=["255", "strange"])
def test_the_right_answer_comes_back_from_a_server(options: tuple[str, ...]) -> None:
    with FakeServer() as server:
        [answer] = ask(luna(server.base_url, price_input=0.1, price_output=0.0), question(*options))
        assert server.counters.shapes == {"openai": 1}
    weights = {option: weight(option) for option in options}
    assert answer.probabilities == pytest.approx({o: w / sum(weights.values()) for o, w in weights.items()})
    assert answer.choice == max(weights, key=weights.__getitem__)
    assert (answer.served_model, answer.output_tokens, answer.refused) == ("gpt-6-luna", 0, False)
    assert answer.input_tokens is not None
    assert answer.cost_usd == pytest.approx(answer.input_tokens * 1e-7)


def test_cached_tokens_are_counted_at_the_full_price() -> None:
    usage = {
        "input_tokens": 1_000_000,
        "input_tokens_details": {"cached_tokens": 500_000},
        "output_tokens": 0,
    }
    answer = read(answered() | {"usage": usage}, price_input=0.1, price_output=0.0)
    assert (answer.input_tokens, answer.cost_usd) == (1_000_000, pytest.approx(0.1))


def test_a_name_of_null_is_ours() -> None:
    assert read(answered(name=None)).probabilities == {"BAC": 0.75, "CAB": 0.25}


def test_a_refusal_keeps_its_usage() -> None:
    with FakeServer("refusal") as server:
        [answer] = ask(luna(server.base_url), question())
    assert answer.refused
    assert answer.input_tokens is not None
    assert answer.problem is None
    assert option_weights(answer, question().options)[1] == "refused"


def test_a_refusal_as_an_error_is_a_refusal() -> None:
    with FakeServer("refusal_error") as server:
        [answer] = ask(luna(server.base_url), question())
        assert server.requests == 1
    assert (answer.refused, answer.input_tokens) == (True, None)


PAIR = {"value": "BAC", "probability": 1.0}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (answered(probabilities=[PAIR, PAIR]), "a value that comes twice in probabilities"),
        (answered(probabilities={"BAC": 1.0}), "probabilities that are not a list of value and probability"),
        (answered(probabilities="BAC"), "probabilities that are not a list of value and probability"),
        (answered(probabilities=None), "an answer without probabilities"),
        (
            answered(probabilities=[PAIR, {"value": True, "probability": 0.5}]),
            "a value in probabilities that is not a text",
        ),
        (answered(probabilities=[{"probability": 0.5}]), "a value in probabilities that is not a text"),
        (
            answered(probabilities=[{"value": "BAC"}]),
            "an entry of probabilities that is not a value and a probability",
        ),
        (
            answered(probabilities=[["BAC", 1.0]]),
            "an entry of probabilities that is not a value and a probability",
        ),
        (answered(name="other"), "an answer to another question"),
        ({"answers": []}, "no answer to the question in the reply"),
        ({"answers": None}, "no answer to the question in the reply"),
        ({"answers": ["BAC"]}, "no answer to the question in the reply"),
        ({}, "no answer to the question in the reply"),
        ({"answers": answered()["answers"] * 2}, "more than one answer to one question"),
        (
            {"answers": {"choose": {"type": "choice", "probabilities": {"BAC": 1.0}}}},
            "answers that are a map, not a list: this host speaks another protocol",
        ),
        ({"error": {"message": "no"}}, "no answer to the question in the reply: no"),
        (b"<html><title>Hi</title></html>", "not JSON but an HTML page titled 'Hi'"),
    ],
)
def test_an_unusable_reply_says_why(body: Any, problem: str) -> None:
    answer = read(body)
    assert answer.problem == problem
    assert not any(option_weights(answer, question().options)[0])


def test_an_empty_list_is_no_choice() -> None:
    weights, problem = option_weights(read(answered(probabilities=[])), question().options)
    assert (weights, problem) == ([0.0] * 3, "an empty map")


def test_values_are_compared_byte_for_byte() -> None:
    pairs = [{"value": v, "probability": p} for v, p in (("bac", 0.9), ("BAC ", 0.8), ("CAB", 0.1))]
    answer = read(answered(probabilities=pairs, choice=True))
    assert option_weights(answer, ("BAC", "CAB"))[0] == [0.0, 0.1]
    assert answer.choice is None


def test_a_number_that_is_none_counts_nothing() -> None:
    body = (
        b'{"answers":[{"type":"choice","probabilities":[{"value":"BAC","probability":NaN},'
        b'{"value":"CAB","probability":"0.9"},{"value":"ACB","probability":0.25}]}]}'
    )
    assert option_weights(read(body), question().options) == ([0.0, 0.0, 0.25], None)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["value", "probability", "type", "name", "BAC"]), inner)
    ),
    max_leaves=10,
)


@settings(max_examples=200, deadline=None)
@given(
    st.fixed_dictionaries({}, optional={"answers": json_values | st.lists(json_values), "usage": json_values})
)
def test_no_reply_is_a_crash_or_a_silent_pick(body: dict[str, Any]) -> None:
    weights, problem = option_weights(read(body), question().options)
    assert (problem is None) == any(w > 0 for w in weights)
    assert all(math.isfinite(w) and w >= 0 for w in weights)


@given(st.lists(st.tuples(st.text(max_size=3), st.floats(0, 1)), max_size=8))
def test_pairs_are_a_map_exactly_when_no_value_repeats(pairs: list[tuple[str, float]]) -> None:
    found = read_pairs([{"value": value, "probability": p} for value, p in pairs])
    values = [value for value, _ in pairs]
    if len(set(values)) == len(values):
        assert found == dict(pairs)
    else:
        assert found == "a value that comes twice in probabilities"


# --- hosts that are something else -----------------------------------------------------------


def test_a_system_one_host_is_told_apart() -> None:
    with FakeServer("pairs") as server:
        [answer] = ask(luna(server.base_url), question())
    assert answer.problem == "probabilities that are not a list of value and probability"
    with FakeServer() as server, pytest.raises(HostError, match="speaks the protocol openai_decisions"):
        ask(luna(server.base_url, path="/systemone"), question())


def test_no_credit_and_another_model_end_the_run() -> None:
    with FakeServer("credit") as server:
        with pytest.raises(HostError, match=r"quota"):
            ask(luna(server.base_url), question())
        assert server.requests == 1
    with (
        FakeServer("other_model") as server,
        pytest.raises(ModelError, match="for the model gpt-6-luna, but"),
    ):
        ask(luna(server.base_url), question())


def test_256_options_are_never_sent() -> None:
    with FakeServer() as server:
        with pytest.raises(ModelError, match="takes 2 to 255 options a question, not 256"):
            ask(luna(server.base_url), question(*(f"o{i}" for i in range(256))))
        assert server.requests == 0
