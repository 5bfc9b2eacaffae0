"""The archive of one trial: every answer of the model, in the order asked (``archive=on``).

One line a question: a digest of what was asked, and either the reply's body as it came (secrets
masked), which the protocol reads again at a replay, or, for a model without bodies, the answer
itself. A trial's archive is written before its record, so a record implies it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from hashlib import sha256
from typing import Any

from beeline.digest import canonical
from beeline.lines import compact
from beeline.question import Answer, Question

__all__ = ["Archive", "answer_from", "answer_line", "asked"]

#: Fields that come from sending, not from the body.
_SENDING = ("seconds", "retries", "request_id")
_ALL = tuple(f.name for f in fields(Answer) if f.name not in ("raw", "cached"))


def asked(question: Question) -> str:
    """A digest of the question, options and their order included: 32 hexadecimal digits."""
    parts: list[Any] = [question.task, question.goal, question.context, question.instructions]
    parts += question.options
    if question.kind != "choice":
        parts.append({"kind": question.kind})  # no text, so no option can be mistaken for it
    return sha256(canonical(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def answer_line(question: Question, answer: Answer) -> dict[str, Any]:
    """One line of an archive; with ``body`` when the answer came with one."""
    line: dict[str, Any] = {"asked": asked(question)}
    if answer.raw is not None:
        line["body"] = answer.raw.decode("utf-8", "surrogateescape")
        line |= {name: getattr(answer, name) for name in _SENDING}
        return line
    line |= {name: getattr(answer, name) for name in _ALL}
    given = answer.probabilities
    line["probabilities"] = dict(given) if isinstance(given, Mapping) else list(given)
    return line


def answer_from(line: Mapping[str, Any]) -> Answer:
    """The answer of a line without a body; raises ValueError when it holds none."""
    try:
        return Answer(**{name: line[name] for name in _ALL})
    except KeyError as error:
        raise ValueError(f"no field {error}") from None


class Archive:
    """Lines kept in memory until the trial ends."""

    __slots__ = ("lines",)

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, question: Question, answer: Answer) -> None:
        """Note one answer."""
        self.lines.append(compact(answer_line(question, answer)))
