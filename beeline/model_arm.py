"""The model arm of one trial, as a sans-I/O generator: questions out, answers in.

Each unforced step asks one question. Its options are the texts of the whole frontier, in an
order drawn from the trial's order source (one more shuffle of the labels in frontier order), or
as a study's condition says. The option with the highest probability is expanded; on a tie the
first in frontier order, or one drawn, as the version says. An
option without a finite probability above zero counts 0.

An answer is *usable* when at least one shown option has a finite probability above zero. A
refusal or an unusable answer is asked once more in a newly shuffled order; after a second
failure the state shown first in that last order is taken: a *fallback*. Refusals, unusable
answers and fallbacks are counted apart.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from beeline.arms import ArmResult
from beeline.draws import Draws
from beeline.errors import DomainError, ModelError
from beeline.latency import LatencyHistogram
from beeline.ordering import BENCHMARK_ORDER, Ordering
from beeline.outcomes import Ending
from beeline.question import Answer, Question
from beeline.search import Frontier, Limits, search
from beeline.space import Space
from beeline.tally import Tally
from beeline.trace import StepTrace, Trace
from beeline.wording import Wording

__all__ = ["ModelArmResult", "UsabilityGuard", "Usage", "model_arm", "option_weights"]


@dataclass(slots=True)
class Usage:
    """What the model arm of one trial took; the fields are those of a record."""

    requests: int = 0
    """Questions asked, re-asked ones included; retries of a failed request are counted apart."""
    input_tokens: int | None = 0
    """None as soon as one reply does not say."""
    output_tokens: int | None = 0
    cost_usd: float | None = 0.0
    refusals: int = 0
    fallbacks: int = 0
    invalid_answers: int = 0
    retries: int = 0
    ties: int = 0
    """Questions whose top probability was shared."""
    disagreements: int = 0
    """Answers whose own pick was not among the options with the highest probability."""
    short_usage: int = 0
    """Replies whose tokens are fewer than the question can have."""
    cached: int = 0
    """Answers from the answer cache."""
    outcomes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Ending, 0))
    """Decisions by how they ended (beeline.outcomes)."""
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)
    served_models: dict[str, int] = field(default_factory=dict)
    """Answers by the model that says it gave them."""

    def add(self, answer: Answer) -> None:
        """Account for one reply, usable or not."""
        self.requests += 1
        self.input_tokens = _sum(self.input_tokens, answer.input_tokens)
        self.output_tokens = _sum(self.output_tokens, answer.output_tokens)
        self.cost_usd = _sum(self.cost_usd, answer.cost_usd)
        self.retries += answer.retries
        self.short_usage += answer.short_usage
        self.cached += answer.cached
        self.latency.add(answer.seconds)
        if answer.served_model is not None:
            self.served_models[answer.served_model] = self.served_models.get(answer.served_model, 0) + 1

    def as_dict(self) -> dict[str, Any]:
        """The fields of a record."""
        return {
            "requests": self.requests,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self.cost_usd,
            "refusals": self.refusals,
            "fallbacks": self.fallbacks,
            "invalid_answers": self.invalid_answers,
            "retries": self.retries,
            "ties": self.ties,
            "disagreements": self.disagreements,
            "short_usage": self.short_usage,
            "cached": self.cached,
            "outcomes": {ending.value: self.outcomes[ending] for ending in Ending},
            "latency_ms": self.latency.as_dict(),
            "served_models": dict(sorted(self.served_models.items())),
        }


def _sum(total: Any, value: Any) -> Any:
    return None if total is None or value is None else total + value


class UsabilityGuard:
    """Stops a run whose answers are never usable, shared by the trials of one process.

    Raises ModelError once ``limit`` answers have come and not one of them was usable. One
    usable answer lifts the guard for good: a model that fails now and then is measured.
    """

    __slots__ = ("limit", "reasons", "usable")

    def __init__(self, limit: int = 10) -> None:
        self.limit = limit
        self.usable = False
        self.reasons: dict[str, int] = {}

    def good(self) -> None:
        """A usable answer came."""
        self.usable = True

    def bad(self, reason: str) -> None:
        """An unusable answer came; ``reason`` says in which way."""
        if self.usable:
            return
        self.reasons[reason] = self.reasons.get(reason, 0) + 1
        if sum(self.reasons.values()) >= self.limit:
            counts = "; ".join(f"{n} times {reason}" for reason, n in self.reasons.items())
            raise ModelError(
                f"not one of the first {self.limit} answers of the model was usable ({counts}). "
                "An answer needs a finite probability above zero for at least one shown option."
            )


@dataclass(frozen=True, slots=True)
class ModelArmResult:
    """The search, what it took, and its trace when one was asked for."""

    search: ArmResult
    usage: Usage
    trace: Trace | None

    def as_dict(self, shortest_path: int, limits: Limits) -> dict[str, Any]:
        """The fields of a record, times of day left out."""
        return self.search.as_dict(shortest_path, limits) | self.usage.as_dict()


def option_weights(answer: Answer, shown: tuple[str, ...]) -> tuple[list[float], str | None]:
    """One finite number >= 0 a shown option, and why the answer is unusable (None when it is
    usable). Anything missing, negative, not finite or not a number counts 0; names are
    compared byte for byte."""
    probabilities = answer.probabilities
    if answer.refused:
        return [0.0] * len(shown), "refused"
    if isinstance(probabilities, Mapping):
        if not probabilities:
            return [0.0] * len(shown), answer.problem or "an empty map"
        get = probabilities.get
        values: Any = [get(option, 0.0) for option in shown]
    else:
        values = list(probabilities)
        if len(values) != len(shown):
            return [0.0] * len(shown), f"{len(values)} probabilities for {len(shown)} options"
    try:
        # The usual case in a few passes of C: plain numbers, none negative, sum finite.
        # float(): a sum of ints alone may be finite and yet beyond every float.
        plain = {float, int}.issuperset(map(type, values)) and min(values) >= 0.0
        if plain and 0.0 < float(sum(values)) < math.inf:
            return values, None
    except OverflowError:  # an int beyond every float
        pass
    weights = [_weight(value) for value in values]
    if any(weights):
        return weights, None
    if isinstance(probabilities, Mapping) and not any(option in probabilities for option in shown):
        return weights, "none of the shown options named"
    if all(isinstance(v, int | float) and v == 0 for v in values):
        return weights, "all zero"
    return weights, "no finite probability above zero"


def _weight(value: Any) -> float:
    if isinstance(value, bool | str | bytes):
        return 0.0
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if math.isfinite(number) and number > 0 else 0.0


def model_arm(
    space: Space,
    domain: str,
    task: str,
    trial: int,
    model_id: str,
    limits: Limits,
    wording: Wording,
    guard: UsabilityGuard,
    keep_trace: bool = True,
    order: str = BENCHMARK_ORDER,
    ties: str = "frontier_order",
) -> Generator[Question, Answer, ModelArmResult]:
    """Search with a model: yields Questions, is sent Answers, returns a ModelArmResult.

    ``model_id`` (the name the API is asked for) is in the draws paths of option order, evictions
    and ties. ``order`` is one of beeline.ordering, ``ties`` one of beeline.versions.TIES. Raises
    ModelError when the guard trips and DomainError when two frontier states have the same text.
    """
    ordering = Ordering(order, domain, trial, model_id, space.heuristic)
    tie = Draws(domain, trial, "tie", model_id)
    texts = wording.texts(domain, task, space.objective, space.context)
    evict = Draws(domain, trial, "evict", "model", model_id)
    tally = Tally(space)
    usage = Usage()
    trace = Trace() if keep_trace else None
    if trace is not None:
        tally.on_forced = lambda state: trace.forced(space, tally, state)

    def decide(frontier: Frontier) -> Generator[Question, Answer, int]:
        labels = frontier.keys
        size = len(labels)
        if len(set(labels)) != size:
            twice = next(label for label in labels if labels.count(label) > 1)
            raise DomainError(
                f"domain {domain}, trial {trial}: two states of one frontier have the same text: {twice!r}"
            )
        step = StepTrace() if trace is not None else None
        ending = Ending.ANSWERED
        for attempt in (1, 2):
            positions = ordering.first(frontier) if attempt == 1 else ordering.again(frontier)
            shown = tuple([labels[i] for i in positions])
            question = Question(*texts, shown)
            answer = yield question
            usage.add(answer)
            weights, problem = option_weights(answer, shown)
            if step is not None:
                step.reply(answer, problem)
            if problem is None:
                guard.good()
                top = max(weights)
                if weights.count(top) == 1:
                    place = weights.index(top)
                    index = positions[place]
                else:
                    usage.ties += 1
                    if attempt == 1:
                        ending = Ending.TIE
                    tied = sorted(positions[i] for i, w in enumerate(weights) if w == top)
                    index = tied[tie.below(len(tied))] if ties == "seeded_draw" else tied[0]
                if answer.choice is not None and not _agrees(answer.choice, shown, weights, top):
                    usage.disagreements += 1
                    if step is not None:
                        step.disagrees = True
                break
            guard.bad(problem)
            if answer.refused:
                usage.refusals += 1
                ending = Ending.REASKED_REFUSED
            else:
                usage.invalid_answers += 1
                ending = Ending.REASKED_INVALID
            if attempt == 2:
                usage.fallbacks += 1
                index = positions[0]
                ending = Ending.FALLBACK
        usage.outcomes[ending] += 1
        if trace is not None and step is not None:
            step.ending = ending
            step.sum = sum(weights)
            trace.step(space, tally, frontier, index, positions, weights, step, fallback=problem is not None)
        tally.choose(frontier.states[index])
        return index

    steps = search(space, limits, evict, space.text, tally)
    try:
        frontier = next(steps)
        while True:
            index = yield from decide(frontier)
            steps.send(index)
    except StopIteration as stop:
        return ModelArmResult(ArmResult(stop.value, tally.choices), usage, trace)


def _agrees(choice: str, shown: tuple[str, ...], weights: list[float], top: float) -> bool:
    return any(w == top and option == choice for option, w in zip(shown, weights, strict=True))
