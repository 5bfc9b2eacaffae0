"""The report from records alone: formats, marks, widths, exit codes."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from beeline.records import Record
from beeline.scoring import summarise
from tests.beeline.test_scoring import USAGE, choices, record, result
from tracking import tables
from tracking.report import FORMATS, main, render


def cell(model: str = "sparrow", domain: str = "tiles") -> list[Record]:
    return [
        record(
            n,
            {
                "oracle": result(1.0),
                "heuristic": result(0.3, solved=n > 1, choices=choices(n - 1, 0, 0, 0)),
                "random": result(0.0066, solved=False),
                "model": result(0.09, solved=n > 2) | USAGE,
            },
            model=model,
            domain=domain,
        )
        for n in range(1, 21)
    ]


def write(results: Path, records: list[Record]) -> Path:
    path = records[0].cell.path(results)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(r.line() for r in records), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("value", "printed"),
    [(1.0, "1.00"), (0.01, "0.01"), (0.00999, "0.01"), (0.009, "0.0090"), (0.00041, "0.00041"), (None, "-")],
)
def test_scores_as_printed(value: float | None, printed: str) -> None:
    assert tables.format_score(value) == printed


def test_text_marks_and_footnotes() -> None:
    text = render([summarise(cell())], "text", 80)
    assert text.startswith("tiles · manhattan · model sparrow · 20 trials · version 1.0.0\n")
    rows = {line.split()[0]: line.split()[1] for line in text.splitlines()[2:6]}
    assert rows["sparrow"] == "0.09*"
    assert rows["heuristic"] == "0.30†"
    assert rows["random"] == "0.0066"
    assert "* sparrow: 2 of 20 trials unsolved" in text
    assert "† heuristic: 1 of 20 trials unsolved" in text
    assert "left out of regret: heuristic 1" in text


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_text_fits_and_cuts_nothing(width: int) -> None:
    long = "a-model-with-a-very-long-short-name-" * 3
    text = tables.text([summarise(cell(long))], width)
    assert max(map(len, text.splitlines())) <= width
    assert long in "".join(text.split())
    assert "..." not in text


def test_names_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in tables.text([summarise(cell("evil\x1b[31m"))])


def test_every_format_and_filters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for domain in ("tiles", "countdown"):
        write(tmp_path, cell(domain=domain))
    printed = {}
    for name in FORMATS:
        assert main(["--results", str(tmp_path), "--format", name]) == 0
        printed[name] = capsys.readouterr().out
    assert "overall of tiles, countdown only, no headline score" in printed["text"].replace("\n", " ")
    assert "| sparrow | 0.09\\* |" in printed["markdown"]
    rows = list(csv.DictReader(io.StringIO(printed["csv"])))
    assert [row["arm"] for row in rows] == ["oracle", "heuristic", "random", "model"] * 2
    data = json.loads(printed["json"])
    assert data["overall"][0]["headline"] is None
    assert data["summaries"][0]["arms"]["model"]["usage"]["requests"] == 80
    assert main(["--results", str(tmp_path), "--domain", "tiles", "--format", "json"]) == 0
    assert [s["cell"]["domain"] for s in json.loads(capsys.readouterr().out)["summaries"]] == ["tiles"]


def test_output_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "results", cell())
    target = tmp_path / "report.md"
    asked = ["--results", str(tmp_path / "results"), "--format", "markdown", "--output"]
    assert main([*asked, str(target)]) == 0
    assert target.read_text(encoding="utf-8").startswith("### tiles")
    assert main([*asked, str(tmp_path / "no" / "such")]) == 1
    assert capsys.readouterr().err.startswith("cannot write")


def test_notes_and_unknown_fields_go_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = cell()
    records[0] = replace(records[0], extra={"mood": "good"})
    path = write(tmp_path, records)
    path.write_text(path.read_text(encoding="utf-8") + '{"schema":1,', encoding="utf-8")
    assert main(["--results", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "mood" in err
    assert "torn" in err
    assert "mood" not in out


def test_newer_records_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, cell())
    path.write_text(path.read_text(encoding="utf-8") + '{"schema":99}\n', encoding="utf-8")
    assert main(["--results", str(tmp_path)]) == 1
    assert "newer beeline" in capsys.readouterr().err


def test_no_records_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--results", str(tmp_path), "--model", "nobody"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "--model nobody" in err


def test_wrong_usage_exits_with_2() -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--format", "pdf"])
    assert stop.value.code == 2
