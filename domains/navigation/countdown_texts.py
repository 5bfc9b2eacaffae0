"""countdown: other ways to write the numbers that are left.

Only ``plain``, as in version 1.0.0, ever writes a state as a bare integer: a host whose reply is an
object with the options as keys may sort such keys. Version 2.0.0 uses ``list``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from beeline.representation import Representation, problems_own

if TYPE_CHECKING:
    from domains.navigation.countdown import CountdownProblem, Numbers

__all__ = ["REPRESENTATIONS"]

MOVES = (
    "One move takes two of the numbers away and puts one number back: their sum, their product, the larger "
    "minus the smaller (unless that is 0), or the larger divided by the smaller (only when nothing remains). "
    "Every number has to be used, and no move can be taken back."
)


def in_list(problem: CountdownProblem, state: Numbers) -> str:
    """In square brackets, smallest first.

    >>> in_list(None, (3, 7, 25)), in_list(None, (64,))
    ('[3, 7, 25]', '[64]')
    """
    return f"[{', '.join(map(str, state))}]"


def sentence(problem: CountdownProblem, state: Numbers) -> str:
    """One sentence, smallest first.

    >>> sentence(None, (3, 7, 25))
    'The numbers 3, 7 and 25 are left.'
    >>> sentence(None, (64,))
    'Only the number 64 is left.'
    """
    *most, last = map(str, state)
    return (
        f"The numbers {', '.join(most)} and {last} are left." if most else f"Only the number {last} is left."
    )


def counted(problem: CountdownProblem, state: Numbers) -> str:
    """How many are left, then each, largest first.

    >>> counted(None, (3, 7, 25)), counted(None, (64,))
    ('3 left: 25; 7; 3', '1 left: 64')
    """
    return f"{len(state)} left: {'; '.join(map(str, reversed(state)))}"


REPRESENTATIONS = (
    problems_own("plain"),
    Representation(
        "list",
        in_list,
        lambda problem: f"Be left with exactly one number: {in_list(problem, (problem.target,))}",
        lambda problem: "An option lists the numbers that are left, in brackets, smallest first. " + MOVES,
    ),
    Representation(
        "sentence",
        sentence,
        lambda problem: f"Reach the state that says: {sentence(problem, (problem.target,))}",
        lambda problem: "An option says in a sentence which numbers are left, smallest first. " + MOVES,
    ),
    Representation(
        "counted",
        counted,
        lambda problem: f"Reach the state {counted(problem, (problem.target,))}",
        lambda problem: (
            "An option says how many numbers are left and then which, largest first, with a semicolon "
            "between them. " + MOVES
        ),
    ),
)
