"""Latencies as a histogram of logarithmic buckets, so that percentiles pool over trials.

Bucket k holds latencies in (BASE**(k-1), BASE**k] milliseconds with BASE = 2**(1/8), about 9%
wide; everything up to 2**-10 ms (about a microsecond) falls into the lowest bucket. A percentile
read from the histogram is the upper edge of the bucket that holds the nearest rank, so it is at
most 9.1% above the exact one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["BUCKETS_PER_OCTAVE", "LatencyHistogram"]

BUCKETS_PER_OCTAVE = 8
_LOWEST = -10 * BUCKETS_PER_OCTAVE


class LatencyHistogram:
    """Counts of latencies by logarithmic bucket, with their number and total."""

    __slots__ = ("buckets", "count", "total_ms")

    def __init__(self) -> None:
        self.count = 0
        self.total_ms = 0.0
        self.buckets: dict[int, int] = {}

    def add(self, seconds: float) -> None:
        """Count one latency; negative ones (a clock set back) count as 0."""
        ms = max(seconds, 0.0) * 1000.0
        bucket = max(math.ceil(math.log2(ms) * BUCKETS_PER_OCTAVE), _LOWEST) if ms > 0 else _LOWEST
        self.count += 1
        self.total_ms += ms
        self.buckets[bucket] = self.buckets.get(bucket, 0) + 1

    def as_dict(self) -> dict[str, Any]:
        """JSON form: ``buckets`` maps the bucket number, as text, to its count."""
        return {
            "count": self.count,
            "total": round(self.total_ms, 3),
            "buckets": {str(k): self.buckets[k] for k in sorted(self.buckets)},
        }

    @classmethod
    def pooled(cls, parts: Iterable[Mapping[str, Any]]) -> LatencyHistogram:
        """The histogram over all requests of several JSON forms."""
        pooled = cls()
        for part in parts:
            pooled.count += part["count"]
            pooled.total_ms += part["total"]
            for bucket, count in part["buckets"].items():
                pooled.buckets[int(bucket)] = pooled.buckets.get(int(bucket), 0) + count
        return pooled

    def percentile(self, share: float) -> float | None:
        """Milliseconds below or at which ``share`` of the requests lie (nearest rank, upper
        bucket edge); None when there are none. ``share`` is in (0, 1]."""
        if not self.count:
            return None
        rank = math.ceil(share * self.count)
        below = 0
        for bucket in sorted(self.buckets):
            below += self.buckets[bucket]
            if below >= rank:
                return float(2.0 ** (bucket / BUCKETS_PER_OCTAVE))
        return None
