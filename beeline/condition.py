"""Run one condition of a study: plan what is owed, store records as trials end, track the result.

Local records are the truth. Tracking happens at the end of a condition, may fail with one
warning, and can be filled in later from the records.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from beeline import __version__
from beeline.cache import cache_folder
from beeline.clock import utc
from beeline.digest import canonical, differences
from beeline.engine import Asking, Progress, TrialDone
from beeline.errors import BeelineError, SettingError, StorageError
from beeline.lines import write_lines
from beeline.model import Model
from beeline.ordering import check_order
from beeline.records import Cell, Record, RecordLog, read_records
from beeline.representation import find_representation
from beeline.rerun import again_owed, keep_new
from beeline.resuming import check_resumed
from beeline.scoring import Summary, summarise
from beeline.services import Caps, Services
from beeline.shared import Fate, Shared
from beeline.spec import Spec
from beeline.spend_caps import unheld
from beeline.stops import clear_stop, note_stop
from beeline.study import BENCHMARK, Condition
from beeline.tracked import track
from beeline.wording import WORDINGS
from beeline.worker import DomainPlan

if TYPE_CHECKING:
    from beeline.world_summary import WorldSummary

__all__ = ["asking_of", "cell_of", "plan_of", "run_condition", "state_definition", "summary_of"]


def summary_of(records: Sequence[Record]) -> Summary | WorldSummary:
    """The summary of a cell's records, whatever their suite."""
    if records and records[0].suite == "worlds":
        from beeline.world_summary import summarise_worlds

        return summarise_worlds(records)
    return summarise(records)


async def run_condition(
    spec: Spec,
    condition: Condition,
    asking: Asking | None,
    shared: Shared,
    begun: Callable[[], None],
    fate: Fate,
) -> Summary | WorldSummary:
    """Run what is owed of a condition and track it; the summary of all its wanted trials.

    ``begun`` is called when its last trial has begun, ``fate`` says why it is ended from outside. Raises a
    BeelineError that says why it stopped; what was finished before is kept, and so is the reason.
    """
    cell = cell_of(spec, condition)
    path = cell.path(spec.results)
    wanted = [(t, r) for t in range(1, spec.trials + 1) for r in range(1, condition.repeats + 1)]
    async with shared.alone(path):
        with RecordLog(path) as log:
            reading = read_records(path)
            for note in reading.notes:
                print(f"note: {note}", file=sys.stderr)
            _check_same(spec, path, reading.records)
            kept = {record.key: record for record in reading.records}
            again = again_owed(spec.rerun, spec.results, [kept[key] for key in wanted if key in kept])
            owed = [key for key in wanted if key not in kept or key in again]
            if owed:
                if len(owed) < len(wanted):
                    resumed = check_resumed(path.with_suffix(".spec.json"), spec.as_dict(), condition.name)
                    if resumed is not None:
                        print(f"note: {path}: {resumed}", file=sys.stderr)
                if spec.archive and not again:
                    _say_unarchived(spec, cell, [key for key in wanted if key in kept])
                _save_spec(spec, cell)

                def store(batch: list[TrialDone]) -> None:
                    records = [_record(spec, cell, done) for done in batch]
                    worth = [
                        keep_new(spec.rerun, kept[r.key], r) if r.key in again else True for r in records
                    ]
                    for done, keep in zip(batch, worth, strict=True):
                        if keep:
                            _keep_files(spec, cell, done)
                    log.append([record for record, keep in zip(records, worth, strict=True) if keep])

                progress = Progress(total=len(wanted), kept=len(wanted) - len(owed))
                try:
                    with shared.shown(_title(spec, condition), progress, spec.model_name):
                        await shared.engine(spec).run(
                            plan_of(spec, condition), owed, asking, store, progress, begun
                        )
                except (BeelineError, KeyboardInterrupt, asyncio.CancelledError) as error:
                    on_file = {record.key for record in read_records(path).records}
                    finished = len(on_file.intersection(wanted))
                    note_stop(spec.results, cell, fate.of(error), finished, len(wanted))
                    raise
            clear_stop(spec.results, cell)
            records = read_records(path).records
    return await shared.aside(lambda: _tracked(spec, cell, records, set(wanted)))


