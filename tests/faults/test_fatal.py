"""An answer that no waiting mends stops its run at once with one reason, and only its run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from beeline.stops import find_stops
from protocols.fake import FakeServer
from tests.commands import beeline
from tests.faults.running import SHORT, VERSION, Running, against, clean, undisturbed
from tracking.report import main as report

AT = 700
"""The request at which the host says no, with trials finished and trials under way."""
IN_FLIGHT = 16
"""As conf/model/local.yaml has it, and so the most that can have left by then."""
KEY = {"FAKE_KEY": "sk-planted-0123456789abcdef"}
SWEEP = (
    "-m",
    "domain=countdown,keys_doors",
    "model=local",
    # The first run asks one server, the second another.
    "model.base_url='${oc.env:URL_${domain.name}}'",
    "model.id=fake",
    "trials=20",
    *SHORT,
)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, object]]]:
    return {d: undisturbed(tmp_path_factory.mktemp(d), d) for d in ("countdown", "keys_doors")}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("no_credit", "402 Payment Required"),
        ("wrong_key", "401 Unauthorized"),
        ("other_model", "for the model fake, but another-model-2.0 answered"),
    ],
)
def test_a_fatal_answer_stops_at_once_with_one_reason(
    tmp_path: Path, calm: dict[str, list[dict[str, object]]], fault: str, said: str
) -> None:
    with FakeServer(f"{fault}@{AT}-1000000") as server:
        overrides = against(server, "model.key_variable=FAKE_KEY")
        with Running(tmp_path, overrides, **KEY) as run:
            assert run.end() == 1, run.stderr
        # At once: nothing more was sent than what was under way.
        assert AT <= server.requests < AT + IN_FLIGHT
    assert said in the_one_error(run)
    assert KEY["FAKE_KEY"] not in run.stderr
    kept = clean(tmp_path)
    assert 0 < len(kept) < 20
    assert all(record in calm["countdown"] for record in kept)


def test_no_credit_stops_one_run_of_a_sweep_which_resumes(
    tmp_path: Path, calm: dict[str, list[dict[str, object]]], capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(f"credit@{AT}-1000000") as broken, FakeServer() as sound:
        addresses = {"URL_countdown": broken.base_url, "URL_keys_doors": sound.base_url}
        with Running(tmp_path, SWEEP, **addresses) as sweep:
            assert sweep.end() == 1, sweep.stderr
        assert AT <= broken.requests < AT + IN_FLIGHT
        assert "429 Too Many Requests: You exceeded your current quota (insufficient" in the_one_error(sweep)

        # Finished trials stay, as the undisturbed run has them; the other run finished.
        kept = clean(tmp_path)
        assert 0 < len(kept) < 20
        assert all(record in calm["countdown"] for record in kept)
        assert clean(tmp_path, "keys_doors") == calm["keys_doors"]

        # A report says it before anything else.
        [stop] = find_stops(tmp_path / "results")
        assert (stop.finished, stop.wanted) == (len(kept), 20)
        assert report(["--results", str(tmp_path / "results")]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert shown.index(f"{VERSION}/local/score/countdown.benchmark: stopped with {len(kept)} of 20") < 60
        assert " ".join(stop.reason.split())[:60] in shown

        # The same command goes on where it stopped, once the host is well.
        broken.set_faults()
        asked = sound.requests
        with Running(tmp_path, SWEEP, **addresses) as sweep:
            assert sweep.end() == 0, sweep.stderr
        assert sound.requests == asked
    assert clean(tmp_path) == calm["countdown"]
    assert not list(find_stops(tmp_path / "results"))


def the_one_error(run: Running) -> str:
    errors = [line for line in run.stderr.splitlines() if line.startswith("beeline: ")]
    assert len(errors) == 1, run.stderr
    assert "Traceback" not in run.stderr
    return errors[0]


def test_an_update_of_the_model_that_names_itself_stops_the_run(tmp_path: Path) -> None:
    """The name that a host gives its model is checked at every reply, so a new build behind an old
    name is noticed at its first answer, and told with both names."""
    overrides = ("domain=countdown", "model=local", "model.id=fake-latest", "trials=20", *SHORT)
    with FakeServer(f"dated_model@{AT}-1000000") as server:
        ended = beeline(tmp_path, *overrides, f"model.base_url={server.base_url}")
        assert AT <= server.requests < AT + IN_FLIGHT
    assert ended.returncode == 1
    assert "for the model fake-latest, but fake-latest-" in ended.stderr
    records = tmp_path / "results" / VERSION / "local" / "score" / "countdown.benchmark.jsonl"
    # No record holds an answer of the new build.
    for line in records.read_text().splitlines():
        assert set(json.loads(line)["arms"]["model"]["served_models"]) == {"fake-latest"}
