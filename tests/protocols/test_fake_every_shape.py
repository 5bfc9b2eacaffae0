"""Every fault with every shape: each shows in that shape's own words, alone and two at a time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from protocols.fake import FAULTS, FaultPlan
from protocols.fake.answers import answers_for
from protocols.fake.anthropic import MESSAGES
from protocols.fake.asked import Shape
from protocols.fake.cloudflare import CLOUDFLARE
from protocols.fake.exchange import Exchange
from protocols.fake.gemini import GEMINI
from protocols.fake.openai import DECISIONS
from protocols.fake.responses import CHAT, RESPONSES
from protocols.fake.systemone import JEV, OPENROUTER, PERPLEXITY
from tests.protocols.test_fake import body
from tests.protocols.test_fake_faults import WRITTEN


def numbered_prompt(options: list[str]) -> str:
    return "Pick.\n" + "\n".join(f"{i}: {option}" for i, option in enumerate(options, 1))


SCHEMA = {
    "type": "object",
    "properties": {"option": {"type": "integer"}},
    "required": ["option"],
    "additionalProperties": False,
}
VERSION = {"anthropic-version": "2023-06-01"}


def requests(options: list[str]) -> list[tuple[Shape, dict[str, Any], dict[str, str]]]:
    """A good request for every shape, and its path's parts."""
    plain = body(options)
    prompt = numbered_prompt(options)
    messages = [{"role": "user", "content": prompt}]
    described = {"type": "choice", "instructions": "?", "criteria": dict.fromkeys(options, "")}
    choices = {"type": "choice", "instructions": "?", "choices": [{"value": o} for o in options]}
    form = {"type": "json_schema", "name": "pick", "strict": True, "schema": SCHEMA}
    tool = {"name": "pick", "input_schema": SCHEMA}
    return [
        (JEV, plain, {}),
        (OPENROUTER, plain | {"model": "liquid/d1"}, {}),
        (PERPLEXITY, plain, {}),
        (CLOUDFLARE, plain | {"model": "clef"}, {"model": "@cf/cloudflare/clef"}),
        (DECISIONS, {"model": "m", "input": "x", "questions": [choices]}, {}),
        (GEMINI, {"model": "m", "input": "x", "questions": {"choose": described}}, {}),
        (RESPONSES, {"model": "m", "input": prompt, "text": {"format": form}}, {}),
        (
            CHAT,
            {
                "model": "m",
                "messages": messages,
                "response_format": {"type": "json_schema", "json_schema": form},
            },
            {},
        ),
        (
            MESSAGES,
            {
                "model": "m",
                "max_tokens": 99,
                "messages": messages,
                "tools": [tool],
                "tool_choice": {"type": "tool", "name": "pick"},
            },
            {},
        ),
    ]


CASES = requests(["red fox", "blue fox", "7", "\u00c9clair"])


def struck(case: tuple[Shape, dict[str, Any], dict[str, str]], *faults: str) -> Exchange:
    shape, sent, path = case
    asked = shape.read(sent, VERSION, path)
    reply = {
        "model": sent["model"],
        "answers": answers_for(asked),
        "usage": {"input_tokens": 9, "output_tokens": 1},
    }
    one = Exchange(shape, sent, json.dumps(sent).encode(), asked, "", reply, in_flight=2)
    one.envelope = shape is CLOUDFLARE
    for plan in FaultPlan.parse(faults):
        plan.strike(one)
    return one


@pytest.mark.parametrize("case", CASES, ids=[case[0].name for case in CASES])
def test_any_two_faults_can_be_had_together(case: Any) -> None:
    texts = [WRITTEN.get(name, name) for name in FAULTS]
    for first in texts:
        for second in texts:
            one = struck(case, first, second)
            assert isinstance(one.body(), bytes)
            assert 200 <= one.status <= 599


def test_all_shapes_pick_the_same_option_in_every_order() -> None:
    options = [f"option {i}" for i in range(30)]
    picks = set()
    for order in (options, options[::-1], sorted(options)):
        for shape, sent, path in requests(order):
            [answer] = answers_for(shape.read(sent, VERSION, path)).values()
            picks.add(answer["choice"])
    assert len(picks) == 1


@pytest.mark.parametrize("case", CASES, ids=[case[0].name for case in CASES])
@pytest.mark.parametrize("fault", ["disagree", "refusal", "no_usage", "other_model"])
def test_what_matters_to_a_client_shows_in_every_shape(case: Any, fault: str) -> None:
    assert struck(case, fault).body() != struck(case).body()


@pytest.mark.parametrize("case", CASES, ids=[case[0].name for case in CASES])
@pytest.mark.parametrize("fault", [name for name, f in FAULTS.items() if f.group == "statuses"])
def test_an_error_status_in_every_shape(case: Any, fault: str) -> None:
    one = struck(case, fault)
    assert one.status != 200
    if one.content_type == "application/json" and one.body():
        assert isinstance(json.loads(one.body()), dict)
