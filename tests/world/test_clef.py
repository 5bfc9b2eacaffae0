"""A tiny random Clef behind our server, asked alone and in batches, and by whole trials (20 s).

Needs a CPU build of torch, which pip has to be able to find; skipped where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.commands import beeline, records
from tests.world.servers import running

TARGET = "tests.world.clef_tiny"
#: Two servers, two cores: threads that wait for each other cost ten times what they save.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def command(python: Path, function: str, *options: str) -> list[str]:
    return [str(python), "-m", "protocols.serve", f"{TARGET}:{function}", "--port", "0", *options]


def body(state: str, options: list[str]) -> dict[str, Any]:
    questions = {
        "choose": {"type": "choice", "instructions": "Which?", "criteria": dict.fromkeys(options)},
        "yes": {"type": "noul", "instructions": "Is it?"},
        "level": {"type": "score", "instructions": "How?", "criteria": ["low", "high"]},
    }
    return {"model": "clef", "state": state, "questions": questions}


@pytest.fixture(scope="module")
def batched(python_of: Callable[[str], Path]) -> Iterator[str]:
    options = ["--batch", "4", "--wait", "0.1", "--model", "clef"]
    with running(
        command(python_of("clef"), "decide", *options), CLEF_MAX_LENGTH="16384", **ONE_THREAD
    ) as address:
        yield address


def ask(address: str, asked: dict[str, Any]) -> httpx.Response:
    return httpx.post(f"{address}/v1/systemone", json=asked, trust_env=False, timeout=60)


def numbers(reply: dict[str, Any]) -> list[float]:
    answers = reply["answers"]
    return [
        *answers["choose"]["probabilities"].values(),
        answers["yes"]["noul"],
        *answers["level"]["probabilities"].values(),
    ]


def test_a_batch_answers_as_the_release_does_alone(batched: str, python_of: Callable[[str], Path]) -> None:
    asked = [body("s" * 3**i, [f"option {j}" for j in range(2 + 3 * i)]) for i in range(4)]
    with running(command(python_of("clef"), "alone", "--model", "clef"), **ONE_THREAD) as address:
        alone = [ask(address, one).json() for one in asked]
    with ThreadPoolExecutor(4) as pool:
        together = [reply.json() for reply in pool.map(lambda one: ask(batched, one), asked)]
    for one, other in zip(alone, together, strict=True):
        assert numbers(other) == pytest.approx(numbers(one), abs=2e-4)
        assert other["usage"] == one["usage"]
        assert list(other["answers"]["choose"]["probabilities"]) == list(
            one["answers"]["choose"]["probabilities"]
        )
    assert len({tuple(numbers(reply)) for reply in alone}) == 4


def test_what_is_too_long_is_400_and_its_neighbours_are_answered(batched: str) -> None:
    asked = [body("s", ["a", "b"]), body("s", ["x" * 17000, "b"]), body("t", ["a", "b"])]
    with ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(lambda one: ask(batched, one), asked))
    assert [reply.status_code for reply in replies] == [200, 400, 200]
    detail = replies[1].json()["detail"]
    assert detail["error_type"] == "max_tokens_exceeded"
    assert "maximum is 16384" in detail["message"]


def test_whole_trials(batched: str, tmp_path: Path) -> None:
    local = ["model=local", f"model.base_url={batched}/v1", "model.id=clef", "model.name=clef"]
    done = beeline(
        tmp_path, "domain=countdown", "trials=2", "version.max_expansions=8", "custom=small", *local
    )
    assert done.returncode == 0, done.stderr
    path = ("custom-small", "clef", "score", "countdown.benchmark.jsonl")
    arms = [record["arms"]["model"] for record in records(tmp_path, *path)]
    assert len(arms) == 2
    for arm in arms:
        assert arm["requests"] > 0
        assert arm["outcomes"]["answered"] + arm["outcomes"]["tie"] == arm["requests"]
        assert arm["input_tokens"] > 100 * arm["requests"]
