"""MLflow as a sink: one run per (version, domain, model, study), a nested run per condition.

Local records are the truth. A condition is logged when it ends, in batches, by the driver alone;
logging the same records again does nothing, and more records replace what was logged, so that a
store that failed can be filled later (:mod:`tracking.sync`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from beeline.digest import digest_of
from beeline.errors import SettingError, nearest
from beeline.records import Cell, Record
from beeline.study import BENCHMARK
from beeline.sweep_record import SweepRecord
from beeline.versions import is_official
from tracking.mlflow_calls import PARAM_LENGTH, clean_name, find_run, log_metrics, open_once

__all__ = [
    "MLflowTracker",
    "store_uri",
    "without_secrets",
]

_SERIES = ("score", "expansions", "path_score")


def store_uri(results: Path) -> str:
    """The local store of a results folder."""
    return f"sqlite:///{results.resolve()}/mlflow.db"


class MLflowTracker:
    """Logs conditions to one store. Nothing of MLflow is imported before the first log."""

    def __init__(self, uri: str | None, results: Path) -> None:
        self.uri = uri
        self.results = results

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], results: Path) -> MLflowTracker:
        """``uri`` is the only setting; raises SettingError for another one."""
        for key in settings:
            if key != "uri":
                raise SettingError(f"there is no setting tracking.{key}: {nearest(str(key), ['uri'])}")
        uri = settings.get("uri")
        if uri is not None and not isinstance(uri, str):
            raise SettingError(f"tracking.uri={uri!r}: must be a tracking URI, or null")
        return cls(uri, results)

    def log(
        self,
        cell: Cell,
        records: Sequence[Record],
        summary: Mapping[str, Any] | None,
        spec: Mapping[str, Any],
    ) -> str:
        """Log one condition; returns a line for the user. Raises whatever the store raises."""
        client = self._client()
        experiment = self._experiment(client, cell.version)
        digest = digest_of([record.line() for record in records])
        tags = {
            "version": cell.version,
            "domain": cell.domain,
            "model": cell.model,
            "study": cell.study,
        }
        parent = find_run(client, experiment, {**tags, "condition": "-"})
        child = find_run(client, experiment, {**tags, "condition": cell.condition})
        store = without_secrets(self.uri or store_uri(self.results))
        where = f"MLflow: {store}, experiment beeline {cell.version}"
        if child is not None and child.data.tags.get("records_digest") == digest:
            return f"{where} (nothing new)"
        more = {
            "official": str(is_official(cell.version)).lower(),
            "model_id": str(records[0].model_id) if records else "",
            "definition": records[0].definition if records else "",
            "code": records[-1].code if records else "",
            "suite": records[0].suite if records else "",
            "served_models": ", ".join(sorted(_served(records))),
        }
        name = f"{cell.domain} · {cell.model} · {cell.study}"
        if parent is None:
            parent = client.create_run(experiment, run_name=name, tags={**tags, **more, "condition": "-"})
        old = child
        child = client.create_run(
            experiment,
            run_name=f"{name} · {cell.condition}",
            tags={
                **tags,
                **more,
                "condition": cell.condition,
                "mlflow.parentRunId": parent.info.run_id,
            },
        )
        self._fill(client, child.info.run_id, cell, records, summary, spec)
        # Metrics on the parent too: without any, its charts are empty. The benchmark's stand as they
        # are, to be compared across models and versions; other conditions have theirs under their name.
        log_metrics(client, parent.info.run_id, list(_parent_numbers(cell.condition, summary or {})))
        client.set_terminated(parent.info.run_id)
        # The digest comes last: a run that was cut off is logged again.
        client.set_tag(child.info.run_id, "records_digest", digest)
        client.set_terminated(child.info.run_id)
        if old is not None:
            client.delete_run(old.info.run_id)  # only now: a failure before this loses nothing
        return where

    def log_study(self, version: str, model: str, study: str, domain: str) -> str:
        """Log what a whole study of one domain gave: its analysis with figures, and a report page, on the
        run that its conditions hang from; a study without conditions, such as a comparison of records,
        gets a run for its analysis alone. Returns a line for the user, empty when nothing is new or there
        is nothing to log. Raises StorageError, and whatever the store raises."""
        from tracking.gathering import gather
        from tracking.report import write_pages

        client = self._client()
        experiment = self._experiment(client, version)
        tags = {"version": version, "domain": domain, "model": model, "study": study}
        parent = find_run(client, experiment, {**tags, "condition": "-"})
        folder = self.results / version / model / study
        files = sorted(
            path
            for path in folder.glob(f"{escape(domain)}.*")
            if path.suffix in (".svg", ".png") or path.name.endswith(".analysis.json")
        )
        records = sorted(folder.glob(f"{escape(domain)}.*.jsonl"))
        if parent is None:
            if records or not files:
                return ""
            more = {"condition": "-", "official": str(is_official(version)).lower()}
            name = f"{domain} · {model} · {study}"
            parent = client.create_run(experiment, run_name=name, tags={**tags, **more})
            client.set_terminated(parent.info.run_id)
        digest = digest_of([_content(path) for path in (*files, *records)])
        if parent.data.tags.get("study_digest") == digest:
            return ""
        run = parent.info.run_id
        for path in files:
            client.log_artifact(run, str(path), "analysis")
        if not records:
            client.set_tag(run, "study_digest", digest)
            return f"MLflow: analysis of {domain} · {model} · {study}"
        found = gather(self.results, tags, intervals=False, whole=True)
        with tempfile.TemporaryDirectory() as place:
            write_pages(found, Path(place) / "report.html", Path(place) / "report.md")
            client.log_artifacts(run, place, "report")
        client.set_tag(run, "study_digest", digest)
        what = "report and analysis" if files else "report"
        return f"MLflow: {what} of {domain} · {model} · {study}"

    def log_sweep(self, record: SweepRecord) -> str:
        """Log a sweep as one run above those of its jobs; returns a line for the user, empty when nothing
        is new. Raises whatever the store raises."""
        from tracking.mlflow_sweep import log_sweep

        client = self._client()
        return log_sweep(client, lambda version: self._experiment(client, version), record, self.results)

    def _client(self) -> Any:
        uri = self.uri or store_uri(self.results)
        if uri.startswith("sqlite:///"):
            open_once(uri.removeprefix("sqlite:///"))
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        # Two lines a run, of a store on a server.
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
        # By default a server that is down is asked for minutes before that is said.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        from mlflow.tracking import MlflowClient

        # After the import, which sets these levels itself.
        for name in ("alembic", "mlflow"):
            logging.getLogger(name).setLevel(logging.ERROR)
        return MlflowClient(tracking_uri=uri)

    def _experiment(self, client: Any, version: str) -> str:
        name = f"beeline {version}"
        found = client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        place = None if self.uri else (self.results.resolve() / "mlartifacts").as_uri()
        return str(client.create_experiment(name, artifact_location=place))

    def _fill(
        self,
        client: Any,
        run: str,
        cell: Cell,
        records: Sequence[Record],
        summary: Mapping[str, Any] | None,
        spec: Mapping[str, Any],
    ) -> None:
        from mlflow.entities import Param

        params = [Param(key, value[:PARAM_LENGTH]) for key, value in _flat(spec)]
        for at in range(0, len(params), 100):
            client.log_batch(run, params=params[at : at + 100])
        values = [(key, value, 0) for key, value, _ in _numbers(summary or {})]
        for record in records:
            for arm, result in record.arms.items():
                for key in _SERIES:
                    if isinstance(result.get(key), int | float):
                        values.append((f"trial.{arm}.{key}", float(result[key]), record.trial))
        log_metrics(client, run, values)
        path = cell.path(self.results)
        if path.exists():
            client.log_artifact(run, str(path), "records")
        traces = cell.trace_path(self.results, 1, 1).parent
        if traces.is_dir():
            client.log_artifacts(run, str(traces), "traces")
        with tempfile.TemporaryDirectory() as folder:
            from omegaconf import OmegaConf

            resolved = Path(folder) / "spec.yaml"
            resolved.write_text(
                OmegaConf.to_yaml(OmegaConf.create(json.loads(json.dumps(spec, default=str))))
            )
            client.log_artifact(run, str(resolved))


def without_secrets(text: str) -> str:
    """A text in which the user and password of any URL are masked."""
    return re.sub(r"//[^/@\s]*@", "//***@", text)


def _served(records: Sequence[Record]) -> set[str]:
    return {name for record in records for name in record.arms.get("model", {}).get("served_models", {})}


def _numbers(data: Any, path: str = "") -> Iterator[tuple[str, float, int]]:
    """Finite numbers of nested mappings, by dotted path (MLflow takes no infinities)."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from _numbers(value, f"{path}.{key}" if path else str(key))
    elif isinstance(data, int | float) and not isinstance(data, bool) and math.isfinite(data):
        yield clean_name(path), float(data), 0


def _parent_numbers(condition: str, summary: Mapping[str, Any]) -> Iterator[tuple[str, float, int]]:
    """What the run above the conditions shows of one: everything of the benchmark, of others the scores."""
    if condition == BENCHMARK:
        yield from _numbers(summary)
        return
    for arm, result in (summary.get("arms") or {}).items():
        score = result.get("score") if isinstance(result, Mapping) else None
        if isinstance(score, Mapping):
            yield from _numbers(score, f"{condition}/{arm}.score")
        elif isinstance(result, Mapping):
            yield from _numbers(result, f"{condition}/{arm}")


def _content(path: Path) -> str:
    return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def _flat(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(data, Mapping) and data:
        for key, value in data.items():
            yield from _flat(value, f"{path}.{key}" if path else str(key))
    elif path:  # records whose spec was not kept have no params
        yield clean_name(path), str(data)
