"""Counting tokens without a tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.estimates import count_tokens

# What SmolLM2's tokenizer makes of an option (llama.cpp's /tokenize, 2026-12-01).
MEASURED = [
    ("tiles", "1 4 2 | 7 8 3 | · 5 6", 18),
    ("blocksworld", "(clear b2) (clear b4) (handempty) (holding b3) (on b6 b1) (ontable b1)", 32),
    ("countdown", "8 12 12 18", 10),
    ("word_ladder", "KITTY", 3),
    ("wikispeedia", "Hurricane Katrina", 3),
    ("rush_hour", ".FIIIH | .FB..H | XXB... | ..B.CC | GEE.JA | GDD.JA", 31),
    ("keys_doors", "in start; keys purple silver; open none", 9),
]


@pytest.mark.parametrize(("domain", "text", "tokens"), MEASURED)
def test_options_of_each_domain(domain: str, text: str, tokens: int) -> None:
    assert abs(count_tokens(text) - tokens) <= max(1, 0.1 * tokens)


def test_the_empty_text_is_nothing() -> None:
    assert count_tokens("") == 0


@given(st.text(max_size=200))
def test_any_text_is_between_nothing_and_a_token_a_character(text: str) -> None:
    assert (0 if not text else 1) <= count_tokens(text) + (text == "") <= max(len(text), 1)


@given(st.text(max_size=50), st.text(max_size=50))
def test_line_breaks_part_texts(one: str, other: str) -> None:
    if one.strip() == one and other.strip() == other and one and other:
        assert count_tokens(f"{one}\n{other}") == count_tokens(one) + 1 + count_tokens(other)
