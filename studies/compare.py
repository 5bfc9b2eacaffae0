"""Two or more models, or versions, on the same trials: from records alone.

Every pair on the trials that both have: ratio of the geometric means with its interval, sign-flip
permutation test, Holm's correction over the pairs, trials won, tied and lost, and the least ratio that
as many trials would find in 80 of 100 cases. Where searches were stopped at the limit, the ratio's
bounds whatever they would have needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from beeline.analysis import Analysis, Figure, Table
from beeline.digest import digest_of
from beeline.errors import SettingError, nearest
from beeline.records import Cell, Record, find_cells, read_records
from beeline.settings import read_settings, setting
from beeline.spec import NO_MODEL, Spec
from beeline.statistics.censored import RatioBounds, Run, ratio_bounds
from beeline.statistics.clusters import Key, score_over_trials
from beeline.statistics.from_records import scores
from beeline.statistics.multiple import Pair, compare_all
from beeline.statistics.power import detectable_ratio
from beeline.study import BENCHMARK, Condition, Study
from studies.shown import number, plain, series, span

__all__ = ["Compare", "CompareSettings", "conclude"]

_LONGEST = 120
"""Characters of what file names say; a file system takes some 250 in all."""


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """The settings of ``conf/study/compare.yaml``."""

    models: tuple[str, ...] = setting(())
    """Short names, or ``heuristic`` and ``random`` for those arms; none for all with records."""
    versions: tuple[str, ...] = setting(())
    """None for the version of the run; several set versions side by side."""
    domains: tuple[str, ...] = setting(())
    """None for the domain of the run; each weighs the same."""
    of: str = setting("score")
    """The study whose records are compared."""


class Compare(Study):
    """Reads the records of several models or versions."""

    name = "compare"
    asks_model = False

    def __init__(self, settings: CompareSettings) -> None:
        self.settings = settings

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Compare:
        """Read and check the settings."""
        return cls(read_settings(CompareSettings, settings, "study"))

    def conditions(self) -> tuple[Condition, ...]:
        """None: nothing is run."""
        return ()

    def analyse(self, spec: Spec, records: Mapping[str, Sequence[Record]], results: Path) -> Analysis:
        """Compare what lies below ``results``, up to the run's number of trials."""
        wanted = self.settings
        versions = wanted.versions or (spec.version,)
        domains = tuple(sorted(set(wanted.domains))) or (spec.domain_name,)
        present = {
            version: sorted(
                {
                    cell.model
                    for cell, _ in find_cells(results, [version])
                    if cell.study == wanted.of and cell.domain in domains and cell.model != NO_MODEL
                }
            )
            for version in versions
        }
        models = wanted.models or tuple(sorted({m for found in present.values() for m in found}))
        found: dict[str, list[Record]] = {}
        arms: dict[str, str] = {}
        for version in versions:
            for model in models:
                name = model if len(versions) == 1 else f"{model} {version}"
                arm = model if model in ("heuristic", "random", "oracle") else "model"
                # The offline arms stand in any model's records, and are the same in all.
                sources = [*present[version], NO_MODEL] if arm != "model" else [model]
                kept = _read(results, version, sources, wanted.of, domains, spec.trials)
                if kept:
                    found[name], arms[name] = kept, arm
                elif wanted.models:
                    known = [*present[version], "heuristic", "random"]
                    raise SettingError(
                        f"no records of {model} on {', '.join(domains)} (version {version}, {wanted.of}) in "
                        f"{results}: {nearest(model, known)}; one that has none yet has to run first"
                    )
        if len(found) < 2:
            raise SettingError(
                f"study=compare needs two with records on {', '.join(domains)} (version "
                f"{', '.join(versions)}, {wanted.of}) in {results}, and there is "
                f"{', '.join(found) or 'none'}: run others first, or add study.models=[NAME,heuristic]"
            )
        _check_same_trials(found)
        return replace(
            conclude(found, arms, domains, spec.version), variant=_variant(list(found), domains, wanted.of)
        )


def _variant(names: Sequence[str], domains: Sequence[str], of: str) -> str:
    """What was compared, as part of file names: several domains, a study other than score, and who."""
    who = "-vs-".join(re.sub(r"[^A-Za-z0-9_.-]+", "-", name) for name in names)
    said = [*(["-".join(domains)] if len(domains) > 1 else []), *([of] if of != "score" else []), who]
    text = ".".join(said)
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 9].rstrip('.-')}-{digest_of(said)[:8]}"


