"""Whatever bytes come, they are a body that fits or a refusal with a 4xx."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.serve.bodies import MAX_DEPTH, check, decode, parse
from protocols.serve.refusals import Refused, Unfit

GOOD = {
    "model": "m",
    "state": {"a": [1, {"b": None}]},
    "questions": {
        "c": {"type": "choice", "instructions": "?", "criteria": {"x": None, "y": ["d"]}},
        "n": {"type": "noul", "criteria": {"true": "t"}},
        "s": {"type": "score", "instructions": {"a": 1}, "criteria": ["low", {"high": 1}]},
    },
}

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in inner for place in places(part, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """A copy with ``other`` at ``path``."""
    if not path:
        return other
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], other)
    return copy


def fits_or_is_refused(raw: bytes) -> bool:
    refused, body = None, {}
    try:
        body = check(parse(raw))
    except Refused as error:
        refused = error
    if refused is not None:
        assert refused.status == 422
        json.dumps(refused.detail)
        assert refused.detail
        return False
    assert body["questions"]
    assert {q["type"] for q in body["questions"].values()} <= {"choice", "noul", "score"}
    return True


def test_the_good_one_fits() -> None:
    assert check(parse(json.dumps(GOOD).encode())) == GOOD
    assert check(parse(b"\xef\xbb\xbf" + json.dumps(GOOD).encode())) == GOOD


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(places(GOOD)), values)
def test_one_value_replaced(path: tuple[Any, ...], other: Any) -> None:
    fits_or_is_refused(json.dumps(replaced(GOOD, path, other)).encode())


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,\\ue0-9tfn', max_size=40).map(str.encode))
def test_bytes(raw: bytes) -> None:
    assert not fits_or_is_refused(raw)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(json.dumps(GOOD)) - 1), st.binary(max_size=3))
def test_one_place_damaged(place: int, other: bytes) -> None:
    raw = json.dumps(GOOD).encode()
    fits_or_is_refused(raw[:place] + other + raw[place + 1 :])


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["gzip", "zstd", "br", "GZIP ", "", "identity", "gzip, gzip"]), st.binary(max_size=60))
def test_encodings(encoding: str, raw: bytes) -> None:
    status, plain = 200, b""
    try:
        plain = decode(raw, encoding, 1000)
    except Refused as refused:
        status = refused.status
    assert status in (200, 400, 413, 415)
    assert len(plain) <= 1000


@pytest.mark.parametrize(("levels", "fits"), [(MAX_DEPTH - 1, True), (MAX_DEPTH, False), (100_000, False)])
def test_depth(levels: int, fits: bool) -> None:
    raw = json.dumps(GOOD | {"state": [0]}).replace("[0]", "[" * levels + "]" * levels, 1).encode()
    assert fits_or_is_refused(raw) is fits


def test_a_duplicate_is_named_wherever_it_is() -> None:
    for raw in ('{"a": {"b": 1, "b": 2}}', '[{"b": 1, "c": 3, "b": 1}]'):
        with pytest.raises(Unfit, match="duplicate_key") as caught:
            parse(raw.encode())
        assert '"b" stands twice' in caught.value.detail[0]["msg"]
