"""``python -m tracking.ui``: the MLflow UI over a results folder's store, on loopback only."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tracking.mlflow_store import store_uri

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the address and become the server; 1 when there is no store yet."""
    parser = argparse.ArgumentParser(
        prog="python -m tracking.ui",
        description="Show the MLflow store of a results folder in the browser, on loopback only.",
    )
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="default: results"
    )
    parser.add_argument("--port", type=int, default=5000, help="default: 5000")
    options = parser.parse_args(argv)
    if not (options.results / "mlflow.db").exists():
        print(
            f"tracking.ui: there is no store in {options.results}: run a benchmark with "
            f"tracking=mlflow first, or fill it with python -m tracking.sync --results {options.results}",
            file=sys.stderr,
        )
        return 1
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    # Job workers would take 1.3 GiB that nothing here uses.
    os.environ["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"
    print(f"MLflow on http://127.0.0.1:{options.port} (Ctrl-C ends it)", flush=True)
    command = ["mlflow", "server", "--host", "127.0.0.1", "--port", str(options.port), "--workers", "1"]
    command += ["--backend-store-uri", store_uri(options.results)]
    os.execv(sys.executable, [sys.executable, "-m", *command])


if __name__ == "__main__":
    sys.exit(main())
