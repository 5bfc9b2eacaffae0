"""Clients of other people get the right answers from our servers, by their own words."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from protocols.fake import FakeServer
from tests.shared import ROOT
from tests.world.served import expected, noul
from tests.world.servers import running, serve

CLIENTS = ROOT / "tests" / "world" / "clients"
FEW = ["bravo", "alpha", "caf\u00e9 \u2603", "a/b"]
MANY = [f"option {i:03d}, with enough text to be worth compressing" for i in range(255)]


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with running(serve("batch", "--batch", "4")) as address:
        yield address


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeServer]:
    with FakeServer() as server:
        yield server


def asked(python: Path, client: str, address: str, options: list[str]) -> list[dict[str, Any]]:
    """What the program prints, one JSON object a line."""
    command = [str(python), str(CLIENTS / f"{client}.py"), address, json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("options", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize(
    ("client", "answers"), [("typesafe_systemone", 1), ("perplexity_decisions", 1), ("openrouter_both", 2)]
)
def test_system_one_clients(
    client: str, answers: int, options: list[str], served: str, python_of: Callable[[str], Path]
) -> None:
    got = asked(python_of("clients"), client, served, options)
    right = expected(options)
    assert len(got) == answers
    for answer in got:
        assert answer["probabilities"] == pytest.approx(right, abs=1e-12)
        assert answer["choice"] == max(right, key=right.__getitem__)
        n, most = len(options), max(right.values())
        assert answer["confidence"] == pytest.approx((most - 1 / n) / (1 - 1 / n))
        assert answer["model"] == "tests.world.served:batch"
        if "noul" in answer:
            assert answer["noul"] == noul("Is it?")
        if "score" in answer:
            levels = list(expected(["low", "middle", "high"]).values())
            assert answer["score"] == pytest.approx(levels[1] + 2 * levels[2])
            assert answer["models"] == ["tests.world.served:batch"]


@pytest.mark.parametrize("options", [FEW, MANY], ids=["few", "many"])
def test_pydantic_ai_over_system_one(
    options: list[str], served: str, python_of: Callable[[str], Path]
) -> None:
    [answer] = asked(python_of("clients"), "pydantic_systemone", served, options)
    right = expected(options)
    assert answer["choice"] == max(right, key=right.__getitem__)
    assert answer["noul"] == noul("Is it?")


def system_one_answer(fake: FakeServer, options: list[str]) -> dict[str, Any]:
    """The fake's answer in the other shape, which does not pass through the client under test."""
    question = {"type": "choice", "instructions": "?", "criteria": dict.fromkeys(options)}
    body = {"model": "m", "state": "s", "questions": {"q": question}}
    reply = httpx.post(f"{fake.base_url}/systemone", json=body, trust_env=False).json()
    answer: dict[str, Any] = reply["answers"]["q"]
    return answer


@pytest.mark.parametrize("options", [FEW, MANY], ids=["few", "many"])
def test_openai_over_decisions(
    options: list[str], fake: FakeServer, python_of: Callable[[str], Path]
) -> None:
    [answer] = asked(python_of("clients"), "openai_decisions", fake.base_url.removesuffix("/v1"), options)
    right = system_one_answer(fake, options)
    assert answer["probabilities"] == pytest.approx(right["probabilities"], abs=1e-12)
    assert answer["choice"] == right["choice"]
    assert answer["model"] == "gpt-6-luna"
    assert answer["input_tokens"] > 0


@pytest.mark.parametrize("options", [FEW, MANY], ids=["few", "many"])
def test_pydantic_ai_over_decisions(
    options: list[str], fake: FakeServer, python_of: Callable[[str], Path]
) -> None:
    [answer] = asked(python_of("clients"), "pydantic_openai", fake.base_url.removesuffix("/v1"), options)
    assert answer["choice"] == system_one_answer(fake, options)["choice"]
