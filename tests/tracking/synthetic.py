"""Results folders made up: models of known quality, with records, traces and analyses, no search run."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from beeline.analysis import Analysis, Figure, Series, Table
from beeline.latency import LatencyHistogram
from beeline.lines import compact, write_lines
from beeline.records import Cell, Record
from tests.beeline.test_scoring import record

DOMAINS = ("tiles", "blocksworld", "countdown", "word_ladder", "wikispeedia", "rush_hour", "keys_doors")
MODELS = (
    # short name, API name, quality 0..1, dollars a request, milliseconds a reply
    ("jev", "jev-1.13.0", 0.55, 4.2e-5, 220),
    ("luna", "openai/gpt-6-luna", 0.45, 9e-5, 400),
    ("pplx_decider_1", "pplx-decider-v1.1-27b", 0.57, 2.1e-5, 180),
    ("mercury_decide", "mercury-decide", 0.58, 2e-5, 90),
    ("d1", "d1", 0.4, 5e-5, 300),
    ("clef", "clef", 0.38, 2.4e-4, 900),
    ("clef_flash", "clef-flash", 0.25, 1.1e-4, 500),
    ("kev_4b", "kev-4b", 0.33, 4.1e-5, 260),
    ("sparrow", "sparrow-0.2", 0.2, 0.0, 40),
    ("gemini", "gemini-3-decide", 0.6, None, 700),
)


def _arm(draw: random.Random, shortest: int, quality: float, hardness: float) -> dict[str, Any]:
    """A search that expands the fewer states the better."""
    spread = draw.gauss(0, 0.8)
    expansions = max(shortest + 1, round((shortest + 1) * math.exp((1 - quality) * hardness + spread)))
    solved = expansions < 2500
    expansions = min(expansions, 2500)
    length = shortest + draw.randrange(3) if solved else None
    decisions = expansions - 1
    share = min(0.98, 0.15 + 0.7 * quality)
    optimal = (
        sum(draw.random() < share for _ in range(min(decisions, 50)))
        * decisions
        // max(1, min(decisions, 50))
    )
    dead = min(decisions - optimal, int(decisions * 0.1 * (1 - quality)))
    return {
        "expansions": expansions,
        "solved": solved,
        "path_length": length,
        "score": (shortest + 1) / (expansions if solved else 2500),
        "path_score": shortest / length if length else None,
        "choices": {
            "decisions": decisions,
            "optimal": optimal,
            "regret": int((decisions - optimal - dead) * 1.6),
            "dead_ends": dead,
            "contested": 0,
            "on_path": 0,
        },
    }


def _asked(
    draw: random.Random, requests: int, model_id: str, dollars: float | None, ms: float
) -> dict[str, Any]:
    latency = LatencyHistogram()
    for _ in range(min(requests, 20)):
        latency.add(ms / 1000 * math.exp(draw.gauss(0, 0.35)))
    ties = requests // 17
    return {
        "requests": requests,
        "input_tokens": requests * 900,
        "output_tokens": requests,
        "cost_usd": None if dollars is None else dollars * requests,
        "refusals": 0,
        "fallbacks": 0,
        "invalid_answers": 0,
        "retries": draw.randrange(2),
        "ties": ties,
        "disagreements": 0,
        "short_usage": 0,
        "cached": 0,
        "outcomes": {"answered": requests - ties, "tie": ties},
        "latency_ms": latency.as_dict(),
        "served_models": {model_id: requests},
    }


def make_records(
    domain: str,
    model: tuple[str, str, float, float | None, float] | None,
    trials: int = 100,
    repeats: int = 1,
    **more: Any,
) -> list[Record]:
    """A cell's records; ``model`` None for the baseline. ``more`` are fields of the record."""
    draw = random.Random(f"{domain} {model} {more}")
    hardness = 3.0 + DOMAINS.index(domain) % 4 if domain in DOMAINS else 3.0
    found = []
    for trial in range(1, trials + 1):
        shortest = 4 + trial % 9
        arms: dict[str, Any] = {
            "oracle": {
                "expansions": shortest + 1,
                "solved": True,
                "path_length": shortest,
                "score": 1.0,
                "path_score": 1.0,
            },
            "heuristic": _arm(random.Random(f"h {domain} {trial}"), shortest, 0.5, hardness),
            "random": _arm(random.Random(f"r {domain} {trial}"), shortest, 0.0, hardness),
        }
        for repeat in range(1, repeats + 1):
            mine = dict(arms)
            if model is not None:
                arm = _arm(draw, shortest, model[2], hardness)
                mine["model"] = arm | _asked(draw, arm["expansions"] - 1, model[1], model[3], model[4])
            fields: dict[str, Any] = {
                "domain": domain,
                "heuristic": "classic",
                "model": "none" if model is None else model[0],
                "model_id": None if model is None else model[1],
                "study": "baseline" if model is None else "score",
                "repeat": repeat,
                "shortest_path": shortest,
            }
            found.append(record(trial, mine, **(fields | more)))
    return found