def _tracked(
    spec: Spec, cell: Cell, records: Sequence[Record], wanted: set[tuple[int, int]]
) -> Summary | WorldSummary:
    chosen = [record for record in records if record.key in wanted]
    summary = summary_of(chosen)
    # All that is there is tracked, also trials beyond those of this run.
    track(spec, cell, records, lambda: summary if len(chosen) == len(records) else summary_of(records))
    return summary


def _title(spec: Spec, condition: Condition) -> str:
    title = f"{spec.domain_name} · {spec.model_name}"
    return title if condition.name == BENCHMARK else f"{title} · {condition.name}"


def _say_unarchived(spec: Spec, cell: Cell, kept: Sequence[tuple[int, int]]) -> None:
    missing = sum(not cell.archive_path(spec.results, *key).is_file() for key in kept)
    if missing and spec.model is not None:
        print(
            f"note: {missing} finished trials were run without an archive and stay so: choose another folder "
            "with results=DIR to have one of all",
            file=sys.stderr,
        )


def _warn_unheld(spec: Spec, model: Model, shared: Shared) -> None:
    settings = model.describe()
    # A server on this machine costs nothing that a cap could hold.
    free = urlsplit(str(settings.get("url", ""))).hostname in ("127.0.0.1", "localhost", "::1")
    priced = free or settings.get("price_input") is not None
    warning = unheld(model.name, model.caps() or Caps(), spec.caps, priced=priced)
    if warning:
        shared.note(warning)


def cell_of(spec: Spec, condition: Condition) -> Cell:
    """Where the condition's records belong."""
    return Cell(spec.version, spec.model_name, spec.study.name, spec.domain_name, condition.name)


def asking_of(spec: Spec, shared: Shared) -> Asking | None:
    """The model with what the run lends it, of no condition yet; None where no model is asked."""
    model = spec.model
    if model is None or spec.model_config is None:
        return None
    ledger = shared.ledger(spec)
    if ledger is not None:
        _warn_unheld(spec, model, shared)
    meter = ledger.account(model.name, model.caps()) if ledger is not None else None
    services = Services(meter, shared.noticing(model.name), spec.archive)
    model.attach(services)
    config = canonical(dict(spec.model_config))
    account = "" if ledger is None else f"{spec.results.resolve()} {spec.caps}"
    cell = cell_of(spec, Condition())
    return Asking(
        model, config, cell, spec.traces, spec.archive, services, spec.plugins, spec.placed, account
    )


def plan_of(spec: Spec, condition: Condition) -> DomainPlan:
    """The domain as a condition asks for it. Raises SettingError for an order or representation that does
    not exist."""
    representation = condition.representation
    if representation is None and spec.family is None:
        representation = spec.definition.domain(spec.domain_name).representation
    if representation is not None:
        find_representation(spec.domain, representation)
    return DomainPlan.of(
        spec.domain.parameters_given,
        name=spec.domain_name,
        target=spec.domain_target,
        heuristic=spec.domain.heuristic,
        definition=spec.decided_by.digest,
        limits=spec.definition.limits,
        wording=condition.wording or WORDINGS[spec.definition.wording],
        plugins=spec.plugins,
        ties=spec.definition.ties,
        order=check_order(condition.order),
        representation=representation,
        cache=str(cache_folder()) if spec.cache else None,
    )


def _keep_files(spec: Spec, cell: Cell, done: TrialDone) -> None:
    """Write trace and archive, where there are any, before the record: a record implies them."""
    if done.trace is None and done.archive is None:
        return
    header = {
        "schema": 1,
        "version": cell.version,
        "definition": spec.decided_by.digest,
        "domain": cell.domain,
        "model": cell.model,
        "model_id": spec.model.model_id if spec.model is not None else None,
        "study": cell.study,
        "condition": cell.condition,
        "trial": done.trial,
        "repeat": done.repeat,
        "shortest_path": done.result["shortest_path"],
    }
    if done.trace is not None:
        done.trace.write(cell.trace_path(spec.results, done.trial, done.repeat), header)
    if done.archive is not None:
        write_lines(cell.archive_path(spec.results, done.trial, done.repeat), header, done.archive, "archive")


