"""Figures: every kind is drawn, nothing is empty, labels keep apart, the bytes are always the same."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from beeline.analysis import Figure, Series
from beeline.statistics import Interval
from tests.shared import ROOT
from tracking.figures import draw, has_data, images, svg
from tracking.figures_report import Priced, cost, frontier
from tracking.figures_style import as_svg, inline, styled

HOSTILE = '</text><script>alert("$x^2$ & --> ]]>")</script>\x00\x1b'


def figure(kind: Any, **more: Any) -> Figure:
    x: tuple[Any, ...] = ("a", "b", "c") if kind in ("forest", "bars") else (1.0, 2.0, 3.0)
    series = (
        Series("ours", x, (0.2, 0.4, 0.8), (0.1, 0.3, 0.7), (0.3, 0.5, 0.9)),
        Series("published", x, (0.3, 0.3, 0.3)),
    )
    fields: dict[str, Any] = {"series": series} | more
    return Figure("name", kind, "Title", "across", "up", **fields)


KINDS = ("forest", "bars", "lines", "scatter")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("log", [False, True])
def test_every_kind_is_well_formed_and_the_same_twice(kind: str, log: bool) -> None:
    drawn = figure(kind, log_y=log, reference=0.5)
    as_text, as_image = images(drawn)
    ElementTree.fromstring(as_text)
    assert (as_text, as_image) == images(drawn)
    for word in ("Title", "across", "up", "ours"):
        assert word in as_text


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_and_long_names_stay_text(kind: str) -> None:
    x: tuple[Any, ...] = (HOSTILE, "n" * 300) if kind in ("forest", "bars") else (1.0, 2.0)
    series = tuple(Series(label, x, (0.2, 0.4)) for label in (HOSTILE, "m" * 300))
    drawn = svg(figure(kind, series=series))
    tree = ElementTree.fromstring(drawn)
    assert not [element for element in tree.iter() if "script" in str(element.tag)]
    assert "<script" not in inline(drawn, "name", HOSTILE).replace("\x00", "")


def test_signs_that_the_font_lacks_raise_no_warning() -> None:
    assert images(figure("forest", series=(Series("s", ("模型", "🐝"), (0.1, 0.2)),)))


@pytest.mark.parametrize("reference", [None, 0.5, "diagonal"])
def test_references(reference: Any) -> None:
    assert svg(figure("lines", reference=reference))


def test_one_point_and_equal_values_can_be_drawn() -> None:
    for kind in KINDS:
        x: tuple[Any, ...] = ("a",) if kind in ("forest", "bars") else (1.0,)
        for log in (False, True):
            assert svg(figure(kind, series=(Series("s", x, (0.5,)),), log_y=log, log_x=log))


def test_bounds_on_the_wrong_side_reach_no_further() -> None:
    assert svg(figure("forest", series=(Series("s", ("a",), (0.5,), (0.6,), (0.4,)),)))


@pytest.mark.parametrize(
    "series",
    [
        (),
        (Series("s", (), ()),),
        (Series("s", ("a",), (float("nan"),)),),
        (Series("s", ("a",), (0.0,)),),
    ],
)
def test_nothing_to_draw(series: tuple[Series, ...]) -> None:
    assert not has_data(figure("forest", series=series, log_y=True))


def test_unknown_kinds_are_named() -> None:
    with pytest.raises(ValueError, match="pie"), styled():
        draw(figure("pie"))


def test_frontier() -> None:
    def at(label: str, score: float, dollars: float) -> Priced:
        return Priced(label, Interval(score, score, score), dollars)

    points = [
        at("a", 0.5, 1),
        at("b", 0.4, 2),
        at("c", 0.6, 2),
        at("d", 0.6, 2),
        at("e", 0.1, 0),
        at("f", 0.6, 3),
    ]
    assert [p.label for p in frontier(points)] == ["e", "a", "c", "d"]


def test_labels_of_a_crowd_keep_apart() -> None:
    """Twelve models on four close spots: no label's box lies over another's."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Annotation, Text

    points = [
        Priced(f"model_{k}", Interval(s, s * 0.95, s * 1.05), 0.01 * 1.3 ** (k % 4))
        for k, s in enumerate(0.2 + 0.025 * k for k in range(12))
    ]
    with styled():
        drawn = cost(points, [("random", 0.01)])
        canvas: Any = FigureCanvasAgg(drawn)
        canvas.draw()
        labels = [t for t in drawn.axes[0].texts if isinstance(t, Annotation) and t.get_text() != "random"]
        assert len(labels) == 12
        boxes = [Text.get_window_extent(label, canvas.get_renderer()) for label in labels]
    clashes = [
        (labels[i].get_text(), labels[j].get_text())
        for i in range(12)
        for j in range(i)
        if boxes[i].shrunk(0.9, 0.8).overlaps(boxes[j].shrunk(0.9, 0.8))
    ]
    assert not clashes


def test_a_page_keeps_ids_apart_and_follows_the_text_colour() -> None:
    with styled():
        document = as_svg(draw(figure("forest")))
    one, two = inline(document, "first", "what is seen"), inline(document, "second", "x")
    ids = {e.get("id") for e in ElementTree.fromstring(one).iter() if e.get("id")}
    others = {e.get("id") for e in ElementTree.fromstring(two).iter() if e.get("id")}
    assert ids
    assert not ids & others
    assert 'aria-label="what is seen"' in one
    assert "currentColor" in one
    assert "#ffffff" not in one


def test_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    code = (
        "import hashlib; from tests.tracking.test_figures import figure; "
        "from tracking.figures import images; s, p = images(figure('forest')); "
        "print(hashlib.sha256(s.encode() + p).hexdigest())"
    )
    (tmp_path / "matplotlibrc").write_text("font.size: 30\nsvg.fonttype: path\n")
    found = set()
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PATH": "", "MPLCONFIGDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(run.stdout)
    assert len(found) == 1


def test_startup_without_matplotlib() -> None:
    code = (
        "import sys, tracking.report, tracking.analysis, tracking.publish; print('matplotlib' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
