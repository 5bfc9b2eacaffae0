"""wikispeedia over numbered articles: one link graph for all trials, two breadth-first sweeps a trial.

Article number i is the i-th name in sorted order. The heuristic, a pair compared
lexicographically, is packed into one integer: category distance * (most links + 1) - links out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beeline.errors import DomainError
from beeline.space import UNREACHABLE, Space
from domains.data import data_place
from domains.data_pack import unpack_strings
from domains.data_sources import official_wikispeedia
from domains.navigation.sparse_rows import Ints, SparseRows, space_between
from domains.navigation.wikispeedia import CONTEXT, NO_CATEGORY, objective, render

__all__ = ["ArticleGraph", "article_graph", "article_space", "clicks", "official_graph"]

FAR = 1 << 24
"""Stands for "no category" while the least distance is sought: above every real one."""


@dataclass(frozen=True, slots=True, eq=False)
class ArticleGraph:
    """Articles, links and categories of a site."""

    names: list[str]
    """Sorted, percent-encoded."""
    texts: list[str]
    """As shown; all different."""
    number: dict[str, int]
    links: SparseRows
    back: SparseRows
    """The links reversed."""
    successors: Callable[[int], list[int]]
    links_out: NDArray[np.int64]
    """Link lines of each article."""
    category_steps: Ints
    """Steps in the tree between each two categories; the last row and column, FAR throughout, stand
    for having none."""
    belongs: NDArray[np.intp]
    """Categories of each article, short rows filled up with the last category number."""
    games: Sequence[tuple[int, int]]
    """(first, last) of each played game, sorted."""


def article_graph(arrays: Mapping[str, NDArray[Any]]) -> ArticleGraph:
    """The graph of arrays as :func:`domains.data_sources.pack_wikispeedia` makes them.

    Raises DomainError when two articles would be shown by the same title: they could meet in one
    frontier, where a model could not tell them apart.
    """
    names = unpack_strings(arrays["names"])
    texts = [render(name) for name in names]
    if len(set(texts)) != len(texts):
        owner: dict[str, str] = {}
        for name, text in zip(names, texts, strict=True):
            if owner.setdefault(text, name) != name:
                raise DomainError(f"articles {owner[text]} and {name} are both shown as {text!r}")
    categories = unpack_strings(arrays["categories"])
    links = SparseRows(arrays["link_rows"], arrays["link_ends"])
    return ArticleGraph(
        names=names,
        texts=texts,
        number={name: i for i, name in enumerate(names)},
        links=links,
        back=links.turned_round(),
        successors=links.lists(),
        links_out=links.lengths().astype(np.int64),
        category_steps=_category_steps(categories),
        belongs=_filled_rows(SparseRows(arrays["belongs_rows"], arrays["belongs_ends"]), len(categories)),
        games=[(first, last) for first, last in arrays["games"].tolist()],
    )


def _category_steps(categories: Sequence[str]) -> Ints:
    """See ArticleGraph.category_steps; shape (categories + 1, categories + 1)."""
    paths = [category.split(".") for category in categories]
    depth = max(map(len, paths), default=0)
    part_number: dict[str, int] = {}
    parts = np.full((len(paths), depth), -1, np.int32)
    for row, path in enumerate(paths):
        parts[row, : len(path)] = [part_number.setdefault(part, len(part_number)) for part in path]
    length = np.array([len(path) for path in paths], np.int32)
    same = (parts[:, None, :] == parts[None, :, :]) & (parts[:, None, :] >= 0)
    common = np.logical_and.accumulate(same, axis=2).sum(axis=2, dtype=np.int32)
    steps = np.full((len(paths) + 1, len(paths) + 1), FAR, np.int32)
    steps[:-1, :-1] = length[:, None] + length[None, :] - 2 * common
    return steps


def _filled_rows(belongs: SparseRows, filler: int) -> NDArray[np.intp]:
    """The rows as one array, ``filler`` where a row is shorter than the longest (at least 1)."""
    lengths = belongs.lengths()
    filled = np.full((belongs.size, max(1, int(lengths.max(initial=0)))), filler, np.intp)
    filled[np.arange(filled.shape[1]) < lengths[:, None]] = belongs.ends
    return filled


def official_graph() -> ArticleGraph:
    """The graph of the official data, made once a process (30 ms)."""
    return _official_graph(data_place())


@cache
def _official_graph(place: str) -> ArticleGraph:
    return article_graph(official_wikispeedia())


@lru_cache(maxsize=4)
def _from(graph: ArticleGraph, article: int) -> Ints:
    """Clicks from an article to each; what a draw has measured, its space takes over."""
    distance = graph.links.distances(article)
    distance.flags.writeable = False
    return distance


def clicks(graph: ArticleGraph, first: int, last: int) -> int | None:
    """Fewest clicks from one article to another; None when there is no way."""
    fewest = int(_from(graph, first)[last])
    return None if fewest == UNREACHABLE else fewest


def _heuristic(graph: ArticleGraph, target: int) -> list[int]:
    """Of each article, in one comparable integer."""
    to_target = graph.category_steps[:, graph.belongs[target]].min(axis=1)
    distance = to_target[graph.belongs].min(axis=1).astype(np.int64)
    distance[distance == FAR] = NO_CATEGORY
    values: list[int] = (distance * (graph.links_out.max() + 1) - graph.links_out).tolist()
    return values


def article_space(graph: ArticleGraph, start: str, target: str) -> Space:
    """The Space of the game from ``start`` to ``target``; DomainError when there is none."""
    for article in (start, target):
        if article not in graph.number:
            raise DomainError(f"a game cannot have the end {article!r}: there is no such article")
    first, last = graph.number[start], graph.number[target]
    return space_between(
        start=first,
        goal=last,
        from_start=_from(graph, first),
        to_goal=graph.back.distances(last),
        successors=graph.successors,
        heuristic=_heuristic(graph, last).__getitem__,
        texts=graph.texts,
        names=graph.names,
        objective=objective(target),
        context=CONTEXT,
    )
