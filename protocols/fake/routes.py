"""Which path speaks which shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from protocols.fake.asked import Shape
from protocols.fake.openai import DECISIONS, is_openai
from protocols.fake.systemone import JEV, OPENROUTER, PERPLEXITY

__all__ = ["ROUTES", "Pick"]

#: The shape for a body; by the body where a path has two, else always the same.
Pick = Callable[[Any], Shape]


def _always(shape: Shape) -> Pick:
    return lambda body: shape


def _decisions(body: Any) -> Shape:
    return DECISIONS if is_openai(body) else PERPLEXITY


#: Path (as aiohttp writes patterns) -> shape.
ROUTES: Mapping[str, Pick] = {
    "/v1/systemone": _always(JEV),
    "/v1/decisions": _decisions,
    "/api/v1/systemone": _always(OPENROUTER),
    "/api/alpha/decisions": _always(OPENROUTER),
}
