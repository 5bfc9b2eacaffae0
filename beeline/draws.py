"""Seeded draws: the only randomness that may reach a result.

A source of draws is named by a path, a list of strings and integers. The SHA-256 of the path
written as JSON, read as one big-endian integer, seeds a Mersenne Twister exactly as CPython's
``random.Random(int)`` does; every other draw is made of the 53-bit floats of ``random()``.
Nothing here uses ``hash()``, the order of a set or a global generator, so a trial is the same
under every hash seed, operating system and Python version.
"""

from __future__ import annotations

import json
import random
from collections.abc import MutableSequence, Sequence
from hashlib import sha256
from typing import TypeVar

__all__ = ["Draws", "seed_of"]

T = TypeVar("T")


def seed_of(*path: str | int) -> int:
    """The 256-bit seed of a path; ``"1"`` and ``1`` are different paths.

    Raises TypeError for anything but strings and integers (a float or a bool in a path would
    be written differently by other programs).
    """
    for part in path:
        if isinstance(part, bool) or not isinstance(part, str | int):
            raise TypeError(f"a path of draws holds strings and integers, not {part!r}")
    return int.from_bytes(sha256(json.dumps(list(path)).encode()).digest(), "big")


class Draws:
    """One named source of draws; each call continues the same stream."""

    __slots__ = ("path", "random")

    def __init__(self, *path: str | int) -> None:
        self.path = path
        # The bound method itself: a float in [0, 1) with 53 random bits.
        self.random = random.Random(seed_of(*path)).random

    def __repr__(self) -> str:
        return f"Draws{self.path!r}"

    def below(self, n: int) -> int:
        """An integer in 0..n-1: floor(random() * n)."""
        return int(self.random() * n)

    def choice(self, items: Sequence[T]) -> T:
        """One of the items; raises IndexError when there are none."""
        return items[int(self.random() * len(items))]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Shuffle in place, from the last position down (Durstenfeld's form of Fisher-Yates)."""
        random_ = self.random
        for i in range(len(items) - 1, 0, -1):
            j = int(random_() * (i + 1))
            items[i], items[j] = items[j], items[i]

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        """``k`` different items in the order drawn; raises IndexError when there are fewer."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(k)]
