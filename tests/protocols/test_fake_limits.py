"""The fake's limits of rate and concurrency, its counters, and that no request is a 5xx."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beeline.errors import SettingError
from protocols.fake import FakeServer
from protocols.fake.answers import answers_for
from protocols.fake.asked import RefusedError
from protocols.fake.exchange import Exchange
from protocols.fake.routes import ROUTES
from protocols.fake.throttle import Bucket, Throttle
from tests.protocols.test_fake import body, post
from tests.protocols.test_fake_every_shape import CASES, VERSION


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_saves_one_seconds_worth_and_says_how_long_to_wait() -> None:
    clock = Clock()
    bucket = Bucket(120, clock)
    for _ in range(2):
        assert bucket.wait() == 0
        bucket.take(1)
    assert bucket.wait() == pytest.approx(0.5)
    clock.now += 0.25
    assert bucket.wait() == pytest.approx(0.25)
    clock.now += 100
    bucket.take(5)  # one large request passes, and the next waits for it
    assert bucket.wait() == pytest.approx(2.0)


@pytest.mark.parametrize("per_minute", [1, 30, 600, 6000])
def test_no_more_than_the_rate_gets_through(per_minute: int) -> None:
    clock = Clock()
    throttle = Throttle(Bucket(per_minute, clock))
    let = 0
    for _ in range(5 * 1000):
        clock.now += 0.012
        let += throttle.refuses(0) is None
    assert let <= per_minute + max(per_minute / 60, 1) + 1
    assert let >= min(per_minute, 5000) - 1


def test_waiting_as_the_hint_says_is_enough() -> None:
    clock = Clock()
    throttle = Throttle(Bucket(90, clock), Bucket(1000, clock))
    for tokens in (10, 500, 40, 2000, 1):
        wait = throttle.refuses(tokens)
        clock.now += wait or 0.0
        assert wait is None or throttle.refuses(tokens) is None


def test_a_rate_limit_has_hints_and_costs_no_tokens() -> None:
    with FakeServer(rpm=60) as server:
        good, limited = post(server, body()), post(server, body())
        assert (good.status_code, limited.status_code) == (200, 429)
        assert 0 < int(limited.headers["retry-after-ms"]) <= 1000
        assert limited.headers["Retry-After"] == "1"
        assert server.tokens == good.json()["usage"]["input_tokens"]
    with FakeServer(tpm=600) as server:
        assert [post(server, body()).status_code for _ in range(2)] == [200, 429]


def test_more_than_the_limit_in_flight_is_429_and_counted() -> None:
    async def burst(server: FakeServer) -> Counter[int]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(trust_env=False, limits=limits, timeout=30) as client:
            url = server.base_url + "/systemone"
            got = await asyncio.gather(*(client.post(url, json=body()) for _ in range(12)))
        return Counter(reply.status_code for reply in got)

    with FakeServer(concurrency_limit=5, latency_ms=300) as server:
        statuses = asyncio.run(burst(server))
        assert statuses[200] >= 5
        assert statuses[429] >= 1
        assert statuses[200] + statuses[429] == 12
        assert server.statuses == statuses
        assert 5 < server.most_in_flight <= 12
        assert server.counters.in_flight == 0


@pytest.mark.parametrize("limit", [{"rpm": 0}, {"tpm": -1}, {"concurrency_limit": 0}, {"rpm": float("nan")}])
def test_a_limit_that_is_none_is_refused(limit: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="a limit must be a number above 0"):
        FakeServer(**limit)


def test_counters() -> None:
    with FakeServer("reset@1", "unavailable@2-2") as server:
        with pytest.raises(httpx.TransportError):
            post(server, body())
        assert post(server, body()).status_code == 503
        assert post(server, body(state=None)).status_code == 422
        good = post(server, body())
        assert server.requests == 4
        assert server.statuses == {0: 1, 503: 1, 422: 1, 200: 1}
        assert server.counters.shapes == {"jev": 4}
        assert server.tokens == good.json()["usage"]["input_tokens"]
        assert (server.counters.in_flight, server.most_in_flight) == (0, 1)
        assert server.last_path == "/v1/systemone"
        assert json.loads(server.last_body) == body()


def test_faults_can_change_while_it_runs() -> None:
    with FakeServer() as server:
        assert post(server, body()).status_code == 200
        server.set_faults("overloaded")
        assert post(server, body()).status_code == 529
        server.set_faults()
        assert post(server, body()).status_code == 200
        with pytest.raises(SettingError, match="no fault"):
            server.set_faults("nonsense")


# --- never 5xx for a bad request ------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers(-3, 300) | st.floats() | st.text(max_size=4)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def spoil(draw: st.DrawFn, value: Any) -> Any:
    """A copy with one place replaced, dropped or added, at any depth."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 4)) == 0:
        return draw(values)
    if isinstance(value, list):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], spoil(draw, value[at]), *value[at + 1 :]]
    name = draw(st.sampled_from(sorted(value)))
    how = draw(st.integers(0, 9))
    if how == 0:
        return {key: inner for key, inner in value.items() if key != name}
    if how == 1:
        return value | {draw(st.text(max_size=4)): draw(values)}
    return value | {name: spoil(draw, value[name])}


@st.composite
def spoiled(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    shape, good, path = draw(st.sampled_from(CASES))
    return shape, spoil(draw, good), path


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(spoiled())
def test_a_spoiled_request_is_answered_or_refused_and_never_a_crash(case: tuple[Any, Any, Any]) -> None:
    shape, sent, path = case
    try:
        asked, problem = shape.read(sent, VERSION, path), None
    except RefusedError as refused:
        asked, problem = (), refused.problem
    if problem is not None:
        assert 400 <= problem.status < 500
        assert isinstance(json.loads(json.dumps(shape.error(problem))), dict)
        return
    reply = {
        "model": sent.get("model", "m"),
        "answers": answers_for(asked),
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    assert json.loads(Exchange(shape, sent, b"", asked, "", reply).body())


def test_garbage_on_every_path_is_4xx() -> None:
    garbage = [b"", b"{", b"null", b"[]", b"7", b'"x"', b"{}", b"\xff\xfe", b"[" * 50_000, b'{"state":1}']
    with FakeServer() as server, httpx.Client(base_url=server.origin, trust_env=False) as client:
        for route in ROUTES:
            path = route.replace("{account}", "me").replace("{model:.+}", "@cf/cloudflare/clef")
            for content in garbage:
                assert 400 <= client.post(path, content=content).status_code < 500
            assert client.get(path).status_code == 405
            assert client.post(path, content=b"{}", headers={"Content-Encoding": "zstd"}).status_code == 415
        assert not [status for status in server.statuses if status >= 500]
