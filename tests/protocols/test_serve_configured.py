"""Configured models behind the server: bodies and questions, and what is refused before Ray is met."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.errors import ModelError, SettingError
from beeline.model import Model
from beeline.question import KINDS, YES_NO, Answer, Kind, Question
from protocols.clef import body_of
from protocols.serve.__main__ import main
from protocols.serve.bodies import check
from protocols.serve.configured import answering, configured
from protocols.serve.questions import WholeBody, question_of, result_of
from protocols.serve.refusals import Refused

TEXT = st.text(max_size=8)


@st.composite
def any_question(draw: st.DrawFn) -> Question:
    kind: Kind = draw(st.sampled_from(KINDS))
    options = YES_NO
    if kind != "noul":
        options = tuple(draw(st.lists(TEXT, min_size=2, max_size=10, unique=True)))
    return Question(draw(TEXT), draw(TEXT), draw(TEXT), draw(TEXT), options, kind)


@given(any_question())
def test_what_beeline_sends_comes_back_as_the_question_it_was(question: Question) -> None:
    assert question_of(check(body_of(question)), "choose") == question


def body(**asked: Any) -> dict[str, Any]:
    choice = {"type": "choice", "instructions": "Which?", "criteria": {"a": None, "b": None}}
    return check({"model": "m", "state": "s", "questions": {"q": choice | asked}})


@pytest.mark.parametrize(
    ("state", "context"),
    [
        ("plain", "plain"),
        ({"goal": "g", "context": "c", "more": 1}, '{"goal": "g", "context": "c", "more": 1}'),
        ({"context": ["é"]}, '{"context": ["é"]}'),
        ([1, 2], "[1, 2]"),
        ({}, "{}"),
    ],
)
def test_any_other_state_is_the_context(state: Any, context: str) -> None:
    question = question_of(body() | {"state": state}, "q")
    assert (question.task, question.goal, question.context) == ("", "", context)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"criteria": {"a": "the first", "b": None}}, "describes its options"),
        ({"type": "noul", "criteria": {"true": "it is"}}, "describes its sides"),
        ({"type": "score", "criteria": ["low", "low"]}, "must be different texts"),
        ({"type": "score", "criteria": ["low", {"very": "high"}]}, "must be different texts"),
    ],
)
def test_what_a_question_cannot_hold_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused) as refused:
        question_of(body(**asked), "q")
    assert refused.value.status == 400
    assert said in refused.value.detail["message"]


class Weighing(Model):
    """Weighs by length; notes what it was asked."""

    name, model_id = "weighing", "w"
    kinds = ("choice", "noul")

    def __init__(self, answer: Answer | None = None) -> None:
        self.asked: list[Question] = []
        self._answer = answer

    @classmethod
    def from_settings(cls, name: str, settings: Any, plugins: tuple[str, ...] = ()) -> Model:
        raise NotImplementedError

    async def answer(self, question: Question) -> Answer:
        self.asked.append(question)
        return self._answer or Answer([len(o) for o in question.options], input_tokens=7)

    def describe(self) -> dict[str, Any]:
        return {}


def called(model: Model, whole: bool, sent: dict[str, Any]) -> Any:
    return asyncio.run(answering(model, whole).call(sent))


def test_each_question_of_a_body_is_asked_alone_and_in_its_order() -> None:
    model = Weighing()
    sent = body(criteria={"zz": None, "a": None})
    sent["questions"]["is it"] = {"type": "noul"}
    sent["questions"]["only"] = {"type": "choice", "criteria": {"one": None}}
    returned = called(model, False, sent)
    assert returned["answers"] == {"q": [2, 1], "is it": 3 / 5, "only": [1.0]}
    assert returned["usage"] == {"input_tokens": 14, "output_tokens": 0}
    assert [question.options for question in model.asked] == [("zz", "a"), YES_NO]


def test_a_kind_that_the_model_does_not_answer_is_refused_before_anything_is_asked() -> None:
    model = Weighing()
    sent = body()
    sent["questions"]["how"] = {"type": "score", "criteria": ["low", "high"]}
    with pytest.raises(Refused, match="'how' is a score, and this model answers choice, noul only"):
        called(model, False, sent)
    assert model.asked == []


def test_refusals_are_the_clients_and_nonsense_is_ours() -> None:
    question = question_of(body(), "q")
    with pytest.raises(Refused, match="declines"):
        result_of(question, Answer(refused=True))
    with pytest.raises(ModelError, match="all zero"):
        result_of(question, Answer([0, 0]))


def test_a_model_that_reads_bodies_gets_them_whole() -> None:
    model = Weighing(Answer(raw=b'{"answers": {"q": [1, 2]}, "usage": {}}'))
    sent = body()
    assert called(model, True, sent) == {"answers": {"q": [1, 2]}, "usage": {}}
    (asked,) = model.asked
    assert isinstance(asked, WholeBody)
    assert asked.body == sent
    refusing = Weighing(Answer(raw=b'{"status": 400, "detail": {"message": "too long"}}'))
    with pytest.raises(Refused, match="too long"):
        called(refusing, True, sent)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["model=clef", "domain=tiles"], "domain=tiles: a server has the settings of model, engine, plugins"),
        (["engine.address=auto"], "name the model that is to be served: model=NAME"),
        (["model=cleff"], "did you mean clef"),
        (["model=sparrow", "model.wights=x"], "sparrow has no setting model.wights"),
        (["model=sparrow", "engine=local"], "engine=local places no model"),
        (["model=sparrow", "engine.adress=auto"], "ray has no setting engine.adress"),
        (["model=jev"], "model jev is behind a host already"),
        (["model=sparrow", "model.replay=results"], "model.replay answers what was asked before"),
        (["model=sparrow", "model.placement={gpus: 1}"], "there is no setting model.placement.gpus"),
        (["model=sparrow", "plugins=x"], "must be a list of package names"),
        (["model=python", "model.function=nowhere:f", "plugins=[nowhere]"], "there is no module nowhere"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(words: list[str], said: str) -> None:
    with pytest.raises(SettingError) as error:
        configured(words)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_for_functions_only(capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["--batch", "4"], ["--wait", "0"]):
        assert main(["model=sparrow", *option]) == 2
        assert "--batch and --wait are for functions" in capsys.readouterr().err


def test_its_name_and_kinds_are_the_models_own() -> None:
    model, whole = configured(["model=clef_flash", "model.backend=weights", "model.placement={replicas: 3}"])
    assert (model.name, model.kinds, whole) == ("clef_flash_weights", KINDS, True)
    model, whole = configured(["model=sparrow", "model.orders=2"])
    assert (model.name, whole) == ("sparrow_orders2", False)
