"""How many tokens a text is, without any tokenizer.

Tokenizers of language models share habits: a word with the blank before it is a token or a few,
digits stand alone, signs are joined in twos and threes, capitals are split in twos. Counting
such pieces comes within 6% of the tokenizer of SmolLM2 on the options of each navigation domain
(docs/costs.md). Hosts add words of their own and have other tokenizers, which is why a count is then
multiplied by a factor that is measured for a model.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

__all__ = ["OPTION_FRAME", "count_tokens"]

OPTION_FRAME = 3
"""Tokens around an option in JSON: quotes, colon, null and comma."""

_PIECE = re.compile(r" ?[^\W\d_]+|\d| ?[^\w\s]+|\s+|_+")


def count_tokens(text: str) -> int:
    """Estimated tokens of ``text``; 0 for the empty text.

    >>> count_tokens("(clear b2) (on b1 b3)")
    12
    >>> count_tokens("KITTY"), count_tokens("1 2 | 3")
    (3, 6)
    """
    return sum(map(_tokens, _PIECE.findall(text)))


@lru_cache(maxsize=16_384)
def _tokens(piece: str) -> int:
    sign = piece.lstrip(" ") or piece
    if not sign.isascii():
        return len(sign)
    if sign.isalpha():
        capitals = len(sign) > 1 and sign.isupper()
        return math.ceil(len(sign) / (2 if capitals else 6))
    if sign.isdigit() or sign.isspace():
        return 1
    return math.ceil(len(sign) / 3)
