"""The command ``python -m beeline``: compose with Hydra, run, show, and end with an exit code.

Exit codes: 0 done, 1 stopped with a reason, 2 bad usage, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from beeline import __version__
from beeline.errors import BeelineError, SettingError
from beeline.overrides import check_overrides, config_folder

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


class _State:
    """Outcome of the jobs of this process."""

    code = 0
    signal: int = signal.SIGINT
    """The one that ended the run, if one did."""
    summaries: list[Any] = []  # noqa: RUF012 - one process, one list
    analyses: list[str] = []  # noqa: RUF012
    root: str | None = None


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
        _compose_and_run(arguments)
        _show()
    except KeyboardInterrupt:
        print("interrupted: finished trials are kept, the same command resumes", file=sys.stderr)
        return 128 + _State.signal
    except SettingError as error:
        _say(error)
        return 2
    except BeelineError as error:
        _say(error)
        return 1
    return _State.code


def _compose_and_run(arguments: Sequence[str]) -> None:
    import hydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    # Let errors through as they are instead of Hydra's own report and exit.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    before = sys.argv
    sys.argv = ["beeline", *arguments]

    def job(config: Any) -> None:
        try:
            plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
            assert isinstance(plain, dict)
            _run_job({str(key): value for key, value in plain.items() if key != "hydra"})
        except BeelineError as error:
            # One job of a sweep does not stop the others.
            _say(error)
            _State.code = max(_State.code, 2 if isinstance(error, SettingError) else 1)

    try:
        hydra.main(config_path=str(config_folder()), config_name="config", version_base="1.3")(job)()
    except (HydraException, OmegaConfBaseException) as error:
        raise SettingError(_advice(str(error).splitlines()[0])) from error
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError as error:
        from beeline.errors import StorageError

        raise StorageError(
            f"cannot write {error.filename or 'the results folder'} ({error.strerror or error}): choose a "
            "folder you may write with results=DIR"
        ) from error
    finally:
        sys.argv = before


def _advice(said: str) -> str:
    """Hydra's words, with what to do where that is known."""
    if said.startswith("Ambiguous value"):
        return "several values for one setting make a sweep: add -m before them, or quote a list"
    if "no viable alternative" in said or "mismatched input" in said or "token recognition" in said:
        return f"a value cannot be read ({said}): quote it, as in 'key=value with blanks'"
    return said


def _run_job(config: dict[str, Any]) -> None:
    from beeline.run import run
    from beeline.spec import LeftOut, read_spec

    try:
        spec = read_spec(config)
    except LeftOut as left_out:
        print(left_out)
        return
    _end_in_order()
    root = str(spec.results.resolve())
    if _State.root != root:
        print(f"results in {root}", flush=True)
        _State.root = root
    ran = run(spec)
    # A study's tables compare its conditions: each one's own is then in the report alone.
    _State.summaries += ran.summaries if ran.analysis is None else ran.summaries[:1]
    if ran.analysis is not None:
        _State.analyses.append(ran.analysis)


def _show() -> None:
    if not _State.summaries and not _State.analyses:
        return
    from beeline.resolver import resolve

    width = shutil.get_terminal_size((80, 24)).columns
    for suite, show in (("navigation", "tracking.tables:text"), ("worlds", "tracking.world_tables:text")):
        found = [summary for summary in _State.summaries if summary.suite == suite]
        if found:
            print(resolve(show)(found, width))
    for analysis in _State.analyses:
        print(analysis)
    print(f"records, traces and specs: {_State.root}")


def _say(error: BeelineError) -> None:
    print(f"beeline: {error}", file=sys.stderr, flush=True)


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


def _end_in_order() -> None:
    """The first Ctrl-C or SIGTERM (``docker stop``) ends the run in order; a second one ends the
    process at once."""
    presses = 0

    def pressed(number: int, frame: Any) -> None:
        nonlocal presses
        presses += 1
        if presses > 1:
            os._exit(128 + number)
        _State.signal = number
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, pressed)
    signal.signal(signal.SIGTERM, pressed)
