"""The fake's language models: numbered options read, an option picked, each API's own reply."""

from __future__ import annotations

import copy
import json
from typing import Any

import httpx
import pytest

from protocols.fake import FakeServer
from protocols.fake.answers import likeliest, shares
from protocols.fake.language import numbered

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "option": {"type": "integer"}},
    "required": ["reason", "option"],
    "additionalProperties": False,
}
OPTIONS = ["B A C", "C A B", "A C B", "C B A"]
BEST = likeliest(shares(OPTIONS))
PATHS = {"responses": "/v1/responses", "chat": "/v1/chat/completions"} | dict.fromkeys(
    ("tool", "format", "config"), "/v1/messages"
)
APIS = list(PATHS)


def prompt(options: list[str] = OPTIONS) -> str:
    return "Goal: A B C\n\n" + "\n".join(f"{i}: {o}" for i, o in enumerate(options, 1)) + "\n\nAnswer."


def request(api: str, text: str | None = None) -> dict[str, Any]:
    said = prompt() if text is None else text
    form = {"type": "json_schema", "name": "pick", "strict": True, "schema": SCHEMA}
    if api == "responses":
        return {"model": "m", "instructions": "Pick.", "input": said, "text": {"format": form}}
    if api == "chat":
        wanted = {"type": "json_schema", "json_schema": {k: v for k, v in form.items() if k != "type"}}
        messages = [{"role": "system", "content": "Pick."}, {"role": "user", "content": said}]
        return {"model": "m", "messages": messages, "response_format": wanted}
    parts = [{"type": "text", "text": said}]
    plain = {
        "model": "m",
        "max_tokens": 100,
        "system": "Pick.",
        "messages": [{"role": "user", "content": parts}],
    }
    output = {"type": "json_schema", "schema": SCHEMA}
    if api == "format":
        return plain | {"output_format": output}
    if api == "config":
        return plain | {"output_config": {"format": output}}
    tools = [{"name": "other", "input_schema": {}}, {"name": "pick", "input_schema": SCHEMA}]
    return plain | {"tools": tools, "tool_choice": {"type": "tool", "name": "pick"}}


def send(server: FakeServer, api: str, content: Any, **headers: str) -> httpx.Response:
    headers = {"anthropic-version": "2023-06-01"} | headers if "messages" in PATHS[api] else headers
    return httpx.post(server.origin + PATHS[api], json=content, headers=headers, trust_env=False)


def told(api: str, reply: dict[str, Any]) -> Any:
    """What the model wrote: text, or a tool's input."""
    if api == "responses":
        return reply["output"][0]["content"][0]["text"]
    if api == "chat":
        return reply["choices"][0]["message"]["content"]
    [block] = reply["content"]
    return block["input"] if block["type"] == "tool_use" else block["text"]


def why(api: str, reply: dict[str, Any]) -> str:
    """Why it stopped."""
    if api == "responses":
        return reply["status"] if reply["status"] == "completed" else reply["incomplete_details"]["reason"]
    if api == "chat":
        return str(reply["choices"][0]["finish_reason"])
    return str(reply["stop_reason"])


@pytest.fixture(scope="module")
def server() -> Any:
    with FakeServer() as running:
        yield running


@pytest.mark.parametrize("api", APIS)
def test_picks_by_the_texts_and_answers_by_the_schema(server: FakeServer, api: str) -> None:
    for options in (OPTIONS, OPTIONS[::-1]):
        got = send(server, api, request(api, prompt(options)))
        assert got.status_code == 200, got.text
        said = told(api, got.json())
        value = said if isinstance(said, dict) else json.loads(said)
        assert set(value) == {"reason", "option"}
        assert options[value["option"] - 1] == BEST
        assert got.json()["model"] == "m"
    assert why(api, got.json()) in ("completed", "stop", "tool_use", "end_turn")


