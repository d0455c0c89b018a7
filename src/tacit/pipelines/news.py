"""Generated news stories: sets of term numbers with topics, as the Reuters collection has them.

Terms 0, 1 and 2 are the three contrasting features of the threshold experiments: their information gain about the
topic ``earn`` declines, stays, and peaks half-way. All other terms are Zipf, some of them favoured by ``earn``.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from tacit.pipelines.dice import uniform, zipf

__all__ = ["news"]

_START = 541_350_000  # 1987-02-26 UTC
_EARN = 0.18
_OTHERS = ("acq", "crude", "grain", "money-fx", "trade", "")
_TERMS_MIN, _TERMS_SPREAD = 25, 70


def news(spark: SparkSession, docs: int = 21_578, terms: int = 8_848, seed: int = 0) -> DataFrame:
    """Stories in order of time: doc, ts, topics (array<string>), terms (array<bigint>, sorted, each once)."""
    doc = sf.col("id")
    through = doc / float(max(docs - 1, 1))
    earn = uniform(seed, "earn", doc) < _EARN
    other = sf.array(*(sf.lit(name) for name in _OTHERS))
    topic = sf.element_at(other, (sf.floor(uniform(seed, "topic", doc) * len(_OTHERS)) + 1).cast("int"))
    topics = sf.when(earn, sf.array(sf.lit("earn"))).when(topic == "", sf.array().cast("array<string>"))

    # A term's chance in stories about earn, over time; elsewhere it is 0.15, where the two are equal nothing is gained.
    half_way = sf.exp(-sf.pow((through - 0.5) / 0.12, sf.lit(2.0)))
    chances = (sf.lit(0.75) - through * 0.6, sf.lit(0.45), sf.lit(0.15) + half_way * 0.6)
    contrasting = [
        sf.when(uniform(seed, f"term{number}", doc) < sf.when(earn, chance).otherwise(0.15), sf.lit(number))
        for number, chance in enumerate(chances)
    ]

    length = sf.floor(uniform(seed, "length", doc) * _TERMS_SPREAD).cast("int") + _TERMS_MIN
    ranks = max(terms - 3, 1)

    def draw(place: Column) -> Column:
        rank = zipf(seed, "rank", ranks, doc, place)
        favoured = sf.pmod(rank * 7 + 11, sf.lit(ranks))
        return sf.when(sf.col("earn") & (uniform(seed, "favoured", doc, place) < 0.3), favoured).otherwise(rank) + 3

    chosen = sf.concat(
        sf.filter(sf.array(*(each.cast("bigint") for each in contrasting)), lambda term: term.isNotNull()),
        sf.transform(sf.sequence(sf.lit(1), sf.col("length")), draw),
    )
    return (
        spark.range(docs)
        .select(doc, earn.alias("earn"), length.alias("length"), through.alias("through"))
        .select(
            (doc + 1).alias("doc"),
            sf.timestamp_seconds(doc * 130 + sf.floor(uniform(seed, "second", doc) * 130) + _START).alias("ts"),
            topics.otherwise(sf.array(topic)).alias("topics"),
            sf.array_sort(sf.array_distinct(chosen)).alias("terms"),
        )
    )
