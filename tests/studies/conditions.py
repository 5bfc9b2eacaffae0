"""Studies that change the conditions of a search: their specs and searches in this process, records
made up, and results of all four that several tests read."""

from __future__ import annotations

import atexit
import math
import shutil
import subprocess
from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from omegaconf import OmegaConf

from beeline.condition import plan_of
from beeline.model import Model
from beeline.model_arm import ModelArmResult, UsabilityGuard
from beeline.question import Answer, Question
from beeline.records import Record, read_records
from beeline.space import Space
from beeline.spec import Spec, read_spec
from beeline.study import Condition
from beeline.worker import _offline, _written, begin_model_arm
from protocols.first_option import FirstOption
from protocols.python import PythonModel
from tests.beeline.test_scoring import record, result
from tests.commands import command, environment
from tests.domains_found import read_yaml, targets
from tests.plans import plan
from tests.shared import ROOT

DOMAINS = tuple(targets())
STUDIES = ("order_sensitivity", "representation_sensitivity", "wording_sensitivity", "repeatability")
TRIALS = 6
SHORT: Mapping[str, Any] = {"max_expansions": 40, "max_frontier": 100_000}
"""Of a version: searches that end soon and evict nothing."""


def spec_of(
    domain: str,
    study: str,
    settings: Mapping[str, Any] | None = None,
    version: str = "1.0.0",
    limits: Mapping[str, Any] | None = None,
) -> Spec:
    """As the command line makes it, for the model that takes the first option. Raises SettingError."""
    config: Any = OmegaConf.to_container(OmegaConf.load(ROOT / "conf" / "config.yaml"), resolve=False)
    del config["defaults"], config["hydra"]
    for group, name in (("domain", domain), ("study", study), ("engine", "local"), ("tracking", "none")):
        config[group] = read_yaml(group, f"{name}.yaml")
    config["version"] = read_yaml("version", f"{version}.yaml") | dict(limits or {})
    config["custom"] = "short" if limits else None
    config["model"] = read_yaml("model", "first_option.yaml") | config["model"]
    config["study"] |= settings or {}
    return read_spec(config)


def conditions_of(spec: Spec) -> dict[str, Condition]:
    """By name, in the order they run."""
    return {condition.name: condition for condition in spec.study.conditions_for(spec)}


def chooser(function: str) -> Model:
    """One of tests.studies.choosers."""
    settings = {"function": f"tests.studies.choosers:{function}", "id": function}
    defaults = {k: v for k, v in read_yaml("model", "python.yaml").items() if k not in ("name", "target")}
    return PythonModel.from_settings(function, defaults | settings | {"max_options": 100_000}, ("tests",))


FIRST = FirstOption("first_option")


@cache
def opened(domain: str, trial: int) -> tuple[dict[str, Any], Space]:
    """A trial of version 1.0.0 and its space, shared: exploring is what takes long."""
    found, space = _offline(plan(domain), trial)
    assert space is not None
    return found, space


def _begun(
    spec: Spec, condition: Condition, model: Model, trial: int
) -> Generator[Question, Answer, ModelArmResult]:
    found, space = opened(spec.domain_name, trial)
    made = plan_of(spec, condition)
    written = _written(made, trial, found["instance"], space)
    return begin_model_arm(made, written, trial, model, UsabilityGuard(), True)


def first_question(spec: Spec, condition: Condition, trial: int = 1) -> Question:
    """What a model is asked first."""
    return next(_begun(spec, condition, FIRST, trial))


def searched(spec: Spec, condition: Condition, model: Model, trial: int = 1) -> ModelArmResult:
    """The model arm of one condition, with its trace."""
    steps = _begun(spec, condition, model, trial)
    try:
        question = next(steps)
        while True:
            question = steps.send(model.answer_now(question))
    except StopIteration as stop:
        done: ModelArmResult = stop.value
        return done


def records_of(logs: np.ndarray, condition: str, study: str) -> list[Record]:
    """Records whose log scores are ``logs``, a trial each, or of shape (trials, repeats)."""
    rows = logs.reshape(len(logs), -1)
    return [
        record(
            trial,
            {"model": result(math.exp(value))},
            condition=condition,
            study=study,
            repeat=repeat,
        )
        for trial, row in enumerate(rows.tolist(), start=1)
        for repeat, value in enumerate(row, start=1)
    ]


@cache
def all_four(seed: str, workers: int) -> Path:
    """A folder whose ``results`` hold study=score and the four studies on countdown, of a model that
    sees everything; nobody writes there. Runs with a hash seed and a number of workers."""
    folder = Path(mkdtemp(prefix="beeline-conditions-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    ran = subprocess.run(
        command(
            folder,
            "-m",
            f"study=score,{','.join(STUDIES)}",
            "domain=countdown",
            "model=python",
            "model.function=tests.studies.choosers:by_place_and_words",
            "plugins=[tests]",
            f"trials={TRIALS}",
            f"engine.workers={workers}",
        ),
        cwd=folder,
        env=environment(folder, PYTHONHASHSEED=seed),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    (folder / "said.txt").write_text(ran.stdout, encoding="utf-8")
    return folder


def same_problem(ours: Record, theirs: Record) -> bool:
    """Whether two records are of one trial: its sizes and the arms that ask no model."""

    def problem(it: Record) -> tuple[Any, ...]:
        arms = {name: arm for name, arm in it.arms.items() if name != "model"}
        return it.trial, it.shortest_path, it.states_reachable, it.states_reaching_goal, arms

    return problem(ours) == problem(theirs)


def bare(it: Record) -> Record:
    """The record without times and what it belongs to."""
    arms = {
        name: {key: value for key, value in arm.items() if key not in ("latency_ms", "started_utc")}
        for name, arm in it.arms.items()
    }
    return replace(
        it, arms=arms, study="", condition="", spec="", repeat=1, started_utc="", finished_utc="", code=""
    )


def pairs_with_a_plain_score(study: str, names: Iterable[str], repeats: int = 1) -> dict[str, list[float]]:
    """Check that the conditions of :func:`all_four` hold the trials of study=score, and that the
    benchmark's is that study record for record; the scores by condition."""
    folder = all_four("1", 1) / "results" / "1.0.0" / "python"
    plain = {r.trial: r for r in read_records(folder / "score" / "countdown.benchmark.jsonl").records}
    assert sorted(plain) == list(range(1, TRIALS + 1))
    assert {path.name for path in (folder / study).glob("*.jsonl")} == {f"countdown.{n}.jsonl" for n in names}
    scores = {}
    for name in names:
        records = read_records(folder / study / f"countdown.{name}.jsonl").records
        assert [r.key for r in records] == [(t, r) for t in sorted(plain) for r in range(1, repeats + 1)]
        for one in records:
            assert (one.study, one.condition) == (study, name)
            assert same_problem(one, plain[one.trial])
            if name == "benchmark":
                assert bare(one) == bare(plain[one.trial])
        scores[name] = [one.arms["model"]["score"] for one in records]
    return scores
