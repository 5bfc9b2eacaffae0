"""study=probe against the test server: what it shows, and what it says when it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from beeline.errors import ModelError
from beeline.ledger import FILE
from beeline.question import Answer
from beeline.spend_report import read_spending
from beeline.study import Study
from protocols.fake import FakeServer
from protocols.systemone import SystemOne
from studies.probe import Probe, facts_of, probe, probe_question
from tests.commands import beeline

SHOWN = ("a", "b", "c", "d")


def probed(tmp_path: Path, server: FakeServer, *more: str) -> tuple[int, str, str]:
    ran = beeline(
        tmp_path,
        "study=probe",
        "model=local",
        f"model.base_url={server.base_url}",
        "model.id=fake",
        "model.price_input=0.042",
        "model.retries=0",
        *more,
    )
    return ran.returncode, " ".join(ran.stdout.split()), " ".join(ran.stderr.split())


def asked(server: FakeServer, **more: Any) -> SystemOne:
    settings = {"base_url": server.base_url, "path": "/systemone", "id": "fake", "retries": 0}
    return SystemOne.from_settings("local", settings | more)


def test_everything_that_came_back(tmp_path: Path) -> None:
    with FakeServer("round2") as server:
        code, out, _ = probed(tmp_path, server)
        assert server.requests == 1
    assert code == 0
    for said in (
        "probe of local: one question of 255 options",
        "asked for fake served by fake",
        "0 retries",
        "counted by us without a tokenizer",
        "output tokens 1 cost $0.0000",
        "over 255 options",
        "2 distinct",
        "up to 2 decimals",
        "0 options missing, 0 foreign names",
        'reply begins {"model": "fake"',
        "share the first place, where the state found first is taken",
        "It can run the benchmark",
    ):
        assert said in out
    (spent,) = read_spending(tmp_path / "results" / FILE).models
    assert (spent.model, spent.requests, spent.flying) == ("local", 1, 0)
    assert spent.usd_exact > 0


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("all_zero", "It cannot run the benchmark as it is: the answer is unusable (all zero)."),
        ("refusal", "It refused this question."),
        ("no_usage", "it does not count tokens, so caps and costs rest on estimates"),
        ("drop_option", "1 options missing"),
        ("disagree", "(another)"),
        ("html", "the answer is unusable (not JSON but"),
    ],
)
def test_verdicts(fault: str, said: str) -> None:
    with FakeServer(fault) as server:
        assert said in " ".join(probe(asked(server), 255).split())


def test_an_unusable_answer_is_shown_and_fails_the_command(tmp_path: Path) -> None:
    with FakeServer("all_zero") as server:
        code, out, err = probed(tmp_path, server)
    assert code == 1
    assert "answer unusable: all zero" in out
    assert "It cannot run the benchmark as it is" in out
    assert err.startswith("beeline: the answer of local is unusable (all zero)")
    assert "Traceback" not in err


def test_a_refusal_can_be_run(tmp_path: Path) -> None:
    with FakeServer("refusal") as server:
        code, out, _ = probed(tmp_path, server)
    assert (code, "It refused this question." in out) == (0, True)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("cap=26", "set model.max_options=26; the benchmark then refuses the model with that reason"),
        ("cap=64,400", "set model.max_options=64;"),
        ("wrong_key", "401 Unauthorized"),
        ("no_credit", "The account has no credit left"),
        ("other_model", "answered. If that is the model you mean"),
    ],
)
def test_failures_say_why(fault: str, said: str) -> None:
    with FakeServer(fault) as server, pytest.raises(ModelError) as caught:
        probe(asked(server), 255)
    assert said in str(caught.value)
    assert ("max_options" in str(caught.value)) == fault.startswith("cap")


def test_a_failure_of_the_command_is_one_sentence(tmp_path: Path) -> None:
    with FakeServer("cap=26") as server:
        code, out, err = probed(tmp_path, server)
    assert (code, "probe of" in out, "Traceback" in err) == (1, False, False)
    assert "set model.max_options=26" in err


def test_a_cap_holds_the_probe_too(tmp_path: Path) -> None:
    with FakeServer() as server:
        code, _, err = probed(tmp_path, server, "spend.max_usd=0.00001")
        assert server.requests == 0
    assert code == 1
    assert "spend.max_usd=1e-05: $0.000000 spent" in err


def test_a_key_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBE_KEY", "confidence")  # a word of every reply
    with FakeServer(key="confidence") as server:
        shown = probe(asked(server, key_variable="PROBE_KEY"), 255)
    assert '"***": 0.0' in shown
    assert "confidence" not in shown


def test_a_model_that_computes_is_probed(tmp_path: Path) -> None:
    ran = beeline(tmp_path, "study=probe", "model=sparrow")
    assert ran.returncode == 0, ran.stderr
    assert "It can run the benchmark" in ran.stdout
    assert not (tmp_path / "results" / FILE).exists()


def test_the_question_is_fixed() -> None:
    question = probe_question(255)
    assert question == probe_question(255)
    assert len(set(question.options)) == 255
    assert question.goal in question.options
    assert not any(option.isdigit() for option in question.options)


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [
        ({"a": 0.5, "b": 0.5, "x": 1.0}, {"ties": 2, "missing": 2, "foreign": 1, "zeros": 2, "entropy": 1.0}),
        ([0.25] * 4, {"ties": 4, "missing": 0, "entropy": 2.0, "digits": 2, "pick": "a", "distinct": 1}),
        ({"a": 0.0, "b": 0.0}, {"problem": "all zero", "pick": None, "entropy": 0.0, "ties": 0}),
        ({"c": 1e-05}, {"digits": 5, "pick": "c", "sum": 1e-05}),
        ({"c": 1.0}, {"digits": 0, "entropy": 0.0}),
        ({"c": float("nan"), "d": 0.001}, {"zeros": 3, "digits": 3, "pick": "d"}),
    ],
)
def test_facts(probabilities: Any, expected: dict[str, Any]) -> None:
    facts = facts_of(Answer(probabilities=probabilities), SHOWN)
    assert {name: getattr(facts, name) for name in expected} == expected


def test_it_is_a_study_without_trials() -> None:
    study: Study = Probe()
    assert study.conditions() == ()
    assert study.asks_model
    assert study.needs_key
