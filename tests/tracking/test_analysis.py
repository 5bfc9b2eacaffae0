"""What a study concludes: shown, written, and found again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from beeline.analysis import Figure, Series
from tests.tracking.synthetic import make_analysis
from tracking.analysis import analysis_path, load, show, text


def test_shown_written_and_found_again(tmp_path: Path) -> None:
    analysis = make_analysis()
    printed = show(analysis, tmp_path)
    assert analysis.sentence in " ".join(printed.split())
    assert "newest-first   0.57     0.51-0.63" in printed
    path = analysis_path(analysis, tmp_path)
    assert str(path) in printed
    assert path == tmp_path / "1.0.0" / "pplx_decider_1" / "order_sensitivity" / "blocksworld.analysis.json"
    assert load(tmp_path) == ([analysis], [])
    assert load(tmp_path, model="other") == ([], [])
    assert path.with_name("blocksworld.orders.svg").read_text().startswith("<?xml")
    assert path.with_name("blocksworld.orders.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_analysis_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        show(make_analysis(), tmp_path / folder)
    first, second = (
        {p.name: p.read_bytes() for p in sorted((tmp_path / folder).rglob("*")) if p.is_file()}
        for folder in ("one", "two")
    )
    assert len(first) == 3
    assert first == second


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_text_fits(width: int) -> None:
    analysis = replace(make_analysis(), notes=("a note that is longer than any terminal " * 5,))
    assert max(map(len, text(analysis, width).splitlines())) <= width


def test_a_figure_without_data_is_not_drawn(tmp_path: Path) -> None:
    empty = Figure("empty", "lines", "Nothing", "x", "y", (Series("s", (), ()),))
    nan = Figure("nan", "bars", "Nothing", "x", "y", (Series("s", ("a",), (float("nan"),)),))
    show(make_analysis(figures=(empty, nan)), tmp_path)
    assert [p.name for p in tmp_path.rglob("*.*") if p.is_file()] == ["blocksworld.analysis.json"]


def test_names_of_figures_are_made_file_names(tmp_path: Path) -> None:
    figure = make_analysis().figures[0]
    same = (replace(figure, name="../a/b"), replace(figure, name="a b"), replace(figure, name="a-b"))
    show(make_analysis(figures=same), tmp_path)
    names = sorted(p.name for p in tmp_path.rglob("*.svg"))
    assert names == ["blocksworld.a-b-2.svg", "blocksworld.a-b-3.svg", "blocksworld.a-b.svg"]
    assert {p.parent for p in tmp_path.rglob("*.svg")} == {analysis_path(make_analysis(), tmp_path).parent}


def test_numbers_of_numpy_and_what_is_not_finite(tmp_path: Path) -> None:
    data = {"a": np.float64(0.5), "b": np.arange(3), "c": float("inf"), 4: (1, None), "d": np.int64(7)}
    analysis = make_analysis(data=data)
    show(analysis, tmp_path)
    found = json.loads(analysis_path(analysis, tmp_path).read_text())["data"]
    assert found == {"a": 0.5, "b": [0, 1, 2], "c": None, "4": [1, None], "d": 7}


def test_a_folder_that_cannot_be_written_costs_one_line(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    printed = show(make_analysis(), tmp_path / "results")
    assert "could not be written" in printed
    assert "newest-first" in printed


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("{", "passed over"),
        ("[]", "not a JSON object"),
        ('{"schema": 99}', "schema 99"),
        ('{"schema": 1}', "no field study"),
    ],
)
def test_damaged_files_are_passed_over(tmp_path: Path, damage: str, said: str) -> None:
    show(make_analysis("tiles"), tmp_path)
    path = analysis_path(make_analysis(), tmp_path)
    path.write_text(damage)
    found, notes = load(tmp_path)
    assert [a.domain for a in found] == ["tiles"]
    assert len(notes) == 1
    assert said in notes[0]


def test_one_field_at_a_time_can_be_damaged(tmp_path: Path) -> None:
    analysis = make_analysis()
    show(analysis, tmp_path)
    path = analysis_path(analysis, tmp_path)
    whole = json.loads(path.read_text())
    for field in ("sentence", "tables", "figures", "notes", "data"):
        path.write_text(json.dumps(whole | {field: 7}))
        found, notes = load(tmp_path)
        assert (found, len(notes)) == ([], 1), field
    path.write_text(json.dumps(whole | {"domain": "tiles"}))
    assert load(tmp_path)[1][0].endswith("another place")


def test_several_of_one_domain_stand_side_by_side(tmp_path: Path) -> None:
    first, second = (make_analysis("tiles", variant=variant) for variant in ("a-1.0.0-vs-b", "a-vs-c"))
    plain = make_analysis("tiles")
    for analysis in (first, second, plain):
        show(analysis, tmp_path)
    folder = analysis_path(first, tmp_path).parent
    assert analysis_path(first, tmp_path).name == "tiles.a-1.0.0-vs-b.analysis.json"
    assert (folder / "tiles.a-vs-c.orders.svg").is_file()
    assert load(tmp_path, domain="tiles") == ([first, second, plain], [])
    assert load(tmp_path, domain="tiles.a-vs-c") == ([], [])
    analysis_path(first, tmp_path).rename(folder / "tiles.x.analysis.json")
    assert load(tmp_path)[1][0].endswith("another place")


def test_rows_of_another_length_are_refused(tmp_path: Path) -> None:
    analysis = make_analysis()
    show(analysis, tmp_path)
    path = analysis_path(analysis, tmp_path)
    whole = json.loads(path.read_text())
    whole["tables"][0]["rows"][0] = ["alone"]
    path.write_text(json.dumps(whole))
    assert "other lengths" in load(tmp_path)[1][0]
