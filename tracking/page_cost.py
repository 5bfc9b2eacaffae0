"""What a decision costs against what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from beeline.scoring import Summary
from tracking.document import Block, Grid, Heading, Picture
from tracking.figures_report import Priced, cost, frontier
from tracking.page_data import decisions, model_label, shared_overalls, slug
from tracking.tables import clean, format_interval, format_score

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["cost_blocks"]


def cost_blocks(version: str, main: Sequence[Summary]) -> list[Block]:
    """Score against dollars for 1,000 decisions over the domains that all models share; nothing where
    no model's cost is known and above zero."""
    domains, scores = shared_overalls(version, main)
    points, unknown = [], []
    for model, item in scores.items():
        if "model" not in item.arms:
            continue
        usages = [
            s.arms["model"].usage
            for s in main
            if s.cell.model == model and s.cell.domain in domains and "model" in s.arms
        ]
        known = [u for u in usages if u is not None]
        made = sum(decisions(u) for u in known)
        costs = [u.cost_usd for u in known if u.cost_usd is not None]
        if len(costs) < len(known) or not made:
            unknown.append(clean(model_label(model)))
        else:
            points.append(Priced(model_label(model), item.arms["model"], 1000 * sum(costs) / made))
    points.sort(key=lambda p: (p.dollars, -p.score.value, p.label))
    if not any(point.dollars > 0 for point in points):
        return []
    best = frontier(points)
    source = min(scores.values(), key=lambda item: (not item.complete, item.model != "none", item.model))
    lines = [(arm, source.arms[arm].value) for arm in ("heuristic", "random") if arm in source.arms]
    over = ", ".join(domains)
    names = ", ".join(f"{p.label} ({format_score(p.score.value)} at ${p.dollars:.3g})" for p in best)
    caption = (
        f"Score over {over} against the cost of 1,000 decisions, as billed or counted. On the efficient "
        f"frontier (diamonds: no model scores more at no more cost): {names}."
    )

    def drawing() -> Canvas:
        return cost(points, lines)

    rows = tuple(
        (
            clean(p.label),
            format_score(p.score.value),
            format_interval(p.score),
            f"{p.dollars:.4g}",
            "yes" if p in best else "no",
        )
        for p in points
    )
    notes = (f"not known, and so not shown: {', '.join(sorted(unknown))}",) if unknown else ()
    headings = ("model", "score", "95% interval", "$ per 1,000 decisions", "efficient")
    return [
        Heading(3, f"Score against cost · version {version}"),
        Picture(f"cost-{slug(version)}", f"Score against cost, version {version}", caption, drawing),
        Grid("Score against cost", headings, rows, notes, words=frozenset({4})),
    ]
