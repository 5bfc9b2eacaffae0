"""python -m tracking.spend over a ledger with every kind of request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from beeline.ledger import FILE, Ledger
from beeline.services import Estimate
from beeline.spend_caps import Caps
from tests.tracking.synthetic import MODELS, make_records, write_records
from tracking.spend import main

EXPECTED = Estimate(2000, 1, 0.000084)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    with Ledger(tmp_path / FILE, Caps(usd=5)) as ledger:
        jev = ledger.account("jev", Caps(tokens=10**6, requests=500))
        for _ in range(3):
            jev.settle(jev.begin(EXPECTED), Estimate(2345, 1, 2345 * 0.042 / 1e6))
        jev.reject(jev.begin(EXPECTED))
        jev.unknown(jev.begin(EXPECTED))
        local = ledger.account("local")
        local.settle(local.begin(Estimate(100)), Estimate())
    return tmp_path


def test_the_table(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--results", str(results)]) == 0
    assert capsys.readouterr().out == (
        "model          requests  input tokens  output tokens        dollars\n"
        "jev                   5         7,035              3      $0.000295\n"
        "  + estimated                   2,000              1      $0.000084\n"
        "local                 1             0        unknown        unknown\n"
        "  + estimated                     100\n"
        "all models            6         7,035          3 + ?  $0.000295 + ?\n"
        "  + estimated                   2,100              1      $0.000084\n"
        "\n"
        "jev: 1 request turned away by the host, at no cost\n"
        "jev: 1 request without a reply that may have been billed, estimated\n"
        "local: 1 request of unknown cost, in no sum of dollars\n"
        "local: 1 request of unknown output tokens, in no sum of tokens\n"
        "all models: caps spend.max_usd=5.0\n"
        "jev: caps model.max_tokens=1000000, model.max_requests=500\n"
    )


def test_json(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--results", str(results), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["models"]["jev"]["usd"] == {"exact": "0.000295470000", "estimated": "0.000084000000"}
    assert data["models"]["local"]["unknown"] == {"cost": 1, "input_tokens": 0, "output_tokens": 1}
    assert data["total"]["requests"] == 6
    assert data["caps"]["spend"] == {"max_usd": 5.0, "max_tokens": None, "max_requests": None}


def test_requests_on_their_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Ledger(tmp_path / FILE) as ledger:
        ledger.account("jev").begin(EXPECTED)
        assert main(["--results", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "jev: 1 request on the way: 2,001 tokens and $0.000084 reserved, not in the sums above\n" in out
    assert "all models" not in out


def test_runs_that_spent_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_records(tmp_path, make_records("tiles", MODELS[8], 1))
    assert main(["--results", str(tmp_path)]) == 0
    assert f"nothing was spent with {tmp_path}" in capsys.readouterr().out
    assert main(["--results", str(tmp_path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["models"], data["total"]["requests"]) == ({}, 0)


def test_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--results", str(tmp_path / "none")]) == 1
    assert "nothing has been spent with this results folder" in capsys.readouterr().err


def test_no_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--results", str(tmp_path)]) == 1
    assert "nothing has been spent with this results folder" in capsys.readouterr().err
