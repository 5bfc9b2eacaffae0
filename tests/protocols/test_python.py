from __future__ import annotations

import asyncio
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from beeline.errors import ModelError, SettingError
from beeline.model import make_model
from beeline.model_arm import option_weights
from beeline.question import Answer
from protocols.python import PythonModel
from tests.protocols.asking import ask, question

PLUGINS = ("tests",)


def model(function: str, **settings: Any) -> PythonModel:
    name = f"tests.protocols.functions:{function}"
    return PythonModel.from_settings("python", {"function": name, **settings}, PLUGINS)


def answer(function: str, **settings: Any) -> Answer:
    return model(function, **settings).answer_now(question())


@pytest.mark.parametrize(
    ("function", "weights"),
    [
        ("first", [1, 0, 0]),
        ("mapping", [0, 0, 1]),
        ("array", [0, 0.5, 1]),
        ("numpy_numbers", [0.5, 0.5, 0.5]),
        ("full", [1, 0, 0]),
    ],
)
def test_what_a_function_may_return(function: str, weights: list[float]) -> None:
    got = answer(function)
    assert option_weights(got, question().options) == (weights, None)
    assert got.seconds > 0
    values = got.probabilities.values() if isinstance(got.probabilities, dict) else got.probabilities
    assert {type(v) for v in values} == {float}  # traces hold plain numbers only


def test_an_answer_keeps_what_it_says() -> None:
    got = answer("full")
    assert (got.input_tokens, got.cost_usd) == (3, 0.5)
    assert answer("first").input_tokens is None


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("nan", "no finite probability above zero"),
        ("too_few", "1 probabilities for 3 options"),
        ("odd_values", "no finite probability above zero"),
    ],
)
def test_numbers_that_mean_nothing_are_an_unusable_answer(function: str, reason: str) -> None:
    weights, problem = option_weights(answer(function), question().options)
    assert (any(weights), problem) == (False, reason)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("raises", "raised ValueError: no idea at all"),
        ("raises_time_out", "raised TimeoutError: mine"),
        ("none", "returned None; it must return an Answer, a mapping"),
        ("text", "returned a str;"),
        ("number", "returned a float64;"),
        ("forgot_await", "returned a coroutine;"),
    ],
)
def test_what_ends_the_run(function: str, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        answer(function)
    assert str(caught.value).startswith("the function tests.protocols.functions:")
    assert said in str(caught.value)


def test_the_traceback_of_the_function_is_kept() -> None:
    with pytest.raises(ModelError) as caught:
        answer("raises")
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("function", ["endless", "sleeper", "stubborn"])
def test_a_function_that_never_returns_is_ended(function: str) -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(ModelError, match=r"did not answer within 0\.05 s \(model\.timeout_s\)"):
        answer(function, timeout_s=0.05)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_only_in_the_main_thread() -> None:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            answer("first")
        except RuntimeError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert "main thread" in str(caught)


def test_placement_follows_the_function() -> None:
    assert [model(f).placement for f in ("first", "waits", "caller")] == ["worker", "loop", "loop"]


def test_coroutines_are_asked_together() -> None:
    asked = [question("a", "b"), question("c", "d")]
    got = ask(model("waits"), *asked, together=True)
    assert [option_weights(a, q.options)[0] for a, q in zip(got, asked, strict=True)] == [[1, 0], [1, 0]]
    assert option_weights(ask(model("caller"), question())[0], question().options)[1] is None


def test_coroutines_end_with_the_limit_or_their_error() -> None:
    with pytest.raises(ModelError, match=r"did not answer within 0\.05 s"):
        ask(model("waits_for_ever", timeout_s=0.05), question())
    with pytest.raises(ModelError, match="raised TimeoutError: mine"):
        ask(model("waits_and_raises"), question())


def test_cancelling_a_coroutine_is_not_its_error() -> None:
    async def run() -> None:
        task = asyncio.create_task(model("waits_for_ever").answer(question()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, r"model\.function is not set\. .*model\.function=my_module:decide plugins=\[my_module\]"),
        ({"function": "stranger:decide"}, r"add plugins=\[stranger\]"),
        ({"function": "tests.protocols.functions:frist"}, "did you mean first"),
        ({"function": "tests.protocols.functions:constant"}, "is of type int, not a function"),
        ({"function": "tests.protocols.no_such:decide"}, "no module tests.protocols.no_such"),
        ({"function": "decide"}, "write package.module:Name"),
        (
            {"function": "tests.protocols.functions:first", "timeout_s": 0},
            r"model\.timeout_s=0 must be above 0",
        ),
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        make_model({"name": "p", "target": "protocols.python:PythonModel", **settings}, PLUGINS)


def test_a_module_that_fails_to_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_model_module.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SettingError, match="importing its module raised ZeroDivisionError"):
        PythonModel.from_settings("p", {"function": "broken_model_module:decide"}, ("broken_model_module",))
    sys.modules.pop("broken_model_module", None)


def test_the_name_in_draws_paths() -> None:
    assert model("first").model_id == "tests.protocols.functions:first"
    assert model("first", id="mine").model_id == "mine"
