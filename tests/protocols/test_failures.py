from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.failures import clean, explain, hinted_wait, judge, says_refusal

RETRIED = [408, 429, 500, 501, 502, 503, 504, 524, 529]
FATAL = [301, 307, 400, 401, 402, 403, 404, 405, 409, 413, 415, 422, 451]


@pytest.mark.parametrize("status", RETRIED)
def test_retried(status: int) -> None:
    assert judge(status, {}, b"", 0.0).retry


@pytest.mark.parametrize("status", FATAL)
def test_never_retried(status: int) -> None:
    verdict = judge(status, {"retry-after": "1"}, b"", 0.0)
    assert not verdict.retry
    assert verdict.wait is None


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"no","code":"insufficient_quota"}}',
        b'{"errors":[{"code":4006,"message":"you have used up your daily Free Allocation"}]}',
        b'{"errors":[{"message":"limit reached","code": 3036}]}',  # the code alone, in other words
    ],
)
def test_a_429_about_credit_is_final(body: bytes) -> None:
    assert not judge(429, {"retry-after": "1"}, body, 0.0).retry
    assert judge(500, {}, body, 0.0).retry  # the words count only with 429


@pytest.mark.parametrize("code", ["3040", "30360", "14006"])
def test_another_code_of_a_429_is_waited_out(code: str) -> None:
    assert judge(429, {}, b'{"errors":[{"code":%s,"message":"no capacity"}]}' % code.encode(), 0.0).retry


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Mon, 12 Jan 1970 13:46:50 GMT"}, 10.0),
        ({"retry-after": "Mon, 12 Jan 1970 13:46:50 -0000"}, 10.0),
        ({"retry-after": "Mon, 12 Jan 1970 13:00:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_hints(headers: dict[str, str], wait: float | None) -> None:
    assert hinted_wait(headers, 1_000_000.0) == wait


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {"detail": {"error_type": "authentication_error", "message": "bad key"}},
            "bad key (authentication_error)",
        ),
        ({"detail": {"error_type": "max_tokens_exceeded"}}, "max_tokens_exceeded"),
        ({"detail": "Not Found"}, "Not Found"),
        (
            {"detail": [{"loc": ["body", "questions"], "msg": "Field required", "type": "missing"}]},
            "body.questions: Field required",
        ),
        ({"detail": [{"msg": "a"}, "b"]}, "a; b"),
        ({"error": {"message": "no", "type": "x", "code": None}}, "no (x)"),
        ({"error": {"message": "no", "code": 402}}, "no (402)"),
        ({"error": {"message": "no", "code": "bad"}}, "no (bad)"),
        ({"error": "not found"}, "not found"),
        (
            {"result": None, "success": False, "errors": [{"code": 5006, "message": "no questions"}]},
            "no questions (5006)",
        ),
        ({"message": "verify", "error_type": "customer"}, "verify (customer)"),
        ({"detail": " "}, '{"detail": " "}'),  # a blank says nothing
    ],
)
def test_error_bodies(body: object, said: str) -> None:
    assert explain(json.dumps(body).encode()) == said


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (b"", "", "an empty body"),
        (b"  \n", "text/html", "an empty body"),
        (b"\x00\x01", "", "a body without words"),
        (
            b"<!DOCTYPE html><title>504 Gateway\n Time-out</title>",
            "",
            "an HTML page titled '504 Gateway Time-out'",
        ),
        (b"<b>no</b>", "text/html; charset=utf-8", "an HTML page"),
        (b"upstream\x00 connect\r\n error", "text/plain", "upstream connect error"),
        (b"\xff\xfe", "", "\ufffd\ufffd"),
        (b"[1, 2]", "application/json", "[1, 2]"),
        (b"[" * 50_000, "application/json", "[" * 299 + "\u2026"),
    ],
)
def test_bodies_that_are_no_json_object(body: bytes, kind: str, said: str) -> None:
    assert explain(body, kind) == said


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["detail", "error", "errors", "message", "error_type", "code", "loc", "msg"]),
                inner,
            )
        ),
    )
)
def test_any_json_becomes_one_short_printable_line(body: object) -> None:
    said = explain(json.dumps(body).encode())
    assert said
    assert len(said) <= 300
    assert said.isprintable()
    said.encode()


@given(st.binary(max_size=400), st.integers(100, 599), st.text(max_size=30))
def test_no_reply_breaks_the_judge(body: bytes, status: int, hint: str) -> None:
    verdict = judge(status, {"retry-after": hint}, body, 0.0)
    assert verdict.reason.startswith(str(status))
    assert verdict.wait is None or verdict.wait >= 0


def test_clean_cuts_and_replaces() -> None:
    assert clean("a\ud800b\tc") == "a?b c"
    assert clean("x" * 400, 10) == "x" * 9 + "\u2026"


@pytest.mark.parametrize("status", [400, 403, 422, 451, 502])
@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": "content_policy_violation", "message": "no", "type": "invalid_request_error"}},
        {"error": {"code": "content_filter", "message": "blocked"}},
        {"error": {"code": 400, "message": "The model refused to answer this question."}},
        {"error": {"code": 403, "message": "Your input was flagged for violence"}},
        {"error": {"message": "Blocked by moderation: input was flagged"}},
        {"error": {"type": "refusal", "message": "openai/gpt-6-luna-decisions"}},
        {"detail": {"error_type": "refusal"}},
        {"errors": [{"code": 3030, "message": "The prompt was filtered, triggering our content policy"}]},
        {"error_type": "content_filter", "message": "no"},
    ],
)
def test_refusals_that_come_as_errors(status: int, body: object) -> None:
    assert says_refusal(status, json.dumps(body).encode())


NO_REFUSALS = [
    (403, {"detail": {"error_type": "authentication_error", "message": "Invalid API key, request refused"}}),
    (
        403,
        {"error": {"code": 403, "message": "Access was refused: this key lacks permission for moderation"}},
    ),
    (403, {"error": {"message": "The model refused your API key"}}),
    (403, {"error": {"code": "customer_verification_required", "message": "Add a card"}}),
    (403, {"error": {"message": "content policy", "code": "unsupported_country_region_territory"}}),
    (400, {"error": {"message": "Unknown parameter: moderation, request was flagged"}}),
    (400, {"error": {"message": "model typesafe/jev does not exist", "code": 400}}),
    (400, {"detail": {"error_type": "max_tokens_exceeded"}}),
    (400, {"choices": [{"value": "refusal"}], "model": "content_filter"}),
    (422, {"detail": [{"loc": ["body"], "msg": "content_filter", "type": "refusal"}]}),
    (422, {"detail": {"message": "the option 'the connection was refused' is too long"}}),
    (400, ["refusal"]),
    (400, "refusal"),
    (502, {"error": {"code": 502, "message": "Provider returned error: no answer"}}),
    (502, {"error": {"code": 502, "message": "upstream connection was refused"}}),
    (400, {"error": {"code": ["content_filter"], "message": {"refusal": 1}}}),
    *[(status, {"error": {"code": "content_filter"}}) for status in (401, 402, 404, 405, 413, 415, 429, 500)],
]


@pytest.mark.parametrize(("status", "body"), NO_REFUSALS)
def test_errors_that_are_no_refusals(status: int, body: object) -> None:
    assert not says_refusal(status, json.dumps(body).encode())


@pytest.mark.parametrize(
    "body", [b"", b"refused", b"<html>blocked by content policy", b"[" * 100_000, b"\xff"]
)
def test_what_is_no_json_is_no_refusal(body: bytes) -> None:
    assert not says_refusal(403, body)
