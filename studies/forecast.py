"""How many questions and tokens the model arm of a domain will take, from searches that cost nothing.

Expansions. In logarithms, the quantiles of expansions over shortest possible (one over the score)
of the heuristic and of the random arm are mixed with a *position* p: 0 is the heuristic arm, 1 the
random arm, below 0 is better than the heuristic. A published score fixes the position; where there
is none, the positions of the published models in that domain give likely, low and high.

Tokens. The heuristic and random searches of a sample of trials are replayed and the question that
each step would have asked is measured: its bytes as the body of a System One request, its tokens by
:func:`beeline.estimates.count_tokens`. Averaged by step, they give the tokens of a search of any
length: frontiers grow alike in all arms.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beeline.draws import Draws
from beeline.estimates import OPTION_FRAME, count_tokens
from beeline.search import Frontier, Limits, search
from beeline.space import Space
from beeline.worker import DomainPlan, TrialTask, domain_of, open_space, run_offline
from studies.published import PUBLISHED, Published, half_unit

__all__ = ["Arms", "Profile", "Range", "Taken", "measure", "position_range", "taken"]

SAMPLE = 20
"""Trials whose searches are replayed, evenly spread."""
UNPUBLISHED = (0.0, 0.25, 1.0)
"""Positions (low, likely, high) in a domain of which no model is published; the middle one is
about the median of all published positions."""

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Range:
    """Low, likely and high."""

    low: float
    likely: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.likely + other.likely, self.high + other.high)

    def times(self, low: float, likely: float, high: float) -> Range:
        """Each multiplied by its own number."""
        return Range(self.low * low, self.likely * likely, self.high * high)


@dataclass(frozen=True, slots=True)
class Taken:
    """What the model arm of a domain takes, per trial."""

    expansions: float
    questions: float
    tokens: float
    bytes: float


@dataclass(frozen=True, slots=True)
class Profile:
    """Questions by step: entry t is the mean sum over the first t steps of a search."""

    questions: _Floats
    tokens: _Floats
    bytes: _Floats
    trials: int
    """Trials replayed."""


@dataclass(frozen=True, slots=True)
class Arms:
    """The offline arms of a domain's trials."""

    shortest: _Floats
    """Fewest expansions of each trial: its shortest path and one."""
    heuristic: _Floats
    """Sorted logarithms of expansions over fewest, an unsolved search counted in full."""
    random: _Floats
    max_expansions: int

    @classmethod
    def of(cls, results: Sequence[Mapping[str, Any]], limits: Limits) -> Arms:
        """From what :func:`beeline.worker.run_offline` gave for the trials."""

        def logs(arm: str) -> _Floats:
            return np.sort([-math.log(result["arms"][arm]["score"]) for result in results])

        shortest = np.array([result["shortest_path"] + 1.0 for result in results])
        return cls(shortest, logs("heuristic"), logs("random"), limits.max_expansions)

    def expansions(self, position: float) -> _Floats:
        """A matrix, trials by quantiles: each trial with each of the mixed quantiles."""
        quantiles = np.clip((1 - position) * self.heuristic + position * self.random, 0, None)
        grown = self.shortest[:, None] * np.exp(quantiles)[None, :]
        return np.minimum(grown, max(self.max_expansions, 1))

    def score(self, position: float) -> float:
        """Geometric-mean score at a position; falls as the position grows."""
        logs = np.log(self.shortest[:, None]) - np.log(self.expansions(position))
        return math.exp(float(logs.mean()))

    def spread(self, position: float) -> float:
        """Standard deviation of the logarithm of a trial's score at a position."""
        logs = np.log(self.shortest[:, None]) - np.log(self.expansions(position))
        return float(logs.std())

    def position(self, score: float) -> float:
        """The position with this score, between -3 and 3."""
        low, high = -3.0, 3.0
        for _ in range(50):
            middle = (low + high) / 2
            if self.score(middle) > score:
                low = middle
            else:
                high = middle
        return low


