"""Preparing a recording: each row's time, site, group and contributions, written once in total order.

The folder holds ``meta.json`` and ``events/part-*.parquet``; read in name order the parts are in the order of
(time, row hash), ties broken by every column that is written, so that the same rows give the same recording whatever
files they came from. Columns: ``t`` (microseconds UTC), ``site`` (left out under round robin: the loader counts),
``keep`` (WHERE holds), ``p0`` … (contributions), ``key`` (the order in which rows are sampled), ``c0`` … (values of
the expressions that are centred), under GROUP BY EACH also ``a0`` … (contributions to groups whose
member the row lacks) and ``members``, under GROUP BY ``grp``.

Rows without a time or a site are left out and counted. A recording that fails leaves nothing behind: it is written
beside its place and moved there when complete.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

from tacit.language.plan import ByKey, ByMember, WatchPlan
from tacit.language.schema_check import check_columns
from tacit.pipelines.contributions import DRAWS, centre_draws, centre_values, contribution, sample_key, where
from tacit.pipelines.failures import one_sentence
from tacit.pipelines.files import Paths, find_files
from tacit.pipelines.fingerprint import FORMAT, data_fingerprint, recorded_mark
from tacit.pipelines.groups import (
    GROUP,
    MEMBERS,
    Groups,
    attach_key,
    attach_members,
    find_groups,
    group_columns,
    with_index,
)
from tacit.pipelines.order import row_hash
from tacit.pipelines.parts import check_finite, part_files, time_steps
from tacit.pipelines.recorded_tables import RecordedTable, open_recorded
from tacit.pipelines.sites import SITES_MAX, SiteRule, parse_site, site_key, site_names
from tacit.pipelines.sources import read_files
from tacit.pipelines.time import TimeColumn, time_column, utc
from tacit.vocabulary.errors import DataError

__all__ = ["prepare"]

# Names that no column of the user has: theirs stay visible to their expressions until the events are chosen.
_T, _SITE, _SITE_INDEX = "__tacit_t", "__tacit_site", "__tacit_site_index"
_KEEP, _HASH, _BAD = "__tacit_keep", "__tacit_hash", "__tacit_bad"


def prepare(
    spark: SparkSession, plan: WatchPlan, data: DataFrame | Paths | RecordedTable, *, site: str, time: str, folder: Path
) -> Path:
    """Write the recording of ``data`` that ``plan`` needs into ``folder`` and return the folder.

    When the folder already holds the recording of the same files, statistics, WHERE, grouping, site and time, it is
    returned at once. A DataFrame has no identity that outlives it, so it is always prepared anew. Another recording
    in the folder is replaced; any other content is refused.
    """
    rule = parse_site(site)
    folder = Path(folder)
    mark = None if isinstance(data, DataFrame) else data_fingerprint(plan, data, site=site, time=time)
    if recorded_mark(folder) == mark and mark is not None:
        return folder
    with utc(spark), one_sentence():
        frame = _opened(spark, data)
        check_columns(plan, {field.name: field.dataType.simpleString() for field in frame.schema})
        moment = time_column(frame, time)
        base = _base(frame, plan, rule, moment)
        measured = _measure(base, plan, rule, moment)
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            meta = _write(spark, base, plan, rule, measured, draft)
            (draft / "meta.json").write_text(json.dumps({**meta, "fingerprint": mark}, indent=1), encoding="utf-8")
            _move(draft, folder, mark)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return folder


def _opened(spark: SparkSession, data: DataFrame | Paths | RecordedTable) -> DataFrame:
    if isinstance(data, DataFrame):
        return data
    return open_recorded(spark, data) if isinstance(data, RecordedTable) else read_files(spark, find_files(data))


@dataclass(frozen=True, slots=True)
class _Measured:
    """What one aggregate over all rows tells."""

    sites: tuple[str, ...]
    centres: tuple[float, ...]
    rows: int
    kept: int
    no_time: int
    no_site: int


def _base(frame: DataFrame, plan: WatchPlan, rule: SiteRule, moment: TimeColumn) -> DataFrame:
    """The user's columns, and beside them the row's time, site, order and group keys."""
    extra = {
        _T: moment.micros,
        _SITE: site_key(frame, rule),
        _KEEP: where(plan),
        _HASH: row_hash(frame, leave_out=moment.name),
        **group_columns(plan.grouping, where(plan)),
    }
    if moment.bad is not None:
        place = sf.monotonically_increasing_id()
        extra[_BAD] = sf.when(moment.bad.isNotNull(), sf.struct(place.alias("place"), moment.bad.alias("text")))
    return frame.withColumns(extra)


def _measure(base: DataFrame, plan: WatchPlan, rule: SiteRule, moment: TimeColumn) -> _Measured:
    """One aggregate per site: the sites, the centres, and what is left out; the first thing that can fail on rows."""
    timed = sf.col(_T).isNotNull()
    counts = timed & sf.col(_SITE).isNotNull() & sf.col(_KEEP)
    aggregates = [
        sf.count("*").alias("rows"),
        sf.count(_T).alias("timed"),
        sf.count_if(counts).alias("kept"),
        *centre_draws(plan, counts, sf.col(_HASH), sf.col(_T)),
    ]
    if moment.bad is not None:
        aggregates += [sf.count(_BAD).alias("bad"), sf.min(_BAD).alias("first_bad")]
    found: list[Row] = base.groupBy(_SITE).agg(*aggregates).limit(SITES_MAX + 2).collect()
    if not found:
        raise DataError("the data has no rows")
    if moment.bad is not None and (bad := sum(row.bad for row in found)):
        raise moment.complain(bad, min(row.first_bad for row in found if row.first_bad).text)
    keys = [row[_SITE] for row in found if row[_SITE] is not None and row.timed]
    if not keys:
        raise DataError(f"no row has both a site and a time in column {moment.name}")
    kept = sum(row.kept for row in found)
    if kept == 0:
        raise DataError("no row passes WHERE, so there is nothing to replay")
    return _Measured(
        sites=site_names(rule, keys),
        centres=tuple(_centre(found, index) for index in range(len(plan.centres))),
        rows=sum(row.timed for row in found if row[_SITE] is not None),
        kept=kept,
        no_time=sum(row.rows - row.timed for row in found),
        no_site=sum(row.timed for row in found if row[_SITE] is None),
    )


def _centre(found: list[Row], index: int) -> float:
    """The median of the draws, each of which is the least over all sites."""
    draws = [[row[f"draw{index}_{k}"] for row in found if row[f"draw{index}_{k}"]] for k in range(DRAWS)]
    return median(min(draw).value for draw in draws) if draws[0] else 0.0


def _write(
    spark: SparkSession, base: DataFrame, plan: WatchPlan, rule: SiteRule, measured: _Measured, draft: Path
) -> dict[str, object]:
    """Write the events and return the meta data."""
    rows = base.where(sf.col(_T).isNotNull() & sf.col(_SITE).isNotNull())
    groups: Groups | None = None
    if plan.grouping is not None:
        groups = find_groups(rows.where(_KEEP), plan.grouping)
    if isinstance(plan.grouping, ByKey) and groups is not None:
        rows = attach_key(spark, rows, plan.grouping, groups)
    elif groups is not None:
        rows = attach_members(rows, groups)
    if rule.kind == "column":
        rows = with_index(spark, rows, _SITE, measured.sites, _SITE_INDEX)
    elif rule.kind == "hash":
        rows = rows.withColumn(_SITE_INDEX, sf.col(_SITE))
    events = rows.select(*_event_columns(plan, rule, measured.centres))
    keys = [name for name in events.columns if name not in ("t", _HASH)]
    ordered = events.orderBy("t", _HASH, *keys).drop(_HASH)
    ordered.write.parquet(f"file://{(draft / 'events').resolve()}")
    parts = part_files(draft)
    check_finite(parts, [each.name for each in plan.statistics])
    return {
        "format": FORMAT,
        "sites": measured.sites,
        "site_rule": {"kind": rule.kind, "column": rule.column, "count": rule.count},
        "groups": None if groups is None else groups.labels,
        "keys": None if groups is None else groups.texts,
        "grouping": _grouping_kind(plan),
        "statistics": [each.name for each in plan.statistics],
        "centres": measured.centres,
        "rows": measured.rows,
        "kept": measured.kept,
        "left_out": {"no_time": measured.no_time, "no_site": measured.no_site},
        **time_steps(parts),
    }


def _event_columns(plan: WatchPlan, rule: SiteRule, centres: tuple[float, ...]) -> list[Column]:
    keep = sf.col(_KEEP)
    chosen = [sf.col(_T).alias("t"), sf.col(_HASH), keep.alias("keep")]
    if rule.kind != "round_robin":
        chosen.append(sf.col(_SITE_INDEX).alias("site"))
    chosen += [contribution(each.present, centres, keep).alias(f"p{i}") for i, each in enumerate(plan.statistics)]
    chosen.append(sample_key(plan, sf.col(_T), keep).alias("key"))
    chosen += [value.alias(f"c{i}") for i, value in enumerate(centre_values(plan, keep))]
    if isinstance(plan.grouping, ByMember):
        chosen += [contribution(each.absent, centres, keep).alias(f"a{i}") for i, each in enumerate(plan.statistics)]
        chosen.append(sf.col(MEMBERS).alias("members"))
    elif isinstance(plan.grouping, ByKey):
        chosen.append(sf.col(GROUP).alias("grp"))
    return chosen


def _grouping_kind(plan: WatchPlan) -> str | None:
    return None if plan.grouping is None else "member" if isinstance(plan.grouping, ByMember) else "key"


def _move(draft: Path, folder: Path, mark: str | None) -> None:
    """Put the finished draft in its place; an older recording there gives way only now."""
    draft.chmod(0o755)  # temporary folders are made private
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        if folder.exists():
            folder.rename(old / "old")
        draft.rename(folder)
    except OSError:
        # Another process was quicker with the same recording; its copy is as good.
        if mark is None or recorded_mark(folder) != mark:
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
