"""The fake's OpenRouter, Perplexity, Cloudflare and Gemini: what differs from Jev."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from protocols.fake import FakeServer
from protocols.fake.answers import shares
from tests.protocols.test_fake import body

CLEF = "/client/v4/accounts/me/ai/run/@cf/cloudflare/clef"
ROUTER = "/api/alpha/decisions"
GEMINI = "/v1beta/decisions"


@pytest.fixture(scope="module")
def server() -> Any:
    with FakeServer() as running:
        yield running


@pytest.fixture(scope="module")
def locked() -> Any:
    with FakeServer(key="k") as running:
        yield running


def send(server: FakeServer, path: str, content: Any, **headers: str) -> httpx.Response:
    if isinstance(content, bytes):
        return httpx.post(server.origin + path, content=content, headers=headers, trust_env=False)
    return httpx.post(server.origin + path, json=content, headers=headers, trust_env=False)


# --- OpenRouter -----------------------------------------------------------------------------


@pytest.mark.parametrize("path", [ROUTER, "/api/v1/systemone"])
@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("typesafe/jev-1.13", "typesafe/jev-1.13-20260917"),
        ("~typesafe/jev-latest", "typesafe/jev-1.13-20260917"),
        ("jev-1.13", "typesafe/jev-1.13-20260917"),
        ("liquid/d1", "liquid/d1-20260930"),
        ("somebody/new", "somebody/new"),
    ],
)
def test_openrouter_names_the_build_and_the_cost(
    server: FakeServer, path: str, asked: str, served: str
) -> None:
    extras = {"provider": {"order": ["x"]}, "session_id": "s", "user": "u"}
    reply = send(server, path, body(model=asked) | extras).json()
    assert reply["model"] == served
    assert reply["id"].startswith("gen-dec-")
    assert reply["provider"]
    assert reply["usage"]["cost"] == pytest.approx(
        reply["usage"]["input_tokens"] * (0.02 if "d1" in asked else 0.042) / 1e6
    )
    assert reply["answers"]["choose"]["probabilities"] == shares("abc")


def test_openrouter_has_its_own_errors(server: FakeServer, locked: FakeServer) -> None:
    for got, status in (
        (send(server, ROUTER, body(model="~typesafe/jev-1.13")), 400),
        (send(server, ROUTER, body(state=None)), 400),
        (send(server, ROUTER, b"{"), 400),
        (send(server, "/api/v1/chat/completions", body()), 400),
        (send(locked, ROUTER, body()), 401),
    ):
        assert (got.status_code, got.json()["error"]["code"]) == (status, status)
        assert got.json()["error"]["message"]
    with FakeServer("refusal") as refusing:
        got = send(refusing, ROUTER, body())
    assert got.status_code == 400
    assert "refused" in got.json()["error"]["message"]


# --- Perplexity -----------------------------------------------------------------------------


def test_perplexity_takes_exactly_three_fields(server: FakeServer) -> None:
    got = send(server, "/v1/decisions", body())
    assert got.json()["answers"]["choose"]["probabilities"] == shares("abc")
    assert got.headers["x-request-id"]
    choice = body()["questions"]["choose"]
    for wrong in (
        body(user="u"),
        body(questions={str(i): choice for i in range(129)}),
        body(questions={"": choice}),
        body(["a", ""]),
        body(questions={"choose": choice | {"instructions": ""}}),
    ):
        got = send(server, "/v1/decisions", wrong)
        assert got.status_code == 400
        assert {"message", "type", "code", "param"} == set(got.json()["error"])
    many = body(questions={str(i): choice for i in range(128)})
    assert send(server, "/v1/decisions", many).status_code == 200
    assert send(server, "/v1/decisions", body(["alone"])).status_code == 200


def test_perplexity_looks_at_the_key_first(locked: FakeServer) -> None:
    assert send(locked, "/v1/decisions", body(user="u")).status_code == 401


# --- Cloudflare -----------------------------------------------------------------------------


def test_cloudflare_has_an_envelope_four_decimals_and_the_largest_as_confidence(server: FakeServer) -> None:
    got = send(server, CLEF, body(model="clef"))
    whole = got.json()
    assert (whole["success"], whole["errors"], whole["messages"]) == (True, [], [])
    assert got.headers["cf-ai-req-id"]
    assert got.headers["cf-ray"]
    answer = whole["result"]["answers"]["choose"]
    assert answer["probabilities"] == {name: round(p, 4) for name, p in shares("abc").items()}
    assert answer["confidence"] == max(answer["probabilities"].values())
    assert whole["result"]["model"] == "clef"
    assert whole["result"]["usage"]["output_tokens"] == 0
    without = {name: value for name, value in body().items() if name != "model"}
    assert send(server, CLEF, without).json()["result"]["model"] == "clef-flash"


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"{", 400, 6003),
        (body(model="clef", questions={}), 400, 5006),
        ({"model": "clef", "state": ""}, 400, 5006),
        (body(model="clef", questions={"q": {"type": "box"}}), 400, 5006),
        (body(model="clef-flash"), 422, 5012),
        (body(model="clef", user="u"), 422, 5012),
        (body(["a/b", "c"], model="clef"), 422, 5012),
        (body(["alone"], model="clef"), 422, 5012),
        (body(model="clef", questions={"a b": body()["questions"]["choose"]}), 422, 5012),
        (body(model="clef", questions={"i" * 101: body()["questions"]["choose"]}), 422, 5012),
        (body(model="clef", state="x" * 600_000), 413, 5021),
    ],
)
def test_cloudflare_refuses_in_its_own_words(
    server: FakeServer, content: Any, status: int, code: int
) -> None:
    got = send(server, CLEF, content)
    whole = got.json()
    assert got.status_code == status
    assert (whole["success"], whole["result"], whole["errors"][0]["code"]) == (False, None, code)


def test_cloudflare_elsewhere(server: FakeServer, locked: FakeServer) -> None:
    unknown = send(server, CLEF + "-large", body(model="clef-large"))
    assert (unknown.status_code, unknown.json()["errors"][0]["code"]) == (400, 7000)
    key = send(locked, CLEF, body(model="clef"))
    assert (key.status_code, key.json()["errors"][0]["code"]) == (401, 10000)
    assert httpx.get(server.origin + CLEF, trust_env=False).json()["success"] is False


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ("rate_limit", 429, 3040),
        ("allocation", 429, 4006),
        ("overloaded", 529, 5012),
        ("too_large", 413, 5021),
    ],
)
def test_cloudflare_faults(fault: str, status: int, code: int) -> None:
    with FakeServer(fault) as faulty:
        got = send(faulty, CLEF, body(model="clef"))
    assert (got.status_code, got.json()["errors"][0]["code"]) == (status, code)
    assert "Retry-After" not in got.headers


def test_cloudflare_without_or_with_a_failed_envelope() -> None:
    with FakeServer("no_envelope") as bare:
        assert "answers" in send(bare, CLEF, body(model="clef")).json()
    with FakeServer("envelope_failed") as failed:
        got = send(failed, CLEF, body(model="clef"))
    assert (got.status_code, got.json()["success"]) == (200, False)


# --- Gemini ---------------------------------------------------------------------------------


def gemini(options: Any = ("a", "b", "c"), **changes: Any) -> dict[str, Any]:
    asked = {"type": "choice", "instructions": "Which?", "criteria": dict.fromkeys(options, "")}
    return {"model": "models/gemini-decision-1", "input": "x", "questions": {"choose": asked}} | changes


def test_gemini_answers_with_its_own_usage(server: FakeServer) -> None:
    questions = gemini()["questions"] | {"n": {"type": "noul", "instructions": "?"}}
    reply = send(server, GEMINI, gemini(questions=questions)).json()
    assert set(reply) == {"answers", "usage"}
    choice, noul = reply["answers"]["choose"], reply["answers"]["n"]
    assert choice["probabilities"] == shares("abc")
    assert choice["confidence"] == max(shares("abc").values())
    assert 0.01 <= noul["noul"] <= 0.99
    assert noul["confidence"] >= 0.5
    usage = reply["usage"]
    assert usage["total_tokens"] == usage["total_input_tokens"] > 0
    assert "input_tokens" not in usage


def test_gemini_blocks_a_whole_input() -> None:
    with FakeServer("refusal") as refusing:
        got = send(refusing, GEMINI, gemini())
    assert got.status_code == 200
    assert "answers" not in got.json()
    assert got.json()["prompt_feedback"]["block_reason"]
    assert got.json()["usage"]["total_tokens"] > 0


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        [],
        gemini(state="x"),
        gemini(model="models/"),
        *(gemini(input=none) for none in (None, "", [], {}, {"text": "x"}, ["x"])),
        gemini(questions={}),
        gemini([" a", "b"]),
        gemini(["a\n", "b"]),
        gemini(["a", ""]),
        gemini(["a\x00b", "b"]),
        gemini(["a"]),
        gemini([str(i) for i in range(256)]),
        gemini(questions={"q": {"type": "choice", "instructions": "?", "criteria": {"a": None, "b": ""}}}),
        gemini(questions={"q": {"type": "predicate", "instructions": "?"}}),
    ],
)
def test_gemini_refuses_in_its_own_words(server: FakeServer, content: Any) -> None:
    got = send(server, GEMINI, content)
    error = got.json()["error"]
    assert (got.status_code, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")


def test_gemini_keys(locked: FakeServer) -> None:
    assert send(locked, GEMINI, gemini()).status_code == 403
    wrong = send(locked, GEMINI, gemini(), **{"x-goog-api-key": "x"})
    assert (wrong.status_code, "API key not valid" in wrong.json()["error"]["message"]) == (400, True)
    assert send(locked, GEMINI, gemini(), **{"x-goog-api-key": "k"}).status_code == 200
