"""The process that asks a model for all runners, without Ray around it."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest

from beeline import ray_workers
from beeline.question import Answer, Question
from beeline.ray_messages import Failure, Home
from beeline.ray_workers import ComputeHost, ModelHost

FUNCTIONS = """
count = 0

def weigh(question):
    global count
    count += 1
    return [float(count == {usable})] * 2

async def wait(question):
    return weigh(question)
"""
QUESTION = Question("task", "goal", "context", "which?", ("left", "right"))


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an actor finds in its own process."""
    monkeypatch.setattr(ray_workers, "node_id", lambda: "node")
    monkeypatch.setattr(signal, "signal", lambda *_: None)


def asked(folder: Path, function: str, usable: int) -> list[Answer | Failure]:
    """Fifteen answers; the one of this number is the only usable one."""
    module = f"answers_{function}_{usable}"
    (folder / f"{module}.py").write_text(FUNCTIONS.format(usable=usable))
    config = json.dumps(
        {"name": "chosen", "target": "protocols.python:PythonModel", "function": f"{module}:{function}"}
    )
    home = Home(str(folder), (str(folder),))

    async def run() -> list[Answer | Failure]:
        if function == "weigh":
            computes = ComputeHost(home, config, (module,))
            assert computes.open({}, False, False, False) is None
            return [computes.answer(QUESTION, 1) for _ in range(15)]
        host = ModelHost(home, config, (module,))
        assert await host.open({}, False, False, False) is None
        found = [await host.answer(QUESTION, 1) for _ in range(15)]
        await host.close()
        return found

    return asyncio.run(run())


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("function", ["weigh", "wait"])
def test_a_model_that_never_answers_is_found_out_over_all_runners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = asked(tmp_path, function, usable=0)
    assert all(isinstance(answer, Answer) for answer in found[:9])
    assert all(isinstance(answer, Failure) and answer.kind == "ModelError" for answer in found[9:])
    tenth = found[9]
    assert isinstance(tenth, Failure)
    assert "not one of the first 10 answers of the model was usable (10 times all zero)" in tenth.text
    # One that is usable now and then is measured.
    assert all(isinstance(answer, Answer) for answer in asked(tmp_path, function, usable=10))
