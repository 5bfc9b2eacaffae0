from __future__ import annotations

import html
import json
import pickle
from urllib.parse import quote

import pytest

from beeline.errors import SettingError
from protocols.secrets import Secret, masked, masked_bytes, read_key

KEY = "sk-planted-123456"


def test_a_secret_does_not_show_itself() -> None:
    secret = Secret(KEY)
    assert KEY not in f"{secret} {secret!r} {[secret]}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert secret.reveal() == KEY


def test_masks_every_occurrence() -> None:
    assert masked(f"a {KEY} b {KEY}", [Secret(KEY)]) == "a *** b ***"
    assert masked_bytes(f"a {KEY}".encode(), [Secret(KEY)]) == b"a ***"


def test_masks_a_key_that_a_body_holds_escaped() -> None:
    key = 'k/"<+&é'.replace("é", "e")
    for text in (key, json.dumps(key), quote(key), quote(key, safe=""), html.escape(key)):
        assert b"***" in masked_bytes(f"<{text}>".encode(), [Secret(key)])
        assert key[:3].encode() not in masked_bytes(text.encode(), [Secret(key)])


def test_reads_and_trims() -> None:
    assert read_key("K", {"K": f" {KEY}\n"}).reveal() == KEY


@pytest.mark.parametrize("value", [None, "", "  \n"])
def test_an_absent_key_names_the_variable(value: str | None) -> None:
    with pytest.raises(SettingError, match="environment variable MY_KEY holds no key"):
        read_key("MY_KEY", {} if value is None else {"MY_KEY": value})


@pytest.mark.parametrize("value", ["sk-\u00e4", "sk-1\nHost: x", "sk-\x00"])
def test_a_key_that_no_header_carries_is_refused_unseen(value: str) -> None:
    with pytest.raises(SettingError) as caught:
        read_key("MY_KEY", {"MY_KEY": value})
    assert "sk-" not in str(caught.value)
