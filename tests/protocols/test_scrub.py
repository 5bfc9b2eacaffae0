from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.scrub import PIECE, Scrubber
from protocols.secrets import Secret

KEY = 'sk-or+v1/8f3A9b2C%7="\\&<x>q'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (KEY, "***"),
        (f"the key {KEY} is wrong", "the key *** is wrong"),
        (f"{KEY[:12]}...{KEY[-8:]}", "***...***"),
        (" ".join(KEY), "***"),
        ("\u200b".join(KEY), "***"),
        (f"a {quote(KEY, safe='')} b", "a *** b"),
        (f"a {quote(quote(KEY, safe=''), safe='')} b", "a *** b"),
        ("".join(f"\\u{ord(c):04x}" for c in KEY), "***"),
        ("".join(f"\\\\u{ord(c):04X}" for c in KEY), "***"),
        ("".join(f"\\x{ord(c):02x}" for c in KEY), "***"),
        ("".join(f"&#{ord(c)};" for c in KEY), "***"),
        (html.escape(KEY), "***"),
        (json.dumps(KEY), '"***"'),
        (KEY + KEY, "***"),
        (f"key {KEY.encode().hex()}", "key ***"),
        (f"basic {base64.b64encode(KEY.encode()).decode()[:20]}...", "basic ***..."),
        (f"{KEY} and {KEY}", "*** and ***"),
        ("nothing in here: 100 % & \\ \\u12", "nothing in here: 100 % & \\ \\u12"),
        ("sk-or", "sk-or"),
        ("", ""),
    ],
)
def test_a_key_in_any_spelling(text: str, shown: str) -> None:
    assert Scrubber([Secret(KEY)])(text) == shown


def test_a_piece_that_looks_like_the_end_of_an_escape() -> None:
    assert Scrubber([Secret("12ab34cd")])("%12ab34cd and %12ab34") == "%12*** and %***"


def test_short_secrets_count_whole_and_several_are_found() -> None:
    scrub = Scrubber([Secret("abc"), Secret("0123456789"), Secret("")])
    assert scrub("ab abc 0123 234567 x") == "ab *** 0123 *** x"
    assert Scrubber([])("abc") == "abc"


PLAIN = "sk-or-v1-8f3A9b2C7d"


@given(st.text(), st.text(), st.integers(0, len(PLAIN) - PIECE), st.integers(PIECE, len(PLAIN)))
def test_no_piece_is_left(before: str, after: str, begin: int, length: int) -> None:
    shown = Scrubber([Secret(PLAIN)])(before + PLAIN[begin : begin + length] + after)
    assert not any(PLAIN[i : i + PIECE] in shown for i in range(len(PLAIN) - PIECE + 1))


@given(st.text())
def test_other_text_is_left_alone(text: str) -> None:
    assert Scrubber([Secret("\u00a7planted\u00a7")])(text) == text
