"""One sample of each representation, as a page.

    python -m tests.representation_samples      # rewrite docs/representations.md

Trial 1 of each domain where its texts may be shown, else an invented trial: Wikispeedia's articles
may not be redistributed.
"""

from __future__ import annotations

from collections.abc import Iterator

from beeline.problem import Domain, Problem
from beeline.representation import Representation
from domains.navigation.wikispeedia import Site, WikispeediaProblem
from domains.navigation.word_ladder import WordLadderProblem
from tests.domains_found import make, targets
from tests.shared import ROOT

PAGE = ROOT / "docs" / "representations.md"

LINKS = {
    "Isaac_Newton": ["Moon", "Robert_Hooke"],
    "Moon": ["Apollo_program"],
    "Robert_Hooke": ["Isaac_Newton"],
    "Apollo_program": ["Moon"],
}
WORDS = ("atone", "scare", "score", "shone", "stone", "store")

HEAD = """\
# Ways to write a state

Rewritten by `python -m tests.representation_samples`; a test holds this page to the code.

Each domain can write its states in several ways. The first is that of version 1.0.0; goal and rules are
rewritten to match each. All ways of a domain say the same: a test reads each text back and gets the state.
`study=representation_sensitivity` runs a model on every way (see [studies](studies.md)); a version may name
one by `representation` in its table for a domain, as version 2.0.0 does for countdown.
"""


def sample_problem(domain: Domain) -> Problem[object]:
    """A problem whose texts may be shown."""
    if domain.name == "wikispeedia":
        return WikispeediaProblem(Site(LINKS, {}), "Isaac_Newton", "Apollo_program")  # type: ignore[return-value]
    if domain.name == "word_ladder":
        return WordLadderProblem(WORDS, "stone", "scare")  # type: ignore[return-value]
    return domain.problem(1)


def samples(representation: Representation, problem: Problem[object]) -> Iterator[str]:
    yield f"### {representation.name}"
    yield ""
    yield f"- goal: {representation.objective(problem)}"
    yield f"- rules: {representation.context(problem)}"
    yield "- the start and two states one move on:"
    yield ""
    yield "```"
    for state in (problem.start, *problem.successors(problem.start)[:2]):
        yield representation.render(problem, state)
    yield "```"
    yield ""


def page() -> str:
    lines = [HEAD]
    for name in targets():
        domain = make(name)
        problem = sample_problem(domain)
        lines += [f"## {domain.title} (`{name}`)", ""]
        for representation in domain.representations:
            lines += samples(representation, problem)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
