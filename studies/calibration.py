"""Count the published models' full runs with nothing calibrated: ``python -m studies.calibration``.

Prints, for each model, the tokens we count for its published scores, the published tokens, their
ratio (the model's factor), and the error of a forecast that uses the mean factor of all others. The
counts stand in :mod:`studies.published`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beeline.cache import cache_folder
from beeline.overrides import config_folder
from beeline.versions import Definition
from beeline.wording import WORDINGS
from beeline.worker import DomainPlan
from studies.forecast import Arms, Profile, measure, position_range, taken
from studies.published import PUBLISHED, Published, mean_factor

__all__ = ["count_published", "main", "measure_version", "table"]


def measure_version(name: str, trials: int = 100) -> dict[str, tuple[Arms, Profile]]:
    """Measure all domains of a version."""
    definition = Definition.read({k: v for k, v in _load("version", name).items() if k != "name"})
    measured = {}
    for domain, entry in definition.domains.items():
        plan = DomainPlan.of(
            entry.parameters,
            name=domain,
            target=str(_load("domain", domain)["target"]),
            heuristic=entry.heuristic,
            definition=definition.digest,
            limits=definition.limits,
            wording=WORDINGS[definition.wording],
            plugins=(),
            cache=str(cache_folder()),
        )
        measured[domain] = measure(plan, trials)
    return measured


def count_published(model: Published, measured: Mapping[str, tuple[Arms, Profile]]) -> tuple[int, int]:
    """Questions and tokens of 100 trials of each domain, with a factor of 1."""
    questions = tokens = 0.0
    for domain, (arms, profile) in measured.items():
        positions, _ = position_range(domain, arms, model)
        found = taken(arms, profile, positions.likely)
        questions += 100 * found.questions
        tokens += 100 * found.tokens
    return round(questions), round(tokens)


def table() -> str:
    """Published against forecast, in millions of input tokens; the error is that of a forecast
    with the mean factor of the other models."""
    lines = ["model             published  counted  factor  forecast by others  error"]
    for model in PUBLISHED:
        others = model.counted * mean_factor(without=model)
        lines.append(
            f"{model.title:<17} {model.input_tokens / 1e6:>9,.0f} {model.counted / 1e6:>8,.0f} "
            f"{model.factor:>7.2f} {others / 1e6:>19,.0f} {others / model.input_tokens - 1:>+6.0%}"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure version 1.0.0 and print."""
    measured = measure_version("1.0.0")
    for model in PUBLISHED:
        questions, tokens = count_published(model, measured)
        print(f"{model.title}: {questions:,} questions, {tokens:,} tokens counted")
    print(table())


def _load(group: str, name: str) -> dict[str, Any]:
    from omegaconf import OmegaConf

    data = OmegaConf.to_container(OmegaConf.load(config_folder() / group / f"{name}.yaml"), resolve=True)
    assert isinstance(data, dict)
    return {str(key): value for key, value in data.items()}


if __name__ == "__main__":
    main()
