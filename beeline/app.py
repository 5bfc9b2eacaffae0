"""The command ``python -m beeline``: compose with Hydra, run, show, and end with an exit code.

Exit codes: 0 done, 1 stopped with a reason, 2 bad usage, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from beeline import __version__
from beeline.clock import utc_now
from beeline.errors import BeelineError, SettingError, StorageError
from beeline.interrupts import end_in_order, interrupted_by
from beeline.overrides import check_overrides, config_folder
from beeline.resolver import resolve

if TYPE_CHECKING:
    from beeline.run import Job
    from beeline.scoring import Summary
    from beeline.spec import Spec
    from beeline.sweep_record import SweepJob
    from beeline.world_summary import WorldSummary

    AnySummary = Summary | WorldSummary

__all__ = ["main"]

HELP = """\
beeline: how well do decision models plan?

  python -m beeline [KEY=VALUE ...]        run one benchmark
  python -m beeline -m [KEY=A,B ...]       sweep over every combination
  python -m beeline domain=rush_hour study=baseline
  python -m beeline -m domain=tiles,countdown model=sparrow,first_option
  python -m beeline model=local model.base_url=http://HOST:8000/v1 model.id=NAME
  python -m beeline model=jev study=prices

Settings (defaults first)
  domain={domain}
  model={model}
  study={study}
  version={version}    engine={engine}    tracking={tracking}
  results=results  the one output folder
  trials=N         trials 1 to N; the same command again resumes
  traces=on|off    a trace of each model search
  archive=off|on   keep every reply; model.replay=DIR answers from them
  rerun=unclean|untraced       run such finished trials again
  spend.max_usd=10 cap over all models of the results folder
  custom=NAME      names a run whose version settings you override
  plugins=[PKG]    packages a config may import from

  python -m tracking.report    tables from records alone (--help)
  python -m tracking.spend     what was spent, by model
  python -m tracking.ui        MLflow in the browser, on loopback
  python -m domains.download   fetch and check the data sets
"""


@dataclass
class _Asked:
    """What a command line asks for."""

    specs: list[Spec] = field(default_factory=list)
    sweep: bool = False
    overrides: tuple[str, ...] = ()
    others: list[SweepJob] = field(default_factory=list)
    """Jobs of a sweep that do not run: refused for a wrong setting, or left out."""


def main(arguments: Sequence[str]) -> int:
    """Run the command line; returns the exit code."""
    if {"-h", "--help"} & set(arguments):
        print(_help(), end="")
        return 0
    if "--version" in arguments:
        print(__version__)
        return 0
    try:
        check_overrides(arguments)
        asked = _compose(arguments)
        return _run(asked)
    except KeyboardInterrupt:
        print("interrupted: finished trials are kept, the same command resumes", file=sys.stderr)
        return 128 + interrupted_by()
    except SettingError as error:
        _say(error)
        return 2
    except BeelineError as error:
        _say(error)
        return 1
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OSError as error:
        _say(
            StorageError(
                f"cannot write {error.filename or 'the results folder'} ({error.strerror or error}): choose "
                "a folder you may write with results=DIR"
            )
        )
        return 1


def _compose(arguments: Sequence[str]) -> _Asked:
    """Read the config of every job; nothing runs yet, so that a sweep's jobs can run side by side."""
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from hydra.errors import HydraException
    from hydra.types import RunMode
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    from beeline.spec import LeftOut, read_spec
    from beeline.sweep import job_not_run

    # Let errors through as they are instead of Hydra's own report and exit.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    before = sys.argv
    # Hydra's parser wants all overrides in one row: -m may stand anywhere.
    flags = [argument for argument in arguments if argument in ("-m", "--multirun")]
    sys.argv = ["beeline", *flags, *(argument for argument in arguments if argument not in flags)]
    asked = _Asked(overrides=tuple(argument for argument in arguments if not argument.startswith("-")))

    def job(config: Any) -> None:
        here = HydraConfig.get()
        asked.sweep = here.mode == RunMode.MULTIRUN
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
        assert isinstance(plain, dict)
        settings = {str(key): value for key, value in plain.items() if key != "hydra"}
        try:
            spec = read_spec(settings)
            if asked.sweep and "BasicLauncher" not in str(here.launcher.get("_target_")):
                _run(_Asked([spec]))  # somebody else's launcher: this may be another process
                return
            asked.specs.append(spec)
        except LeftOut as left_out:
            print(left_out)
            asked.others.append(job_not_run(settings, "left out", str(left_out)))
        except SettingError as error:
            # One job of a sweep does not stop the others.
            refused = job_not_run(settings, "failed", str(error))
            _say(error, f"{refused.domain} · {refused.model}: " if asked.sweep else "")
            asked.others.append(refused)

    try:
        hydra.main(config_path=str(config_folder()), config_name="config", version_base="1.3")(job)()
    except (HydraException, OmegaConfBaseException) as error:
        raise SettingError(_advice(str(error).splitlines()[0])) from error
    finally:
        sys.argv = before
    return asked


