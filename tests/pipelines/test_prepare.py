"""Preparing a recording: what is in it, that it is always the same, and that failures leave nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tacit.language.plan import ByKey, ByMember, Every, Window
from tacit.pipelines.prepare import prepare
from tacit.recording.stream import Recording, load
from tests.pipelines.plans import count_of, sum_of, watch

START = 1_362_096_000  # 2013-03-01 UTC
ROWS = [  # station, second, v, n: out of order, with equal times, NULL and NaN
    ("b", 30, 3.0, 3),
    ("a", 10, 1.5, 1),
    ("c", 10, None, 2),
    ("a", 10, 2.5, 1),
    ("b", 20, float("nan"), None),
    ("a", 20, 7.0, 4),
    (None, 20, 8.0, 5),
    ("c", None, 9.0, 6),
    ("b", 10, 4.0, 7),
]


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    rows = spark.createDataFrame(ROWS, "station string, second bigint, v double, n bigint")
    moment = sf.timestamp_seconds(sf.col("second") + START).alias("ts")
    return rows.select("station", moment, "v", "n").cache()


def record(
    spark: SparkSession, tmp_path: Path, frame: DataFrame | Path, *statistics: tuple[str, ...], **parts: object
) -> Recording:
    site, time = str(parts.pop("site", "station")), str(parts.pop("time", "ts"))
    name = str(parts.pop("folder", "recording"))
    return load(prepare(spark, watch(*statistics, **parts), frame, site=site, time=time, folder=tmp_path / name))


def same(a: Recording, b: Recording) -> None:
    assert (a.sites, a.groups, a.centres, a.rows, a.kept) == (b.sites, b.groups, b.centres, b.rows, b.kept)
    for name in ("t", "site", "present", "absent", "group", "member_ptr", "member"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_rows_in_order_with_null_nan_and_missing_keys(spark: SparkSession, tmp_path: Path, data: DataFrame) -> None:
    got = record(spark, tmp_path, data, sum_of("v"), count_of("v"))
    assert got.sites == ("a", "b", "c")
    assert (got.rows, got.kept, got.left_out) == (7, 7, {"no_time": 1, "no_site": 1})
    assert (np.diff(got.t) >= 0).all()
    seconds = (got.t // 1_000_000 - START).tolist()
    assert seconds == [10, 10, 10, 10, 20, 20, 30]
    rows = sorted(zip(seconds, [got.sites[s] for s in got.site], map(tuple, got.present.tolist()), strict=True))
    assert rows == [
        (10, "a", (1.5, 1.0)),
        (10, "a", (2.5, 1.0)),
        (10, "b", (4.0, 1.0)),
        (10, "c", (0.0, 0.0)),
        (20, "a", (7.0, 1.0)),
        (20, "b", (0.0, 0.0)),
        (30, "b", (3.0, 1.0)),
    ]


def test_order_does_not_depend_on_layout(spark: SparkSession, tmp_path: Path, data: DataFrame) -> None:
    many = data.withColumn("k", sf.explode(sf.sequence(sf.lit(1), sf.lit(40)))).cache()  # 40 rows at each time and site
    plan = (sum_of("v"), ("k", "k"))
    first = record(spark, tmp_path, many, *plan, folder="1")
    same(first, record(spark, tmp_path, many.repartition(7, "k"), *plan, folder="2"))
    same(first, record(spark, tmp_path, many.orderBy(sf.desc("k")).coalesce(1), *plan, folder="3"))
    turns = record(spark, tmp_path, many, *plan, site="round_robin:3", folder="4")
    same(turns, record(spark, tmp_path, many.repartition(5), *plan, site="round_robin:3", folder="5"))


@pytest.mark.middle
def test_file_formats_agree(spark: SparkSession, tmp_path: Path, data: DataFrame) -> None:
    plain = data.withColumn("v", sf.nanvl("v", sf.lit(None))).cache()  # JSON and CSV have no NaN
    plain.coalesce(1).write.parquet(str(tmp_path / "parquet"))
    plain.repartition(3).write.csv(str(tmp_path / "csv"), header=True)
    plain.repartition(2).write.json(str(tmp_path / "json"), ignoreNullFields=False)
    plain.withColumn("n", sf.col("n").cast("int")).write.parquet(str(tmp_path / "narrow"))
    for site in ("hash:n:3", "round_robin:4"):
        got = [
            record(spark, tmp_path, tmp_path / kind, sum_of("v"), count_of("n"), site=site, folder=f"{kind} {site}")
            for kind in ("parquet", "csv", "json", "narrow")
        ]
        assert got[0].rows == (8 if site == "round_robin:4" else 7)  # one row has no n, and one no time
        for other in got[1:]:
            same(got[0], other)


def test_where_and_round_robin_before_it(spark: SparkSession, tmp_path: Path, data: DataFrame) -> None:
    plan = (sum_of("v"), ("n", "coalesce(n, 0)"))
    everything = record(spark, tmp_path, data, *plan, site="round_robin:4", folder="all")
    some = record(spark, tmp_path, data, *plan, site="round_robin:4", where="n > 2", folder="some")
    assert everything.site.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert (some.rows, some.kept) == (8, 4)
    kept = everything.present[:, 1] > 2
    np.testing.assert_array_equal(some.site, everything.site[kept])
    np.testing.assert_array_equal(some.present, everything.present[kept])


def test_where_protects_contributions_and_groups(spark: SparkSession, tmp_path: Path, data: DataFrame) -> None:
    got = record(
        spark,
        tmp_path,
        data,
        ("inverse", "1 / (n - 1)"),
        where="n <> 1",
        centres=("1 / (n - 1)",),
        grouping=ByKey(("6 / (n - 1)",), ("g",)),
    )
    assert got.kept == 4
    assert got.present[:, 0].sum() == pytest.approx(1 / 2 + 1 + 1 / 3 + 1 / 6)
    assert got.groups == ("1.0", "2.0", "3.0", "6.0")


@pytest.mark.middle
def test_equal_numbers_are_one_key_whatever_their_types(spark: SparkSession, tmp_path: Path) -> None:
    """An inner product of a BIGINT and a DOUBLE was 0: 1 and 1.0 had two texts."""
    from pyspark.sql import functions as sf

    grouping, two = ByKey(("k",), ("k",), alike=True), "round_robin:2"
    numbers = ["-2", "0", "1", "9007199254740992", "1.5", "100"]
    kinds = {"bigint": numbers[:4], "double": numbers, "decimal(20,2)": numbers, "string": numbers, "float": numbers}
    for at, (kind, texts) in enumerate(kinds.items()):
        frame = spark.createDataFrame([(text, START, "s") for text in texts], "k STRING, ts LONG, station STRING")
        typed = frame.withColumn("k", sf.col("k").cast(kind))
        got = record(spark, tmp_path, typed, ("one", "1"), grouping=grouping, site=two, folder=str(at))
        assert sorted(got.keys or ()) == sorted(f'["{text}"]' for text in texts), kind
    odd = spark.sql("SELECT explode(array(-0D, 0D, double('NaN'), double('inf'), 1e300)) k, 1 ts, 's' station")
    got = record(spark, tmp_path, odd, ("one", "1"), grouping=grouping, site=two, folder="odd")
    assert sorted(got.keys or ()) == ['["0"]', '["1.0E300"]', '["Infinity"]', '["NaN"]']


def test_a_site_all_of_whose_rows_fail_where_still_exists(spark: SparkSession, tmp_path: Path, data: DataFrame) -> None:
    got = record(spark, tmp_path, data, ("one", "1"), where="station <> 'c'")
    assert got.sites == ("a", "b", "c")
    assert sorted(set(got.site.tolist())) == [0, 1]
    hashed = record(spark, tmp_path, data, ("one", "1"), site="hash:station:50", folder="hash")
    assert hashed.sites == tuple(map(str, range(50)))


def test_groups_by_key(spark: SparkSession, tmp_path: Path, data: DataFrame) -> None:
    got = record(spark, tmp_path, data, ("n", "coalesce(n, 0)"), grouping=ByKey(("n",), ("n",)))
    assert got.groups == ("NULL", "1", "2", "3", "4", "7")
    assert got.group is not None
    keys = [got.groups[g] for g in got.group]
    assert [0 if key == "NULL" else int(key) for key in keys] == got.present[:, 0].tolist()
    pair = record(
        spark, tmp_path, data, ("n", "1"), grouping=ByKey(("n > 2", "upper(station)"), ("big", "s")), folder="pair"
    )
    assert pair.groups == ("NULL, B", "false, A", "false, C", "true, A", "true, B")


def test_groups_by_member(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("a", 1, [30, 4, 4]), ("b", 2, []), ("a", 3, None), ("b", 4, [100, None, 4]), ("b", 5, [7])]
    frame = spark.createDataFrame(rows, "station string, ts bigint, terms array<bigint>")
    got = record(
        spark,
        tmp_path,
        frame,
        ("with", "1", "0"),
        ("without", "0", "ts"),
        grouping=ByMember("terms", "term"),
        where="ts < 5",
    )
    assert got.groups == ("4", "30", "100")
    assert got.member_ptr is not None
    assert got.member is not None
    assert got.absent is not None
    assert got.member_ptr.tolist() == [0, 2, 2, 2, 4]
    assert got.member.tolist() == [0, 1, 0, 2]
    assert got.present.tolist() == [[1, 0]] * 4
    assert got.absent.tolist() == [[0, 1], [0, 2], [0, 3], [0, 4]]
    words = frame.withColumn("terms", sf.transform("terms", lambda term: sf.concat(sf.lit('"'), term.cast("string"))))
    texts = record(
        spark, tmp_path, words, ("with", "1", "0"), grouping=ByMember("terms", "term"), where="ts < 5", folder="w"
    )
    assert texts.groups == ('"100', '"30', '"4')
    assert texts.member is not None
    assert texts.member.tolist() == [1, 2, 0, 2]


def test_centres_keep_digits(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("a" if i % 2 else "b", i, 1e9 + i % 10) for i in range(1000)]
    frame = spark.createDataFrame(
        [*rows, ("a", 5, None), ("b", 5, float("nan"))], "station string, ts bigint, v double"
    )
    shifted = "CASE WHEN v IS NULL OR isnan(v) THEN 0 ELSE (v - {0}) * (v - {0}) END"
    got = record(spark, tmp_path, frame, ("m2", shifted), centres=("v",), where="ts < 500")
    (centre,) = got.centres
    assert 1e9 <= centre <= 1e9 + 9  # it is one of the values
    assert got.present.sum() == sum((i % 10 - (centre - 1e9)) ** 2 for i in range(500))


def test_outliers_do_not_move_the_centre(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("a" if i % 2 else "b", i, -9.99e20 if i % 60 == 7 else 1.0 + i % 10) for i in range(1000)]
    frame = spark.createDataFrame(rows, "station string, ts bigint, v double")
    got = record(spark, tmp_path, frame, ("m1", "v - {0}"), centres=("v",))
    assert 1.0 <= got.centres[0] <= 10.0


def test_centre_of_a_constant_is_the_constant(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("a", 1, 0.1), ("b", 2, 0.1), ("b", 3, None)], "station string, ts bigint, v double")
    got = record(spark, tmp_path, frame, ("m2", "(v - {0}) * (v - {0})"), centres=("v",))
    assert got.centres == (0.1,)
    assert got.present.tolist() == [[0.0], [0.0], [0.0]]


def test_columns_with_our_names_and_odd_names(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(
        "SELECT id AS t, id % 2 AS site, id * 2 AS grp, array(id) AS members, id > 1 AS keep, id AS `p0`, "
        "id AS `a.b`, map('k', id) AS m, struct(id) AS s, parse_json('[1]') AS j FROM range(4)"
    )
    got = record(
        spark,
        tmp_path,
        frame,
        ("p0", "p0 + `a.b`"),
        site="site",
        time="t",
        grouping=ByKey(("grp",), ("grp",)),
        where="keep",
    )
    assert got.t.tolist() == [2_000_000, 3_000_000]
    assert got.site.tolist() == [0, 1]
    assert got.present.tolist() == [[4], [6]]
    assert got.groups == ("4", "6")


def test_a_site_that_starts_late(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(100).selectExpr(
        "id AS ts", "CASE WHEN id < 90 OR id % 2 = 0 THEN 'old' ELSE 'new' END AS station"
    )
    got = record(spark, tmp_path, frame, ("one", "1"))
    assert got.sites == ("new", "old")
    assert got.t[got.site == 0].min() == 91_000_000


def test_same_files_are_prepared_once(spark: SparkSession, tmp_path: Path) -> None:
    source, folder = tmp_path / "x.csv", tmp_path / "recording"
    source.write_text("station,ts,v\na,1,2\nb,2,3\n")

    def go(**parts: object) -> float:
        plan = watch(sum_of("v"), **{key: value for key, value in parts.items() if key not in ("site", "time")})
        site = str(parts.get("site", "station"))
        assert prepare(spark, plan, source, site=site, time="ts", folder=folder) == folder
        return (folder / "meta.json").stat().st_mtime_ns

    first = go()
    assert go() == first
    assert go(window=Window("time", Every(rows=1), duration_us=5)) == first  # the window is not in the recording
    filtered = go(where="v > 2")
    assert filtered != first
    assert load(folder).kept == 1
    hashed = go(where="v > 2", site="hash:v:2")
    assert hashed != filtered
    source.write_text("station,ts,v\na,1,2\nb,2,3\nb,3,5\n")
    os.utime(source, ns=(1, 1))
    assert go(where="v > 2", site="hash:v:2") != hashed
    assert load(folder).kept == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recording", "x.csv"]


def test_meta_says_what_the_recording_is(spark: SparkSession, tmp_path: Path, data: DataFrame) -> None:
    record(spark, tmp_path, data, sum_of("v"))
    meta = json.loads((tmp_path / "recording" / "meta.json").read_text())
    assert meta["statistics"] == ["sum_v"]
    assert meta["step_us"] == {"smallest": 10_000_000, "middle": 10_000_000}
    assert (meta["t_first"], meta["t_last"]) == ((START + 10) * 1_000_000, (START + 30) * 1_000_000)
    names = sorted(path.name for path in (tmp_path / "recording" / "events").iterdir())
    assert all(name.startswith("part-") and name.endswith(".parquet") for name in names)
