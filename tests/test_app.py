"""``python -m beeline`` as its user meets it: results, refusals, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from beeline.trace import read_trace
from tests.commands import beeline, command, environment, records
from tests.shared import shared_folder

FIRST_OPTION = ("1.0.0", "first_option", "score", "countdown.benchmark.jsonl")


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["domain=rush_hours"], ["rush_hours", "did you mean rush_hour"]),
        (["model=sparow"], ["did you mean sparrow"]),
        (["version=9.9.9"], ["9.9.9", "1.0.0"]),
        (["trials=0"], ["trials=0", "1 to 100"]),
        (["trials=-1"], ["trials=-1", "1 to 100"]),
        (["trials=1e9"], ["trials", "1 to 100"]),
        (["trials=abc"], ["trials=abc", "1 to 100"]),
        (["trails=5"], ["did you mean trials"]),
        (["workers=2"], ["did you mean engine.workers"]),
        (["spend.max_dollars=3"], ["there is no setting spend.max_dollars", "max_usd"]),
        (["trials.most=3"], ["trials has no settings of its own: write trials=VALUE"]),
        (["--trials=3"], ["settings have no dashes, write trials=3"]),
        (["domain=tiles,countdown"], ["make a sweep: add -m"]),
        (["rerun=all"], ["rerun=all is no way to run again"]),
        (["suite=world"], ["suite=world is no suite", "worlds"]),
        (["+trails=5"], ["did you mean trials"]),
        (["model.base_urll=x", "model=local"], ["model.base_urll", "did you mean base_url"]),
        (["engine.workers=0"], ["engine.workers=0"]),
        (["version.max_expansions=500"], ["max_expansions: 2500 -> 500", "custom=NAME"]),
        (["custom=mine"], ["nothing differs"]),
        (["nonsense"], ["key=value"]),
    ],
)
def test_bad_usage_is_refused_in_one_sentence(tmp_path: Path, overrides: list[str], words: list[str]) -> None:
    run = beeline(tmp_path, *overrides)
    assert run.returncode == 2, run.stderr
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in run.stderr


def test_help_fits_a_screen(tmp_path: Path) -> None:
    run = beeline(tmp_path, "--help")
    lines = run.stdout.splitlines()
    assert run.returncode == 0
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80


def test_a_run_equals_the_published_trials_and_resumes(tmp_path: Path) -> None:
    run = beeline(tmp_path, "domain=countdown", "model=first_option", "trials=4")
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("results in ")
    found = records(tmp_path, *FIRST_OPTION)
    assert [record["trial"] for record in found] == [1, 2, 3, 4]
    truth = json.loads(shared_folder("data", "conformance", "countdown.json").read_text())["trials"]
    for record, expected in zip(found, truth, strict=False):
        for arm, name in (("model", "first_option"), ("heuristic", "heuristic"), ("random", "random")):
            assert record["arms"][arm]["expansions"] == expected[name]["expansions"]
            assert record["arms"][arm]["choices"] == expected[name]["choices"]

    # The same command keeps every byte; a torn last line is owed again.
    path = tmp_path.joinpath("results", *FIRST_OPTION)
    before = path.read_bytes()
    assert beeline(tmp_path, "domain=countdown", "model=first_option", "trials=4").returncode == 0
    assert path.read_bytes() == before
    path.write_bytes(before[:-40])
    assert beeline(tmp_path, "domain=countdown", "model=first_option", "trials=4").returncode == 0
    assert records(tmp_path, *FIRST_OPTION) == found


def test_a_trace_recomputes_the_tally(tmp_path: Path) -> None:
    assert beeline(tmp_path, "domain=keys_doors", "model=first_option", "trials=2").returncode == 0
    name = ("1.0.0", "first_option", "score", "keys_doors.benchmark.jsonl")
    for record in records(tmp_path, *name):
        folder = tmp_path / "results" / "traces" / "1.0.0" / "first_option" / "score"
        header, steps = read_trace(folder / "keys_doors.benchmark" / f"{record['trial']}.1.jsonl.gz")
        assert header["trial"] == record["trial"]
        decisions = [step for step in steps if not step["forced"] and step["best_distance"] is not None]
        assert len(steps) == record["arms"]["model"]["expansions"]
        assert record["arms"]["model"]["choices"] == {
            "decisions": len(decisions),
            "optimal": sum(s["distance"] == s["best_distance"] for s in decisions),
            "regret": sum(s["regret"] for s in decisions if s["regret"] is not None),
            "dead_ends": sum(s["distance"] is None for s in decisions),
            "contested": sum(s["contested"] for s in decisions),
            "on_path": sum(s["contested"] and s["on_path"] for s in decisions),
        }


def test_workers_change_nothing_and_a_sweep_goes_on_after_a_failure(tmp_path: Path) -> None:
    for workers in ("1", "2"):
        folder = tmp_path / workers
        folder.mkdir()
        run = beeline(
            folder,
            "-m",
            "domain=countdown,keys_doors",
            "study=baseline",
            "trials=5",
            f"engine.workers={workers}",
        )
        assert run.returncode == 0, run.stderr
    for domain in ("countdown", "keys_doors"):
        name = ("1.0.0", "none", "baseline", f"{domain}.benchmark.jsonl")
        assert records(tmp_path / "1", *name) == records(tmp_path / "2", *name)
    run = beeline(tmp_path, "-m", "model=local,first_option", "domain=countdown", "trials=2")
    assert run.returncode == 2
    assert "base_url" in run.stderr
    assert len(records(tmp_path, *FIRST_OPTION)) == 2


def test_a_custom_run_has_a_place_of_its_own(tmp_path: Path) -> None:
    custom = ["domain=countdown", "study=baseline", "trials=2", "custom=short"]
    assert beeline(tmp_path, *custom, "version.max_expansions=50").returncode == 0
    assert (tmp_path / "results" / "custom-short" / "none" / "baseline").is_dir()
    run = beeline(tmp_path, *custom, "version.max_expansions=60")
    assert run.returncode == 2
    assert "max_expansions: 50 -> 60" in run.stderr


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return [float('nan')] * len(question.options)", ["not one of the first 10 answers", "probability"]),
        ("return [0.5]", ["not one of the first 10 answers", "1 probabilities for"]),
        ("return {}", ["not one of the first 10 answers", "empty"]),
        ("return {'x': 1.0}", ["not one of the first 10 answers", "none of the shown options"]),
        ("raise ValueError('no luck')", ["raised ValueError", "no luck"]),
        ("return None", ["None"]),
        ("\n    while True: pass", ["did not answer within 1"]),
    ],
)
def test_a_python_model_that_fails_stops_with_the_reason(tmp_path: Path, body: str, words: list[str]) -> None:
    (tmp_path / "mine.py").write_text(f"def decide(question):\n    {body}\n")
    run = beeline(
        tmp_path,
        "model=python",
        "model.function=mine:decide",
        "plugins=[mine]",
        "model.timeout_s=1",
        "trials=3",
    )
    assert run.returncode == 1, run.stderr
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in run.stderr


def test_a_server_that_is_down_is_said_once(tmp_path: Path) -> None:
    run = beeline(tmp_path, "model=local", "model.base_url=http://127.0.0.1:9/v1", "model.id=m", "trials=3")
    assert run.returncode == 1
    assert "127.0.0.1:9" in run.stderr
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


def test_a_folder_of_another_definition_is_refused(tmp_path: Path) -> None:
    run = ["domain=countdown", "model=first_option", "trials=1"]
    assert beeline(tmp_path, *run).returncode == 0
    path = tmp_path / "results" / "1.0.0" / "definition.json"
    text = path.read_text("utf-8")
    path.write_text(text.replace('"max_expansions": 2500', '"max_expansions": 99'), "utf-8")
    assert path.read_text("utf-8") != text
    refused = beeline(tmp_path, *run)
    assert refused.returncode == 2
    assert "max_expansions: 99 -> 2500" in refused.stderr
    assert "results=DIR" in refused.stderr


WATCHED = """
import sys
from beeline.app import main
if __name__ == "__main__":
    code = main(sys.argv[1:])
    print("LOADED", *sorted({name.split(".")[0] for name in sys.modules} & {"beeline", "mlflow", "ray"}))
    sys.exit(code)
"""


def test_a_run_without_tracking_imports_neither_mlflow_nor_ray(tmp_path: Path) -> None:
    (tmp_path / "watched.py").write_text(WATCHED)
    overrides = command(tmp_path, "domain=countdown", "model=first_option", "trials=1")[3:]
    run = subprocess.run(
        [sys.executable, "watched.py", *overrides],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "LOADED beeline"
