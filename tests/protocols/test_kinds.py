"""Nouls and scores: what each protocol sends and reads, and who says that it can be asked them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from beeline.archive import asked
from beeline.errors import SettingError
from beeline.model import Model, make_model
from beeline.model_arm import option_weights
from beeline.question import KINDS, YES_NO, Answer, Kind, Question
from protocols.fake import FakeServer
from protocols.fake.answers import weight
from protocols.gemini_decisions import GeminiDecisions
from protocols.openai_decisions import OpenAIDecisions
from protocols.python import PythonModel
from protocols.sparrow import Sparrow
from protocols.systemone import SystemOne
from tests.protocols.asking import ask

LEVELS = ("0 to 2 moves", "3 moves", "4 moves or more")
OPTIONS: dict[Kind, tuple[str, ...]] = {"choice": ("BAC", "CAB"), "noul": YES_NO, "score": LEVELS}
SPOKEN: list[tuple[type[Any], str, str]] = [
    (SystemOne, "base_url", "/systemone"),
    (OpenAIDecisions, "base_url", "/decisions"),
    (GeminiDecisions, "gemini_url", "/decisions"),
]


def question(kind: Kind) -> Question:
    return Question("Reach the goal.", "ABC", "Letters swap.", f"Which, as a {kind}?", OPTIONS[kind], kind)


def client(spoken: type[Any], server: FakeServer, url: str, path: str) -> Model:
    base = server.base_url if url == "base_url" else server.base_url.replace("/v1", "/v1beta")
    model: Model = spoken.from_settings("test", {"base_url": base, "path": path, "id": "fake", "retries": 0})
    return model


@pytest.mark.parametrize(("spoken", "url", "path"), SPOKEN)
def test_every_kind_over_http(spoken: type[Any], url: str, path: str) -> None:
    with FakeServer() as server:
        model = client(spoken, server, url, path)
        answers = dict(zip(KINDS, ask(model, *map(question, KINDS)), strict=True))
    assert model.kinds == KINDS
    for kind, answer in answers.items():
        weights, problem = option_weights(answer, OPTIONS[kind])
        assert problem is None, kind
        assert sum(weights) == pytest.approx(1)
    assert isinstance(answers["noul"].probabilities, dict)
    yes = weight("Which, as a noul?") / 10**10
    if spoken is GeminiDecisions:
        yes = min(max(yes, 0.01), 0.99)
    assert answers["noul"].probabilities["yes"] == pytest.approx(yes)
    given = answers["score"].probabilities
    assert isinstance(given, dict)
    total = sum(map(weight, LEVELS))
    assert given == pytest.approx({level: weight(level) / total for level in LEVELS})


@pytest.mark.parametrize(("spoken", "url", "path"), SPOKEN)
@pytest.mark.parametrize("kind", ["noul", "score"])
def test_what_is_no_such_answer_is_a_problem(spoken: type[Any], url: str, path: str, kind: Kind) -> None:
    model = spoken.from_settings("test", {"base_url": "http://127.0.0.1:9", "path": path, "id": "fake"})
    for given in (
        {},
        {"noul": 1.5, "probability": 1.5, "probabilities": {}},
        {"noul": float("nan"), "probability": "1", "probabilities": [{"value": 1.5, "probability": 1.0}]},
        {"noul": True, "probability": None, "probabilities": {"9": 1.0}},
    ):
        answer = Answer()
        whole = [{"name": "choose", **given}] if spoken is OpenAIDecisions else {"choose": given}
        model.read_answer({"answers": whole}, question(kind), answer)
        assert answer.problem is not None
        assert not answer.probabilities


def test_a_body_says_its_kind() -> None:
    model = SystemOne.from_settings("test", {"base_url": "http://127.0.0.1:9", "id": "fake"})
    assert json.loads(model.request_body(question("noul")))["questions"]["choose"] == {
        "type": "noul",
        "instructions": "Which, as a noul?",
    }
    scored = json.loads(model.request_body(question("score")))["questions"]["choose"]
    assert scored["criteria"] == list(LEVELS)


def test_the_digest_of_a_question_knows_its_kind() -> None:
    same = [replace(question("noul"), instructions="Is it?", options=YES_NO, kind=kind) for kind in KINDS]
    assert len({asked(q) for q in same}) == 3
    # A choice's is what it was before there were kinds: archives stay readable.
    old = Question("t", "g", "c", "i", ("a", "b"))
    assert asked(old) == "eb2f835907d38193b6af9ed932e2a2bf"


def test_sparrow_answers_every_kind() -> None:
    model = Sparrow.from_settings(
        "sparrow", {"weights": "sparrow-nano-general-v1.1", "id": "sparrow-nano-general-v1.1"}
    )
    for kind in model.kinds:
        answer = model.answer_now(question(kind))
        weights, problem = option_weights(answer, OPTIONS[kind])
        assert problem is None
        assert sum(weights) == pytest.approx(1, abs=1e-3)


def test_a_function_says_which_kinds_it_answers() -> None:
    settings = {"function": "tests.protocols.served:decide"}

    def made(**more: Any) -> Model:
        return PythonModel.from_settings("python", settings | more, ("tests",))

    assert made().kinds == ("choice",)
    assert made(kinds=["score", "choice"]).kinds == ("choice", "score")
    with pytest.raises(SettingError, match="holds 'bool'"):
        made(kinds=["bool"])


def test_wrapped_models_keep_their_kinds(tmp_path: Any) -> None:
    config = {
        "name": "sparrow",
        "target": "protocols.sparrow:Sparrow",
        "weights": "sparrow-nano-general-v1.1",
        "id": "sparrow-nano-general-v1.1",
    }
    assert make_model(config | {"reuse": str(tmp_path / "a.sqlite")}).kinds == KINDS
    assert make_model(config | {"replay": str(tmp_path)}).kinds == KINDS
