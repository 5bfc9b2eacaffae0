from __future__ import annotations

import base64
import html
import json
import pickle
from pathlib import Path
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


@pytest.mark.parametrize("before", ["", "x", "Bearer ", "Authorization: Bearer "])
def test_masks_a_key_that_a_body_holds_encoded(before: str) -> None:
    data = (before + KEY).encode()
    forms = [base64.b64encode(data), base64.urlsafe_b64encode(data + b"???"), data.hex().encode()]
    forms += [data.hex().upper().encode()]
    for form in forms:
        left = masked_bytes(b"<" + form + b">", [Secret(KEY)])
        assert b"***" in left
        # What is left are the letters before it, and at the edges bits of two of its own at most.
        assert len(left) <= len(form) - 4 * len(KEY) // 3 + 12
    for letter in ("\\u%04x", "%%%02X"):
        text = "".join(letter % ord(c) for c in before + KEY).encode()
        assert masked_bytes(text, [Secret(KEY)]).endswith(b"***")


def test_a_short_key_has_no_encoded_forms() -> None:
    body = base64.b64encode(b"some test or other") + b"74657374"
    assert masked_bytes(body, [Secret("test")]) == body


def test_a_byte_order_mark_before_a_key_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"\xef\xbb\xbf" + KEY.encode() + b"\r\n")
    assert read_key("K", {"K_FILE": str(path)}).reveal() == KEY


@pytest.mark.parametrize("name", [KEY, "../../etc/hostname", "A B", ""])
def test_what_cannot_name_a_variable_is_refused_unseen(name: str) -> None:
    with pytest.raises(SettingError, match="is not the name of an environment variable") as caught:
        read_key(name, {name: KEY})
    assert not name or name not in str(caught.value)


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
