"""Every wrong input gets one sentence on standard error, exit code 2, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Tacit = Callable[..., Any]
Sentence = Callable[[str], Path]
GOOD = "CREATE WATCH w AS SELECT AVG(x) AS m FROM t WINDOW LAST 100 ROWS ALERT WHEN m > 10"
NO_SPARK = "a mistake in the sentence or an option must be found before Spark starts"


def refused(tacit: Tacit, folder: Path, *words: object) -> str:
    """The one sentence."""
    before = sorted(folder.rglob("*"))
    done = tacit("replay", *words)
    assert (done.code, done.out) == (2, ""), done
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    assert lines[0].startswith("tacit: ")
    assert "Traceback" not in done.err
    assert sorted(folder.rglob("*")) == before
    return str(lines[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD.replace("100 ROWS", "0 ROWS"), "line 1, column "),
        (GOOD + " MARGIN -1", "MARGIN"),
        (GOOD.replace("> 10", "> 'ten'"), "'ten'"),
        (GOOD.replace("AVG(x)", "STDEV(x)"), "did you mean STDDEV?"),
        (GOOD.replace("AVG(x)", "AVG(x) / (2 - 2)"), "zero"),
        (GOOD.replace("ALERT WHEN", "ALERT IF"), "WHEN"),
        (GOOD.replace("FROM", "FORM"), "line 1, column "),
        (GOOD.replace("WINDOW LAST", "WINDOW"), "LAST"),
        ("", "there is no sentence here"),
    ],
)
def test_a_wrong_sentence(
    tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    text: str, expected: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("tacit.pipelines.session.open_session", lambda *_, **__: pytest.fail(NO_SPARK))
    assert expected in refused(tacit, tmp_path, sentence(text), *where)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--protocol", "rumour"],
            "there is no protocol named 'rumour'; choose auto, cheaper, coordinator, broadcast, recentre",
        ),
        (["--protocol", "recentre", "--zone", "ball"], "recentring makes zones of its own; leave --zone ball out"),
        (["--protocol", "gossip"], "gossip keeps rankings"),
        (["--step", "minute"], "there is no step named 'minute'; choose event or pane"),
        (
            ["--zone", "cube"],
            "there is no zone named 'cube'; choose auto, ball, curvature, fitted, halfspace, region or norms",
        ),
        (["--policy", "best"], "there is no policy named 'best'"),
        (["--seed", "-1"], "the seed is -1"),
        (["--plot", "nowhere/seen.png"], "there is no folder nowhere"),
        (["--plot", "seen.xyz"], "the name must end in .png, .svg or .pdf"),
        (["--site", "round_robin:many"], "whole number of sites"),
        (["--site", "hash:station"], "needs a column and a number of sites"),
    ],
)
def test_a_wrong_option(
    tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    options: list[str], expected: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("tacit.pipelines.session.open_session", lambda *_, **__: pytest.fail(NO_SPARK))
    assert expected in refused(tacit, tmp_path, sentence(GOOD), *where, *options)


def test_a_file_that_is_not_there(tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path) -> None:
    assert "no such file or directory" in refused(tacit, tmp_path, tmp_path / "none.sql", *where)
    elsewhere = ["--data", tmp_path / "none.csv", "--site", "station", "--time", "ts"]
    assert "none.csv does not exist" in refused(tacit, tmp_path, sentence(GOOD), *elsewhere)


def test_a_work_folder_that_cannot_be_one(
    tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.pipelines.session.open_session", lambda *_, **__: pytest.fail(NO_SPARK))
    (tmp_path / "file").write_text("")
    words = refused(tacit, tmp_path, sentence(GOOD), *where, "--work", tmp_path / "file")
    assert "file is not a folder" in words
    (tmp_path / "mine" / "w").mkdir(parents=True)
    (tmp_path / "mine" / "w" / "thesis.txt").write_text("")
    words = refused(tacit, tmp_path, sentence(GOOD), *where, "--work", tmp_path / "mine")
    assert "exists and is not a prepared recording" in words


def test_two_watches_of_one_name(tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path) -> None:
    for other in ("w", "W"):
        script = sentence(f"{GOOD};\n{GOOD.replace('WATCH w', f'WATCH {other}')}")
        assert "holds two watches named w" in refused(tacit, tmp_path, script, *where)


@pytest.mark.parametrize("missing", ["--data", "--site", "--time"])
def test_a_missing_option_is_named(tacit: Tacit, sentence: Sentence, where: list[str], missing: str) -> None:
    cut = where.index(missing)
    done = tacit("replay", sentence(GOOD), *where[:cut], *where[cut + 2 :])
    assert (done.code, done.out) == (2, "")
    assert f"missing option '{missing}'" in done.err


@pytest.mark.usefixtures("spark")
class TestData:
    """What only the data can show."""

    def refuse(self, tacit: Tacit, sentence: Sentence, folder: Path, *, text: str = GOOD, **options: object) -> str:
        chosen = {"site": "station", "time": "ts", **options}
        words = [word for name, value in chosen.items() for word in (f"--{name}", value)]
        return refused(tacit, folder, sentence(text), *words)

    def test_a_column_that_does_not_exist(
        self, tacit: Tacit, sentence: Sentence, tmp_path: Path, readings: Path
    ) -> None:
        words = self.refuse(tacit, sentence, tmp_path, data=readings, text=GOOD.replace("AVG(x)", "AVG(xx)"))
        assert "line 1, column 30: there is no column named xx" in words
        assert "no column named when" in self.refuse(tacit, sentence, tmp_path, data=readings, time="when")
        assert "no column named stat" in self.refuse(tacit, sentence, tmp_path, data=readings, site="stat")
        assert "the time column is empty" in self.refuse(tacit, sentence, tmp_path, data=readings, time="")

    def test_text_in_a_numeric_column(self, tacit: Tacit, sentence: Sentence, tmp_path: Path, readings: Path) -> None:
        words = self.refuse(tacit, sentence, tmp_path, data=readings, text=GOOD.replace("AVG(x)", "AVG(label)"))
        assert "label" in words

    def test_an_empty_file(self, tacit: Tacit, sentence: Sentence, tmp_path: Path) -> None:
        empty = tmp_path / "empty.csv"
        empty.write_text("")
        assert "empty.csv is empty" in self.refuse(tacit, sentence, tmp_path, data=empty)
        empty.write_text("station,ts,x\n")
        assert "no rows" in self.refuse(tacit, sentence, tmp_path, data=empty)
        empty.write_text("\n\n")
        assert "empty.csv has no header" in self.refuse(tacit, sentence, tmp_path, data=empty)

    def test_a_header_that_names_a_column_twice(self, tacit: Tacit, sentence: Sentence, tmp_path: Path) -> None:
        twice = tmp_path / "twice.csv"
        twice.write_text("station,ts,x,X\na,1,1,2\nb,2,2,3\n")
        assert "twice.csv names the column x twice" in self.refuse(tacit, sentence, tmp_path, data=twice)

    def test_numbers_too_large_to_add_up(self, tacit: Tacit, sentence: Sentence, tmp_path: Path) -> None:
        huge = tmp_path / "huge.csv"
        huge.write_text("station,ts,x\na,1,1e308\nb,2,1e308\n")
        assert "sum(x) are too large" in self.refuse(tacit, sentence, tmp_path, data=huge)

    def test_texts_that_are_not_all_numbers(
        self, tacit: Tacit, sentence: Sentence, tmp_path: Path, readings: Path
    ) -> None:
        cast = GOOD.replace("AVG(x)", "AVG(CAST(label AS DOUBLE))")
        words = self.refuse(tacit, sentence, tmp_path, data=readings, text=cast)
        assert "the value 'kind 0' is not a number; TRY_CAST(… AS DOUBLE) leaves such rows out" in words

    def test_rows_that_divide_by_zero(self, tacit: Tacit, sentence: Sentence, tmp_path: Path, readings: Path) -> None:
        for divides in ("x / (y - y)", "x % (y - y)"):
            words = self.refuse(
                tacit, sentence, tmp_path, data=readings, text=GOOD.replace("AVG(x)", f"AVG({divides})")
            )
            assert "a row divides by zero; write NULLIF(divisor, 0)" in words

    def test_a_folder_with_mixed_schemas(self, tacit: Tacit, sentence: Sentence, tmp_path: Path) -> None:
        folder = tmp_path / "mixed"
        folder.mkdir()
        (folder / "a.csv").write_text("station,ts,x\na,1,1\nb,2,2\n")
        (folder / "b.csv").write_text("station,ts,z\na,1,1\nb,2,2\n")
        assert "b.csv" in self.refuse(tacit, sentence, tmp_path, data=folder)

    def test_a_site_column_with_one_value(self, tacit: Tacit, sentence: Sentence, tmp_path: Path) -> None:
        one = tmp_path / "one.csv"
        one.write_text("station,ts,x\na,1,1\na,2,2\n")
        assert "one value, 'a'" in self.refuse(tacit, sentence, tmp_path, data=one)

    def test_times_that_do_not_parse(self, tacit: Tacit, sentence: Sentence, tmp_path: Path) -> None:
        late = tmp_path / "late.csv"
        late.write_text("station,ts,x\na,yesterday,1\nb,today,2\n")
        assert "'yesterday'" in self.refuse(tacit, sentence, tmp_path, data=late)

    def test_nothing_passes_where(self, tacit: Tacit, sentence: Sentence, tmp_path: Path, readings: Path) -> None:
        text = GOOD.replace("FROM t", "FROM t WHERE x > 1e9")
        assert "no row passes WHERE" in self.refuse(tacit, sentence, tmp_path, data=readings, text=text)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--protocol", "broadcast"], "broadcast does not keep"),
        (["--zone", "ball"], "a ranking has no zones"),
        (["--protocol", "gossip"], "over windows of time"),
    ],
)
def test_options_that_a_ranking_does_not_have(
    tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    options: list[str], expected: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("tacit.pipelines.session.open_session", lambda *_, **__: pytest.fail(NO_SPARK))
    ranking = "CREATE WATCH top AS SELECT label, COUNT(*) AS n FROM t GROUP BY label ORDER BY n DESC LIMIT 2"
    assert expected in refused(tacit, tmp_path, sentence(ranking), *where, *options)
