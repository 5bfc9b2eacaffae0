"""word_ladder over numbered words: one graph for all trials, two breadth-first sweeps a trial.

Word number i is the i-th word in sorted order, so a sorted row of numbers is a sorted row of
words. Official: 5,757 words, 14,135 pairs one letter apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from beeline.errors import DomainError
from beeline.space import UNREACHABLE, Space
from domains.data import data_place
from domains.data_sources import official_words
from domains.navigation.sparse_rows import Ints, SparseRows, space_between
from domains.navigation.word_ladder import CONTEXT, objective

__all__ = ["WordGraph", "far_words", "official_graph", "word_graph", "word_space"]


@dataclass(frozen=True, slots=True, eq=False)
class WordGraph:
    """Words and which are one letter apart."""

    words: list[str]
    """Sorted, each once, of equal length."""
    texts: list[str]
    """As shown."""
    number: dict[str, int]
    letters: NDArray[np.uint8]
    """One row a word; shape (words, length)."""
    arcs: SparseRows
    """Both ways; rows sorted."""
    successors: Callable[[int], list[int]]


def word_graph(words: Sequence[str]) -> WordGraph:
    """The graph of sorted, different ASCII words of one length, 9 letters at most (a word
    without one letter is one 64-bit key)."""
    length = len(words[0])
    letters = np.frombuffer("".join(words).encode(), np.uint8).reshape(-1, length)
    pairs = []
    for place in range(length):
        # Words that agree in all other places stand together once sorted by those places.
        key = np.zeros(len(words), np.int64)
        for other in range(length):
            if other != place:
                key = key * 128 + letters[:, other]
        order = np.argsort(key, kind="stable")
        key = key[order]
        for apart in range(1, len(words)):
            same = np.flatnonzero(key[apart:] == key[:-apart])
            if not same.size:
                break
            pairs.append((order[same], order[same + apart]))
    one = np.concatenate([a for a, _ in pairs] or [np.zeros(0, np.int64)])
    other_one = np.concatenate([b for _, b in pairs] or [np.zeros(0, np.int64)])
    both = np.sort(np.concatenate([one * len(words) + other_one, other_one * len(words) + one]))
    arcs = SparseRows.from_pairs(len(words), both // len(words), both % len(words))
    return WordGraph(
        words=list(words),
        texts=[word.upper() for word in words],
        number={word: i for i, word in enumerate(words)},
        letters=letters,
        arcs=arcs,
        successors=arcs.lists(),
    )


def official_graph() -> WordGraph:
    """The graph of the official words, made once a process (5 ms)."""
    return _official_graph(data_place())


@cache
def _official_graph(place: str) -> WordGraph:
    return word_graph(official_words())


def far_words(graph: WordGraph, start: str, min_steps: int) -> list[str]:
    """The words that ``start`` reaches in ``min_steps`` steps or more, sorted."""
    distance = graph.arcs.distances(_number(graph, start))
    far = np.flatnonzero((distance >= min_steps) & (distance != UNREACHABLE))
    return [graph.words[i] for i in far.tolist()]


def word_space(graph: WordGraph, start: str, target: str) -> Space:
    """The Space of the ladder from ``start`` to ``target``; DomainError when there is none."""
    first, last = _number(graph, start), _number(graph, target)
    different: list[int] = (graph.letters != graph.letters[last]).sum(axis=1).tolist()
    to_goal: Ints = graph.arcs.distances(last)  # steps can be taken back: from it is to it
    return space_between(
        start=first,
        goal=last,
        from_start=graph.arcs.distances(first),
        to_goal=to_goal,
        successors=graph.successors,
        heuristic=different.__getitem__,
        texts=graph.texts,
        names=graph.words,
        objective=objective(target),
        context=CONTEXT,
    )


def _number(graph: WordGraph, word: str) -> int:
    try:
        return graph.number[word]
    except KeyError:
        raise DomainError(f"a ladder cannot have the end {word!r}: it is not in the word list") from None
