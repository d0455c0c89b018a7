"""Sweeps: one watch replayed many times over one prepared recording, with other thresholds, margins, windows, sites.

Every combination of the values is one job. A job can be pickled, knows all it needs, and is run by ``run_job`` in any
process that can read the prepared folder; the pipelines run them as Spark tasks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tacit.language.plan import WatchPlan
from tacit.recording.run import check_fit, replay_prepared
from tacit.recording.settings import Settings
from tacit.recording.sides import load_recorded
from tacit.recording.stream import Recording
from tacit.recording.subset import draw_groups, first_sites
from tacit.recording.vary import Length, Value, Variation, changed_plan, changed_settings
from tacit.vocabulary.errors import OptionError

__all__ = ["RUNS_MAX", "Job", "jobs_of", "run_job"]

RUNS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Job:
    """One replay of a sweep."""

    folder: Path
    plan: WatchPlan
    settings: Settings
    values: tuple[tuple[str, Value], ...]
    sites: int | None = None
    groups: int | None = None
    draw_seed: int = 0

    @property
    def name(self) -> str:
        """How an error names the job."""
        return ", ".join(f"{name}={_shown(value)}" for name, value in self.values)


def jobs_of(
    plan: WatchPlan, variations: Sequence[Variation], settings: Settings, folder: Path, *, draw_seed: int = 0
) -> list[Job]:
    """One job for every combination; OptionError for a parameter that the watch has not, or for too many runs."""
    names = [variation.name for variation in variations]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"--vary {name} is said {names.count(name)} times; list all its values once")
    runs = math.prod(len(variation.values) for variation in variations)
    if runs > RUNS_MAX:
        raise OptionError(f"these values make {runs:,} runs; at most {RUNS_MAX:,} are allowed")
    jobs = []
    for combination in itertools.product(*(variation.values for variation in variations)):
        values = tuple(zip(names, combination, strict=True))
        changed, how, chosen = plan, settings, {}
        for name, value in values:
            changed = changed_plan(changed, name, value)
            how = changed_settings(how, name, value)
            if name in ("sites", "groups"):
                assert isinstance(value, int)
                chosen[name] = value
        jobs.append(Job(folder, changed, how, values, **chosen, draw_seed=draw_seed))
    for job in jobs:
        check_fit(job.plan, job.settings)
    return jobs


def check_jobs(jobs: Sequence[Job], recording: Recording) -> None:
    """OptionError when a job asks for more sites or groups than the recording has."""
    for sites in {job.sites for job in jobs} - {None}:
        first_sites(recording, sites or 0)
    for groups in {job.groups for job in jobs} - {None}:
        draw_groups(recording, groups or 0, 0)


def run_job(job: Job) -> dict[str, Any]:
    """Replay one job: its values, then what the replay said and cost, as one flat row."""
    recording = _loaded(str(job.folder))
    if job.sites is not None:
        recording = first_sites(recording, job.sites)
    if job.groups is not None:
        recording = draw_groups(recording, job.groups, job.draw_seed)
    finished = replay_prepared(job.plan, recording, 0.0, job.settings).replay
    return row_of({name: _shown(value) for name, value in job.values}, finished.report.as_dict())


def row_of(values: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    """A report as one row of a table; what was varied comes first."""
    row = dict(values)
    for name in ("watch", "protocol", "policy", "step", "sites", "groups", "updates", "panes"):
        row.setdefault(name, report[name])
    row |= {
        "messages": report["messages"]["total"],
        "bytes": report["bytes"],
        "centralised_messages": report["centralised"]["messages"],
        "centralised_bytes": report["centralised"]["bytes"],
        "pane_messages": report["pane_shipping"]["messages"],
        "pane_bytes": report["pane_shipping"]["bytes"],
        "violations": report["violations"],
        "full_syncs": report["full_syncs"],
        "alerts": len(report["alerts"]),
        "seconds": report["seconds"]["replay"],
    }
    if "missed" in report:
        row |= {name: report[name] for name in ("crossings", "missed", "spurious", "max_error")}
    return row


def _shown(value: Value) -> float | int | str:
    return str(value) if isinstance(value, Length) else value


@lru_cache(maxsize=1)
def _loaded(folder: str) -> Recording:
    """A worker runs many jobs over the same recording."""
    return load_recorded(Path(folder))
