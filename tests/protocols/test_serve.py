"""The server of functions: answers, errors, batches and limits, over real HTTP on loopback."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from beeline.errors import SettingError
from protocols.serve import BadRequest, ServeSettings, ServeThread
from protocols.serve.server import listen
from tests.protocols import served
from tests.protocols.asking import ask, question, system_one

HERE = "tests.protocols.served"


def body(options: Any = ("a", "b", "c"), **changes: Any) -> dict[str, Any]:
    asked = {"choose": {"type": "choice", "instructions": "Which?", "criteria": dict.fromkeys(options)}}
    return {"model": "jev-latest", "state": "s", "questions": asked} | changes


def serving(function: str = "decide", **settings: Any) -> ServeThread:
    return ServeThread(ServeSettings(target=f"{HERE}:{function}", port=0, **settings))


def post(server: ServeThread, content: Any, path: str = "/v1/systemone", **headers: str) -> httpx.Response:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    url = f"http://127.0.0.1:{server.port}{path}"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.post(url, content=raw, headers=named, trust_env=False, timeout=20, verify=False)


def get(server: ServeThread, path: str, **headers: str) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{server.port}{path}", headers=headers, trust_env=False, verify=False)


@pytest.fixture(scope="module")
def server() -> Iterator[ServeThread]:
    with serving() as running:
        yield running


# --- answers ------------------------------------------------------------------------------


def test_every_type_of_question(server: ServeThread) -> None:
    asked = {
        "a choice": {"type": "choice", "criteria": {"x": None, "y": "described"}},
        "\u2603": {"type": "noul", "instructions": ["?"], "criteria": {"true": None}},
        "s": {"type": "score", "instructions": "?", "criteria": ["low", {"mid": 1}, "high"]},
    }
    got = post(server, body(questions=asked, seed=3))
    assert got.status_code == 200, got.text
    assert len(got.headers["x-typesafe-request-id"]) == 32
    reply = got.json()
    assert list(reply) == ["model", "answers", "usage"]
    assert reply["model"] == f"{HERE}:decide"
    assert reply["usage"] == {"input_tokens": 0, "output_tokens": 0}
    assert list(reply["answers"]) == list(asked)
    choice, noul, score = reply["answers"].values()
    weights = {o: served.weight([["s", None], o]) for o in "xy"}
    shares = {o: w / sum(weights.values()) for o, w in weights.items()}
    assert choice["probabilities"] == pytest.approx(shares)
    assert choice["choice"] == max(shares, key=shares.__getitem__)
    assert choice["confidence"] == pytest.approx((max(shares.values()) - 0.5) / 0.5)
    assert noul == {"type": "noul", "noul": served.weight(["s", ["?"]]) / 1000}
    assert score["legend"] == {"0": "low", "1": {"mid": 1}, "2": "high"}
    p = list(score["probabilities"].values())
    assert score["score"] == pytest.approx(p[1] + 2 * p[2])
    likeliest = p.index(max(p))
    spread = sum(x * abs(i - likeliest) for i, x in enumerate(p))
    assert score["confidence"] == pytest.approx(max(0.0, 1 - spread / (2 / 3)))


@pytest.mark.parametrize("function", ["decide", "coroutine", "hidden_coroutine"])
def test_def_and_async_def_answer_alike(function: str, server: ServeThread) -> None:
    with serving(function) as other:
        mine = post(other, body()).json()["answers"]
    assert mine == post(server, body()).json()["answers"]


@pytest.mark.parametrize("function", ["batch", "caller"])
def test_functions_of_lists(function: str, server: ServeThread) -> None:
    with serving(function, batch=4) as other:
        mine = post(other, body()).json()["answers"]
    assert mine == post(server, body()).json()["answers"]


def test_names_come_back_byte_for_byte(server: ServeThread) -> None:
    names = [
        "",
        "A",
        "a",
        "cafe\u0301",
        "caf\u00e9",
        "a/b",
        "10",
        "2",
        "\u0000",
        "\ud800",
        "\U0001f642",
        " a ",
    ]
    got = post(server, body(names))
    assert list(got.json()["answers"]["choose"]["probabilities"]) == names
    named = body(questions={name or "x": {"type": "noul"} for name in names})
    assert list(post(server, named).json()["answers"]) == [name or "x" for name in names]


def test_one_option_is_certain(server: ServeThread) -> None:
    answer = post(server, body(["alone"])).json()["answers"]["choose"]
    assert (answer["choice"], answer["confidence"], answer["probabilities"]) == ("alone", 1.0, {"alone": 1.0})


def test_options_up_to_the_cap(server: ServeThread) -> None:
    many = [str(i) for i in range(256)]
    assert len(post(server, body(many[:255])).json()["answers"]["choose"]["probabilities"]) == 255
    assert "at most 255 options" in post(server, body(many)).json()["detail"][0]["msg"]
    with serving(max_options=3) as small:
        assert [post(small, body(many[:n])).status_code for n in (3, 4)] == [200, 422]


def test_rounding_keeps_the_winner() -> None:
    options = [f"option {i}" for i in range(200)]
    with serving(digits=2) as rounding, serving() as exact:
        rounded = post(rounding, body(options)).json()["answers"]["choose"]
        full = post(exact, body(options)).json()["answers"]["choose"]
    assert rounded["probabilities"] == {o: round(p, 2) for o, p in full["probabilities"].items()}
    assert rounded["choice"] == full["choice"]
    assert rounded["confidence"] == round(full["confidence"], 2)


def test_our_client_understands_it() -> None:
    with serving("batch", batch=8, model="served-1") as server:
        model = system_one(server.base_url, id="served-1")
        [answer] = ask(model, question())
    assert answer.served_model == "served-1"
    assert isinstance(answer.probabilities, dict)
    assert sum(answer.probabilities.values()) == pytest.approx(1)
    assert not answer.input_tokens


# --- requests that are refused --------------------------------------------------------------

NOT_JSON = "json_invalid"


@pytest.mark.parametrize(
    ("content", "place", "kind"),
    [
        (b"{", [], NOT_JSON),
        (b"", [], NOT_JSON),
        (b"\xff{}", [], NOT_JSON),
        (b'{"state": NaN}', [], NOT_JSON),
        (b'{"state": -Infinity}', [], NOT_JSON),
        (b'{"state": 1e999}', [], NOT_JSON),
        (b'{"state": ' + b"1" * 5000 + b"}", [], NOT_JSON),
        (b'{"state": 1, "state": 2}', [], "duplicate_key"),
        (json.dumps(body()).replace('"b"', '"a"').encode(), [], "duplicate_key"),
        (b"[" * 1_000_000, [], "too_deep"),
        (json.dumps(body(state=1)).replace("1", "[" * 101 + "]" * 101).encode(), [], "too_deep"),
        ([], [], "model_attributes_type"),
        (b"null", [], "model_attributes_type"),
        (b'"text"', [], "model_attributes_type"),
        ({"model": "m", "input": "", "questions": []}, ["state"], "missing"),
        ({"model": "m", "state": ""}, ["questions"], "missing"),
        (body(model=7), ["model"], "string_type"),
        (body(model=""), ["model"], "string_type"),
        (body(state=None), ["state"], "union_type"),
        (body(state=1), ["state"], "union_type"),
        (body(questions={}), ["questions"], "dict_type"),
        (body(questions=[]), ["questions"], "dict_type"),
        (body(questions={"": {"type": "noul"}}), ["questions", ""], "too_short"),
        (body(questions={"q": 1}), ["questions", "q"], "model_attributes_type"),
        (body(questions={"q": {}}), ["questions", "q", "type"], "union_tag_invalid"),
        (body(questions={"q": {"type": ["noul"]}}), ["questions", "q", "type"], "union_tag_invalid"),
        (body(questions={"q": {"type": "box"}}), ["questions", "q", "type"], "union_tag_invalid"),
        (
            body(questions={"q": {"type": "noul", "instructions": 1}}),
            ["questions", "q", "instructions"],
            "union_type",
        ),
        (
            body(questions={"q": {"type": "noul", "criteria": {"yes": ""}}}),
            ["questions", "q", "criteria"],
            "dict_type",
        ),
        (
            body(questions={"q": {"type": "noul", "criteria": {"true": 1}}}),
            ["questions", "q", "criteria", "true"],
            "union_type",
        ),
        (body([]), ["questions", "choose", "criteria"], "dict_type"),
        (body(questions={"q": {"type": "choice"}}), ["questions", "q", "criteria"], "dict_type"),
        (
            body(questions={"q": {"type": "choice", "criteria": {"a": 1}}}),
            ["questions", "q", "criteria", "a"],
            "union_type",
        ),
        (
            body(questions={"q": {"type": "score", "criteria": {"0": "a", "1": "b"}}}),
            ["questions", "q", "criteria"],
            "list_type",
        ),
        (
            body(questions={"q": {"type": "score", "criteria": ["a"]}}),
            ["questions", "q", "criteria"],
            "list_type",
        ),
        (
            body(questions={"q": {"type": "score", "criteria": ["a"] * 11}}),
            ["questions", "q", "criteria"],
            "list_type",
        ),
        (
            body(questions={"q": {"type": "score", "criteria": ["a", None]}}),
            ["questions", "q", "criteria", 1],
            "union_type",
        ),
    ],
)
def test_a_body_that_does_not_fit_is_422(
    server: ServeThread, content: Any, place: list[Any], kind: str
) -> None:
    got = post(server, content)
    assert got.status_code == 422, got.text
    first = got.json()["detail"][0]
    assert (first["loc"], first["type"]) == (["body", *place], kind)
    assert first["msg"]


def test_every_complaint_is_listed_up_to_a_bound(server: ServeThread) -> None:
    got = post(server, {"model": "m", "questions": {str(i): {} for i in range(100)}})
    detail = got.json()["detail"]
    assert len(detail) == 20
    assert [d["loc"][1:] for d in detail[:3]] == [
        ["state"],
        ["questions", "0", "type"],
        ["questions", "1", "type"],
    ]


def test_nesting_up_to_the_bound_is_answered(server: ServeThread) -> None:
    deep: Any = []
    for _ in range(97):
        deep = [deep]
    assert post(server, body(state=deep)).status_code == 200
    assert post(server, body(state=[[[deep]]])).status_code == 422


def test_unknown_models_are_400_and_aliases_are_not() -> None:
    with serving(model="mine", aliases=("jev-latest", "other")) as server:
        for name in ("mine", "jev-latest", "other"):
            assert post(server, body(model=name)).json()["model"] == "mine"
        got = post(server, body(model="min"))
        assert got.status_code == 400
        assert got.json()["detail"]["error_type"] == "api_usage_error"
        assert "did you mean mine" in got.json()["detail"]["message"]


def test_paths_and_methods(server: ServeThread) -> None:
    for path in ("/v1/decisions", "/api/v1/systemone", "/api/alpha/decisions"):
        assert post(server, body(), path).status_code == 200
    for path in ("/v1/chat/completions", "/v1/systemone/", "/"):
        missing = post(server, body(), path)
        assert missing.status_code == 404
        assert missing.json()["detail"]["error_type"] == "not_found_error"
    wrong = get(server, "/v1/systemone")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert set(wrong.json()["detail"]) == {"error_type", "message"}
    [listed] = get(server, "/v1/models").json()["models"]
    assert listed["name"] == f"{HERE}:decide"
    assert listed["description"] == "Weighs by checksum."
    assert len(listed["release_date"]) == 10
    assert get(server, "/health").json() == {"status": "ok", "held": 0, "queue": 256}


def test_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVE_TEST_KEY", "k-123")
    with serving(key_variable="SERVE_TEST_KEY") as server:
        for headers, status in (
            ({}, 403),
            ({"Authorization": "Bearer"}, 403),
            ({"Authorization": "Bearer wrong"}, 401),
            ({"Authorization": "Bearer k-12\u00e9".encode("latin-1")}, 401),
            ({"Authorization": "Basic k-123"}, 401),
            ({"Authorization": "bearer k-123"}, 200),
        ):
            got = post(server, body(), **headers)  # type: ignore[arg-type]
            assert got.status_code == status
            if status != 200:
                assert got.json()["detail"]["error_type"] == "authentication_error"
                assert "k-123" not in got.text
        # Before the body is looked at, and for the list of models too.
        assert post(server, b"{").status_code == 403
        assert get(server, "/v1/models").status_code == 403
        assert get(server, "/v1/models", Authorization="Bearer k-123").status_code == 200
        assert get(server, "/health").status_code == 200


# --- sizes and encodings -----------------------------------------------------------------------


def test_bodies_have_a_largest_size() -> None:
    with serving(max_body=10_000) as server:
        assert post(server, body(state="x" * 5_000)).status_code == 200
        got = post(server, body(state="x" * 10_000))
        assert (got.status_code, got.json()["detail"]["error_type"]) == (413, "request_too_large")
        bomb = gzip.compress(b" " * 5_000_000)
        assert len(bomb) < 10_000
        assert post(server, bomb, Content_Encoding="gzip").status_code == 413


def test_gzip_is_decoded_and_others_are_415(server: ServeThread) -> None:
    raw = json.dumps(body()).encode()
    assert post(server, gzip.compress(raw), Content_Encoding="gzip").status_code == 200
    for damaged in (raw, gzip.compress(raw)[:-9], gzip.compress(raw) + b"x"):
        assert post(server, damaged, Content_Encoding="gzip").status_code == 400
    got = post(server, raw, Content_Encoding="br")
    assert got.status_code == 415
    assert "gzip" in got.headers["accept-encoding"]


def test_zstd_is_decoded_where_its_package_is(server: ServeThread) -> None:
    zstandard = pytest.importorskip("zstandard", reason="the package zstandard is not installed")
    raw = json.dumps(body()).encode()
    packed = zstandard.ZstdCompressor().compress(raw)
    assert post(server, packed, Content_Encoding="zstd").json() == post(server, raw).json()
    assert post(server, raw, Content_Encoding="zstd").status_code == 400
    assert post(server, packed[:-5], Content_Encoding="zstd").status_code in (400, 422)
    bomb = zstandard.ZstdCompressor().compress(b" " * 40_000_000)
    assert post(server, bomb, Content_Encoding="zstd").status_code == 413


def test_zstd_is_415_without_its_package(server: ServeThread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocols.serve.bodies.find_spec", lambda name: None)
    got = post(server, b"(\xb5/\xfd\x00", Content_Encoding="zstd")
    assert (got.status_code, got.headers["accept-encoding"]) == (415, "gzip")


def test_a_body_that_does_not_arrive_is_408() -> None:
    with serving(read_s=0.2) as server, socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        raw.settimeout(10)
        assert raw.recv(4096).startswith(b"HTTP/1.1 408 ")


def test_small_replies_are_not_held_back() -> None:
    with listen("127.0.0.1", 0) as opened, socket.create_connection(opened.getsockname()):
        accepted, _ = opened.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


# --- functions that fail --------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["raise", "exit", "stop", "nan", "None", "wrong id", "list", "two"])
def test_a_function_that_fails_is_a_clean_500_and_a_log(state: str, caplog: pytest.LogCaptureFixture) -> None:
    with serving("by_state") as server:
        got = post(server, body(state=state))
        assert post(server, body(state="numpy")).status_code == 200  # it lives on
    assert got.status_code == 500
    detail = got.json()["detail"]
    assert detail["error_type"] == "internal_error"
    number = got.headers["x-typesafe-request-id"]
    assert number in detail["message"]
    for inside in ("secret", "Traceback", "ValueError", ".py"):
        assert inside not in got.text
    [record] = caplog.records
    assert number in record.getMessage()
    if state == "raise":
        assert record.exc_info is not None
        assert "secret inside" in str(record.exc_info[1])


def test_a_function_may_refuse_a_request() -> None:
    with serving("by_state") as server:
        got = post(server, body(state="refuse"))
    assert got.status_code == 422
    assert got.json()["detail"] == {"error_type": "api_usage_error", "message": "no such options"}
    with pytest.raises(ValueError, match="400 to 499"):
        BadRequest("x", status=500)


def test_numpy_weights(caplog: pytest.LogCaptureFixture) -> None:
    with serving("by_state") as server:
        answer = post(server, body(state="numpy")).json()["answers"]["choose"]
    assert answer["probabilities"] == pytest.approx({"a": 0, "b": 1 / 3, "c": 2 / 3})


@pytest.mark.parametrize("function", ["too_few", "no_list"])
def test_a_batch_function_must_return_one_result_a_body(
    function: str, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(function, batch=2) as server:
        assert post(server, body()).status_code == 500
    assert "for a batch" in caplog.records[0].getMessage()


# --- batches and the queue ------------------------------------------------------------------------


def together(server: ServeThread, bodies: list[dict[str, Any]]) -> list[httpx.Response]:
    with ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(lambda b: post(server, b), bodies))


def held(server: ServeThread, number: int) -> None:
    """Wait until the server holds so many requests."""
    until = time.monotonic() + 10
    while get(server, "/health").json()["held"] != number:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_requests_that_come_together_are_one_batch() -> None:
    served.sizes.clear()
    served.threads.clear()
    states = [f"state {i}" for i in range(8)]
    with serving("batch", batch=8, wait_s=5) as server:
        got = together(server, [body(state=state) for state in states])
    assert served.sizes == [8]
    assert served.threads == {"served-function"}
    for state, reply in zip(states, got, strict=True):
        weights = served.decide(body(state=state))["choose"]
        expected = {o: w / sum(weights) for o, w in zip("abc", weights, strict=True)}
        assert reply.json()["answers"]["choose"]["probabilities"] == pytest.approx(expected)


def test_a_batch_does_not_wait_longer_than_told_nor_grow_above_its_size() -> None:
    served.sizes.clear()
    served.gate.clear()
    with serving("gated_batch", batch=4, wait_s=0) as server, ThreadPoolExecutor(10) as pool:
        replies = [pool.submit(post, server, body(state=str(i))) for i in range(10)]
        held(server, 10)
        served.gate.set()
        assert [r.result().status_code for r in replies] == [200] * 10
    assert max(served.sizes) == 4
    assert sum(served.sizes) == 10


def test_one_bad_request_does_not_spoil_its_batch(caplog: pytest.LogCaptureFixture) -> None:
    states = ["a", "poison", "b", "refuse"]
    with serving("batch", batch=4, wait_s=5) as server:
        got = together(server, [body(state=state) for state in states])
    assert [r.status_code for r in got] == [200, 500, 200, 400]
    assert got[3].json()["detail"] == {"error_type": "max_tokens_exceeded", "message": "too long"}
    assert len(caplog.records) == 1


def test_a_full_queue_is_529_with_a_hint() -> None:
    served.gate.clear()
    with serving("gated_batch", batch=1, queue=3) as server:
        with ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(post, server, body()) for _ in range(3)]
            held(server, 3)
            full = post(server, body())
            assert (full.status_code, full.headers["retry-after"]) == (529, "1")
            assert full.json()["detail"]["error_type"] == "overloaded_error"
            served.gate.set()
            assert [r.result().status_code for r in waiting] == [200] * 3
        assert post(server, body()).status_code == 200


def test_async_functions_run_side_by_side_within_the_queue() -> None:
    with serving("coroutine", queue=4) as server:
        got = [r.status_code for r in together(server, [body()] * 4)]
    assert got == [200] * 4


def test_a_client_that_has_gone_is_not_worked_for() -> None:
    served.gate.clear()
    served.sizes.clear()
    with serving("gated_batch", batch=1) as server:
        raw = json.dumps(body()).encode()
        head = b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(raw)
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(post, server, body())
            held(server, 1)
            gone = socket.create_connection(("127.0.0.1", server.port))
            gone.sendall(head + raw)
            held(server, 2)
            gone.close()
            last = threading.Timer(0.2, served.gate.set)
            last.start()
            assert first.result().status_code == 200
        assert post(server, body()).status_code == 200
        held(server, 0)
    assert served.sizes == [1, 1]


def test_many_requests_keep_their_answers_apart(server: ServeThread) -> None:
    states = [f"s{i}" for i in range(200)]
    with serving("batch", batch=16, wait_s=0.002) as busy, ThreadPoolExecutor(16) as pool:
        got = list(pool.map(lambda s: post(busy, body(state=s)).json()["answers"]["choose"], states))
    for state, answer in zip(states, got, strict=True):
        weights = served.decide(body(state=state))["choose"]
        assert list(answer["probabilities"].values()) == pytest.approx([w / sum(weights) for w in weights])


# --- what cannot be served --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (f"{HERE}:decied", "did you mean decide"),
        (f"{HERE}:constant", "is of type int, not a function"),
        (f"{HERE}:Caller", "is a class, not a function"),
        ("tests.protocols.no_such:decide", r"no module tests\.protocols\.no_such"),
        ("decide", r"write package\.module:Name"),
        (
            "broken_served_module:decide",
            r"ZeroDivisionError: division by zero \(broken_served_module\.py, line 2\)",
        ),
        ("typo_served_module:decide", "SyntaxError"),
    ],
)
def test_functions_that_are_not_there(
    target: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_served_module.py").write_text("x = 0\n1 / x\n")
    (tmp_path / "typo_served_module.py").write_text("def decide(:\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SettingError, match=said):
        ServeThread(ServeSettings(target=target, port=0))


@pytest.mark.parametrize(
    ("settings", "option"),
    [
        ({"port": 70_000}, "--port"),
        ({"batch": 0}, "--batch"),
        ({"wait_s": float("nan")}, "--wait"),
        ({"queue": 0}, "--queue"),
        ({"max_options": 0}, "--max-options"),
        ({"digits": 18}, "--round"),
        ({"model": ""}, "--model"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], option: str) -> None:
    with pytest.raises(SettingError, match=option):
        ServeSettings(target="m:f", **settings)