def _read(
    results: Path, version: str, models: Sequence[str], study: str, domains: Sequence[str], trials: int
) -> list[Record]:
    """The records of the first of ``models`` that has any, by domain."""
    kept: list[Record] = []
    for domain in domains:
        for model in models:
            cell = Cell(version, model, study, domain, BENCHMARK)
            records = [r for r in read_records(cell.path(results)).records if r.trial <= trials]
            if records and records[0].suite != "navigation":
                raise SettingError(f"study=compare compares searches: {domain} is of the suite of worlds")
            if records:
                kept += records
                break
    return kept


def _check_same_trials(found: Mapping[str, Sequence[Record]]) -> None:
    """Trial n must be the same problem for all; a custom version may have others."""
    seen: dict[tuple[str, int], tuple[str, tuple[int, int]]] = {}
    for name, records in found.items():
        for record in records:
            facts = (record.shortest_path, record.states_reachable)
            other, before = seen.setdefault((record.domain, record.trial), (name, facts))
            if before != facts:
                raise SettingError(
                    f"trial {record.trial} of {record.domain} is not the same problem for {other} and "
                    f"{name}: their versions draw other trials, so nothing pairs"
                )


def conclude(
    found: Mapping[str, Sequence[Record]], arms: Mapping[str, str], domains: Sequence[str], version: str
) -> Analysis:
    """Tables, figure and sentence; raises SettingError when no two have a trial in common."""
    keyed = {name: scores(records, arms[name]) for name, records in found.items()}
    path = ["compare", version, *domains]
    pairs = compare_all(keyed, path)
    if not pairs:
        raise SettingError(f"no two of {', '.join(found)} have a trial in common: run the same trials")
    bounds = {
        (pair.first, pair.second): _bounds(found, arms, pair, [*path, pair.first, pair.second, "bounds"])
        for pair in pairs
    }
    where = ", ".join(domains)
    return Analysis(
        study=Compare.name,
        domain=domains[0] if len(domains) == 1 else f"{len(domains)}-domains",
        model=NO_MODEL,
        version=version,
        sentence=_sentence(pairs, where),
        tables=(_score_table(keyed, path, where), _pair_table(pairs)),
        figures=(_figure(pairs, where),),
        data={
            "domains": list(domains),
            "pairs": [
                {
                    "first": pair.first,
                    "second": pair.second,
                    "trials": pair.comparison.trials,
                    "ratio": plain(pair.comparison.ratio),
                    "p_value": pair.comparison.p_value,
                    "holm_p_value": pair.adjusted,
                    "wins": pair.comparison.wins,
                    "ties": pair.comparison.ties,
                    "losses": pair.comparison.losses,
                    "sign_p_value": pair.comparison.sign_p_value,
                    "detectable_ratio": _finite(_detectable(pair)),
                }
                for pair in pairs
            ],
        },
        notes=_notes(pairs, bounds),
    )


def _runs(records: Sequence[Record], arm: str) -> list[Run]:
    """Of each trial its first repeat, for the bounds."""
    first: dict[int, Record] = {}
    for record in sorted(records, key=lambda r: r.key):
        if arm in record.arms:
            first.setdefault(record.trial, record)
    return [
        Run(
            trial=trial,
            score=float(record.arms[arm]["score"]),
            solved=record.arms[arm].get("solved") is True,
            expansions=int(record.arms[arm]["expansions"]),
            shortest_path=record.shortest_path,
            states_reachable=record.states_reachable,
        )
        for trial, record in first.items()
    ]


def _bounds(
    found: Mapping[str, Sequence[Record]], arms: Mapping[str, str], pair: Pair, path: Sequence[str]
) -> RatioBounds | None:
    """What the ratio could be, had all searches been finished; of a single domain only."""
    ours, theirs = found[pair.first], found[pair.second]
    if len({r.domain for r in (*ours, *theirs)}) > 1:
        return None
    bounds = ratio_bounds(_runs(ours, arms[pair.first]), _runs(theirs, arms[pair.second]), path)
    return bounds if bounds is not None and bounds.censored else None


