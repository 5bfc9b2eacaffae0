"""Correctly rounded sums of many resamples at once, equal to ``math.fsum`` in every bit.

The rules average each resample with ``math.fsum``, which costs a Python call and a list for each.
Here the values are first split into *limbs*, whole numbers of so few bits that a sum of as many as
a resample holds stays below 2**53: NumPy then adds them without any rounding, in whatever order it
likes. Two limbs hold every set of values that differ by less than about 12 decimal orders; the sum
of their two exact sums is then one addition, which IEEE arithmetic rounds correctly, as ``fsum``
does. (The idea of adding in fixed point is Kulisch's; the split is that of Ogita, Rump and Oishi,
"Accurate sum and dot product", 2005.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Limbs", "split"]

_TINY, _HUGE = 2.0**-400, 2.0**400
"""Between these, neither the scaling nor the last bit of a value leaves the float range."""


@dataclass(frozen=True, slots=True)
class Limbs:
    """Values as sums of whole numbers times powers of two."""

    parts: NDArray[np.float64]
    """Shape (limbs, values): whole numbers."""
    scales: tuple[float, ...]
    """The power of two of each limb; value i is the sum over k of parts[k, i] * scales[k]."""

    def row_sums(self, picks: NDArray[np.intp]) -> NDArray[np.float64]:
        """``math.fsum`` of the picked values of each row; ``picks`` has shape (rows, items), with
        at most as many items as :func:`split` was told."""
        limbs = zip(self.parts, self.scales, strict=True)
        sums: list[NDArray[np.float64]] = [part.take(picks).sum(axis=1) * scale for part, scale in limbs]
        if len(sums) <= 2:
            # Zero turns -0.0 into fsum's 0.0, and a lone sum needs no other.
            return sums[0] + (sums[1] if len(sums) == 2 else 0.0) + 0.0
        return np.array([math.fsum(column) for column in zip(*(part.tolist() for part in sums), strict=True)])


def split(values: NDArray[np.float64], items: int) -> Limbs | None:
    """Limbs of ``values`` for exact sums of up to ``items`` of them.

    None where that cannot be promised (values that are not finite, or so near the ends of the
    float range that scaling them would round): use ``math.fsum`` then.
    """
    sizes = np.abs(values)
    if not np.isfinite(sizes).all() or not (((sizes > _TINY) & (sizes < _HUGE)) | (sizes == 0)).all():
        return None
    bits = 53 - math.ceil(math.log2(max(items, 2)))
    exponent = int(np.frexp(sizes.max(initial=0.0))[1]) - bits
    rest = np.ldexp(values, -exponent)  # below 2**bits
    parts: list[NDArray[np.float64]] = []
    scales: list[float] = []
    while True:
        whole = np.rint(rest)
        parts.append(whole)
        scales.append(math.ldexp(1.0, exponent))
        rest = np.ldexp(rest - whole, bits)
        if not rest.any():
            return Limbs(np.stack(parts), tuple(scales))
        exponent -= bits