def _record(spec: Spec, cell: Cell, done: TrialDone) -> Record:
    model_id = spec.model.model_id if spec.model is not None else None
    return Record(
        version=cell.version,
        definition=spec.decided_by.digest,
        spec=spec.digest,
        suite=spec.domain.suite,
        domain=cell.domain,
        heuristic=spec.domain.heuristic,
        model=cell.model,
        model_id=model_id,
        study=cell.study,
        condition=cell.condition,
        trial=done.trial,
        repeat=done.repeat,
        shortest_path=done.result.get("shortest_path", 0),
        states_reachable=done.result.get("states_reachable", 0),
        states_reaching_goal=done.result.get("states_reaching_goal", 0),
        arms=done.result["arms"],
        started_utc=utc(done.started),
        finished_utc=utc(done.finished),
        code=code_revision(),
        world=done.result.get("world"),
        container=_container(),
    )


def _container() -> dict[str, str] | None:
    """Digests that the image's entry point and whoever started it name (docker/); None outside."""
    named = {"image": os.environ.get("BEELINE_IMAGE"), "lock": os.environ.get("BEELINE_LOCK")}
    return {name: value for name, value in named.items() if value} or None


def _check_same(spec: Spec, path: Path, records: Sequence[Record]) -> None:
    """Refuse to add to records of something else."""
    model_id = spec.model.model_id if spec.model is not None else None
    for record in records:
        if record.definition != spec.decided_by.digest:
            raise SettingError(
                f"{path} holds records of another definition ({record.definition[:16]}, this run has "
                f"{spec.decided_by.digest[:16]}): choose another folder with results=DIR, or name this run "
                "with custom=NAME"
            )
        if record.model_id != model_id:
            raise SettingError(
                f"{path} holds records of the model {record.model_id!r}, this run asks {model_id!r}: give "
                "this one a name of its own with model.name=NAME, or choose another folder with results=DIR"
            )


def state_definition(spec: Spec) -> None:
    """Keep the definition beside the records, and refuse a folder that holds another one."""
    name = "definition.json" if spec.family is None else f"definition.{spec.family.family}.json"
    path = spec.results / spec.version / name
    mine = spec.decided_by.as_dict()
    try:
        if path.exists():
            theirs = json.loads(path.read_text("utf-8"))
            changed = list(differences(theirs, mine))
            if changed:
                raise SettingError(
                    f"{path.parent} holds records of another definition: {'; '.join(changed)}. Choose "
                    "another folder with results=DIR, or another name: custom=NAME, or of a version file of "
                    "your own"
                )
            return
        _write(path, json.dumps(mine, indent=2) + "\n")
    except ValueError as error:
        raise StorageError(f"{path} is damaged ({error}): remove it and run again") from error
    except OSError as error:
        raise StorageError(
            f"cannot write below {spec.results} ({error.strerror or error}): choose a folder you may write "
            "with results=DIR"
        ) from error


def _save_spec(spec: Spec, cell: Cell) -> None:
    path = cell.path(spec.results)
    try:
        _write(path.with_suffix(".spec.json"), json.dumps(spec.as_dict(), indent=2, default=str) + "\n")
    except OSError as error:
        raise StorageError(f"cannot write {path.parent} ({error.strerror or error})") from error


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, "utf-8")
    os.replace(temporary, path)


@lru_cache
def code_revision() -> str:
    """Version of the code, with its git revision when it runs from a checkout or an image."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        built_from = os.environ.get("BEELINE_REVISION", "unknown")
        return __version__ if built_from == "unknown" else f"{__version__}+{built_from}"
    try:
        found = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=5,
        )
    except (OSError, subprocess.SubprocessError):
        return __version__
    revision = found.stdout.strip()
    return f"{__version__}+{revision}" if revision else __version__
