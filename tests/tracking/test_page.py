"""The report as a page and as Markdown: complete, safe, deterministic, and of use when data is damaged."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.tracking.synthetic import MODELS, make_analysis, make_records, write_records, write_traces
from tracking.analysis import show
from tracking.report import main
from tracking.traced import read_decisions

HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script>'


class Page(HTMLParser):
    """Tags, ids, links and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models on two domains, a baseline, a second version, a custom one, traces, an analysis."""
    folder = tmp_path_factory.mktemp("page") / "results"
    for domain in ("tiles", "countdown"):
        write_records(folder, make_records(domain, None, 30))
        for model in (*MODELS[:2], MODELS[8]):
            records = make_records(domain, model, 30)
            write_records(folder, records)
            write_traces(folder, records[0].cell, 3)
    write_records(folder, make_records("tiles", MODELS[0], 20, version="2.0.0"))
    write_records(folder, make_records("tiles", MODELS[0], 20, version="custom-long-walks"))
    write_records(folder, make_records("tiles", MODELS[0], 20, study="order_sensitivity", condition="found"))
    show(make_analysis(), folder)
    return folder


def page_of(results: Path, target: Path, *more: str) -> str:
    assert main(["--results", str(results), "--html", str(target), *more]) == 0
    return target.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(results: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(results, tmp_path_factory.mktemp("html") / "page.html")


def test_every_part_is_there(page: str) -> None:
    headings = re.findall(r"<h[23][^>]*>([^<]*)<", page)
    for part in ("tiles", "countdown", "Score against cost", "Choices against the oracle", "Calibration"):
        assert any(h.startswith(part) and h.endswith("version 1.0.0") for h in headings), part
    assert "Place of the chosen option · version 1.0.0" in headings
    assert "Latency · version 1.0.0" in headings
    assert headings.index("Version 1.0.0") < headings.index("Version 2.0.0")
    assert headings.index("Version 2.0.0") < headings.index("Version custom-long-walks")
    assert "Versions side by side" in headings
    assert "order_sensitivity · blocksworld · pplx_decider_1 · version 1.0.0" in headings
    assert "Conditions of studies" in headings
    assert (
        "compares with no other version" in page.replace("compares\nwith", "compares with")
        or "compare" in page
    )


def caption_of_choices(folder: Path, places: dict[str, tuple[str, ...]]) -> str:
    """Of a report on models that ran other domains each; offline arms come from their records."""
    for domain in {d for domains in places.values() for d in domains}:
        write_records(folder, make_records(domain, None, 5))
    for name, domains in places.items():
        for domain in domains:
            write_records(folder, make_records(domain, next(m for m in MODELS if m[0] == name), 5))
    text = page_of(folder, folder / "page.html", "--traces", "none")
    (caption,) = re.findall(r"<figcaption>(Measured against the oracle.*?)</figcaption>", text, re.S)
    return " ".join(caption.split())


def means(caption: str) -> dict[str, str]:
    listed = re.search(r"optimal: (.*?)\. ", caption)
    assert listed is not None
    return dict(part.rsplit(" ", 1) for part in listed[1].split(", "))


def test_choices_are_compared_over_common_domains(tmp_path: Path) -> None:
    alike = caption_of_choices(tmp_path / "a", {"jev": ("tiles",), "sparrow": ("tiles",)})
    other = caption_of_choices(tmp_path / "b", {"jev": ("tiles", "countdown"), "sparrow": ("tiles",)})
    assert "that all arms have" not in alike
    assert "Over the domain that all arms have: tiles." in other
    assert set(means(alike)) == {"heuristic", "random", "jev", "sparrow"}
    assert means(alike) == means(other)
    none = caption_of_choices(tmp_path / "c", {"jev": ("countdown",), "sparrow": ("tiles",)})
    assert "no domain in common, so these means do not compare" in none
    assert set(means(none)) == set(means(alike))


def test_nothing_is_loaded_or_run(page: str) -> None:
    found = Page(page)
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(found.tags)
    for _, name, value in found.attributes:
        assert not name.startswith("on")
        if name in ("href", "xlink:href", "src"):
            assert (value or "").startswith("#")
    assert "url(http" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_ids_are_unique_and_links_lead_somewhere(page: str) -> None:
    attributes = Page(page).attributes
    ids = [value for _, name, value in attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = {(value or "")[1:] for _, name, value in attributes if name in ("href", "xlink:href")}
    assert links <= set(ids)
    assert set(re.findall(r"url\(#([^)]+)\)", page)) <= set(ids)


def test_every_figure_says_what_is_seen(page: str) -> None:
    attributes = Page(page).attributes
    labels = [value for tag, name, value in attributes if (tag, name) == ("svg", "aria-label")]
    assert len(labels) == Page(page).tags.count("svg")
    assert all(label and len(label) > 30 for label in labels)


def test_published_figures_are_marked(page: str) -> None:
    assert 'class="aside"><th class="w" scope="row">published: Jev 1.13' in page
    assert "asked in other words" in page


def test_the_same_records_give_the_same_page(results: Path, page: str, tmp_path: Path) -> None:
    assert page_of(results, tmp_path / "again.html") == page


def test_markdown_has_its_figures_beside_it(results: Path, tmp_path: Path) -> None:
    assert main(["--results", str(results), "--markdown", str(tmp_path)]) == 0
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    links = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert len(links) == len(set(links)) > 8
    for link in links:
        assert (tmp_path / link).read_text(encoding="utf-8").startswith("<?xml")
        assert (tmp_path / link).with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert "| published: Jev 1.13 | 0.09 |" in text
    assert "<svg" not in text


@pytest.mark.parametrize("where", ["model", "served", "condition", "sentence"])
def test_hostile_names_stay_text(tmp_path: Path, where: str) -> None:
    records = make_records("tiles", MODELS[0], 4)
    if where == "model":
        records = make_records("tiles", ("a<b>&'\"$x$`|", HOSTILE, 0.5, 1e-5, 10), 4)
    if where == "served":
        for record in records:
            record.arms["model"]["served_models"] = {HOSTILE: 3, "b": 1}  # type: ignore[index]
    if where == "condition":
        records = [replace(r, condition="<script>x", study="mine") for r in records]
    write_records(tmp_path / "r", records)
    if where == "sentence":
        show(make_analysis(sentence=HOSTILE, notes=(HOSTILE,)), tmp_path / "r")
    text = page_of(tmp_path / "r", tmp_path / "p.html", "--markdown", str(tmp_path / "p.md"))
    found = Page(text)
    assert not {"script", "img"} & set(found.tags)
    assert not [name for _, name, _ in found.attributes if name.startswith("on")]
    markdown = (tmp_path / "p.md").read_text(encoding="utf-8")
    assert "<img" not in markdown
    assert "<script" not in markdown


def test_alarms_and_stops_come_before_any_number(tmp_path: Path) -> None:
    records = make_records("tiles", MODELS[0], 4)
    records[0].arms["model"]["outcomes"] = {"vanished": 1}  # type: ignore[index]
    path = write_records(tmp_path / "r", records)
    stop = {"path": "1.0.0/jev/score/tiles.benchmark", "kind": "E", "reason": "no credits", "finished": 4}
    stop |= {"wanted": 9, "utc": "2026-01-01T00:00:00Z"}
    path.with_suffix(".stopped.json").write_text(json.dumps(stop))
    text = page_of(tmp_path / "r", tmp_path / "p.html")
    assert text.index("no credits") < text.index("vanished") < text.index("<table")


def edge(name: str, folder: Path) -> None:
    """Write one odd results folder."""
    if name == "one trial":
        write_records(folder, make_records("tiles", MODELS[0], 1))
    elif name == "baseline only":
        write_records(folder, make_records("tiles", None, 5))
    elif name == "repeats":
        write_records(folder, make_records("tiles", MODELS[0], 5, repeats=3))
    elif name == "long names":
        write_records(folder, make_records("tiles", ("m" * 120, "i" * 300, 0.5, 1e-5, 10.0), 5))
    elif name == "unknown domain and version":
        write_records(folder, make_records("chess", MODELS[0], 5, version="custom-x"))
    elif name == "named like an arm":
        write_records(folder, make_records("tiles", ("oracle", "o-1", 0.5, 1e-5, 10.0), 5))
    elif name == "no cost, no choices":
        records = make_records("tiles", MODELS[9], 5)
        for record in records:
            for arm in record.arms.values():
                arm.pop("choices", None)  # type: ignore[attr-defined]
                arm.pop("latency_ms", None)  # type: ignore[attr-defined]
        write_records(folder, records)
    elif name == "nothing shared":
        write_records(folder, make_records("tiles", MODELS[0], 5))
        write_records(folder, make_records("countdown", MODELS[1], 5))
    elif name == "damaged":
        path = write_records(folder, make_records("tiles", MODELS[0], 5))
        path.write_bytes(path.read_bytes()[:-40] + b"\n{}\nnonsense\xff\n")
        trace = make_records("tiles", MODELS[0], 1)[0].cell.trace_path(folder, 1, 1)
        trace.parent.mkdir(parents=True)
        trace.write_bytes(b"no gzip")
        trace.with_name("2.1.jsonl.gz").write_bytes(b"")


EDGES = (
    "one trial",
    "baseline only",
    "repeats",
    "long names",
    "unknown domain and version",
    "named like an arm",
    "no cost, no choices",
    "nothing shared",
    "damaged",
)


@pytest.mark.parametrize("name", EDGES)
def test_odd_folders_make_a_page(tmp_path: Path, name: str) -> None:
    edge(name, tmp_path / "r")
    text = page_of(tmp_path / "r", tmp_path / "p.html")
    assert "score by arm" in text
    assert ("Passed over" in text) == (name == "damaged")
    if name == "named like an arm":
        assert ">model oracle<" in text


def test_traces_are_read_in_whole_trials_until_enough(tmp_path: Path) -> None:
    records = make_records("tiles", MODELS[0], 6)
    write_traces(tmp_path, records[0].cell, 5, steps=10)
    keys = [[record.key for record in records]]
    some, _ = read_decisions(tmp_path, [records[0].cell], keys, least=15)
    assert (len(some.places), some.trials, some.left) == (20, 2, 3)
    every, notes = read_decisions(tmp_path, [records[0].cell], keys, least=None)
    assert (len(every.places), every.trials, every.left, notes) == (50, 5, 0, [])
    assert set(every.right_trials) == {("tiles", n) for n in range(1, 6)}


def test_traces_can_be_left_out(results: Path, tmp_path: Path) -> None:
    assert "Calibration" not in page_of(results, tmp_path / "p.html", "--traces", "none")
    with pytest.raises(SystemExit):
        main(["--results", str(results), "--traces", "-3", "--html", str(tmp_path / "p.html")])


def test_a_place_that_cannot_be_written_is_one_sentence(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["--results", str(results), "--html", str(tmp_path / "file" / "p.html")]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "--html FILE" in err


def test_a_planted_preference_and_miscalibration_show(tmp_path: Path) -> None:
    for model, early, bias in ((MODELS[0], 0.0, 0.0), (MODELS[1], 0.4, 0.3)):
        records = make_records("tiles", model, 20)
        write_records(tmp_path / "r", records)
        write_traces(tmp_path / "r", records[0].cell, 20, early=early, bias=bias)
    assert (
        main(["--results", str(tmp_path / "r"), "--markdown", str(tmp_path / "p.md"), "--traces", "all"]) == 0
    )
    text = (tmp_path / "p.md").read_text(encoding="utf-8")

    def row(title: str, model: str) -> list[str]:
        part: Any = text[text.index(f"**{title}**") :]
        return next(line for line in part.splitlines() if line.startswith(f"| {model} |")).split(" | ")

    assert float(row("Calibration of the chosen option's probability", "jev")[2]) < 0.05
    assert float(row("Calibration of the chosen option's probability", "luna")[2]) > 0.2
    assert float(row("Place of the chosen option", "luna")[-1].rstrip(" |")) <= 0.001
    assert 0.3 < float(row("Place of the chosen option", "luna")[4].rstrip("%")) / 100 < 0.5
    assert float(row("Place of the chosen option", "jev")[-1].rstrip(" |")) > 0.01


def test_models_that_share_one_domain_have_no_overall_and_the_page_says_why(tmp_path: Path) -> None:
    for domain in ("tiles", "countdown"):
        write_records(tmp_path, make_records(domain, MODELS[0], 3))
    write_records(tmp_path, make_records("tiles", MODELS[1], 3))
    page = page_of(tmp_path, tmp_path / "page.html", "--traces", "none")
    assert "No overall score: the models of this version share only tiles" in page
    assert "Overall: geometric mean" not in page


def test_a_version_that_is_not_released_is_no_official_one(tmp_path: Path) -> None:
    write_records(tmp_path, make_records("tiles", MODELS[0], 3, version="mine"))
    assert "A custom version" in page_of(tmp_path, tmp_path / "page.html", "--traces", "none")