def _run(asked: _Asked) -> int:
    from beeline.run import Job, run_jobs

    code = 2 if any(other.state == "failed" for other in asked.others) else 0
    if not asked.specs:
        return code
    for root in dict.fromkeys(str(spec.results.resolve()) for spec in asked.specs):
        print(f"results in {root}", flush=True)

    def failed(job: Job) -> None:
        assert job.error is not None
        _say(job.error, f"{job.spec.domain_name} · {job.spec.model_name}: " if asked.sweep else "")

    jobs = [Job(spec) for spec in asked.specs]
    end_in_order()
    if not asked.sweep:
        run_jobs(jobs, failed)
        _show(jobs)
    else:
        from beeline.sweep import keep_sweep

        started, ended = utc_now(), False
        try:
            run_jobs(jobs, failed)
            ended = True
        finally:
            kept = keep_sweep(jobs, asked.others, asked.overrides, started, ended)
            if not ended:
                for record in kept:
                    count = resolve("tracking.sweep_tables:count_line")(record)
                    print(f"sweep: {count}; it is at sweeps/{record.id}.md", file=sys.stderr)
        summaries = _show(jobs)
        for record in kept:
            print(resolve("tracking.sweep_tables:sweep_text")(record, summaries, _width()), end="")
    wrong = [2 if isinstance(job.error, SettingError) else 1 for job in jobs if job.error is not None]
    return max([code, *wrong])


def _advice(said: str) -> str:
    """Hydra's words, with what to do where that is known."""
    if said.startswith("Ambiguous value"):
        return "several values for one setting make a sweep: add -m before them, or quote a list"
    if "no viable alternative" in said or "mismatched input" in said or "token recognition" in said:
        return f"a value cannot be read ({said}): quote it, as in 'key=value with blanks'"
    return said


def _show(jobs: Sequence[Job]) -> list[AnySummary]:
    """The tables of what is done; the summaries in them."""
    done = [job.ran for job in jobs if job.ran is not None and job.conditions]
    # A study's tables compare its conditions: each one's own is then in the report alone.
    found = [
        summary for ran in done for summary in (ran.summaries if ran.analysis is None else ran.summaries[:1])
    ]
    # Jobs may have had the same trials; the last one's word counts.
    summaries = list({summary.cell: summary for summary in found}.values())
    analyses = [job.ran.analysis for job in jobs if job.ran is not None and job.ran.analysis is not None]
    if not summaries and not analyses:
        return []
    for suite, show in (("navigation", "tracking.tables:text"), ("worlds", "tracking.world_tables:text")):
        mine = [summary for summary in summaries if summary.suite == suite]
        if mine:
            print(resolve(show)(mine, _width()))
    for analysis in analyses:
        print(analysis)
    for root in dict.fromkeys(str(job.spec.results.resolve()) for job in jobs):
        print(f"records, traces and specs: {root}")
    return summaries


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def _say(error: BeelineError, about: str = "") -> None:
    print(f"beeline: {about}{error}", file=sys.stderr, flush=True)


def _help() -> str:
    def options(group: str, first: str) -> str:
        """As many as fit two lines; ``group=?`` lists all."""
        names = sorted(path.stem for path in (config_folder() / group).glob("*.yaml"))
        others = [name for name in names if name != first]
        indent = " " * (len(group) + 3)
        for shown in range(len(others), -1, -1):
            more = [f"{len(others) - shown} more: {group}=?"] if shown < len(others) else []
            parts = [part.replace(" ", "\0") for part in (first, *others[:shown], *more)]
            lines = textwrap.wrap(" | ".join(parts), 79 - len(indent))
            if len(lines) <= 2:
                break
        return f"\n{indent}".join(lines).replace("\0", " ")

    return HELP.format(
        domain=options("domain", "countdown"),
        model=options("model", "sparrow"),
        version=options("version", "1.0.0"),
        study=options("study", "score"),
        engine=options("engine", "local"),
        tracking=options("tracking", "mlflow"),
    )
