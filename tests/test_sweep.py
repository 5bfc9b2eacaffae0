"""Sweeps: jobs side by side over shared places, workers and limits, with the results of single runs."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from protocols.fake import FakeServer
from tests.commands import beeline, command, environment, records
from tests.faults.running import VERSION, Running, against, clean

WIDE = "model.concurrency=8"


def times(folder: Path, model: str, name: str, study: str = "score") -> list[tuple[datetime, datetime]]:
    """When each trial began and ended, as the records on file say."""
    path = folder / "results" / VERSION / model / study / f"{name}.jsonl"
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        (datetime.fromisoformat(record["started_utc"]), datetime.fromisoformat(record["finished_utc"]))
        for record in found
    ]


def kept_sweeps(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in (folder / "results" / "sweeps").glob("*.json")]


def test_jobs_of_one_model_share_its_places_and_fill_them(tmp_path: Path) -> None:
    with FakeServer(latency_ms=20) as server:
        sweep = against(server, "-m", WIDE, domain="countdown,keys_doors")
        with Running(tmp_path / "sweep", sweep) as run:
            assert run.end() == 0, run.stderr
        assert server.most_in_flight == 8
        for domain in ("countdown", "keys_doors"):
            with Running(tmp_path / domain, against(server, WIDE, domain=domain)) as run:
                assert run.end() == 0, run.stderr
            assert clean(tmp_path / "sweep", domain) == clean(tmp_path / domain, domain)
    first = times(tmp_path / "sweep", "local", "countdown.benchmark")
    second = times(tmp_path / "sweep", "local", "keys_doors.benchmark")
    assert min(began for began, _ in second) < max(ended for _, ended in first)
    # In order all the same: what came first is not held up by what came second.
    assert max(began for began, _ in first) <= min(began for began, _ in second)


def test_conditions_of_a_study_fill_places_too(tmp_path: Path) -> None:
    with FakeServer(latency_ms=20) as server:
        study = against(server, WIDE, "study=order_sensitivity", trials=6)
        with Running(tmp_path, study) as run:
            assert run.end() == 0, run.stderr
        assert server.most_in_flight == 8
    folder = tmp_path / "results" / VERSION / "local" / "order_sensitivity"
    found = [
        times(tmp_path, "local", path.stem, "order_sensitivity") for path in sorted(folder.glob("*.jsonl"))
    ]
    found.sort(key=lambda trials: min(began for began, _ in trials))
    assert len(found) > 2
    overlaps = [
        min(began for began, _ in later) < max(ended for _, ended in earlier)
        for earlier, later in itertools.pairwise(found)
    ]
    assert any(overlaps)


def test_models_are_asked_at_the_same_time(tmp_path: Path) -> None:
    with FakeServer(latency_ms=40) as server:
        with Running(tmp_path, against(server, "-m", "model.name=one,two", WIDE)) as run:
            assert run.end() == 0, run.stderr
        assert 8 < server.most_in_flight <= 16
    one, two = (times(tmp_path, model, "countdown.benchmark") for model in ("one", "two"))
    assert min(began for began, _ in two) < max(ended for _, ended in one)
    assert min(began for began, _ in one) < max(ended for _, ended in two)
    assert [r["arms"]["model"]["expansions"] for r in clean(tmp_path, model="one")] == [
        r["arms"]["model"]["expansions"] for r in clean(tmp_path, model="two")
    ]


def test_a_failed_job_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def decide(question):\n"
        "    if 'key' in question.task:\n"
        "        raise ValueError('no keys, please')\n"
        "    return {question.options[0]: 1.0}\n"
    )
    model = ("model=python", "model.function=mine:decide", "plugins=[mine]", "trials=3")
    run = beeline(tmp_path, "-m", "domain=keys_doors,countdown,tiles", *model, "version.max_expansions=30",
                  "custom=short")  # fmt: skip
    assert run.returncode == 1
    assert run.stderr.count("no keys, please") == 1
    assert "beeline: keys_doors · python: " in run.stderr
    assert "Traceback" not in run.stderr
    for domain in ("countdown", "tiles"):
        assert len(records(tmp_path, VERSION, "python", "score", f"{domain}.benchmark.jsonl")) == 3
    (kept,) = kept_sweeps(tmp_path)
    assert [(job["domain"], job["state"], job["finished"]) for job in kept["jobs"]] == [
        ("keys_doors", "failed", 0),
        ("countdown", "done", 3),
        ("tiles", "done", 3),
    ]
    assert "no keys, please" in kept["jobs"][0]["reason"]
    assert "sweep: 3 jobs, 2 done, 1 failed" in run.stdout
    assert "failed: keys_doors · python" in run.stdout
    assert kept["overrides"][0] == "domain=keys_doors,countdown,tiles"


def test_a_bug_ends_its_own_job(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from protocols.python import PythonModel\n"
        "class Buggy(PythonModel):\n"
        "    def answer_now(self, question):\n"
        "        if 'key' in question.task:\n"
        "            raise RuntimeError('a slip of mine')\n"
        "        return super().answer_now(question)\n"
        "def decide(question):\n"
        "    return {question.options[0]: 1.0}\n"
    )
    model = ("model=python", "model.target=mine:Buggy", "model.function=mine:decide", "plugins=[mine]")
    run = beeline(tmp_path, "-m", "domain=keys_doors,countdown", *model, "trials=2")
    assert run.returncode == 1
    assert run.stderr.count("Traceback (most recent call last)") >= 1
    assert "beeline: keys_doors · python: a bug ended it (RuntimeError: a slip of mine)" in run.stderr
    assert len(records(tmp_path, "1.0.0", "python", "score", "countdown.benchmark.jsonl")) == 2
    assert "sweep: 2 jobs, 1 done, 1 failed" in run.stdout
    alone = beeline(tmp_path, "domain=keys_doors", *model, "trials=2")
    assert alone.returncode == 1
    assert "RuntimeError: a slip of mine" in alone.stderr


def test_a_worker_that_dies_costs_no_other_job_its_trials(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import os\n"
        "def decide(question):\n"
        "    if 'key' in question.task:\n"
        "        os._exit(1)\n"
        "    return {question.options[0]: 1.0}\n"
    )
    model = ("model=python", "model.function=mine:decide", "plugins=[mine]", "trials=6")
    run = beeline(
        tmp_path, "-m", "domain=keys_doors,countdown", *model, "version.max_expansions=30", "custom=short"
    )
    assert run.returncode == 1
    assert "its worker process died 3 times" in run.stderr
    assert "sweep: 2 jobs, 1 done, 1 failed" in run.stdout
    assert len(records(tmp_path, VERSION, "python", "score", "countdown.benchmark.jsonl")) == 6


def test_a_reader_that_leaves_stops_no_job(tmp_path: Path) -> None:
    words = command(tmp_path, "-m", "domain=countdown,keys_doors", "model=first_option", "trials=2")
    words.remove("tracking=none")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, cwd=tmp_path, env=environment(tmp_path), text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("results in ")
        process.stdout.close()
        said = process.stderr.read()
    assert "Traceback" not in said
    assert process.returncode == 0
    for domain in ("countdown", "keys_doors"):
        assert len(records(tmp_path, "1.0.0", "first_option", "score", f"{domain}.benchmark.jsonl")) == 2


def test_an_error_of_one_condition_ends_its_job_alone(tmp_path: Path) -> None:
    """The conditions under way of the same job end, and their reason is that error."""
    (tmp_path / "mine.py").write_text(
        "import time\n"
        "def decide(question):\n"
        "    time.sleep(0.02)\n"
        "    if list(question.options) != sorted(question.options):\n"
        "        return {question.options[0]: 1.0}\n"
        "    raise ValueError('sorted, how dull')\n"
    )
    model = ("model=python", "model.function=mine:decide", "plugins=[mine]", "trials=2", "engine.workers=2")
    run = beeline(tmp_path, "-m", "study=order_sensitivity,score", "domain=keys_doors", *model)
    assert run.returncode == 1
    assert run.stderr.count("beeline: ") <= 2  # one a job
    stops = sorted(tmp_path.rglob("*.stopped.json"))
    assert stops
    for path in stops:
        assert "sorted, how dull" in json.loads(path.read_text("utf-8"))["reason"]


def test_an_interrupted_sweep_resumes(tmp_path: Path) -> None:
    with FakeServer(latency_ms=20) as server:
        sweep = against(server, "-m", WIDE, domain="countdown,keys_doors", trials=12)
        with Running(tmp_path, sweep) as run:
            done = tmp_path / "results" / VERSION / "local" / "score" / "countdown.benchmark.jsonl"
            run.until(lambda: done.is_file() and done.read_text("utf-8").count("\n") >= 3)
            run.process.send_signal(signal.SIGINT)
            assert run.end() == 130
            assert "interrupted: finished trials are kept" in run.stderr
            assert "Traceback" not in run.stderr
        (kept,) = kept_sweeps(tmp_path)
        assert "stopped" in {job["state"] for job in kept["jobs"]}
        stops = sorted(tmp_path.rglob("*.stopped.json"))
        assert {json.loads(path.read_text("utf-8"))["kind"] for path in stops} == {"KeyboardInterrupt"}
        before = server.requests
        with Running(tmp_path, sweep) as run:
            assert run.end() == 0, run.stderr
        assert server.requests > before
        (kept,) = kept_sweeps(tmp_path)
        assert [job["state"] for job in kept["jobs"]] == ["done"] * 2
        assert [job["finished"] for job in kept["jobs"]] == [12] * 2
        assert not list(tmp_path.rglob("*.stopped.json"))
        for domain in ("countdown", "keys_doors"):
            with Running(tmp_path / domain, against(server, WIDE, domain=domain, trials=12)) as run:
                assert run.end() == 0, run.stderr
            assert clean(tmp_path, domain) == clean(tmp_path / domain, domain)


def test_jobs_that_write_the_same_records_take_turns(tmp_path: Path) -> None:
    run = beeline(tmp_path, "-m", "trials=4,2,6", "domain=countdown", "model=first_option")
    assert run.returncode == 0, run.stderr
    found = records(tmp_path, "1.0.0", "first_option", "score", "countdown.benchmark.jsonl")
    assert [record["trial"] for record in found] == [1, 2, 3, 4, 5, 6]


def test_a_cap_holds_over_all_jobs(tmp_path: Path) -> None:
    with FakeServer(latency_ms=5) as server:
        sweep = against(server, "-m", WIDE, "spend.max_requests=100", "model.name=one,two,three")
        with Running(tmp_path, sweep) as run:
            assert run.end() == 1
            assert "raise spend.max_requests" in run.stderr
        assert server.requests == 100
    (kept,) = kept_sweeps(tmp_path)
    assert [job["state"] for job in kept["jobs"]] == ["failed"] * 3


@pytest.mark.parametrize("study", ["prices", "score"])
def test_studies_that_run_no_condition_keep_their_place(tmp_path: Path, study: str) -> None:
    """A price list between two runs is printed between them."""
    run = beeline(
        tmp_path, "-m", f"study=baseline,{study}", "domain=countdown", "model=first_option", "trials=2"
    )
    assert run.returncode == 0, run.stderr
    assert "sweep: 2 jobs, 2 done" in run.stdout
