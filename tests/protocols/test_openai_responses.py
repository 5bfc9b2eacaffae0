"""The Responses API: what is sent, and what becomes of each reply."""

from __future__ import annotations

import json
from typing import Any

import pytest

from beeline.question import Answer
from protocols.numbered import to_prompt, to_schema
from protocols.openai_responses import OpenAIResponses, OpenAIResponsesSettings
from tests.protocols.asking import Script, ask, no_sleep, question, reply


def client(**more: Any) -> OpenAIResponses:
    chosen = {"base_url": "http://host/v1", "id": "gpt-x", **more}
    return OpenAIResponses("gpt", OpenAIResponsesSettings(**chosen), sleep=no_sleep)


def read(body: Any, **more: Any) -> Answer:
    model = client(**more)
    model._transport = Script(reply(200, json.dumps(body).encode()))
    [answer] = ask(model, question())
    return answer


def said(*parts: dict[str, Any], **changes: Any) -> dict[str, Any]:
    message = {"type": "message", "role": "assistant", "status": "completed", "content": list(parts)}
    thought = {"type": "reasoning", "summary": []}
    whole = {"model": "gpt-x", "status": "completed", "error": None, "incomplete_details": None}
    return whole | {"output": [thought, message]} | changes


def text(written: str) -> dict[str, Any]:
    return {"type": "output_text", "text": written, "annotations": []}


PICK = text('{"option": 2}')
REFUSAL = {"type": "refusal", "refusal": "I can't help with that."}


def test_the_request_and_no_more() -> None:
    asked = question("B\u00c4C", "C A B")
    assert json.loads(client().request_body(asked)) == {
        "model": "gpt-x",
        "input": to_prompt(asked),
        "text": {
            "format": {"type": "json_schema", "name": "pick", "strict": True, "schema": to_schema(2)},
        },
        "max_output_tokens": 64,
        "store": False,
    }


def test_what_not_every_model_takes_is_sent_only_when_set() -> None:
    model = client(temperature=0.0, reasoning_effort="minimal", bounds=False, max_output_tokens=512)
    body = json.loads(model.request_body(question()))
    assert (body["temperature"], body["reasoning"]) == (0.0, {"effort": "minimal"})
    assert body["text"]["format"]["schema"] == to_schema(None)
    assert body["max_output_tokens"] == 512


def test_a_pick_between_other_items() -> None:
    answer = read(said(PICK))
    assert (answer.probabilities, answer.choice) == ([0.0, 1.0, 0.0], "CAB")
    assert answer.problem is None


def test_reasoning_is_priced_as_output() -> None:
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 900},
        "output_tokens": 200,
        "output_tokens_details": {"reasoning_tokens": 190},
    }
    answer = read(said(PICK, usage=usage), price_input=1.0, price_output=2.0)
    assert (answer.input_tokens, answer.output_tokens) == (1000, 200)
    assert answer.cost_usd == pytest.approx(0.0014)


@pytest.mark.parametrize(
    "body",
    [
        said(REFUSAL),
        said(PICK, REFUSAL),
        said(PICK, status="incomplete", incomplete_details={"reason": "content_filter"}),
    ],
)
def test_refusals(body: Any) -> None:
    answer = read(body)
    assert (answer.refused, answer.choice, answer.problem) == (True, None, None)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            said(PICK, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "an output that ended at model.max_output_tokens=64",
        ),
        (said(PICK, status="incomplete"), "a response that is incomplete, not completed"),
        (said(PICK, status="queued"), "a response that is queued, not completed"),
        (said(PICK, status=["x"]), "a response that is of an unknown status, not completed"),
        (
            said(status="failed", error={"code": "server_error", "message": "it broke"}),
            "a response that is failed, not completed: it broke (server_error)",
        ),
        (said(), "no text in the reply"),
        (said(PICK, PICK), "more than one text in the reply"),
        (said(text("")), "no text in the reply"),
        (said({"type": "output_text"}), "no text in the reply"),
        (said(text("Option 2")), "text without a JSON object"),
        (said(output=[]), "no text in the reply"),
        (said(output=None), "no output in the reply"),
        (said(output=[1, {"type": "message", "content": "x"}]), "no text in the reply"),
        ({}, "no output in the reply"),
    ],
)
def test_replies_without_a_pick(body: Any, problem: str) -> None:
    answer = read(body)
    assert answer.problem == problem
    assert (answer.refused, answer.choice) == (False, None)
