"""Which path speaks which shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from protocols.fake.anthropic import MESSAGES
from protocols.fake.asked import Shape
from protocols.fake.cloudflare import CLOUDFLARE
from protocols.fake.gemini import GEMINI
from protocols.fake.openai import DECISIONS, is_openai
from protocols.fake.responses import CHAT, RESPONSES
from protocols.fake.systemone import JEV, OPENROUTER, PERPLEXITY

__all__ = ["ROUTES", "Pick", "shape_at"]

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
    "/client/v4/accounts/{account}/ai/run/{model:.+}": _always(CLOUDFLARE),
    "/v1beta/decisions": _always(GEMINI),
    "/v1/responses": _always(RESPONSES),
    "/v1/chat/completions": _always(CHAT),
    "/v1/messages": _always(MESSAGES),
}


def shape_at(path: str) -> Shape:
    """In whose words to say that there is nothing at ``path``, or not with this method."""
    if path.startswith("/client/v4/"):
        return CLOUDFLARE
    pick = ROUTES.get(path)
    return pick({}) if pick is not None else JEV
