"""``python -m tracking.sync``: fill the MLflow store from the records of a results folder."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from beeline.errors import BeelineError
from beeline.records import find_cells, read_records
from beeline.scoring import summarise
from tracking.mlflow_store import MLflowTracker, without_secrets

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Log every cell that the store does not hold yet; exit code 0, or 1 with a reason."""
    parser = argparse.ArgumentParser(prog="python -m tracking.sync", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR")
    parser.add_argument("--uri", help="another store than the one in the results folder")
    options = parser.parse_args(argv)
    cells = find_cells(options.results)
    if not cells:
        print(f"tracking.sync: there are no records below {options.results}", file=sys.stderr)
        return 1
    tracker = MLflowTracker(options.uri, options.results)
    try:
        for cell, path in cells:
            records = read_records(path).records
            if not records:
                continue
            saved = path.with_suffix(".spec.json")
            spec = json.loads(saved.read_text("utf-8")) if saved.exists() else {}
            where = tracker.log(cell, records, summarise(records).as_dict(), spec)
            print(f"{path.relative_to(options.results)}: {where}")
    except BeelineError as error:
        print(f"tracking.sync: {error}", file=sys.stderr)
        return 1
    except Exception as error:
        text = without_secrets((str(error).splitlines() or [""])[0])[:200]
        print(f"tracking.sync: the store failed ({type(error).__name__}: {text})", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