def measure(plan: DomainPlan, trials: int) -> tuple[Arms, Profile]:
    """Run (or take from the cache) the offline arms of trials 1 to ``trials`` and replay a
    sample of their searches."""
    results = [run_offline(TrialTask(plan, trial)) for trial in range(1, trials + 1)]
    step = max(1, trials // SAMPLE)
    chosen = range(1, trials + 1, step)
    steps = _Steps(plan.limits.max_expansions)
    for trial in chosen:
        replay(plan, open_space(plan, trial, results[trial - 1]["instance"]), trial, steps.add)
    return Arms.of(results, plan.limits), steps.profile(len(chosen))


def replay(
    plan: DomainPlan, space: Space, trial: int, add: Callable[[Iterable[tuple[int, int, int]], int], None]
) -> None:
    """Replay the heuristic and random searches of a trial. ``add`` is called once a search with
    (step, tokens, bytes) of each question, and the number of expansions."""
    task = domain_of(plan).task
    head_tokens, head_bytes = _head(*plan.wording.texts(plan.name, task, space.objective, space.context))
    name, limits = plan.name, plan.limits
    below = Draws(name, trial, "random").below
    texts: dict[int, tuple[int, int]] = {}
    for evict, key, choose in (
        ("classic", space.heuristic, _least),
        ("random", _nothing, lambda frontier: below(len(frontier.states))),
    ):
        sizes = _Sizes(space, texts)
        steps = search(space, limits, Draws(name, trial, "evict", evict), key, sizes)
        asked: list[tuple[int, int, int]] = []
        try:
            frontier = next(steps)
            while True:
                asked.append(
                    (len(asked) + sizes.forced, head_tokens + sizes.tokens, head_bytes + sizes.bytes)
                )
                frontier = steps.send(choose(frontier))
        except StopIteration as stop:
            add(asked, stop.value.expansions)


def position_range(domain: str, arms: Arms, model: Published | None) -> tuple[Range, str]:
    """Positions of a model in a domain, and the sentence that says where they come from."""
    score = None if model is None else model.scores.get(domain)
    if model is not None and score is not None:
        trials = model.trials_of.get(domain, model.trials)
        likely = arms.position(score)
        # The same 100 trials are run again, so only the part of them that was left out can differ.
        error = 1.96 * arms.spread(likely) * math.sqrt(max(1 / trials - 1 / 100, 0))
        unit = half_unit(score)
        low = arms.position(min((score + unit) * math.exp(error), 1.0))
        high = arms.position((score - unit) * math.exp(-error))
        basis = f"from the published score {score:g} of {model.title} ({trials} trials)"
        return Range(low, likely, high), basis
    found = sorted(arms.position(p.scores[domain]) for p in PUBLISHED if domain in p.scores)
    if not found:
        return Range(*UNPUBLISHED), (
            "no published score; between the heuristic arm (low) and the random arm (high), a quarter of "
            "the way as likely"
        )
    middle = found[len(found) // 2] if len(found) % 2 else sum(found[len(found) // 2 - 1 :][:2]) / 2
    return Range(found[0], middle, found[-1]), (
        f"no published score of this model here; the {len(found)} published models lie between "
        f"{_show(arms.score(found[-1]))} and {_show(arms.score(found[0]))}, their median is taken as likely"
    )


def taken(arms: Arms, profile: Profile, position: float) -> Taken:
    """What the model arm takes at a position."""
    expansions = arms.expansions(position)
    steps = np.minimum(np.rint(expansions).astype(int), len(profile.tokens) - 1)

    def mean(sums: _Floats) -> float:
        return float(sums[steps].mean())

    return Taken(float(expansions.mean()), mean(profile.questions), mean(profile.tokens), mean(profile.bytes))


class _Steps:
    """Sums over searches, by step."""

    def __init__(self, most: int) -> None:
        self.reached = np.zeros(most + 1)
        self.sums = np.zeros((3, most + 1))

    def add(self, asked: Iterable[tuple[int, int, int]], expansions: int) -> None:
        self.reached[:expansions] += 1
        for step, tokens, size in asked:
            self.sums[:, step] += (1, tokens, size)

    def profile(self, trials: int) -> Profile:
        longest = max(int(np.count_nonzero(self.reached)), 1)
        means = self.sums[:, :longest] / np.maximum(self.reached[:longest], 1)
        # A search longer than any replayed one goes on as the last step did.
        rest = len(self.reached) - 1 - longest
        means = np.concatenate([means, np.repeat(means[:, -1:], max(rest, 0), axis=1)], axis=1)
        sums = np.concatenate([np.zeros((3, 1)), np.cumsum(means, axis=1)], axis=1)
        return Profile(sums[0], sums[1], sums[2], trials)


class _Sizes:
    """Watches a search and keeps the tokens and bytes of the frontier's options."""

    def __init__(self, space: Space, texts: dict[int, tuple[int, int]]) -> None:
        self.space, self.texts = space, texts
        self.tokens = self.bytes = self.forced = 0

    def size(self, state: int) -> tuple[int, int]:
        found = self.texts.get(state)
        if found is None:
            text = self.space.text(state)
            found = (count_tokens(text) + OPTION_FRAME, len(_json(text)) + len(":null,"))
            self.texts[state] = found
        return found

    def enter(self, state: int) -> None:
        tokens, size = self.size(state)
        self.tokens += tokens
        self.bytes += size

    def leave(self, state: int) -> None:
        tokens, size = self.size(state)
        self.tokens -= tokens
        self.bytes -= size

    def force(self, state: int) -> None:
        self.forced += 1


def _head(task: str, goal: str, context: str, instructions: str) -> tuple[int, int]:
    """Tokens and bytes of a question without its options, as the body of a System One request."""
    state = {"task": task, "goal": goal, "context": context}
    choose = {"type": "choice", "instructions": instructions, "criteria": {}}
    body = json.dumps(
        {"model": "model-1.0", "state": state, "questions": {"choose": choose}},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    return count_tokens(body), len(body.encode("utf-8", "surrogatepass"))


def _json(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _least(frontier: Frontier) -> int:
    return frontier.keys.index(min(frontier.keys))


def _nothing(state: int) -> None:
    return None


def _show(score: float) -> str:
    return f"{score:.2f}" if score >= 0.01 else f"{score:.2g}"
