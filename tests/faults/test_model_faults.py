"""Whole trials against a server that misbehaves: nothing is picked silently, nothing is lost.

The search is a real model arm over real HTTP; only the waits between tries are left out.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from beeline.errors import HostError, ModelError
from beeline.model import Model
from beeline.model_arm import ModelArmResult, UsabilityGuard, model_arm
from beeline.problem import Problem
from beeline.search import Limits
from beeline.space import Space, explore
from beeline.wording import Wording
from protocols.fake import FakeServer
from protocols.python import PythonModel
from tests.protocols.asking import system_one

LIMITS = Limits(max_expansions=60, max_frontier=30)


class Letters(Problem[str]):
    """Sort five letters by swapping neighbours: 120 states."""

    objective = "ABCDE"
    context = "Two neighbouring letters may swap places."

    def __init__(self, start: str) -> None:
        self.start = start

    def successors(self, state: str) -> Sequence[str]:
        return [state[:i] + state[i + 1] + state[i] + state[i + 2 :] for i in range(4)]

    def is_goal(self, state: str) -> bool:
        return state == "ABCDE"

    def heuristic(self, state: str) -> int:
        return sum(a != b for a, b in zip(state, "ABCDE", strict=True))

    def render(self, state: str) -> str:
        return state


SPACES = {
    trial: explore(Letters(start)) for trial, start in enumerate(("EDCBA", "BADCE", "CEABD", "DAEBC"), 1)
}


async def run_trial(model: Model, trial: int, space: Space, guard: UsabilityGuard) -> ModelArmResult:
    arm = model_arm(
        space, "letters", "Sort.", trial, model.model_id, LIMITS, Wording("plain", "Which?"), guard
    )
    try:
        asked = next(arm)
        while True:
            answer = await model.answer(asked) if model.placement == "loop" else model.answer_now(asked)
            asked = arm.send(answer)
    except StopIteration as stop:
        result: ModelArmResult = stop.value
        return result


def run(model: Model, trials: Sequence[int] = tuple(SPACES)) -> list[ModelArmResult]:
    """All trials at once, as the engine does."""

    async def together() -> list[ModelArmResult]:
        await model.open()
        guard = UsabilityGuard()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(run_trial(model, t, SPACES[t], guard)) for t in trials]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            await model.close()
        return [task.result() for task in tasks]

    return asyncio.run(together())


def against(*faults: str, **settings: Any) -> list[ModelArmResult]:
    with FakeServer(*faults) as server:
        return run(system_one(server.base_url, **settings))


def records(results: Sequence[ModelArmResult]) -> list[dict[str, Any]]:
    """Record fields without times and retries."""
    kept = []
    for trial, result in zip(SPACES, results, strict=True):
        fields = result.as_dict(SPACES[trial].shortest_path, LIMITS)
        del fields["latency_ms"], fields["retries"]
        kept.append(fields)
    return kept


def total(results: Sequence[ModelArmResult], name: str) -> int:
    return sum(getattr(result.usage, name) for result in results)


@pytest.fixture(scope="module")
def calm() -> list[ModelArmResult]:
    return against()


def test_without_faults_nothing_is_counted(calm: list[ModelArmResult]) -> None:
    for name in ("refusals", "fallbacks", "invalid_answers", "retries", "disagreements"):
        assert total(calm, name) == 0
    assert all(result.usage.served_models == {"test-model": result.usage.requests} for result in calm)


def test_a_storm_leaves_the_same_records(calm: list[ModelArmResult]) -> None:
    stormy = against(
        "reset:0.05",
        "rate_limit_ms:0.1",
        "overloaded:0.02",
        "gateway_timeout:0.02",
        "cut_body:0.03",
        retries=40,
    )
    assert records(stormy) == records(calm)
    assert total(stormy, "retries") > 5


@pytest.mark.parametrize("fault", ["reorder", "no_confidence", "envelope", "sum_low", "extra_option"])
def test_harmless_oddities_change_no_choice(calm: list[ModelArmResult], fault: str) -> None:
    assert [r.search for r in against(fault)] == [r.search for r in calm]


def test_a_pick_that_disagrees_is_counted_and_not_followed(calm: list[ModelArmResult]) -> None:
    odd = against("disagree")
    assert [r.search for r in odd] == [r.search for r in calm]
    assert total(odd, "disagreements") == total(odd, "requests") > 0


def test_unknown_usage_stays_unknown() -> None:
    [first, *_] = records(against("no_usage", price_input=1.0))
    assert (first["input_tokens"], first["output_tokens"], first["cost_usd"]) == (None, None, None)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("empty_map", "10 times an empty map"),
        ("all_zero", "10 times all zero"),
        ("nan", "10 times no finite probability above zero"),
        ("foreign_names", "10 times none of the shown options named"),
        ("html", "10 times not JSON but an HTML page titled 'Welcome'"),
        ("empty_body", "10 times not JSON but an empty body"),
        ("no_answer", "10 times no answer to the question in the reply"),
        ("refusal", "10 times refused"),
    ],
)
def test_a_model_that_is_never_usable_stops_with_the_reason(fault: str, reason: str) -> None:
    with pytest.raises(ModelError) as caught:
        against(fault)
    assert "not one of the first 10 answers of the model was usable" in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize("fault", ["empty_map", "all_zero", "nan", "foreign_names", "html", "refusal"])
def test_a_bad_answer_now_and_then_is_asked_again_or_declared(fault: str) -> None:
    with FakeServer(f"{fault}:0.3") as server:
        model = system_one(server.base_url)
        # One after the other: which requests are struck is then the same every time.
        results = [run(model, [trial])[0] for trial in SPACES]
    counter = "refusals" if fault == "refusal" else "invalid_answers"
    failed, fallbacks = total(results, counter), total(results, "fallbacks")
    assert failed > 0
    # Each failed answer was either asked anew, one more request, or was the second: a fallback.
    assert 0 < fallbacks < failed
    decisions = sum(
        sum(not step["forced"] for step in map(json.loads, result.trace.lines))
        for result in results
        if result.trace
    )
    assert total(results, "requests") == decisions + failed - fallbacks


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("other_model", "another-model-2.0 answered"),
        ("wrong_key", "401 Unauthorized"),
        ("credit", "insufficient_quota"),
        ("allocation", "free allocation"),
        ("unprocessable", "at most 26 options"),
        ("envelope_failed", "inference failed"),
        ("server_error", r"no answer to any question for .* past model\.patience_s=300: .* 500 Internal"),
    ],
)
def test_a_host_that_cannot_be_used_stops_the_run(fault: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        against(fault)


def test_a_server_that_dies_in_the_middle_of_a_run() -> None:
    """It may be started again, so it is waited for as long as patience allows, and no longer."""
    command = [sys.executable, "-m", "protocols.fake", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[3]
        model = system_one(address)

        async def until_it_dies() -> None:
            await model.open()
            try:
                guard = UsabilityGuard()
                await run_trial(model, 1, SPACES[1], guard)
                process.kill()
                process.wait()
                await run_trial(model, 2, SPACES[2], guard)
            finally:
                await model.close()

        with pytest.raises(HostError, match=r"past model\.patience_s=300: .* Is the server running"):
            asyncio.run(until_it_dies())


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("nan", "10 times no finite probability above zero"),
        ("too_few", "2 times 1 probabilities for 4 options"),
        ("raises", "raised ValueError: no idea at all"),
        ("endless", r"did not answer within 0\.05 s"),
        ("waits_for_ever", r"did not answer within 0\.05 s"),
    ],
)
def test_a_bad_function_stops_the_run(function: str, said: str) -> None:
    settings = {"function": f"tests.protocols.functions:{function}", "timeout_s": 0.05}
    with pytest.raises(ModelError, match=said):
        run(PythonModel.from_settings("python", settings, ("tests",)))
