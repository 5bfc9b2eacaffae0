"""sparrow-decider's own server through our client: the same records as the model in process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from protocols.serve.server import listen
from tests.commands import beeline, records

WEIGHTS = "sparrow-nano-general-v1.1"


@pytest.fixture
def address() -> Iterator[str]:
    with listen("127.0.0.1", 0) as held:
        port = held.getsockname()[1]
    command = [str(Path(sys.executable).with_name("sparrow-decider")), "serve", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            try:
                httpx.get(url, trust_env=False)
                break
            except httpx.TransportError:
                assert process.poll() is None
                time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def test_whole_trials_are_the_same_as_in_process(address: str, tmp_path: Path) -> None:
    local = ["model=local", f"model.base_url={address}/v1", f"model.id={WEIGHTS}", "model.name=served"]
    for overrides in (["model=sparrow"], local):
        done = beeline(tmp_path, "domain=countdown", "trials=3", "engine.workers=1", *overrides)
        assert done.returncode == 0, done.stderr
    arms = [
        [
            record["arms"]["model"]
            for record in records(tmp_path, "1.0.0", name, "score", "countdown.benchmark.jsonl")
        ]
        for name in ("sparrow", "served")
    ]
    assert len(arms[0]) == 3
    for mine, served in zip(*arms, strict=True):
        for field in (
            "expansions",
            "solved",
            "score",
            "choices",
            "requests",
            "ties",
            "outcomes",
            "disagreements",
        ):
            assert mine[field] == served[field], field
        assert served["served_models"] == {WEIGHTS: served["requests"]}
