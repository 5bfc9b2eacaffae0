"""The sparrow model in process, and its package's own server as the reference."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beeline.errors import ModelError, SettingError
from beeline.model import make_model
from beeline.question import Question
from protocols.sparrow import Sparrow
from tests.protocols.asking import ask, question, system_one

NAME = "sparrow-nano-general-v1.1"
OPTIONS = tuple(f"{i % 9} {i % 7} · | {i}" for i in range(255))


def sparrow(**changes: Any) -> Sparrow:
    return Sparrow.from_settings("sparrow", {"weights": NAME, "id": NAME} | changes)


@pytest.fixture(scope="module")
def official() -> Iterator[str]:
    """``sparrow-decider serve``, which speaks HTTP/1.0 without keep-alive and checks no name."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).with_name("sparrow-decider")
    with subprocess.Popen([program, "serve", "--port", str(port)], stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(200):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def test_in_process_equals_the_official_server(official: str) -> None:
    asked = [
        question(*OPTIONS),
        question("b\u00e9e", "cafe\u0301", "\u2603 snow", "·", context="battery: 6%"),
        question("a", "b"),
    ]
    served = ask(system_one(official, id=NAME), *asked)
    model = sparrow()
    for mine, theirs in zip(map(model.answer_now, asked), served, strict=True):
        assert mine.probabilities == theirs.probabilities
        assert (mine.choice, mine.served_model) == (theirs.choice, theirs.served_model)
        # It says 0 for both; a question that takes no input is one that was not counted.
        assert (theirs.input_tokens, theirs.output_tokens) == (None, 0)
        assert (mine.input_tokens, mine.cost_usd) == (None, 0.0)
        assert mine.seconds > 0


def test_the_official_server_answers_for_itself_only(official: str) -> None:
    with pytest.raises(ModelError, match=f"for the model jev-1.13.0, but {NAME} answered"):
        ask(system_one(official, id="jev-1.13.0"), question())


def test_many_at_once_over_connections_that_close(official: str) -> None:
    answers = ask(system_one(official, id=NAME, concurrency=4), *[question()] * 12, together=True)
    assert len({str(a.probabilities) for a in answers}) == 1


def test_deterministic_and_independent_of_order() -> None:
    first, second = sparrow(), sparrow()
    answer = first.answer_now(question(*OPTIONS)).probabilities
    shuffled = random.Random(1).sample(OPTIONS, len(OPTIONS))
    assert second.answer_now(question(*shuffled)).probabilities == answer
    assert first.answer_now(question(*OPTIONS)).probabilities == answer


def test_making_it_loads_nothing() -> None:
    model = sparrow()
    model.check()
    assert model._decider is None


def test_other_weights_under_this_name_are_refused() -> None:
    with pytest.raises(ModelError, match=r"holds sparrow-nano-robot-v1\.2, not sparrow-nano-general-v1\.1"):
        sparrow(weights="sparrow-nano-robot-v1.2").answer_now(question())


def test_weights_that_do_not_exist() -> None:
    with pytest.raises(SettingError, match="did you mean sparrow-nano-general-v1"):
        sparrow(weights="sparrow-nano-general-v9").check()


def test_settings_are_strict() -> None:
    with pytest.raises(SettingError, match="did you mean weights"):
        make_model({"name": "s", "target": "protocols.sparrow:Sparrow", "weight": NAME})


def test_remembered_texts_change_no_answer() -> None:
    """Against the package without our cache, over overlapping questions as of a search."""
    from sparrow_decider import Decider

    model = sparrow()
    plain = Decider.load(model.settings.weights)
    draw = random.Random(5)
    texts = [f"Row {n}: {n * 7 % 11} {n % 5} {draw.random():.3f}" for n in range(60)]
    for size in (2, 9, 30, 60, 30, 9):
        options = draw.sample(texts, size)
        asked = {"choose": {"type": "choice", "instructions": "Which?", "criteria": dict.fromkeys(options)}}
        given = plain.ask({"task": "t", "goal": "g", "context": "c"}, asked)["choose"]
        answer = model.answer_now(Question("t", "g", "c", "Which?", tuple(options)))
        assert answer.probabilities == given["probabilities"]
        assert answer.choice == given["choice"]
