"""What passes leaves no mark: runs through storms, outages and crowds end as if nothing had been."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from protocols.fake import FakeServer
from tests.faults.running import Running, against, clean, retries, undisturbed

DOMAINS = ("countdown", "keys_doors")
Records = list[dict[str, Any]]


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Records]:
    """The records of the undisturbed run of a domain, made once."""
    made: dict[str, Records] = {}

    def of(domain: str) -> Records:
        if domain not in made:
            made[domain] = undisturbed(tmp_path_factory.mktemp("calm"), domain)
        return made[domain]

    return of


def test_a_storm_leaves_the_same_records(tmp_path: Path, calm: Callable[[str], Records]) -> None:
    """5% resets, 10% 429 with hints, 2% 529, 2% HTML 504 and slow bodies, on two runs at once."""
    with FakeServer("storm") as one, FakeServer("storm", seed=1) as two:
        servers = dict(zip(DOMAINS, (one, two), strict=True))
        folders = {domain: tmp_path / domain for domain in DOMAINS}
        with (
            Running(folders["countdown"], against(one, domain="countdown")) as first,
            Running(folders["keys_doors"], against(two, domain="keys_doors")) as second,
        ):
            assert first.end() == 0, first.stderr
            assert second.end() == 0, second.stderr
    for domain, server in servers.items():
        found = clean(folders[domain], domain)
        assert found == calm(domain)
        assert len(found) == 20
        # The storm was there, and every blow was counted as a retry of some trial.
        blows = server.requests - server.statuses[200]
        assert blows > 50
        assert min(server.statuses[status] for status in (0, 429, 504, 529)) > 0
        assert retries(folders[domain], domain) == blows
        # Each question was answered once: nothing was bought twice.
        assert server.statuses[200] == sum(record["arms"]["model"]["requests"] for record in found)


def test_an_outage_is_shown_and_survived(tmp_path: Path, calm: Callable[[str], Records]) -> None:
    """503 for a second in the middle: said once, and nobody's tries are used up."""
    with FakeServer() as server, Running(tmp_path, against(server, "model.retries=2")) as run:
        run.until(lambda: server.requests > 150)
        server.set_faults("unavailable")
        run.until(lambda: "paused" in run.stderr)
        before = server.requests
        # The first probe comes after 1.5 to 2 s; until then the host is left alone.
        time.sleep(1.0)
        assert server.requests - before <= 16
        server.set_faults()
        assert run.end() == 0, run.stderr
        refused = server.statuses[503]
    shown = [line for line in run.stderr.splitlines() if "paused" in line or "going on" in line]
    assert len(shown) == 2, run.stderr
    assert "paused: it answered 503 Service Unavailable" in shown[0]
    assert "next try in" in shown[0]
    assert shown[1] == "countdown · local: going on"
    assert 3 <= refused <= 17  # what was in flight when it went out
    assert clean(tmp_path) == calm("countdown")


def test_a_host_that_is_restarted_is_waited_for(tmp_path: Path, calm: Callable[[str], Records]) -> None:
    """Connections are refused for a second: the run goes on where it was."""
    with ExitStack() as stack:
        with FakeServer() as server:
            run = stack.enter_context(Running(tmp_path, against(server)))
            run.until(lambda: server.requests > 150)
        run.until(lambda: "paused" in run.stderr)
        time.sleep(0.8)
        again = stack.enter_context(FakeServer(port=server.port))
        assert run.end() == 0, run.stderr
        assert again.requests > 0
    shown = [line for line in run.stderr.splitlines() if "paused" in line]
    assert len(shown) == 1, run.stderr
    assert clean(tmp_path) == calm("countdown")


def test_a_crowded_host_is_asked_less(tmp_path: Path, calm: Callable[[str], Records]) -> None:
    """64 wanted, 8 allowed: the run finds the limit and stays near it."""
    more = ("model.concurrency=64",)
    with FakeServer(concurrency_limit=8, latency_ms=10) as server:
        with Running(tmp_path, against(server, *more)) as run:
            assert run.end() == 0, run.stderr
        crowded = server.statuses[429]
        assert 0 < crowded < 0.1 * server.requests
        assert set(server.statuses) == {200, 429}
        # It neither storms the host nor creeps along one by one.
        assert 8 < server.most_in_flight <= 24
    assert clean(tmp_path) == calm("countdown")
