"""Anthropic Messages: what is sent, and what becomes of each reply."""

from __future__ import annotations

import json
from typing import Any

import pytest

from beeline.errors import SettingError
from beeline.question import Answer
from protocols.anthropic_messages import AnthropicMessages, AnthropicMessagesSettings
from protocols.fake import FakeServer
from protocols.numbered import to_prompt, to_schema
from tests.protocols.asking import Script, ask, no_sleep, question, reply


def client(base_url: str = "http://host/v1", **more: Any) -> AnthropicMessages:
    chosen = {"base_url": base_url, "id": "claude-x", **more}
    return AnthropicMessages("claude", AnthropicMessagesSettings(**chosen), sleep=no_sleep)


def read(body: Any, **more: Any) -> Answer:
    model = client(**more)
    model._transport = Script(reply(200, json.dumps(body).encode()))
    [answer] = ask(model, question())
    return answer


def said(*blocks: Any, stop: str = "tool_use", **changes: Any) -> dict[str, Any]:
    return {"model": "claude-x", "type": "message", "content": list(blocks), "stop_reason": stop} | changes


def use(number: Any = 2, name: str = "pick") -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": {"option": number}}


def text(written: str = '{"option": 2}') -> dict[str, Any]:
    return {"type": "text", "text": written}


def test_a_tool_it_must_use() -> None:
    asked = question("B\u00c4C", "C A B")
    body = json.loads(client().request_body(asked))
    [tool] = body.pop("tools")
    assert body == {
        "model": "claude-x",
        "max_tokens": 64,
        "messages": [{"role": "user", "content": to_prompt(asked)}],
        "tool_choice": {"type": "tool", "name": "pick", "disable_parallel_tool_use": True},
    }
    assert (tool["name"], tool["input_schema"]) == ("pick", to_schema(2))


def test_a_format_never_bounds_numbers() -> None:
    body = json.loads(
        client(structure="format", temperature=0, reasoning_effort="low").request_body(question())
    )
    form = {"type": "json_schema", "schema": to_schema(None)}
    assert body["output_config"] == {"format": form, "effort": "low"}
    assert body["temperature"] == 0
    assert not body.keys() & {"tools", "tool_choice"}


def test_there_are_two_structures() -> None:
    with pytest.raises(SettingError, match=r"model\.structure='json' must be tool or format"):
        client(structure="json")


def test_the_key_has_a_header_of_its_own_and_the_version_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-ant-planted")
    with FakeServer(key="sk-ant-planted") as server:
        ask(client(server.base_url, key_variable="TEST_KEY"), question())
        headers = server.last_headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("sk-ant-planted", "2023-06-01")
    assert "Authorization" not in headers


@pytest.mark.parametrize(
    ("body", "structure"),
    [
        (said(use()), "tool"),
        (said(text("2 is near."), use()), "tool"),
        (said({"type": "thinking", "thinking": "..."}, text(), stop="end_turn"), "format"),
    ],
)
def test_a_pick(body: Any, structure: str) -> None:
    answer = read(body, structure=structure)
    assert (answer.probabilities, answer.choice) == ([0.0, 1.0, 0.0], "CAB")
    assert answer.problem is None


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"input_tokens": 100, "output_tokens": 9}, (100, 9)),
        (
            {
                "input_tokens": 100,
                "output_tokens": 9,
                "cache_read_input_tokens": 800,
                "cache_creation_input_tokens": 50,
            },
            (950, 9),
        ),
        (
            {"input_tokens": 100, "cache_read_input_tokens": None, "cache_creation_input_tokens": -1},
            (100, None),
        ),
        ({"input_tokens": 100, "cache_read_input_tokens": 1e12, "output_tokens": 9}, (None, 9)),
        ({"cache_read_input_tokens": 800}, (None, None)),
        (None, (None, None)),
    ],
)
def test_what_a_cache_gave_is_input_too(usage: Any, counts: tuple[int | None, int | None]) -> None:
    answer = read(said(use(), usage=usage), price_input=1.0, price_output=5.0)
    assert (answer.input_tokens, answer.output_tokens) == counts
    known = None if None in counts else (counts[0] or 0) * 1e-6 + (counts[1] or 0) * 5e-6
    assert answer.cost_usd == (known if known is None else pytest.approx(known))


@pytest.mark.parametrize("structure", ["tool", "format"])
def test_refusals(structure: str) -> None:
    for blocks in ([], [text()], [use()]):
        answer = read(said(*blocks, stop="refusal"), structure=structure)
        assert (answer.refused, answer.choice, answer.problem) == (True, None, None)


LONG = "an output that ended at model.max_output_tokens=64"


@pytest.mark.parametrize(
    ("body", "structure", "problem"),
    [
        (said(use(), stop="max_tokens"), "tool", LONG),
        (said(text(), stop="max_tokens"), "format", LONG),
        (said(stop="model_context_window_exceeded"), "tool", "a question that fills what the model reads"),
        (said(text()), "tool", "no use of the tool in the reply"),
        (said(), "tool", "no use of the tool in the reply"),
        (said(use(), use()), "tool", "more than one use of the tool in the reply"),
        (said(use(name="other")), "tool", "the use of another tool"),
        (said(use("2")), "tool", "an option's number written as a text"),
        (said(use(4)), "tool", "option 4, which is not one of 1 to 3"),
        (said({"type": "tool_use", "name": "pick"}), "tool", "JSON that is not an object"),
        (said(), "format", "no text in the reply"),
        (said(use()), "format", "no text in the reply"),
        (said(text(), text()), "format", "more than one text in the reply"),
        (said(text("Option 2")), "format", "text without a JSON object"),
        (said(content=None), "tool", "no content in the reply"),
        ({}, "tool", "no content in the reply"),
        (
            {"type": "error", "error": {"type": "x", "message": "no"}},
            "tool",
            "no content in the reply: no (x)",
        ),
    ],
)
def test_replies_without_a_pick(body: Any, structure: str, problem: str) -> None:
    answer = read(body, structure=structure)
    assert answer.problem == problem
    assert (answer.refused, answer.choice) == (False, None)
