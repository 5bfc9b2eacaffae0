"""The fake's OpenAI Decisions: lists, pairs, refusals, every usage key."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.fake import FakeServer
from protocols.fake.answers import shares
from tests.protocols.test_fake import body as system_one
from tests.protocols.test_fake import post


def choice(options: list[Any] | None = None, **changes: Any) -> dict[str, Any]:
    values = [{"value": option} for option in options or ["a", "b", "c"]]
    return {"type": "choice", "name": "choose", "instructions": "Which?", "choices": values} | changes


def body(*questions: Any, **changes: Any) -> dict[str, Any]:
    return {"model": "gpt-6-luna", "input": "Task", "questions": list(questions) or [choice()]} | changes


@pytest.fixture(scope="module")
def server() -> Any:
    with FakeServer() as running:
        yield running


def ask(server: FakeServer, content: Any) -> Any:
    return post(server, content, "/decisions")


def test_one_answer_a_question_in_order_with_every_usage_key(server: FakeServer) -> None:
    score = {"type": "score", "instructions": "?", "levels": [{"label": "low"}, {"label": "high"}]}
    got = ask(server, body({"type": "predicate", "instructions": "?"}, choice(), score))
    assert got.status_code == 200
    assert got.headers["x-request-id"]
    reply = got.json()
    assert reply["model"] == "gpt-6-luna"
    predicate, chosen, scored = reply["answers"]
    assert set(predicate) == {"type", "name", "probability"}
    assert predicate["name"] is None
    assert chosen["name"] == "choose"
    assert {p["value"]: p["probability"] for p in chosen["probabilities"]} == shares("abc")
    assert chosen["choice"] == max(shares("abc"), key=shares("abc").__getitem__)
    assert [p["label"] for p in scored["probabilities"]] == ["low", "high"]
    assert [p["value"] for p in scored["probabilities"]] == [0, 1]
    tokens = reply["usage"]["input_tokens"]
    assert tokens > 0
    assert reply["usage"] == {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens,
    }


def test_a_boolean_is_another_value_than_its_text(server: FakeServer) -> None:
    [answer] = ask(server, body(choice([True, "true", False]))).json()["answers"]
    assert [p["value"] for p in answer["probabilities"]] == [True, "true", False]


def test_the_body_decides_which_shape_a_path_has(server: FakeServer) -> None:
    assert isinstance(ask(server, body()).json()["answers"], list)
    assert isinstance(ask(server, system_one()).json()["answers"], dict)


@pytest.mark.parametrize(
    ("content", "param"),
    [
        (b"{", None),
        ([], None),
        ({"model": "m", "input": "x"}, "questions"),
        (body(seed=1), "seed"),
        (body(model=""), "model"),
        (body(input=[{"role": "robot"}]), "input[0].role"),
        (body(questions=[]), "questions"),
        (body(questions={"choose": choice()}), "questions"),
        (body(*[choice()] * 401), "questions"),
        (body({"type": "noul"}), "questions[0].type"),
        (body(choice(), choice(instructions="")), "questions[1].instructions"),
        (body(choice(["a"])), "questions[0].choices"),
        (body(choice([str(i) for i in range(256)])), "questions[0].choices"),
        (body(choice(["a", "b", "a"])), "questions[0].choices[2].value"),
        (body(choice(["a", 7])), "questions[0].choices[1].value"),
    ],
)
def test_a_bad_request_is_400_with_its_parameter(server: FakeServer, content: Any, param: str | None) -> None:
    got = ask(server, content)
    assert got.status_code == 400
    error = got.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["param"]) == ("invalid_request_error", param)


def test_keys() -> None:
    with FakeServer(key="k") as server:
        for header in ({}, {"Authorization": "Bearer x"}):
            got = post(server, body(), "/decisions", **header)
            assert (got.status_code, got.json()["error"]["code"]) == (401, "invalid_api_key")
        assert post(server, body(), "/decisions", Authorization="Bearer k").status_code == 200


@pytest.mark.parametrize(
    ("fault", "answer"),
    [
        ("refusal", {"type": "refusal", "name": "choose"}),
        ("refusal%1", {"type": "refusal", "name": "choose"}),
        ("refusal_names=b", {"type": "refusal", "name": "choose"}),
    ],
)
def test_a_refusal_is_an_answer(fault: str, answer: Any) -> None:
    with FakeServer(fault) as server:
        reply = ask(server, body()).json()
    assert reply["answers"] == [answer]
    assert reply["usage"]["input_tokens"] > 0


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ("credit", 429, "insufficient_quota"),
        ("rate_limit_ms", 429, "rate_limit_exceeded"),
        ("unknown_model", 404, "model_not_found"),
        ("refusal_error", 400, "content_policy_violation"),
        ("too_many_tokens", 400, "context_length_exceeded"),
        ("wrong_key", 401, "invalid_api_key"),
        ("cap=2", 422, None),
    ],
)
def test_errors_are_told_in_its_own_words(fault: str, status: int, code: str | None) -> None:
    with FakeServer(fault) as server:
        got = ask(server, body())
    assert (got.status_code, got.json()["error"]["code"]) == (status, code)


def test_faults_of_the_answer() -> None:
    with FakeServer("pairs") as server:
        assert ask(server, body()).json()["answers"][0]["probabilities"] == shares("abc")
    with FakeServer("drop_option", "extra_option") as server:
        names = [p["value"] for p in ask(server, body()).json()["answers"][0]["probabilities"]]
    assert len(names) == 3
    assert names[-1] == "none of these"
    with FakeServer("no_answer", "no_usage", "no_model") as server:
        assert ask(server, body()).json() == {"answers": []}
