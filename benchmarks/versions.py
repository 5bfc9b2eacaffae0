"""How much version 2.0.0 moves the scores of sparrow, and of sparrow rounded to two decimals.

Run from the project root::

    PYTHONPATH=. python benchmarks/versions.py [--trials 100] [--domains blocksworld,countdown]
        [--workers 2] [--keep versions.jsonl]

``--keep`` names a file of finished searches: a run that is started again, or with more trials, goes
on from it. Each trial is searched under 1.0.0, under 1.0.0 with seeded ties (which tells the two
changes apart) and under 2.0.0, with the same name of the model, so that orders and evictions are
drawn alike. The rounded model stands for hosts that answer with two decimals.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from beeline.cache import cache_folder
from beeline.model import Model, make_model
from beeline.model_arm import UsabilityGuard, option_weights
from beeline.overrides import config_folder
from beeline.question import Answer, Question
from beeline.statistics.paired import compare
from beeline.versions import Definition
from beeline.wording import WORDINGS
from beeline.worker import DomainPlan, TrialTask, begin_model_arm, open_space, run_offline

DOMAINS = ("tiles", "blocksworld", "countdown", "word_ladder", "wikispeedia", "rush_hour", "keys_doors")
MODELS = ("sparrow", "sparrow, two decimals")
VERSIONS = ("1.0.0", "1.0.0 with seeded ties", "2.0.0")
FIELDS = ("score", "expansions", "requests", "ties", "invalid_answers")

Task = tuple[str, int, str, str]
"""Domain, trial, version, model."""


def load(group: str, name: str) -> dict[str, Any]:
    """A file of the config tree."""
    data = OmegaConf.to_container(OmegaConf.load(config_folder() / group / f"{name}.yaml"), resolve=True)
    assert isinstance(data, dict)
    return {str(key): value for key, value in data.items()}


def plan(domain: str, version: str) -> DomainPlan:
    """The domain as one of VERSIONS has it."""
    table = load("version", version.partition(" ")[0])
    del table["name"]
    table.pop("worlds", None)
    definition = Definition.read(table)
    if version.endswith("seeded ties"):
        definition = replace(definition, ties="seeded_draw")
    entry = definition.domain(domain)
    return DomainPlan.of(
        entry.parameters,
        name=domain,
        target=str(load("domain", domain)["target"]),
        heuristic=entry.heuristic,
        definition=definition.digest,
        limits=definition.limits,
        wording=WORDINGS[definition.wording],
        plugins=(),
        cache=str(cache_folder()),
        ties=definition.ties,
        representation=entry.representation,
    )


@lru_cache
def sparrow() -> Model:
    """Loaded once a process. An option's text is read once while its state is in the frontier, not at
    each step: the same numbers to the last bit, six times faster."""
    model: Any = make_model(load("model", "sparrow"))
    model.answer_now(Question("t", "g", "c", "i", ("a", "b")))
    static = model._decider.static
    static._pool = lru_cache(1 << 14)(static._pool)
    return model  # type: ignore[no-any-return]


_last: dict[frozenset[str], Answer] = {}


def answer(model: str, question: Question) -> Answer:
    """Of one of MODELS. Asked again in another order, sparrow says the same: it is not asked."""
    options = frozenset(question.options)
    given = _last.get(options)
    if given is None:
        _last.clear()
        given = _last[options] = sparrow().answer_now(question)
    if model == "sparrow":
        return given
    weights, _ = option_weights(given, question.options)
    return replace(given, probabilities=[round(weight, 2) for weight in weights], choice=None)


def search(task: Task) -> dict[str, Any]:
    """One search: FIELDS of the model arm's part of a record."""
    domain, trial, version, model = task
    made = plan(domain, version)
    offline = run_offline(TrialTask(made, trial))
    space = open_space(made, trial, offline["instance"])
    _last.clear()
    steps = begin_model_arm(made, space, trial, sparrow(), UsabilityGuard(10**9), False)
    try:
        question = next(steps)
        while True:
            question = steps.send(answer(model, question))
    except StopIteration as stop:
        arm: dict[str, Any] = stop.value.as_dict(space.shortest_path, made.limits)
        return {name: arm[name] for name in FIELDS}


class Searches:
    """Runs searches, and keeps them in a file."""

    def __init__(self, workers: ProcessPoolExecutor, path: Path | None) -> None:
        self.workers, self.path = workers, path
        self.kept: dict[Task, dict[str, Any]] = {}
        if path is not None and path.exists():
            for text in path.read_text().splitlines():
                *task, arm = json.loads(text)
                self.kept[tuple(task)] = arm  # type: ignore[index]

    def run(self, tasks: Iterable[Task]) -> list[dict[str, Any]]:
        """The searches of these tasks, in their order."""
        wanted = list(tasks)
        owed = [task for task in wanted if task not in self.kept]
        for task, arm in zip(owed, self.workers.map(search, owed), strict=True):
            self.kept[task] = arm
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps([*task, arm]) + "\n")
        return [self.kept[task] for task in wanted]


def row(domain: str, model: str, trials: int, searches: Searches) -> dict[str, Any]:
    """One line of the table."""
    numbers = range(1, trials + 1)
    arms: dict[str, list[dict[str, Any]]] = {}
    for version in VERSIONS:
        if version == VERSIONS[-1] and plan(domain, version).representation is None:
            arms[version] = arms[VERSIONS[1]]  # the ties are all that differs
        else:
            arms[version] = searches.run((domain, n, version, model) for n in numbers)
    keyed = {
        version: {(domain, n, 1): arm["score"] for n, arm in zip(numbers, found, strict=True)}
        for version, found in arms.items()
    }
    result = compare(keyed["2.0.0"], keyed["1.0.0"], ["versions", domain, model])
    assert result is not None
    old = arms["1.0.0"]
    asked = sum(arm["requests"] for arm in old)
    return {
        "domain": domain,
        "model": model,
        "trials": trials,
        "scores": {v: math.exp(math.fsum(map(math.log, k.values())) / trials) for v, k in keyed.items()},
        "ratio": [result.ratio.value, result.ratio.low, result.ratio.high],
        "p_value": result.p_value,
        "ties": sum(arm["ties"] for arm in old) / asked,
        "unusable": sum(arm["invalid_answers"] for arm in old) / asked,
        "changed": sum(a["expansions"] != b["expansions"] for a, b in zip(old, arms["2.0.0"], strict=True)),
    }


def line(found: dict[str, Any]) -> str:
    """A row of a Markdown table."""
    scores = " | ".join(f"{found['scores'][version]:.4f}" for version in VERSIONS)
    ratio, low, high = found["ratio"]
    return (
        f"| {found['domain']} | {found['model']} | {found['ties']:.0%} | {found['unusable']:.0%} | "
        f"{scores} | {ratio:.2f} ({low:.2f} to {high:.2f}) | {found['changed']} of {found['trials']} |"
    )


def main() -> None:
    """Measure and print."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--domains", default=",".join(DOMAINS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_args()
    print(f"| domain | model | ties | unusable | {' | '.join(VERSIONS)} | 2.0.0 / 1.0.0 | trials changed |")
    print("|---|---|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(chosen.workers) as workers:
        searches = Searches(workers, chosen.keep)
        for domain in chosen.domains.split(","):
            for model in MODELS:
                print(line(row(domain, model, chosen.trials, searches)), flush=True)


if __name__ == "__main__":
    main()
