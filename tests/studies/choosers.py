"""Models that see one thing alone, for ``model=python`` and plugins=[tests]: what they do not see cannot
change what they choose. Each is deterministic and gives no two options of a question the same weight
unless their checksums agree."""

from __future__ import annotations

from zlib import crc32

from beeline.question import Question

__all__ = ["by_option", "by_place_and_words", "by_words"]


def _weight(text: str) -> float:
    return 1.0 + crc32(text.encode())


def by_option(question: Question) -> list[float]:
    """Sees the options alone, each by itself."""
    return [_weight(option) for option in question.options]


def by_words(question: Question) -> list[float]:
    """Sees the words around the options, too."""
    words = "\n".join((question.task, question.goal, question.context, question.instructions))
    return [_weight(f"{words}\n{option}") for option in question.options]


def by_place_and_words(question: Question) -> list[float]:
    """Sees everything, the place of an option included."""
    return [weight * (1 + 1 / (2 + place)) for place, weight in enumerate(by_words(question))]
