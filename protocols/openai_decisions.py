"""OpenAI Decisions: one question on a request, over HTTP.

Request: ``model``, ``input`` (a text made of task, goal and context, a labelled line each) and
``questions``, a list of one choice named ``choose`` whose ``choices`` are ``{"value": option}``.
Reply: ``answers``, a list in the order of the questions, with ``probabilities`` as a list of
``{"value", "probability"}``. A noul is called ``predicate`` here; the levels of a score have a
``label`` each and are numbered from 0 in the reply.

Pairs are read strictly: values are texts compared byte for byte (a boolean never stands for the
text ``true``), and a value that comes twice makes the answer invalid, since nothing says which of
its probabilities counts. A question that the model declines is answered with the type ``refusal``
and status 200; the arm asks again in another order. Cached input tokens are counted at the full
price, although the vendor gives them away, so that a cap errs on the safe side.

Spoken by OpenAI (GPT-6 Luna) and by gateways that pass it on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from beeline.question import Answer, Question
from protocols.decisions import (
    QUESTION_ID,
    DecisionModel,
    EscapedTexts,
    json_bytes,
    labelled,
    read_levels,
    read_yes,
)
from protocols.hosted import HostedSettings
from protocols.jsontext import escaped
from protocols.settings import setting

__all__ = ["OpenAIDecisions", "OpenAIDecisionsSettings", "read_pairs"]


@dataclass(frozen=True, kw_only=True)
class OpenAIDecisionsSettings(HostedSettings):
    """The settings of ``conf/model/*.yaml`` for this protocol."""

    path: str = setting("/decisions")


class _Choices(EscapedTexts):
    __slots__ = ()
    before, after = b'{"value":', b"}"


class OpenAIDecisions(DecisionModel):
    """A model behind a server that speaks OpenAI Decisions."""

    protocol = "openai_decisions"
    settings_class = OpenAIDecisionsSettings
    options_class = _Choices
    tail = b"]}]}"
    # Output is free and its count is 0.
    expected_output = 0

    def head(self, question: Question) -> bytes:
        """The body up to the first choice."""
        return (
            b'{"model":%b,"input":%b,"questions":[{"type":"choice","name":"%b","instructions":%b,"choices":['
            % (
                escaped(self.model_id),
                escaped(labelled(question)),
                QUESTION_ID.encode(),
                escaped(question.instructions),
            )
        )

    def other_body(self, question: Question) -> bytes:
        """The body of a predicate or a score."""
        asked: dict[str, Any] = {
            "type": "predicate" if question.kind == "noul" else "score",
            "name": QUESTION_ID,
            "instructions": question.instructions,
        }
        if question.kind == "score":
            asked["levels"] = [{"label": level} for level in question.options]
        return json_bytes({"model": self.model_id, "input": labelled(question), "questions": [asked]})

    def read_answer(self, body: dict[str, Any], question: Question, answer: Answer) -> None:
        """Take the pairs of option and number."""
        answers = body.get("answers")
        if isinstance(answers, dict):
            answer.problem = "answers that are a map, not a list: this host speaks another protocol"
            return
        if not isinstance(answers, list) or not answers or not isinstance(answers[0], dict):
            answer.problem = "no answer to the question in the reply"
            return
        if len(answers) > 1:
            answer.problem = "more than one answer to one question"
            return
        given = answers[0]
        if given.get("name") not in (QUESTION_ID, None):
            answer.problem = "an answer to another question"
            return
        if given.get("type") == "refusal":
            answer.refused = True
            return
        if question.kind == "noul":
            read_yes(given.get("probability"), answer)
            return
        if question.kind == "score":
            read_levels(_by_level(given.get("probabilities")), question, answer)
            return
        choice = given.get("choice")
        if isinstance(choice, str):
            answer.choice = choice
        found = read_pairs(given.get("probabilities"))
        if isinstance(found, str):
            answer.problem = found
        else:
            answer.probabilities = found


def read_pairs(pairs: Any) -> dict[str, Any] | str:
    """Option to number from a list of ``{"value", "probability"}``, or why it is none.

    The numbers are taken as they come: what is no finite number counts 0 in the arm.
    """
    if pairs is None:
        return "an answer without probabilities"
    if not isinstance(pairs, list):
        return "probabilities that are not a list of value and probability"
    found: dict[str, Any] = {}
    for pair in pairs:
        if not isinstance(pair, dict) or "probability" not in pair:
            return "an entry of probabilities that is not a value and a probability"
        value = pair.get("value")
        if not isinstance(value, str):
            return "a value in probabilities that is not a text"
        if value in found:
            return "a value that comes twice in probabilities"
        found[value] = pair["probability"]
    return found


def _by_level(pairs: Any) -> dict[str, Any] | None:
    """Level number as text to probability; None where it is no list of such pairs."""
    if not isinstance(pairs, list):
        return None
    found: dict[str, Any] = {}
    for pair in pairs:
        number = pair.get("value") if isinstance(pair, dict) else None
        if not isinstance(number, float) or not number.is_integer() or "probability" not in pair:
            return None
        found[str(int(number))] = pair["probability"]
    return found
