"""Caps in the middle of a run that is killed twice on the way, and what the run becomes once they
are gone: the records of a run that nothing disturbed."""

from __future__ import annotations

from pathlib import Path

from beeline.trace import read_trace
from protocols.fake import FakeServer
from tests.faults.running import Running, against, clean, undisturbed
from tests.faults.test_cap import spent

IN_FLIGHT = 64
TRIALS = 64
DOMAIN = "keys_doors"
#: A dollar a million tokens.
WIDE = (f"model.concurrency={IN_FLIGHT}", "model.price_input=1.0")
#: More tokens than any question of these runs has, as the server counts.
LONGEST = 1_100


def test_killed_twice_stopped_by_each_cap_and_ended(tmp_path: Path) -> None:
    calm, capped = tmp_path / "calm", tmp_path / "capped"
    expected = undisturbed(calm, DOMAIN, TRIALS, *WIDE)
    assert len(expected) == TRIALS
    assert 0.5 * LONGEST < longest(calm / "results" / "traces") <= LONGEST

    with FakeServer(latency_ms=10) as server:

        def start(*more: str) -> Running:
            return Running(capped, against(server, *WIDE, *more, domain=DOMAIN, trials=TRIALS))

        for kills, cap in ((400, "max_requests=900"), (1200, "max_tokens=1000000"), (0, "max_usd=1.5")):
            if kills:
                with start(f"spend.{cap}") as run:
                    run.until(lambda kills=kills: server.requests > kills)
                    run.kill()
            with start(f"spend.{cap}") as run:
                assert run.end() == 1, run.stderr
            name, most = cap.split("=")
            assert f"spend.{name}=" in run.stderr
            assert run.stderr.count("beeline: ") == 1
            assert "Traceback" not in run.stderr
            if name == "max_requests":
                assert float(most) - 3 * IN_FLIGHT < server.requests <= float(most)
            else:
                limit = float(most) * (1e6 if name == "max_usd" else 1)
                assert 0.8 * limit < server.tokens <= limit + IN_FLIGHT * LONGEST
            assert spent(capped).flying == 0
            assert spent(capped).requests >= server.requests

        # With the caps gone the same folder ends as if nothing had been.
        with start() as run:
            assert run.end() == 0, run.stderr
    assert clean(capped, DOMAIN) == expected


def longest(traces: Path) -> int:
    """Input tokens of the longest question."""
    steps = [step for path in traces.rglob("*") if path.is_file() for step in read_trace(path)[1]]
    return max(reply["input_tokens"] for step in steps for reply in step.get("replies", ()))
