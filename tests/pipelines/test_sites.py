"""Site assignments: what they mean, and what is refused."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from tacit.pipelines.sites import SITES_MAX, SiteRule, parse_site, site_key, site_names
from tacit.vocabulary.errors import DataError, OptionError


def test_three_forms() -> None:
    assert parse_site("station") == SiteRule("column", "station")
    assert parse_site(" hash:a:b:7 ") == SiteRule("hash", "a:b", 7)
    assert parse_site("round_robin:100") == SiteRule("round_robin", None, 100)


FORMS = "write COLUMN, hash:COLUMN:N or round_robin:N"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", f"the site assignment is empty; {FORMS}"),
        ("hash:client", f"the site assignment 'hash:client' needs a column and a number of sites; {FORMS}"),
        ("hash:client:many", f"the site assignment 'hash:client:many' needs a whole number of sites; {FORMS}"),
        ("round_robin", f"the site assignment 'round_robin' needs a whole number of sites; {FORMS}"),
        ("round_robin:1", "the site assignment 'round_robin:1' makes 1 site; a watch needs at least 2"),
        ("hash:client:0", "the site assignment 'hash:client:0' makes 0 sites; a watch needs at least 2"),
        ("round_robin:20000", "the site assignment 'round_robin:20000' makes 20,000 sites; at most 10,000 are allowed"),
    ],
)
def test_bad_forms(text: str, sentence: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_site(text)
    assert str(caught.value) == sentence


def test_names() -> None:
    assert site_names(parse_site("s"), ["b", "10", "2"]) == ("10", "2", "b")
    assert site_names(parse_site("hash:s:3"), ["1"]) == ("0", "1", "2")
    with pytest.raises(DataError, match="the site column s has more than 10,000 values; group them with hash:s:N"):
        site_names(parse_site("s"), [str(number) for number in range(SITES_MAX + 1)])


def test_hash_is_spark_s_own_whatever_the_width(spark: SparkSession) -> None:
    rule = parse_site("hash:client:12")
    wide = spark.range(200).select(sf.col("id").alias("client"))
    narrow = wide.select(sf.col("client").cast("int"))
    expected = [row[0] for row in wide.selectExpr("pmod(xxhash64(client), 12)").collect()]
    for frame in (wide, narrow):
        assert [row[0] for row in frame.select(site_key(frame, rule)).collect()] == expected
    nothing = spark.sql("SELECT CAST(NULL AS INT) AS client")
    assert nothing.select(site_key(nothing, rule)).first() == (None,)
