"""Numbered options: the prompt, the schema, and what becomes of the text that comes back."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beeline.errors import HostError, ModelError
from beeline.model import make_model
from beeline.model_arm import option_weights
from beeline.question import Answer
from protocols.anthropic_messages import AnthropicMessages
from protocols.chat_completions import ChatCompletions
from protocols.fake import FakeServer
from protocols.fake.answers import likeliest, shares
from protocols.fake.language import numbered
from protocols.numbered import NumberedModel, as_json, take_number, take_text, to_prompt, to_schema
from protocols.openai_responses import OpenAIResponses
from tests.faults.test_model_faults import run
from tests.protocols.asking import ask, no_sleep, question, system_one

OPTIONS_255 = tuple(f"{i} stands on {i * 7 % 255}" for i in range(255))
APIS: dict[str, tuple[type[NumberedModel], dict[str, Any]]] = {
    "responses": (OpenAIResponses, {}),
    "chat": (ChatCompletions, {}),
    "tool": (AnthropicMessages, {}),
    "format": (AnthropicMessages, {"structure": "format"}),
}


def client(api: str, base_url: str = "http://host/v1", **more: Any) -> NumberedModel:
    kind, chosen = APIS[api]
    chosen = {"base_url": base_url, "id": "test-model", "timeout_s": 5.0, **chosen, **more}
    return kind("test", kind.settings_class(**chosen), sleep=no_sleep)


def read(text: Any) -> Answer:
    answer = Answer()
    take_text(text, question(), answer)
    return answer


# --- the prompt and the schema ---------------------------------------------------------------


def test_the_prompt_to_the_last_character() -> None:
    assert to_prompt(question("B\u00c4C", "C A B")) == (
        "Task: Reach the goal.\nGoal: ABC\nContext: Letters swap.\n\nWhich?\n\n1: B\u00c4C\n2: C A B\n\n"
        'Answer with the number of one option, 1 to 2, as JSON: {"option": number}'
    )


def test_options_keep_the_order_shown() -> None:
    for shown in (OPTIONS_255, OPTIONS_255[::-1]):
        found = numbered(to_prompt(question(*shown)))
        assert found == {option: place for place, option in enumerate(shown, 1)}


def test_the_schema_is_strict_and_its_bounds_can_be_left_out() -> None:
    schema = to_schema(255)
    assert schema["properties"] == {"option": {"type": "integer", "minimum": 1, "maximum": 255}}
    assert (schema["required"], schema["additionalProperties"]) == (["option"], False)
    assert to_schema(None) == schema | {"properties": {"option": {"type": "integer"}}}


@settings(max_examples=100)
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_sent(text: str) -> None:
    assert json.loads(as_json({"input": text})) == {"input": text}


def test_texts_are_sent_as_they_are() -> None:
    assert as_json({"a": "\u00c4"}) == '{"a":"\u00c4"}'.encode()


# --- reading ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ['{"option": 2}', ' {"option":2}\n', '{"option": 2.0}', '{"why": "near", "option": 2}']
)
def test_a_pick_is_an_indicator_in_the_order_shown(text: str) -> None:
    answer = read(text)
    assert answer.probabilities == [0.0, 1.0, 0.0]
    assert (answer.choice, answer.problem) == ("CAB", None)
    assert option_weights(answer, question().options) == ([0.0, 1.0, 0.0], None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "no text in the reply"),
        ("", "no text in the reply"),
        (" \n", "no text in the reply"),
        ([{"type": "text"}], "a text that is not a string"),
        ("2", "JSON that is not an object"),
        ("[2]", "JSON that is not an object"),
        ("CAB", "text without a JSON object"),
        ("I pick option 2.", "text without a JSON object"),
        ('Sure: {"option": 2}', "text around the JSON object"),
        ('{"option": 2} is best', "text after the JSON object"),
        ('{"option": 1}{"option": 2}', "text after the JSON object"),
        ('```json\n{"option": 2}\n```', "JSON in a code fence, not JSON alone"),
        ('{"option": ', "JSON that breaks off or is malformed"),
        ('{"option":' * 9999, "JSON that breaks off or is malformed"),
        ('{"option": 1, "option": 2}', "a JSON object that says something twice"),
        ("{}", "a JSON object without 'option'"),
        ('{"Option": 2}', "a JSON object without 'option'"),
        ('{"option": "2"}', "an option's number written as a text"),
        ('{"option": true}', "an option that is not a number"),
        ('{"option": null}', "an option that is not a number"),
        ('{"option": [2]}', "an option that is not a number"),
        ('{"option": 1.5}', "an option that is not a whole number"),
        ('{"option": NaN}', "an option that is not a whole number"),
        ('{"option": Infinity}', "an option that is not a whole number"),
        ('{"option": %s}' % ("9" * 6000), "an option that is not a whole number"),
        ('{"option": 0}', "option 0, which is not one of 1 to 3"),
        ('{"option": -1}', "option -1, which is not one of 1 to 3"),
        ('{"option": 4}', "option 4, which is not one of 1 to 3"),
    ],
)
def test_anything_else_is_invalid_with_its_reason(text: Any, problem: str) -> None:
    answer = read(text)
    assert answer.problem == problem
    assert option_weights(answer, question().options) == ([0.0] * 3, problem)
    assert answer.choice is None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["option", "x"]), inner),
    max_leaves=5,
)


@settings(max_examples=200)
@given(values)
def test_no_value_is_a_silent_pick(value: Any) -> None:
    answer = Answer()
    take_number(value, question(), answer)
    picked = (
        isinstance(value, dict) and type(value.get("option")) in (int, float) and value["option"] in (1, 2, 3)
    )
    assert (answer.problem is None) == picked
    assert sum(answer.probabilities) == picked


@settings(max_examples=200)
@given(st.text(st.sampled_from('{}[]":,12 \noption`'), max_size=30))
def test_no_text_is_a_silent_pick(text: str) -> None:
    answer = read(text)
    weights, problem = option_weights(answer, question().options)
    assert problem == answer.problem
    assert math.fsum(weights) == (problem is None)


# --- all APIs against the test server --------------------------------------------------------


@pytest.mark.parametrize("api", APIS)
def test_the_right_option_of_255_comes_back(api: str) -> None:
    with FakeServer() as server:
        [answer] = ask(
            client(api, server.base_url, price_input=1.0, price_output=5.0), question(*OPTIONS_255)
        )
        assert server.requests == 1
    best = likeliest(shares(list(OPTIONS_255)))
    assert answer.choice == best
    assert answer.probabilities == [float(option == best) for option in OPTIONS_255]
    assert (answer.served_model, answer.retries, answer.refused) == ("test-model", 0, False)
    assert answer.input_tokens is not None
    assert answer.output_tokens is not None
    assert answer.input_tokens > 1000 > answer.output_tokens > 0
    assert answer.cost_usd == pytest.approx(answer.input_tokens * 1e-6 + answer.output_tokens * 5e-6)


@pytest.mark.parametrize("api", APIS)
def test_cached_tokens_are_counted_at_the_full_price(api: str) -> None:
    counts = []
    for faults in ((), ("cached",)):
        with FakeServer(*faults) as server:
            [answer] = ask(client(api, server.base_url, price_input=1.0, price_output=0.0), question())
        counts.append((answer.input_tokens, answer.cost_usd))
    assert counts[0] == counts[1]
    assert counts[0][0]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("fault", ["refusal", "content_filter"])
def test_a_refusal_is_counted_as_one_and_keeps_its_usage(api: str, fault: str) -> None:
    with FakeServer(fault) as server:
        [answer] = ask(client(api, server.base_url), question())
    assert (answer.refused, answer.problem) == (True, None)
    assert answer.input_tokens
    assert option_weights(answer, question().options)[1] == "refused"


NO_PICK = {
    "truncated": "an output that ended at model.max_output_tokens=64",
    "out_of_range": "option 100",
    "number_as_string": "an option's number written as a text",
    "no_json": "text without a JSON object",
    "prose": "text around the JSON object",
    "fenced": "JSON in a code fence",
    "no_answer": "no text in the reply",
    "error_200": "upstream had no answer (502)",
    "html": "not JSON but an HTML page titled 'Welcome'",
}
#: A tool's input has no text around it, and a text beside it is not the pick.
TOOL = NO_PICK | {"no_json": "no use of the tool", "no_answer": "no use of the tool"}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("fault", NO_PICK)
def test_a_reply_without_a_pick_says_why(api: str, fault: str) -> None:
    with FakeServer(fault) as server:
        [answer] = ask(client(api, server.base_url), question())
        assert server.requests == 1
    if api == "tool" and fault in ("prose", "fenced"):
        assert answer.choice == likeliest(shares(list(question().options)))
        return
    assert not answer.refused
    assert (TOOL if api == "tool" else NO_PICK)[fault] in (answer.problem or "")
    assert option_weights(answer, question().options)[1] == answer.problem


@pytest.mark.parametrize("api", APIS)
def test_failures_are_those_of_every_host(api: str) -> None:
    with FakeServer("overloaded@1") as server:
        [answer] = ask(client(api, server.base_url), question())
    assert (answer.retries, answer.problem) == (1, None)
    with FakeServer("wrong_key") as server, pytest.raises(HostError, match="401"):
        ask(client(api, server.base_url), question())
    with (
        FakeServer("other_model") as server,
        pytest.raises(ModelError, match="for the model test-model, but"),
    ):
        ask(client(api, server.base_url), question())
    with FakeServer("no_usage") as server:
        [answer] = ask(client(api, server.base_url, price_input=1.0), question())
    assert (answer.input_tokens, answer.output_tokens, answer.cost_usd) == (None, None, None)


@pytest.mark.parametrize("api", APIS)
def test_a_server_of_another_protocol_is_an_error_of_the_host(api: str) -> None:
    with FakeServer() as server, pytest.raises(HostError, match="speaks the protocol"):
        ask(client(api, server.base_url, path="/systemone"), question())


@pytest.mark.parametrize("api", APIS)
def test_a_request_is_reserved_with_all_the_output_it_may_take(api: str) -> None:
    assert client(api, max_output_tokens=300).expected_output == 300


@pytest.mark.parametrize("api", APIS)
def test_whole_trials_choose_what_a_decision_model_with_the_same_mind_chooses(api: str) -> None:
    with FakeServer() as server:
        picked = run(client(api, server.base_url))
        weighed = run(system_one(server.base_url))
    assert [one.search for one in picked] == [one.search for one in weighed]
    for one in picked:
        usage = one.usage
        assert usage.requests > 5
        assert (usage.ties, usage.disagreements) == (0, 0)
        assert (usage.invalid_answers, usage.refusals, usage.fallbacks) == (0, 0, 0)


@pytest.mark.parametrize("api", APIS)
def test_refusals_and_nonsense_in_whole_trials_are_counted_and_never_picks(api: str) -> None:
    with FakeServer("refusal:0.2", "out_of_range:0.2") as server:
        done = run(client(api, server.base_url))
    for name in ("refusals", "invalid_answers", "fallbacks"):
        assert sum(getattr(one.usage, name) for one in done) > 0, name
    with FakeServer("truncated") as server, pytest.raises(ModelError, match="10 times an output that ended"):
        run(client(api, server.base_url), [1])


def test_settings_are_strict() -> None:
    target = "protocols.chat_completions:ChatCompletions"
    given = {"name": "m", "target": target, "base_url": "http://h/v1", "id": "m"}
    assert make_model(given).model_id == "m"
    with pytest.raises(Exception, match="did you mean temperature"):
        make_model(given | {"temperatur": 0})
    with pytest.raises(Exception, match=r"model\.max_output_tokens=1 must be"):
        make_model(given | {"max_output_tokens": 1})
