"""Where the chosen option stood, against chance: does a model prefer what it is shown first?

Each question shows its options in a freshly drawn order. A model that looks only at what the options
say chooses, whatever it prefers, a place that is uniform over the places of that question and
independent of all other questions; so chance is known exactly, however sizes vary and whatever the
trials have in common. (Not so for orders that are not random; and fallbacks take the first
place by rule: leave those questions out.) Questions of one option have one place and are passed over.

- *Relative place* (place + 1/2) / options, from 0 to 1: under chance its mean is 1/2.
- *Histogram* over tenths of the way: the option at place k of m covers the stretch from k / m to
  (k + 1) / m and counts in each tenth by how much of it lies there, so that under chance every tenth
  expects the same, for any mix of sizes.
- *Test*: the histogram's sum of squared deviations, against (b + 1) / (m + 1) of PATTERNS sets of places
  drawn as chance would.
- *Preference for the first (last) place*: (share - chance) / (1 - chance), chance being the mean of
  1 / options: the share of questions decided by place alone, were the rest decided without regard to it.

Intervals take trials as clusters (:mod:`.clusters`): with a preference, places may vary by trial.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beeline.draws import seed_of
from beeline.statistics.basics import Interval
from beeline.statistics.bootstrap import generator
from beeline.statistics.clusters import codes_of, mean_over_clusters
from beeline.statistics.discrimination import accuracy_over_chance
from beeline.statistics.shares import share_over_clusters

__all__ = ["PATTERNS", "Place", "Positions", "positions"]

PATTERNS = 999
"""Sets of places drawn by the test."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place of the order shown, among the questions that have it."""

    place: int
    """From 1."""
    questions: int
    share: Interval
    """How often it was chosen."""
    expected: float
    """How often chance would choose it: mean of 1 / options."""


@dataclass(frozen=True, slots=True)
class Positions:
    """Where a model's choices stood."""

    questions: int
    relative_place: Interval
    """Mean; 0.5 under chance, lower for a liking of what comes early."""
    first: Interval
    """Preference for the first place; 0 under chance."""
    last: Interval
    histogram: tuple[float, ...]
    """Share of choices in each stretch of the way from first to last; equal under chance."""
    p_value: float
    """Of a histogram this uneven under chance."""
    places: tuple[Place, ...]
    """The first places one by one."""


def positions(
    places: Sequence[int],
    options: Sequence[int],
    path: Sequence[str | int],
    clusters: Sequence[Hashable] | None = None,
    stretches: int = 10,
    single: int = 10,
) -> Positions | None:
    """Judge chosen places, counted from 0 in the order shown, of questions with ``options`` options.

    ``stretches`` is the resolution of the histogram, ``single`` how many places are listed. None
    without a question of two options or more; raises ValueError for a place that was not shown.
    """
    place, size = np.asarray(places, dtype=np.intp), np.asarray(options, dtype=np.intp)
    if place.shape != size.shape or not ((place >= 0) & (place < size)).all():
        raise ValueError("each question needs a place from 0 to its number of options less one")
    codes = codes_of(clusters, len(place))
    asked = size > 1
    place, size, codes = place[asked], size[asked], codes[asked]
    if not len(place):
        return None
    owners: list[int] = codes.tolist()
    kinds, mixture = _mixture(size, stretches)
    offset = kinds[np.searchsorted(kinds[:, 0], size), 1]
    observed = np.bincount(offset + place, minlength=len(mixture)) @ mixture
    return Positions(
        questions=len(place),
        relative_place=mean_over_clusters((place + 0.5) / size, owners).interval(0.0, 1.0),
        first=accuracy_over_chance(place == 0, 1 / size, owners),
        last=accuracy_over_chance(place == size - 1, 1 / size, owners),
        histogram=tuple((observed / len(place)).tolist()),
        p_value=_test(observed, size, offset, mixture, path),
        places=tuple(_place(k, place, size, codes) for k in range(min(single, int(size.max())))),
    )


def _mixture(size: NDArray[np.intp], stretches: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """For each number of options that occurs, (options, row of its first place), sorted; and a row
    for each place of each with the part of it in each stretch."""
    kinds, rows, at = [], [], 0
    edges = np.arange(stretches + 1) / stretches
    for m in np.unique(size).tolist():
        kinds.append((m, at))
        # How much of place k lies before each edge.
        before = np.clip(edges[None, :] * m - np.arange(m)[:, None], 0.0, 1.0)
        rows.append(np.diff(before, axis=1))
        at += m
    return np.array(kinds, dtype=np.intp), np.concatenate(rows)


def _test(
    observed: NDArray[np.float64],
    size: NDArray[np.intp],
    offset: NDArray[np.intp],
    mixture: NDArray[np.float64],
    path: Sequence[str | int],
) -> float:
    expected = len(size) / len(observed)
    least = float(((observed - expected) ** 2).sum()) * (1 - 1e-9)
    draw, extreme = generator(seed_of(*path)).random_sample, 0
    rows = max(1, (1 << 14) // len(size))
    for begin in range(0, PATTERNS, rows):
        count = min(rows, PATTERNS - begin)
        cells = offset + (draw(count * len(size)).reshape(count, -1) * size).astype(np.intp)
        if len(size) < len(mixture):
            drawn = mixture.take(cells, axis=0).sum(axis=1)
        else:  # many questions: count alike ones first
            drawn = np.stack([np.bincount(row, minlength=len(mixture)) @ mixture for row in cells])
        extreme += int(np.count_nonzero(((drawn - expected) ** 2).sum(axis=1) >= least))
    return (extreme + 1) / (PATTERNS + 1)


def _place(k: int, place: NDArray[np.intp], size: NDArray[np.intp], codes: NDArray[np.intp]) -> Place:
    having = size > k
    items = np.bincount(codes[having])
    hits = np.bincount(codes[having & (place == k)], minlength=len(items))
    share = share_over_clusters(hits.tolist(), items.tolist())
    assert share is not None
    return Place(k + 1, int(having.sum()), share, float((1 / size[having]).mean()))