@pytest.mark.parametrize("api", APIS)
def test_usage_has_the_names_of_its_api(server: FakeServer, api: str) -> None:
    usage = send(server, api, request(api)).json()["usage"]
    with FakeServer("cached") as caching:
        some = send(caching, api, request(api)).json()["usage"]
    if api == "responses":
        assert usage["input_tokens"] + usage["output_tokens"] == usage["total_tokens"]
        assert usage["input_tokens_details"]["cached_tokens"] == 0
        assert some["input_tokens_details"]["cached_tokens"] == usage["input_tokens"] // 2 > 0
        assert usage["output_tokens_details"]["reasoning_tokens"] == 0
    elif api == "chat":
        assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"]
        assert some["prompt_tokens_details"]["cached_tokens"] == usage["prompt_tokens"] // 2 > 0
    else:
        assert usage["output_tokens"] > 0
        assert usage["cache_read_input_tokens"] == usage["cache_creation_input_tokens"] == 0
        # Anthropic's input_tokens are those that came from no cache.
        assert some["cache_read_input_tokens"] + some["input_tokens"] == usage["input_tokens"]
        assert some["cache_read_input_tokens"] > 0


@pytest.mark.parametrize("api", APIS)
def test_a_refusal_is_what_it_is_in_its_api(api: str) -> None:
    with FakeServer("refusal") as refusing:
        got = send(refusing, api, request(api))
    assert got.status_code == 200
    reply = got.json()
    if api == "responses":
        [part] = reply["output"][0]["content"]
        assert (part["type"], bool(part["refusal"])) == ("refusal", True)
    elif api == "chat":
        message = reply["choices"][0]["message"]
        assert (message["content"], bool(message["refusal"])) == (None, True)
    else:
        assert (reply["stop_reason"], reply["content"]) == ("refusal", [])


@pytest.mark.parametrize("api", APIS)
def test_a_truncated_text_says_so(server: FakeServer, api: str) -> None:
    reasons = {"responses": "max_output_tokens", "chat": "length"}
    with FakeServer("truncated") as cutting:
        reply = send(cutting, api, request(api)).json()
    assert why(api, reply) == reasons.get(api, "max_tokens")
    said = told(api, reply)
    if isinstance(said, dict):
        assert said == {}
    else:
        with pytest.raises(json.JSONDecodeError):
            json.loads(said)
    limit = {"responses": "max_output_tokens", "chat": "max_completion_tokens"}.get(api, "max_tokens")
    small = request(api) | {limit: 16 if api == "responses" else 2}
    reply = send(server, api, small).json()
    assert why(api, reply) in (reasons.get(api, "max_tokens"), "completed")
    assert api == "responses" or why(api, reply) == reasons.get(api, "max_tokens")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("fault", "fits"),
    [
        ("number_as_string", lambda v: isinstance(v["option"], str) and 1 <= int(v["option"]) <= 4),
        ("number_as_float", lambda v: isinstance(v["option"], float)),
        ("out_of_range", lambda v: v["option"] > 4),
    ],
)
def test_odd_numbers(api: str, fault: str, fits: Any) -> None:
    with FakeServer(fault) as odd:
        said = told(api, send(odd, api, request(api)).json())
    assert fits(said if isinstance(said, dict) else json.loads(said))


@pytest.mark.parametrize("api", [api for api in APIS if api != "tool"])
def test_text_around_the_json(api: str) -> None:
    for fault, begin in (("prose", "I compared"), ("fenced", "```json\n{"), ("no_json", "They")):
        with FakeServer(fault) as odd:
            assert told(api, send(odd, api, request(api)).json()).startswith(begin)


def test_text_beside_a_tool() -> None:
    with FakeServer("prose") as odd:
        blocks = send(odd, "tool", request("tool")).json()["content"]
    assert [block["type"] for block in blocks] == ["text", "tool_use"]
    with FakeServer("no_json") as odd:
        reply = send(odd, "tool", request("tool")).json()
    assert ([b["type"] for b in reply["content"]], reply["stop_reason"]) == (["text"], "end_turn")