def _detectable(pair: Pair) -> float:
    spread = pair.comparison.spread
    return math.inf if math.isnan(spread) else detectable_ratio(pair.comparison.trials, spread)


def _sentence(pairs: Sequence[Pair], where: str) -> str:
    sure = [pair for pair in pairs if pair.adjusted < 0.05]
    if not sure:
        said = f"On {where}, no two of {len(_names(pairs))} can be told apart"
        if len(pairs) > 1:
            return f"{said} ({len(pairs)} pairs, Holm-corrected)."
        only = pairs[0]
        ratio, trials = only.comparison.ratio, only.comparison.trials
        return (
            f"{said}: {only.first} scores {number(ratio.value)} ({span(ratio)}) times what {only.second} "
            f"does on {trials} trials (p {only.comparison.p_value:.3f}; as many trials find ratios from "
            f"{number(_detectable(only))} up)."
        )
    best = max(sure, key=lambda pair: abs(math.log(pair.comparison.ratio.value)))
    first, second, ratio = best.first, best.second, best.comparison.ratio
    rest = "" if len(pairs) == 1 else f"; {len(sure)} of {len(pairs)} pairs differ"
    return (
        f"On {where}, {first} scores {number(ratio.value)} ({span(ratio)}) times what {second} does on "
        f"{best.comparison.trials} trials (p {best.adjusted:.4f}{rest})."
    )


def _names(pairs: Sequence[Pair]) -> set[str]:
    return {name for pair in pairs for name in (pair.first, pair.second)}


def _score_table(keyed: Mapping[str, Mapping[Key, float]], path: Sequence[str], where: str) -> Table:
    common = set.intersection(*({key[:2] for key in found} for found in keyed.values()))
    rows = []
    for name, found in keyed.items():
        mine = {key: score for key, score in found.items() if key[:2] in common}
        score = score_over_trials(mine, [*path, name]) if mine else None
        shown = "" if score is None else f"{number(score.value)} ({span(score)})"
        rows.append((name, str(len({key[:2] for key in found})), shown))
    return Table(
        f"Scores on {where}, over the {len(common)} trials that all have",
        ("", "trials", "score"),
        tuple(rows),
    )


def _pair_table(pairs: Sequence[Pair]) -> Table:
    rows = []
    for pair in pairs:
        c = pair.comparison
        rows.append(
            (
                f"{pair.first} / {pair.second}",
                str(c.trials),
                f"{number(c.ratio.value)} ({span(c.ratio)})",
                f"{c.p_value:.4f}",
                f"{pair.adjusted:.4f}",
                f"{c.wins}-{c.ties}-{c.losses}",
                number(_detectable(pair)),
            )
        )
    notes = [
        "ratio: of geometric means, within trials. p: sign-flip test; Holm p: corrected for looking at "
        "several pairs. w-t-l: trials won, tied, lost. power: least ratio (or one over it) that as many "
        "trials find in 80 of 100 cases."
    ]
    headings = ("", "trials", "ratio", "p", "Holm p", "w-t-l", "power")
    return Table("Pairs", headings, tuple(rows), tuple(notes))


def _notes(pairs: Sequence[Pair], bounds: Mapping[tuple[str, str], RatioBounds | None]) -> list[str]:
    notes = []
    for pair in pairs:
        found = bounds[pair.first, pair.second]
        if found is not None:
            notes.append(
                f"{pair.first} / {pair.second}: {found.censored} trials were stopped at the limit; had they "
                f"gone on, the ratio would lie between {number(found.low)} and {number(found.high)}."
            )
    return notes


def _figure(pairs: Sequence[Pair], where: str) -> Figure:
    labels = [f"{pair.first} / {pair.second}" for pair in pairs]
    return Figure(
        name="pairs",
        kind="forest",
        title=f"Ratios of scores on {where}",
        x_label="",
        y_label="ratio of scores, within trials",
        series=(series("ratio", labels, [pair.comparison.ratio for pair in pairs]),),
        reference=1.0,
        log_y=True,
        caption="Right of 1 the first of a pair is better; an interval across 1 tells nothing. "
        + "; ".join(
            f"{label}: {number(pair.comparison.ratio.value)}"
            for label, pair in zip(labels, pairs, strict=True)
        ),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
