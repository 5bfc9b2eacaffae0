"""Caps hold in whole runs: many requests in flight, the cap in the middle, killed twice.

What was really asked is what the test server counted; the ledger may say more (requests that a
killed process had reserved), never less.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from beeline.ledger import FILE
from beeline.spend_report import Spent, read_spending
from protocols.fake import FakeServer
from tests.commands import beeline, command, environment

IN_FLIGHT = 64
#: Input tokens of the longest question of these runs (255 boards of tiles) as the server counts.
LONGEST = 2_500


def run_of(
    server: FakeServer, *caps: str, domain: str = "tiles", in_flight: int = IN_FLIGHT, trials: int = 100
) -> tuple[str, ...]:
    return (
        f"domain={domain}",
        "model=local",
        f"model.base_url={server.base_url}",
        "model.id=fake",
        f"model.concurrency={in_flight}",
        "model.price_input=1.0",
        f"trials={trials}",
        *caps,
    )


def kill_when(folder: Path, overrides: tuple[str, ...], server: FakeServer, requests: int) -> None:
    """Start the run and kill it, main process and all, once the server was asked so often."""
    run = subprocess.Popen(
        command(folder, *overrides),
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while server.requests < requests and run.poll() is None:
        time.sleep(0.002)
    assert run.poll() is None, "the run ended before it could be killed"
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()


def spent(folder: Path) -> Spent:
    (found,) = read_spending(folder / "results" / FILE).models
    return found


def sum_of_tokens(found: Spent) -> int:
    return found.input_exact + found.input_estimated + found.output_exact + found.output_estimated


def test_killed_twice_and_then_capped(tmp_path: Path) -> None:
    """A cap on requests is exact: not one more is sent, whoever was killed on the way."""
    most = 1500
    with FakeServer(latency_ms=20) as server:
        overrides = run_of(server, f"spend.max_requests={most}")
        for kill_at in (400, 900):
            kill_when(tmp_path, overrides, server, kill_at)
            held = spent(tmp_path)
            assert held.abandoned <= IN_FLIGHT * (1 if kill_at == 400 else 2)
        ended = beeline(tmp_path, *overrides)
        asked = server.requests
    assert ended.returncode == 1
    assert f"spend.max_requests={most}: " in ended.stderr
    assert "Traceback" not in ended.stderr
    found = spent(tmp_path)
    assert asked <= found.requests <= most
    # What stopped the run is the cap, and not much else: at most what two kills left unasked.
    assert asked >= most - 3 * IN_FLIGHT
    assert found.flying == 0
    assert 0 < found.abandoned <= 2 * IN_FLIGHT


def test_dollars_pass_a_cap_by_no_more_than_the_requests_in_flight(tmp_path: Path) -> None:
    """One dollar a million tokens, so dollars are the server's own count of tokens."""
    cap = 2_000_000
    with FakeServer(latency_ms=20) as server:
        overrides = run_of(server, f"spend.max_usd={cap / 1e6}")
        for kill_at in (400, 900):
            kill_when(tmp_path, overrides, server, kill_at)
        ended = beeline(tmp_path, *overrides)
        billed = server.tokens
        assert server.most_in_flight <= IN_FLIGHT
    assert ended.returncode == 1
    assert "spend.max_usd=2: $1." in ended.stderr
    found = spent(tmp_path)
    assert billed <= cap + IN_FLIGHT * LONGEST
    # All that the server billed is in the ledger, exact or estimated, up to the error of the
    # estimates of what was abandoned.
    ledger = found.usd_exact + found.usd_estimated
    assert ledger / 1e6 >= billed - 2 * IN_FLIGHT * LONGEST
    assert ledger <= (cap + IN_FLIGHT * LONGEST) * 1e6
    assert sum_of_tokens(found) >= billed - 2 * IN_FLIGHT * LONGEST
    assert found.unknown_cost == 0


def test_raising_the_cap_goes_on_where_the_run_stopped(tmp_path: Path) -> None:
    with FakeServer() as server:
        small = run_of(server, "model.max_requests=300", domain="countdown", in_flight=4, trials=40)
        stopped = beeline(tmp_path, *small)
        assert (stopped.returncode, "model.max_requests=300" in stopped.stderr) == (1, True), stopped.stderr
        records = tmp_path / "results" / "1.0.0" / "local" / "score" / "countdown.benchmark.jsonl"
        before = records.read_text()
        assert 0 < before.count("\n") < 40
        more = run_of(server, domain="countdown", in_flight=4, trials=40)
        ended = beeline(tmp_path, *more)
        assert ended.returncode == 0, ended.stderr
        after = records.read_text()
        assert after.startswith(before)
        assert after.count("\n") == 40
        assert spent(tmp_path).requests == server.requests


def test_two_runs_at_once_share_the_cap(tmp_path: Path) -> None:
    most = 600
    with FakeServer(latency_ms=5) as server:
        runs = [
            subprocess.Popen(
                command(tmp_path, *run_of(server, f"spend.max_requests={most}", domain=domain)),
                cwd=tmp_path,
                env=environment(tmp_path),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for domain in ("tiles", "keys_doors")
        ]
        errors = [run.communicate(timeout=100)[1] for run in runs]
        assert [run.returncode for run in runs] == [1, 1]
        assert all(f"max_requests={most}" in error for error in errors)
        assert server.requests == most
    assert spent(tmp_path).requests == most
