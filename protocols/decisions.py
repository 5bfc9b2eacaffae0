"""What the protocols of decision models share: one question put together as bytes.

The body of a choice is a head (the same for all questions of a trial), an entry an option and a
tail. Heads and entries are remembered, because building the body is the hot path of a search. Nouls
and scores, which no search asks, are written whole.
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from beeline.question import KINDS, YES_NO, Answer, Question
from protocols.hosted import HostedModel, HostedSettings
from protocols.jsontext import escaped

__all__ = [
    "QUESTION_ID",
    "DecisionModel",
    "EscapedTexts",
    "json_bytes",
    "labelled",
    "read_levels",
    "read_map",
    "read_yes",
]

QUESTION_ID = "choose"
"""What the one question of a request is called. Some models read it, so it never changes."""


class EscapedTexts(dict[str, bytes]):
    """Option text to its entry as UTF-8 JSON, escaped once a text.

    The frontiers of a search overlap, so nearly every text of a question was in the one before.
    Cleared when full: texts come back cheaply, and memory stays bounded.
    """

    __slots__ = ()
    most: ClassVar[int] = 65_536
    before: ClassVar[bytes] = b""
    after: ClassVar[bytes] = b""

    def __missing__(self, text: str) -> bytes:
        if len(self) >= self.most:
            self.clear()
        entry = self[text] = self.before + escaped(text) + self.after
        return entry


class DecisionModel(HostedModel):
    """A model whose protocol has a choice question. Subclasses say how it is written."""

    kinds = KINDS
    options_class: ClassVar[type[EscapedTexts]]
    tail: ClassVar[bytes]
    """What follows the last option."""

    def __init__(self, name: str, settings: HostedSettings, **more: Any) -> None:
        super().__init__(name, settings, **more)
        self._options = self.options_class()
        self._heads: dict[tuple[str, str, str, str], bytes] = {}

    def request_body(self, question: Question) -> bytes:
        """The request as UTF-8 JSON; options keep the order shown."""
        if question.kind != "choice":
            return self.other_body(question)
        key = (question.task, question.goal, question.context, question.instructions)
        head = self._heads.get(key)
        if head is None:
            if len(self._heads) >= 4096:  # one entry a trial
                self._heads.clear()
            head = self._heads[key] = self.head(question)
        return b"%b%b%b" % (head, b",".join([*map(self._options.__getitem__, question.options)]), self.tail)

    @abstractmethod
    def head(self, question: Question) -> bytes:
        """The body up to the first option of a choice."""

    @abstractmethod
    def other_body(self, question: Question) -> bytes:
        """The body of a noul or a score."""


def json_bytes(data: Any) -> bytes:
    """UTF-8 JSON without blanks."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def labelled(question: Question) -> str:
    """Task, goal and context as one text, for protocols whose input is a text: a labelled line
    each, under the names that they have in the System One state."""
    return f"Task: {question.task}\nGoal: {question.goal}\nContext: {question.context}"


def read_map(given: dict[str, Any], answer: Answer) -> None:
    """Take choice and probabilities of an answer whose probabilities are a map by option."""
    choice = given.get("choice")
    if isinstance(choice, str):
        answer.choice = choice
    probabilities = given.get("probabilities")
    if isinstance(probabilities, dict):
        answer.probabilities = probabilities
    elif probabilities is None:
        answer.problem = "an answer without probabilities"
    else:
        answer.problem = "probabilities that are not a map from option to number"


def read_yes(value: Any, answer: Answer) -> None:
    """Take the probability of yes."""
    if isinstance(value, float) and math.isfinite(value) and 0.0 <= value <= 1.0:
        answer.probabilities = dict(zip(YES_NO, (value, 1.0 - value), strict=True))
    else:
        answer.problem = "no probability of yes"


def read_levels(given: Any, question: Question, answer: Answer) -> None:
    """Take the probabilities of a score's levels, by number as text (``"0"`` is the lowest)."""
    if not isinstance(given, Mapping):
        answer.problem = "a score without probabilities"
        return
    answer.probabilities = {
        level: given[str(number)] for number, level in enumerate(question.options) if str(number) in given
    }
    if not answer.probabilities:
        answer.problem = "a score whose probabilities name no level"