def write_records(results: Path, records: Sequence[Record]) -> Path:
    """Into the place that the records name."""
    path = records[0].cell.path(results)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(r.line() for r in records), encoding="utf-8")
    return path


def write_traces(
    results: Path, cell: Cell, trials: int, steps: int = 40, early: float = 0.1, bias: float = 0.1
) -> None:
    """Traces of a model that takes the first place ``early`` of the time regardless, and calls its
    choice ``bias`` too likely."""
    draw = random.Random(str(cell))
    for trial in range(1, trials + 1):
        lines = []
        for step in range(1, steps + 1):
            options = 2 + min(step, 60)
            order = list(range(options))
            draw.shuffle(order)
            chosen = order[0] if draw.random() < early else draw.randrange(options)
            chance = draw.random()
            right = draw.random() < chance
            line = {
                "step": step,
                "frontier": options,
                "forced": False,
                "chosen": chosen,
                "state": "s",
                "distance": 3 if right else 4,
                "best_distance": 3,
                "probability": min(1.0, chance + bias),
                "order": order,
                "fallback": False,
            }
            lines.append(compact(line))
        write_lines(cell.trace_path(results, trial, 1), {"schema": 1}, lines, "trace")


def make_analysis(domain: str = "blocksworld", model: str = "pplx_decider_1", **more: Any) -> Analysis:
    """The conclusion of a study of option orders."""
    orders = ("benchmark", "random-2", "random-3", "found", "newest-first", "best-first", "worst-first")
    scores = (0.48, 0.53, 0.5, 0.49, 0.57, 0.51, 0.5)
    fields: dict[str, Any] = {
        "study": "order_sensitivity",
        "domain": domain,
        "model": model,
        "version": "1.0.0",
        "sentence": "No order moves the score by more than chance would (largest ratio 1.19, Holm p = 0.21).",
        "tables": (
            Table(
                "Scores by order, 50 trials",
                ("order", "score", "95% interval"),
                tuple(
                    (o, f"{s:.2f}", f"{s * 0.9:.2f}-{s * 1.1:.2f}")
                    for o, s in zip(orders, scores, strict=True)
                ),
            ),
        ),
        "figures": (
            Figure(
                "orders",
                "forest",
                "Score by option order",
                "order",
                "score (logarithmic)",
                (
                    Series(
                        "score",
                        orders,
                        scores,
                        tuple(s * 0.9 for s in scores),
                        tuple(s * 1.1 for s in scores),
                    ),
                ),
                reference=0.48,
                log_y=True,
                caption="All intervals overlap the benchmark order's.",
            ),
        ),
        "data": {"scores": dict(zip(orders, scores, strict=True))},
        "notes": ("Orders other than the benchmark's draw from paths of their own.",),
    }
    return Analysis(**(fields | more))
