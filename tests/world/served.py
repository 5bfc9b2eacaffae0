"""What the world's clients are served: probabilities by the texts alone, so that a test can say
what is right without knowing how a client words its state."""

from __future__ import annotations

import zlib
from typing import Any


def weight(text: Any) -> int:
    """From 1 to 997, by checksum."""
    return 1 + zlib.crc32(str(text).encode()) % 997


def noul(instructions: Any) -> float:
    """By whether the question asked is in there: clients add words of their own."""
    return 0.875 if "Is it?" in str(instructions) else 0.125


def decide(body: dict[str, Any]) -> dict[str, Any]:
    """Weighs options and levels by their texts."""
    results: dict[str, Any] = {}
    for name, question in body["questions"].items():
        if question["type"] == "noul":
            results[name] = noul(question.get("instructions"))
        else:
            results[name] = [weight(option) for option in question["criteria"]]
    return results


def batch(bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same for many."""
    return [decide(body) for body in bodies]


async def coroutine(body: dict[str, Any]) -> dict[str, Any]:
    """The same without a thread."""
    return decide(body)


def expected(options: list[str]) -> dict[str, float]:
    """The probabilities that are right."""
    weights = [weight(option) for option in options]
    return {option: w / sum(weights) for option, w in zip(options, weights, strict=True)}
