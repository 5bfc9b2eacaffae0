"""Prompt texts: written in lines, told in paragraphs; and the paragraphs that every family shares."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["flow", "terms"]


def flow(text: str) -> str:
    """Join the lines of each paragraph. Blank lines part paragraphs; a line that is indented or begins
    with ``#`` (a heading) stays a line of its own, and so does the line after it."""
    paragraphs = []
    for block in text.strip("\n").split("\n\n"):
        lines: list[str] = []
        joinable = False
        for line in block.split("\n"):
            own = line.startswith((" ", "#"))
            if lines and joinable and not own:
                lines[-1] += " " + line.strip()
            else:
                lines.append(line.rstrip())
            joinable = not own
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


_TERMS = """\
# Costs and budget
Each executed information call is charged, also one that repeats an earlier call and one that is
answered with an error. Costs per call: {prices}. The calls of this task may cost {budget} in all. A
call that does not fit what is left of the budget is not executed and costs nothing. At most {calls}
information calls are executed; one more ends the task without a decision. Nothing reminds you of
what is left.

# Trying a candidate
{evaluator} judges one candidate decision, once. The first executed call uses it up, even if the
candidate is malformed; a later call is charged and tells nothing. It neither repairs a candidate nor
says how far it is from the best.

# Deciding
{submit} is free, binding and final: the task ends with it. A decision of the wrong type is not
accepted and may be handed in again. Submit exactly one decision with the argument {key}. A reply
without a tool call also ends the task, with no decision. Only the exact optimum counts as solved.

Make one tool call per turn. Assume no facts besides this text and the answers of the tools.
"""


def terms(evaluator: str, submit: str, key: str, costs: Mapping[str, int], budget: int, calls: int) -> str:
    """Costs, budget, evaluation and submission: the same for every family."""
    prices = ", ".join(f"{name}={costs[name]}" for name in sorted(costs))
    return flow(
        _TERMS.format(
            prices=prices,
            budget=budget,
            calls=calls,
            evaluator=evaluator,
            submit=submit,
            key=key,
        )
    )
