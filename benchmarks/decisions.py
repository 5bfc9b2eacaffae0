"""Decisions a second of one process with an in-process model that answers at once.

Ten word_ladder trials of a model without skill, whose frontier soon holds 255 states, through
the local engine with records written and synced, traces kept and a display running. Prints JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beeline.display import Display
from beeline.engine import Asking, LocalEngine, Progress, TrialDone
from beeline.model import Model
from beeline.question import Answer, Question
from beeline.records import Cell
from benchmarks.offline import plans

TRIALS = 10
CELL = Cell("1.0.0", "instant", "score", "word_ladder", "benchmark")


class Instant(Model):
    """Equal weights but for a slight preference that depends on the text alone."""

    name = "instant"
    model_id = "instant"
    placement = "loop"
    concurrency = 16

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Instant:
        """No settings."""
        return cls()

    def describe(self) -> dict[str, Any]:
        """Nothing to tell."""
        return {}

    async def answer(self, question: Question) -> Answer:
        """At once; texts of one length tie, as with rounded probabilities."""
        return Answer([1.0 + len(option) / 1000 for option in question.options], served_model="instant")


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        plan = next(plan for plan in plans(folder) if plan.name == "word_ladder")
        engine = LocalEngine()
        owed = [(trial, 1) for trial in range(1, TRIALS + 1)]
        # Offline arms first, so that only the model side is measured.
        asyncio.run(engine.run(plan, owed, None, lambda batch: None, Progress()))
        requests = 0

        def store(batch: list[TrialDone]) -> None:
            nonlocal requests
            for done in batch:
                requests += done.result["arms"]["model"]["requests"]
                assert done.trace is not None
                done.trace.write(Path(folder) / f"{done.trial}.jsonl.gz", {"schema": 1})

        progress = Progress(total=TRIALS)
        wall, cpu = time.perf_counter(), time.process_time()
        with Display() as display:
            display.add("decisions", progress)
            asyncio.run(engine.run(plan, owed, Asking(Instant(), "{}", CELL), store, progress))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        engine.close()
    json.dump(
        {
            "decisions": requests,
            "decisions_per_s": round(requests / wall),
            "cpu_ms_per_decision": round(1000 * cpu / requests, 3),
        },
        sys.stdout,
    )
    print()


if __name__ == "__main__":
    main()
