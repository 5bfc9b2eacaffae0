"""What a model is asked and what it answers, independent of any wire protocol.

A protocol turns a :class:`Question` into a request and a reply into an :class:`Answer`, and
knows nothing of searches. A Python function that takes a Question and returns an Answer, a
mapping from option to probability, or one probability per option in the order shown is a
model too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["KINDS", "YES_NO", "Answer", "Kind", "Question"]

Kind = Literal["choice", "noul", "score"]
KINDS: tuple[Kind, ...] = ("choice", "noul", "score")
"""One of several options; yes or no; a place on an ordered scale. A search asks choices only."""
YES_NO = ("yes", "no")
"""The options of a noul."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Of a choice, ``options`` are the texts of all frontier states in the order shown, unique, two or
    more. Of a noul they are YES_NO, of a score 2 to 10 levels, lowest first: an Answer gives each
    a probability whatever the kind, so that nothing else depends on it.
    """

    task: str
    """What kind of problem this is, in a sentence or two."""
    goal: str
    """What is to be reached, in this trial."""
    context: str
    """The rules and whatever else the model may know about this trial."""
    instructions: str
    """The question itself."""
    options: tuple[str, ...]
    """The options, in the order shown."""
    kind: Kind = "choice"
    """What is asked; only models that say so (beeline.model.Model.kinds) are asked more than choices."""


@dataclass(slots=True)
class Answer:
    """What came back for one question.

    ``probabilities`` either maps option texts to numbers (a missing option counts 0, a foreign
    one is ignored) or is a sequence with one number per option in the order shown.
    """

    probabilities: Mapping[str, float] | Sequence[float] = field(default_factory=dict)
    refused: bool = False
    """The model declined this question (a service's word for it, not a guess of ours)."""
    input_tokens: int | None = None
    """None when the host does not say: unknown, never 0."""
    output_tokens: int | None = None
    cost_usd: float | None = None
    """None when tokens or price are unknown."""
    served_model: str | None = None
    """The model that says it answered; None when the reply does not say."""
    seconds: float = 0.0
    """Wall time from sending to having the answer, waits between retries left out."""
    retries: int = 0
    """Failed tries before the one that was answered."""
    choice: str | None = None
    """The option the reply itself names as its pick, if it names one; kept, never trusted."""
    problem: str | None = None
    """Why the reply holds no probabilities, when it holds none (an HTML page, no answer...)."""
    request_id: str | None = None
    """What the host calls this request, for its support."""
    short_usage: bool = False
    """The host counts fewer tokens than the question can have: it may have cut it."""
    cached: bool = False
    """Taken from the answer cache: nothing was sent."""
    raw: bytes | None = None
    """The reply's body with secrets masked, where it is to be archived."""