def test_content_filter() -> None:
    for api, reason in (("responses", "content_filter"), ("chat", "content_filter"), ("tool", "refusal")):
        with FakeServer("content_filter") as filtering:
            assert why(api, send(filtering, api, request(api)).json()) == reason


@pytest.mark.parametrize("api", APIS)
def test_a_prompt_without_options_is_the_clients_mistake(server: FakeServer, api: str) -> None:
    got = send(
        server, api, request(api, "Which is best?") | ({"instructions": ""} if api == "responses" else {})
    )
    assert got.status_code == 400
    assert "no numbered options" in got.json()["error"]["message"]


@pytest.mark.parametrize(
    ("api", "place", "value"),
    [
        *((api, ("model",), None) for api in APIS),
        *(("responses", place, value) for place, value in [(("input",), ""), (("max_output_tokens",), 1)]),
        ("responses", ("text", "format", "name"), None),
        ("responses", ("text", "format", "schema"), SCHEMA | {"additionalProperties": True}),
        ("responses", ("text", "format", "schema"), SCHEMA | {"required": ["option"]}),
        ("chat", ("messages",), "hello"),
        ("chat", ("response_format", "json_schema", "name"), None),
        ("chat", ("response_format", "json_schema", "schema"), {"type": "object"}),
        *(("tool", place, value) for place, value in [(("max_tokens",), 0), (("messages",), [])]),
        ("tool", ("messages",), [{"role": "system", "content": "x"}]),
        ("tool", ("tool_choice", "name"), "absent"),
        ("format", ("output_format", "schema"), {"type": "object"}),
        (
            "config",
            ("output_config", "format", "schema", "properties", "option"),
            {"type": "integer", "maximum": 9},
        ),
    ],
)
def test_a_bad_request_is_400(server: FakeServer, api: str, place: tuple[str, ...], value: Any) -> None:
    content = copy.deepcopy(request(api))
    inner = content
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = value
    got = send(server, api, content)
    assert got.status_code == 400
    assert got.json()["error"]["message"]
    assert got.json()["error"]["type"] == "invalid_request_error"


def test_keys_and_the_version() -> None:
    with FakeServer(key="k") as server:
        for api in APIS:
            assert send(server, api, request(api)).status_code == 401
            assert send(server, api, request(api), Authorization="Bearer k").status_code == 200
        assert send(server, "tool", request("tool"), **{"x-api-key": "k"}).status_code == 200
        wrong = send(server, "tool", request("tool"), **{"x-api-key": "x"})
        assert (wrong.status_code, wrong.json()["error"]["type"]) == (401, "authentication_error")
    with FakeServer() as server:
        got = httpx.post(server.origin + "/v1/messages", json=request("tool"), trust_env=False)
        assert (got.status_code, "anthropic-version" in got.text) == (400, True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1: a\n2: b", {"a": 1, "b": 2}),
        ("0. a\n1. b\n2. c", {"a": 0, "b": 1, "c": 2}),
        ("1. Read.\n2. Think.\n\nOptions\n1: a\n2: b\n3: c\n\nGo.", {"a": 1, "b": 2, "c": 3}),
        ("1: a\n2: b\n\nThen\n1: c\n2: d", {"c": 1, "d": 2}),
        ("1:\na b\nc d\n\n2:\ne f\ng h\n\nNow pick.", {"\na b\nc d": 1, "\ne f\ng h": 2}),
        ("1: a: b\n2: 12:30", {"a: b": 1, "12:30": 2}),
        ("1: same\n2: same\n3: b", {"same": 1, "b": 3}),
        ("1: a\n2:  a\n3: a\u2028b\r", {"a": 1, " a": 2, "a\u2028b\r": 3}),
        ("1: alone", {}),
        ("", {}),
    ],
)
def test_numbered_options(text: str, found: dict[str, int]) -> None:
    assert numbered(text) == found
    assert list(numbered(text)) == list(found)
