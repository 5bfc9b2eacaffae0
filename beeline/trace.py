"""The trace of one model search: one line per expansion, rich enough to recompute every tally
and to replay the search without the model.

A line holds indices into the frontier (in the order found), never the texts of all options: the
search is deterministic, so a replay that expands ``chosen`` at each step meets the same
frontiers. ``order`` is the last order shown: ``order[k]`` is the frontier index of the option
shown at place k.
"""

from __future__ import annotations

from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from beeline.lines import compact, read_lines, write_lines
from beeline.question import Answer

if TYPE_CHECKING:
    from beeline.search import Frontier
    from beeline.space import Space
    from beeline.tally import Tally

__all__ = ["StepTrace", "Trace", "read_trace"]

TOP = 5


class StepTrace:
    """The replies to one step's question, its second asking included."""

    __slots__ = ("choice", "disagrees", "ending", "replies", "sum")

    def __init__(self) -> None:
        self.replies: list[dict[str, Any]] = []
        self.choice: str | None = None
        self.disagrees = False
        self.ending: str | None = None
        self.sum: float | None = None

    def reply(self, answer: Answer, problem: str | None) -> None:
        """Note one reply and why it was unusable (None when it was usable)."""
        self.choice = answer.choice
        self.replies.append(
            {
                "seconds": answer.seconds,
                "input_tokens": answer.input_tokens,
                "output_tokens": answer.output_tokens,
                "cost_usd": answer.cost_usd,
                "served": answer.served_model,
                "request": answer.request_id,
                "retries": answer.retries,
                "refused": answer.refused,
                "problem": problem,
                "short_usage": answer.short_usage,
                "cached": answer.cached,
            }
        )


class Trace:
    """Lines of JSON, one per expansion, kept in memory until the trial ends."""

    __slots__ = ("lines",)

    def __init__(self) -> None:
        self.lines: list[str] = []

    def forced(self, space: Space, tally: Tally, state: int) -> None:
        """A step that took the only state there was."""
        judged = tally.judge(state)
        self._append(
            {
                "step": len(self.lines) + 1,
                "frontier": 1,
                "forced": True,
                "chosen": 0,
                "state": space.text(state),
                "distance": judged.distance,
                "best_distance": judged.best,
            }
        )

    def step(
        self,
        space: Space,
        tally: Tally,
        frontier: Frontier,
        index: int,
        order: list[int],
        weights: list[float],
        replies: StepTrace,
        fallback: bool,
    ) -> None:
        """A step that asked the model; call before the state leaves the frontier.

        ``weights`` are in the order shown. ``rank`` is the place, counted from 1, of the
        likeliest state with the least distance among all options by falling probability,
        equal ones sharing the better place; None when no frontier state reaches a goal.
        """
        states = frontier.states
        judged = tally.judge(states[index])
        to_goal = space.to_goal
        rank = None
        if judged.best is not None:
            best = judged.best
            best_weight = max(w for i, w in zip(order, weights, strict=True) if to_goal[states[i]] == best)
            rank = 1 + sum(w > best_weight for w in weights)
        top = nlargest(TOP, zip(weights, order, strict=True), key=_falling)
        line: dict[str, Any] = {
            "step": len(self.lines) + 1,
            "frontier": len(states),
            "forced": False,
            "chosen": index,
            "state": space.text(states[index]),
            "distance": judged.distance,
            "best_distance": judged.best,
            "regret": None
            if judged.distance is None or judged.best is None
            else judged.distance - judged.best,
            "contested": judged.contested,
            "on_path": judged.on_path,
            "rank_of_best": rank,
            "probability": weights[order.index(index)],
            "top": [[i, w, tally.judge(states[i]).distance] for w, i in top],
            "order": order,
            "sum": replies.sum,
            "replies": replies.replies,
            "fallback": fallback,
            "ending": replies.ending,
            "choice": replies.choice,
            "disagrees": replies.disagrees,
        }
        if len(top) == TOP and top[-1][0] == top[0][0] and not fallback:
            # More may share the first place than fit into "top".
            line["tied"] = sorted(i for i, w in zip(order, weights, strict=True) if w == top[0][0])
        self._append(line)

    def _append(self, line: dict[str, Any]) -> None:
        self.lines.append(compact(line))

    def write(self, path: Path, header: dict[str, Any]) -> None:
        """Write header and lines; raises StorageError."""
        write_lines(path, header, self.lines, "trace")


def _falling(pair: tuple[float, int]) -> tuple[float, int]:
    return pair[0], -pair[1]


def read_trace(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header and the step lines of a trace; raises StorageError naming the file."""
    return read_lines(path, "trace")
