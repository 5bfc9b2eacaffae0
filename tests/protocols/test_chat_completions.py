"""Chat Completions: what is sent, and what becomes of each reply."""

from __future__ import annotations

import json
from typing import Any

import pytest

from beeline.errors import SettingError
from beeline.question import Answer
from protocols.chat_completions import ChatCompletions, ChatCompletionsSettings
from protocols.numbered import to_prompt, to_schema
from tests.protocols.asking import Script, ask, no_sleep, question, reply


def client(**more: Any) -> ChatCompletions:
    chosen = {"base_url": "http://host/v1", "id": "chat-x", **more}
    return ChatCompletions("chat", ChatCompletionsSettings(**chosen), sleep=no_sleep)


def read(body: Any, **more: Any) -> Answer:
    model = client(**more)
    model._transport = Script(reply(200, json.dumps(body).encode()))
    [answer] = ask(model, question())
    return answer


def said(content: Any = '{"option": 2}', finish: Any = "stop", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": content} | message}
    return {"model": "chat-x", "choices": [choice | {"finish_reason": finish}]}


def test_the_request_and_no_more() -> None:
    asked = question("B\u00c4C", "C A B")
    schema = {"name": "pick", "strict": True, "schema": to_schema(2)}
    assert json.loads(client().request_body(asked)) == {
        "model": "chat-x",
        "messages": [{"role": "user", "content": to_prompt(asked)}],
        "response_format": {"type": "json_schema", "json_schema": schema},
        "max_completion_tokens": 64,
    }


def test_what_not_every_host_takes_is_sent_only_when_set() -> None:
    model = client(
        temperature=0, seed=7, reasoning_effort="low", limit_field="max_tokens", max_output_tokens=32
    )
    body = json.loads(model.request_body(question()))
    assert (body["temperature"], body["seed"], body["reasoning_effort"]) == (0, 7, "low")
    assert body["max_tokens"] == 32
    assert "max_completion_tokens" not in body


def test_the_limit_has_one_of_two_names() -> None:
    with pytest.raises(SettingError, match=r"model\.limit_field='max' must be max_completion_tokens or"):
        client(limit_field="max")


def test_what_to_type_when_nothing_is_set() -> None:
    with pytest.raises(SettingError) as caught:
        ChatCompletions.from_settings("local_chat", {"base_url": None, "id": None})
    assert str(caught.value) == (
        "model.base_url is not set; model.id is not set. Say where a server that speaks Chat Completions "
        "listens and which model to ask it for: "
        "python -m beeline model=local_chat model.base_url=http://127.0.0.1:8000/v1 model.id=NAME"
    )


def test_a_pick() -> None:
    answer = read(said(refusal=None) | {"error": None})
    assert (answer.probabilities, answer.choice) == ([0.0, 1.0, 0.0], "CAB")
    assert (answer.problem, answer.served_model) == (None, "chat-x")


def test_usage_has_names_of_its_own() -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 200,
        "prompt_tokens_details": {"cached_tokens": 900},
        "completion_tokens_details": {"reasoning_tokens": 190},
    }
    answer = read(said() | {"usage": usage}, price_input=1.0, price_output=2.0)
    assert (answer.input_tokens, answer.output_tokens) == (1000, 200)
    assert answer.cost_usd == pytest.approx(0.0014)


@pytest.mark.parametrize(
    "body",
    [
        said(None, refusal="I can't help with that."),
        said(refusal="I can't help with that."),
        said(finish="content_filter"),
        said("", finish="content_filter"),
    ],
)
def test_refusals(body: Any) -> None:
    answer = read(body)
    assert (answer.refused, answer.choice, answer.problem) == (True, None, None)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (said(finish="length"), "an output that ended at model.max_output_tokens=64"),
        (said(None), "no text in the reply"),
        (said(None) | {"error": None}, "no text in the reply"),
        (said([{"type": "text", "text": "x"}]), "a text that is not a string"),
        (said("<think>2 is near</think>"), "text without a JSON object"),
        (said('```json\n{"option": 2}\n```'), "JSON in a code fence, not JSON alone"),
        (said() | {"choices": []}, "no choice in the reply"),
        (said() | {"choices": ["x"]}, "no choice in the reply"),
        (said() | {"choices": said()["choices"] * 2}, "more than one choice in the reply"),
        ({"choices": [{"message": "x"}]}, "no text in the reply"),
        ({"error": {"message": "no"}}, "no choice in the reply: no"),
        ({}, "no choice in the reply"),
    ],
)
def test_replies_without_a_pick(body: Any, problem: str) -> None:
    answer = read(body)
    assert answer.problem == problem
    assert (answer.refused, answer.choice) == (False, None)
