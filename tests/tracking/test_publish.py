"""Published pages: what is custom, partial, unclean or withheld is said; only whole sets have headlines."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tracking.synthetic import DOMAINS, MODELS, make_records, write_records
from tracking import published
from tracking.publish import main
from tracking.tables import format_score, version_domains


def publish(results: Path, *more: str) -> dict[str, str]:
    output = results.parent / "out"
    assert main(["--results", str(results), "--output", str(output), "--traces", "none", *more]) == 0
    return {path.stem: path.read_text(encoding="utf-8") for path in output.glob("*.md")}


def headline(page: str) -> str:
    return page[page.index("## Headline scores") : page.index("## Version")]


def test_a_whole_set_has_a_headline(tmp_path: Path) -> None:
    for domain in DOMAINS:
        write_records(tmp_path / "r", make_records(domain, MODELS[0]))
    page = publish(tmp_path / "r")["1.0.0"]
    assert "| jev | 0." in headline(page)
    assert "No headline number" not in page
    assert "partial" not in page
    assert "unclean" not in page
    assert (tmp_path / "out" / "1.0.0-figures" / "overall-1-0-0.svg").exists()


@pytest.mark.parametrize("lacking", ["domain", "trial"])
def test_an_incomplete_set_has_none(tmp_path: Path, lacking: str) -> None:
    for domain in DOMAINS[: 6 if lacking == "domain" else 7]:
        records = make_records(domain, MODELS[0])
        write_records(tmp_path / "r", records[1:] if (lacking, domain) == ("trial", "tiles") else records)
    page = publish(tmp_path / "r")["1.0.0"]
    assert "No headline number" in headline(page)
    assert "|---|" not in headline(page)
    assert "partial" in page[: page.index("## Headline")]
    said = "keys\\_doors missing" if lacking == "domain" else "tiles without all of trials 1 to 100"
    assert said in headline(page)
    assert "Overall" not in page


def test_unclean_is_said(tmp_path: Path) -> None:
    records = make_records("tiles", MODELS[0], 3)
    records[0].arms["model"]["served_models"] = {"a": 1, "b": 2}  # type: ignore[index]
    records[1].arms["model"]["outcomes"] = {"vanished": 1}  # type: ignore[index]
    records[2] = replace(records[2], code="0.1+abc-dirty")
    path = write_records(tmp_path / "r", records)
    path.write_text(path.read_text() + "{torn")
    page = publish(tmp_path / "r")["1.0.0"]
    top = page[: page.index("## Headline")]
    for word in ("several models: a, b", "vanished", "0.1+abc-dirty", "2 revisions", "is torn"):
        assert word in top, word
    assert top.count("unclean") >= 5


def test_custom_versions_are_pages_of_their_own(tmp_path: Path) -> None:
    write_records(tmp_path / "r", make_records("tiles", MODELS[0], 3, version="custom-x"))
    write_records(tmp_path / "r", make_records("tiles", MODELS[1], 3))
    pages = publish(tmp_path / "r")
    assert set(pages) == {"custom-x", "1.0.0"}
    assert "custom: settings differ" in pages["custom-x"]
    assert "jev" not in pages["1.0.0"].replace("Jev", "")
    assert set(publish(tmp_path / "r", "--version", "1.0.0")) >= {"1.0.0"}


@pytest.mark.parametrize("how", ["spec", "name", "id"])
def test_what_may_not_be_published_is_left_out(tmp_path: Path, how: str) -> None:
    name = {"spec": "mine", "name": "solar_decide", "id": "other"}[how]
    model_id = {"spec": "mine-1", "name": "s", "id": "pplx-decider-v1.3"}[how]
    path = write_records(tmp_path / "r", make_records("tiles", (name, model_id, 0.5, 1e-5, 10.0), 3))
    if how == "spec":
        path.with_suffix(".spec.json").write_text(json.dumps({"model": {"publish": False}}))
    write_records(tmp_path / "r", make_records("tiles", MODELS[0], 3))
    escaped = name.replace("_", "\\_")
    page = publish(tmp_path / "r")["1.0.0"]
    assert f"Left out: {escaped}" in page
    assert f"| {escaped} |" not in page
    page = publish(tmp_path / "r", "--withheld")["1.0.0"]
    assert f"Shown all the same: {escaped}" in page
    assert f"| {escaped} |" in page


def test_nothing_to_publish_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--results", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_published_figures_are_of_the_versions_domains() -> None:
    assert version_domains(published.VERSION) == published.DOMAINS
    assert set(published.OFFLINE) == set(published.DOMAINS)
    for model in published.MODELS:
        assert model.unsolved <= set(model.scores) <= set(published.DOMAINS)
        assert set(model.trials_of) <= set(model.scores)
    # Printed as scores are: reading and printing again gives the same text.
    assert format_score(published.OFFLINE["tiles"]["random"].score) == "0.0076"
    assert format_score(published.OFFLINE["rush_hour"]["random"].high) == "0.01"


@pytest.mark.parametrize(
    ("model_id", "title"),
    [
        ("jev-1.13.0", "Jev 1.13"),
        ("openai/gpt-6-luna", "GPT-6 Luna"),
        ("clef-flash", "Clef-flash"),
        ("clef", "Clef"),
        ("jev-1.14.0", None),
        (None, None),
    ],
)
def test_published_models_are_found_by_api_name(model_id: str | None, title: str | None) -> None:
    model = published.find(model_id)
    assert (model.title if model else None) == title
