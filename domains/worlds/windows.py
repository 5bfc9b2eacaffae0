"""Windows over a row of things: consecutive ones, two or three at a time."""

from __future__ import annotations

__all__ = ["all_windows", "covering_windows"]


def covering_windows(n: int) -> list[tuple[int, int]]:
    """(start, length) of ceil(n/3) windows that cover 0..n-1 without overlap: all of length 3 except
    one or two of length 2. For n = 4: two of length 2. Raises ValueError for n = 1, which no window
    of length 2 or 3 covers."""
    if n == 1:
        raise ValueError("no window of length 2 or 3 covers one thing")
    twos = -n % 3
    lengths = [3] * ((n - 2 * twos) // 3) + [2] * twos
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    return list(zip(starts, lengths, strict=True))


def all_windows(n: int) -> list[tuple[int, int]]:
    """(start, length) of every window of length 2, then of length 3: 2n - 3 for n of 2 and more."""
    return [(start, length) for length in (2, 3) for start in range(n - length + 1)]
