"""word_ladder: change one letter at a time, every step a word, from one word to another.

The words are the five-letter words of the Stanford GraphBase. Successors are the words that
differ in exactly one place, sorted. A trial is a start and a target at least ``min_steps``
steps away. Distances come from :mod:`domains.navigation.word_ladder_kernel`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase
from typing import Any, ClassVar

from beeline.draws import Draws
from beeline.errors import DomainError
from beeline.problem import Domain, Problem
from beeline.space import Space
from domains.navigation.word_ladder_texts import REPRESENTATIONS

__all__ = ["CONTEXT", "WordLadder", "WordLadderProblem", "letters_different", "neighbours", "objective"]

TASK = (
    "Word ladder: turn one five-letter English word into another by changing a single letter at a time, so "
    "that every word on the way is an English word too."
)
CONTEXT = (
    "Each state is one word in capitals. One move replaces exactly one of its five letters by another "
    "letter, in the same place, and the result must be in the word list. Letters are never moved, added or "
    "removed."
)
MAX_TRIES = 2_000
"""Starts drawn before a setting is taken to be impossible; the official one needs two at most."""


def objective(target: str) -> str:
    """The goal as told to the model."""
    return f"Reach the word {target.upper()}."


def letters_different(word: str, target: str) -> int:
    """In how many places two words of equal length differ.

    >>> letters_different("stone", "atone"), letters_different("least", "steal")
    (1, 5)
    """
    return sum(a != b for a, b in zip(word, target, strict=True))


def neighbours(word: str, words: frozenset[str]) -> list[str]:
    """The ``words`` (of letters a to z) that differ from ``word`` in one place, sorted.

    >>> neighbours("cat", frozenset({"cat", "act", "cot", "bat", "bot"}))
    ['bat', 'cot']
    """
    found = [
        changed
        for place in range(len(word))
        for letter in ascii_lowercase
        if (changed := word[:place] + letter + word[place + 1 :]) in words and changed != word
    ]
    return sorted(found)


class WordLadderProblem(Problem[str]):
    """One ladder; states are words in lower case."""

    context = CONTEXT

    def __init__(self, words: Iterable[str], start: str, target: str) -> None:
        self.words = frozenset(words)
        self.start = start
        self.target = target
        self.objective = objective(target)
        for word in (start, target):
            if word not in self.words:
                raise DomainError(f"a ladder cannot have the end {word!r}: it is not in the word list")

    def successors(self, state: str) -> list[str]:
        """The words one letter away, sorted."""
        return neighbours(state, self.words)

    def is_goal(self, state: str) -> bool:
        """Whether this is the target."""
        return state == self.target

    def heuristic(self, state: str) -> int:
        """Letters that differ from the target; 0 at the target only."""
        return letters_different(state, self.target)

    def render(self, state: str) -> str:
        """Upper case."""
        return state.upper()


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a version fixes."""

    min_steps: int
    """No trial's target is nearer to its start than this many steps."""

    def __post_init__(self) -> None:
        if self.min_steps < 1:
            raise ValueError(f"min_steps must be 1 or more, not {self.min_steps}")


class WordLadder(Domain):
    """The family of word ladders."""

    name = "word_ladder"
    title = "Word ladder"
    task = TASK
    heuristics = ("letters_different",)
    representations = REPRESENTATIONS
    Parameters: ClassVar[type] = Parameters

    def draw(self, trial: int, draws: Draws) -> dict[str, str]:
        """A start among all words and a target among those far enough that it reaches; another
        start where there are none. Raises DomainError when no start has such a target."""
        from domains.navigation.word_ladder_kernel import far_words, official_graph

        graph = official_graph()
        for _ in range(MAX_TRIES):
            start = draws.choice(graph.words)
            candidates = far_words(graph, start, self.parameters.min_steps)
            if candidates:
                return {"start": start, "target": draws.choice(candidates)}
        raise DomainError(
            f"domain word_ladder found no words {self.parameters.min_steps} steps apart in {MAX_TRIES} "
            "tries; lower min_steps"
        )

    def build(self, trial: int, instance: Any) -> WordLadderProblem:
        """The ladder between the drawn words."""
        from domains.data import data_place

        return WordLadderProblem(_official_words(data_place()), instance["start"], instance["target"])

    def space(self, trial: int, instance: Any) -> Space:
        """The word graph that all trials share, with this trial's distances."""
        from domains.navigation.word_ladder_kernel import official_graph, word_space

        return word_space(official_graph(), instance["start"], instance["target"])


@cache
def _official_words(place: str) -> frozenset[str]:
    """All words; ``place`` is where the data lies, so that another place is read anew."""
    from domains.data_sources import official_words

    return frozenset(official_words())
