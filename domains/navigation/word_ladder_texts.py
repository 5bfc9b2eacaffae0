"""word_ladder: other ways to write a word.

Capitals as in version 1.0.0, quoted in lower case, and letter by letter, which shows letters to
models that read words whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from beeline.representation import Representation, problems_own

if TYPE_CHECKING:
    from domains.navigation.word_ladder import WordLadderProblem

__all__ = ["REPRESENTATIONS"]

MOVES = (
    "One move replaces exactly one of its five letters by another letter, in the same place, and the result "
    "must be in the word list. Letters are never moved, added or removed."
)


def quoted(problem: WordLadderProblem, state: str) -> str:
    """Lower case in quotation marks.

    >>> quoted(None, "stone")
    '"stone"'
    """
    return f'"{state}"'


def spaced(problem: WordLadderProblem, state: str) -> str:
    """Capitals with a space between.

    >>> spaced(None, "stone")
    'S T O N E'
    """
    return " ".join(state.upper())


def spelled(problem: WordLadderProblem, state: str) -> str:
    """The word, then its letters by place.

    >>> spelled(None, "stone")
    'stone (1 s, 2 t, 3 o, 4 n, 5 e)'
    """
    return f"{state} ({', '.join(f'{place} {letter}' for place, letter in enumerate(state, 1))})"


REPRESENTATIONS = (
    problems_own("capitals"),
    Representation(
        "quoted",
        quoted,
        lambda problem: f"Reach the word {quoted(problem, problem.target)}.",
        lambda problem: "Each state is one word in quotation marks. " + MOVES,
    ),
    Representation(
        "spaced",
        spaced,
        lambda problem: f"Reach the word {spaced(problem, problem.target)}.",
        lambda problem: "Each state is one word, written letter by letter with spaces between. " + MOVES,
    ),
    Representation(
        "spelled",
        spelled,
        lambda problem: f"Reach the word {spelled(problem, problem.target)}.",
        lambda problem: (
            "Each state is one word, followed in brackets by its letters with the number of their place. "
            + MOVES
        ),
    ),
)
