"""study=prices: replayed searches, positions between the arms, factors, and the text."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from beeline.question import Question
from beeline.search import Limits
from beeline.versions import Definition
from beeline.wording import WORDINGS
from beeline.worker import DomainPlan, TrialTask, domain_of, open_space, run_offline
from protocols.systemone import SystemOne
from studies.calibration import count_published, measure_version, table
from studies.forecast import Arms, Profile, Range, measure, position_range, replay, taken
from studies.prices import Price, estimate, factors
from studies.published import PUBLISHED, find, half_unit, mean_factor
from tests.commands import beeline
from tests.domains_found import read_yaml
from tests.shared import shared_folder

JEV = PUBLISHED[0]


def plan(domain: str, cache: Path | None = None) -> DomainPlan:
    data = read_yaml("version", "1.0.0.yaml")
    del data["name"]
    definition = Definition.read(data)
    entry = definition.domain(domain)
    return DomainPlan.of(
        entry.parameters,
        name=domain,
        target=read_yaml("domain", f"{domain}.yaml")["target"],
        heuristic=entry.heuristic,
        definition=definition.digest,
        limits=definition.limits,
        wording=WORDINGS["plain"],
        plugins=(),
        cache=None if cache is None else str(cache),
    )


@pytest.fixture(scope="module")
def keys_doors() -> tuple[Arms, Profile]:
    return measure(plan("keys_doors"), 40)


@pytest.mark.parametrize("domain", ["keys_doors", "tiles", "countdown"])
def test_replays_are_the_searches_of_the_arms(domain: str) -> None:
    made = plan(domain)
    result = run_offline(TrialTask(made, 7))
    found: list[tuple[int, int]] = []
    replay(
        made,
        open_space(made, 7, result["instance"]),
        7,
        lambda asked, expansions: found.append((expansions, len(list(asked)))),
    )
    arms = result["arms"]
    assert [count for count, _ in found] == [arms[arm]["expansions"] for arm in ("heuristic", "random")]
    assert all(0 < asked <= count for count, asked in found)


def test_bytes_are_those_of_a_request() -> None:
    made = plan("tiles")
    space = open_space(made, 7, run_offline(TrialTask(made, 7))["instance"])
    settings = {"base_url": "http://127.0.0.1:9/v1", "id": "model-1.0"}
    model = SystemOne.from_settings("m", settings)
    first: list[int] = []
    replay(made, space, 7, lambda asked, expansions: first.append(next(iter(asked))[2]))
    # The first question comes after the forced step from the start: its options are the start's moves.
    shown = tuple(space.text(s) for s in space.successors(space.start))
    question = Question(
        domain_of(made).task, space.objective, space.context, made.wording.instructions, shown
    )
    # A comma less than options.
    assert first == [len(model.request_body(question)) + 1] * 2


def test_positions_run_from_the_heuristic_to_the_random_arm(keys_doors: tuple[Arms, Profile]) -> None:
    arms, _ = keys_doors
    assert arms.score(0) == pytest.approx(math.exp(-float(arms.heuristic.mean())))
    assert arms.score(1) == pytest.approx(math.exp(-float(arms.random.mean())))
    scores = [arms.score(p) for p in np.linspace(-1, 2, 20)]
    assert scores == sorted(scores, reverse=True)
    for score in (0.2, 0.4, 0.6):
        assert arms.score(arms.position(score)) == pytest.approx(score, rel=1e-6)


def test_the_random_arm_is_forecast_from_itself() -> None:
    """At position 1 the forecast is the random arm: its real questions are the check."""
    made = plan("countdown")
    arms, profile = measure(made, 100)
    found = taken(arms, profile, 1.0)
    real = [run_offline(TrialTask(made, t))["arms"]["random"]["expansions"] for t in range(1, 101)]
    assert found.expansions == pytest.approx(np.mean(real), rel=0.1)
    assert found.questions <= found.expansions


def test_unsolved_searches_are_counted_in_full() -> None:
    results = [
        {"shortest_path": 9, "arms": {"heuristic": {"score": 0.1}, "random": {"score": 10 / 2500}}}
    ] * 3
    arms = Arms.of(results, Limits(2500, 255))
    assert arms.expansions(1.0).max() == pytest.approx(2500)
    assert arms.expansions(5.0).max() == 2500


def test_known_models_lie_where_they_are_published(keys_doors: tuple[Arms, Profile]) -> None:
    arms, profile = keys_doors
    positions, basis = position_range("keys_doors", arms, JEV)
    assert basis == "from the published score 0.67 of Jev 1.13 (100 trials)"
    assert positions.low < positions.likely < positions.high
    assert arms.score(positions.likely) == pytest.approx(0.67, rel=1e-6)
    assert arms.score(positions.high) == pytest.approx(0.665, rel=1e-6)
    few, _ = position_range("keys_doors", arms, find("clef"))
    assert arms.score(few.low) / arms.score(few.high) > 1.5  # five trials say little
    unknown, basis = position_range("keys_doors", arms, None)
    assert "the 3 published models lie between 0.28 and 0.67" in basis
    assert arms.score(unknown.likely) == pytest.approx(0.40, rel=1e-6)
    nowhere, basis = position_range("my_domain", arms, JEV)
    assert nowhere == Range(0.0, 0.25, 1.0)
    assert "between the heuristic arm (low) and the random arm (high)" in basis
    found = estimate("keys_doors", 40, arms, profile, JEV)
    for amounts in (found.questions, found.bytes, found.tokens):
        assert 0 < amounts.low < amounts.likely < amounts.high
    assert found.tokens.likely / found.bytes.likely == pytest.approx(0.25, rel=0.3)


def test_published_models_are_found_by_their_api_name() -> None:
    found = {
        "jev-1.13.0": "Jev 1.13",
        "typesafe/jev-1.13": "Jev 1.13",
        "pplx-decider-v1.1-27b": "pplx-decider 1.1",
        "@cf/cloudflare/clef": "Clef",
        "clef-flash": "Clef-flash",
        "liquid/d1": "Liquid d1",
    }
    for model_id, title in found.items():
        model = find(model_id)
        assert model is not None
        assert model.title == title
    assert find("jev-1.14.0") is find("d1.1") is find("pplx-decider-v1-27b") is find("clef-omni") is None
    assert [half_unit(s) for s in (0.09, 0.0076)] == pytest.approx([0.005, 0.00005])


def test_factors() -> None:
    low, likely, high = factors(None)
    assert low < likely < high
    assert likely == pytest.approx(mean_factor())
    assert factors(JEV)[1] == pytest.approx(577 / 512, rel=0.01)
    # The mean of the others, on both sides of the one left out.
    assert (mean_factor(without=JEV) - mean_factor()) * (mean_factor() - JEV.factor) > 0
    assert len(table().splitlines()) == 1 + len(PUBLISHED)


def test_money() -> None:
    assert Price(0.042, 0.0, None, 1).dollars(1000, 1e6) == pytest.approx(0.042)
    assert Price(1.0, 5.0, None, 20).dollars(1000, 1e6) == pytest.approx(1.1)
    assert Price(None, 0.0, None, 1).dollars(1000, 1e6) is None


def test_the_command_estimates_without_a_key_and_sends_nothing(tmp_path: Path) -> None:
    ran = beeline(
        tmp_path,
        "-m",
        "study=prices",
        "domain=keys_doors,countdown",
        "trials=10",
        "model=local",
        "model.base_url=http://127.0.0.1:9/v1",  # nobody listens
        "model.id=jev-1.13.0",
        "model.key_variable=NO_SUCH_KEY",
        "model.price_input=0.042",
        "model.price_date='2026-10-01'",
    )
    assert ran.returncode == 0, ran.stderr
    assert "keys_doors · local (jev-1.13.0) · 10 trials · version 1.0.0: an estimate" in ran.stdout
    assert "list price $0.042 a million input tokens, output free, read 2026-10-01" in " ".join(
        ran.stdout.split()
    )
    assert ran.stdout.count("from the published score") == 2
    assert "2 domains together" in ran.stdout
    assert ran.stdout.count("check of the calibration") == 1
    assert not list(tmp_path.glob("results/**/*.jsonl"))
    assert not list(tmp_path.glob("results/spend.sqlite"))


def test_the_command_says_so_where_nothing_is_known(tmp_path: Path) -> None:
    ran = beeline(tmp_path, "study=prices", "domain=countdown", "trials=5", "model=sparrow")
    assert ran.returncode == 0, ran.stderr
    assert "the price is unknown: set model.price_input" in " ".join(ran.stdout.split())
    assert "nothing is published of this model's tokens" in " ".join(ran.stdout.split())


@pytest.mark.slow
def test_what_we_count_for_the_published_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts in studies/published.py, over all seven domains."""
    shared_folder("data", "wikispeedia_paths-and-graph")
    monkeypatch.setenv("BEELINE_CACHE", str(tmp_path))
    measured = measure_version("1.0.0")
    counted = {model.title: count_published(model, measured) for model in PUBLISHED}
    for model in PUBLISHED:
        assert counted[model.title][1] == pytest.approx(model.counted, rel=1e-3), json.dumps(counted)
    # Of GPT-6 Luna the requests are published too: 132,240, of which 73,727 were refused, so that
    # between 58,513 (each refusal was asked again) and 95,377 questions were asked (each twice in
    # vain), with 50 trials of rush_hour.
    luna = next(model for model in PUBLISHED if model.title == "GPT-6 Luna")
    half = dict(measured)
    arms, profile = half.pop("rush_hour")
    rush = taken(arms, profile, position_range("rush_hour", arms, luna)[0].likely)
    questions = count_published(luna, half)[0] + 50 * rush.questions
    assert 58_513 <= questions <= 95_377
