"""``import tacit``: light, sorted, and the same replay from a path, a table or a DataFrame."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
WATCH = "CREATE WATCH hot AS SELECT AVG(x) AS m FROM t WINDOW LAST 50 ROWS ALERT WHEN m > 5 MARGIN 0.2"


def table() -> pa.Table:
    rng = np.random.default_rng(1)
    k = np.arange(400)
    return pa.table(
        {
            "place": [f"p{j % 4}" for j in range(400)],
            "at": pa.array(k * 1_000_000_000 * 60, pa.timestamp("ns")),
            "x": rng.normal(5 + np.sin(k / 50), 0.5),
        }
    )


def test_the_public_names() -> None:
    assert list(tacit.__all__) == sorted(tacit.__all__)
    for name in tacit.__all__:
        assert getattr(tacit, name) is not None
    assert set(tacit.__all__) <= set(dir(tacit))
    with pytest.raises(AttributeError, match="has no attribute 'reply'"):
        _ = tacit.reply


def test_importing_tacit_loads_nothing_heavy() -> None:
    heavy = {"numba", "numpy", "pyarrow", "pyspark", "rich", "sqlglot"}
    code = f"import sys, tacit; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src", capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_without_spark_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("tacit.pipelines.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(tacit.MachineError, match=r"pip install 'tacit\[site\]'"):
        tacit.replay(WATCH, table(), site="place", time="at")


def test_the_same_replay_from_everything_that_holds_rows(spark: SparkSession, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "rows.parquet"
    pq.write_table(table(), path)
    frame = table().to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    sources = [path, str(path), [path], table(), frame, spark.createDataFrame(frame)]
    reports = [tacit.replay(WATCH, data, site="place", time="at", spark=spark, verify=True) for data in sources]
    assert {(report.missed, report.spurious) for report in reports} == {(0, 0)}
    assert {report.updates for report in reports} == {400}
    figures = [
        (report.messages["total"], report.violations, [alert.as_dict() for alert in report.alerts])
        for report in reports
    ]
    assert all(each == figures[0] for each in figures)


def test_a_watch_in_a_file_and_a_picture(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "hot.sql").write_text(WATCH)
    report = tacit.replay(
        tmp_path / "hot.sql", table(), site="place", time="at", spark=spark, protocol="decentralised", step="pane",
        plot=tmp_path / "hot.png",
    )  # fmt: skip
    assert (report.watch, report.protocol, report.step) == ("hot", "broadcast", "pane")
    assert (tmp_path / "hot.png").stat().st_size > 10_000


def test_a_python_function_with_a_bound(spark: SparkSession) -> None:
    bounded = tacit.PythonFunction(lambda x: np.sin(x), lipschitz=1.0)
    text = "CREATE WATCH wave AS SELECT wave(AVG(x)) AS f FROM t WINDOW LAST 50 ROWS ALERT WHEN f > -0.9 MARGIN 0.05"
    report = tacit.replay(text, table(), site="place", time="at", spark=spark, verify=True, functions={"wave": bounded})
    assert (report.missed, report.spurious) == (0, 0)


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"watch": WATCH + ";" + WATCH.replace("hot", "warm")}, "SentenceError", "one watch is expected"),
        ({"watch": "nowhere.sql"}, "OptionError", "cannot read nowhere.sql"),
        ({"data": 7}, "OptionError", "data is a int"),
        ({"data": "nowhere.parquet"}, "DataError", "nowhere.parquet does not exist"),
        ({"protocol": "rumour"}, "OptionError", "no protocol named"),
    ],
)
def test_wrong_arguments(changes: dict[str, object], kind: str, words: str) -> None:
    arguments = {"watch": WATCH, "data": table(), "site": "place", "time": "at", **changes}
    with pytest.raises(getattr(tacit, kind), match=words):
        tacit.replay(**arguments)  # type: ignore[arg-type]


def test_a_spread_that_is_tiny_beside_the_mean(spark: SparkSession) -> None:
    """Squares around a centre that is only near the mean would lose every digit of the spread."""
    rng = np.random.default_rng(3)
    k = np.arange(300)
    y = rng.normal(0.0, 1.0, 300)
    x = 1e9 + 1e-3 * (y * np.sin(k / 20.0) + rng.normal(0.0, 0.3, 300))
    data = pa.table({"place": [f"p{j % 3}" for j in k], "at": k, "x": x, "y": y})
    watch = "CREATE WATCH c AS SELECT CORR(x, y) AS c FROM t WINDOW LAST 10 ROWS ALERT WHEN c > 0.3"
    report = tacit.replay(watch, data, site="place", time="at", verify=True, spark=spark)
    above = [False]
    for end in range(1, 301):
        rows = np.concatenate([np.arange(site, end, 3)[-10:] for site in range(3)])
        deviation = x[rows] - 1e9  # exact
        above.append(len(rows) > 1 and bool(np.corrcoef(deviation, y[rows])[0, 1] > 0.3))
    truth = np.flatnonzero(np.diff(above))
    assert len(truth) > 3
    assert [alert.update for alert in report.alerts] == truth.tolist()
    assert (report.crossings, report.missed, report.spurious) == (len(truth), 0, 0)
