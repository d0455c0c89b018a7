"""A folder of data looked at, without Spark: what ``tacit init`` makes a configuration from."""

from tacit.runtime.discovery.layout import Layout, SiteFolder, lay_out
from tacit.runtime.discovery.measures import measures_of
from tacit.runtime.discovery.sample import Column, Sample, take_sample
from tacit.runtime.discovery.sites import SiteGuess, guess_sites
from tacit.runtime.discovery.times import TimeGuess, guess_time
from tacit.runtime.discovery.types import settle_types
from tacit.runtime.discovery.watches import suggest_watches
from tacit.runtime.discovery.writing import Draft, write_draft

__all__ = [
    "Column",
    "Draft",
    "Layout",
    "Sample",
    "SiteFolder",
    "SiteGuess",
    "TimeGuess",
    "guess_sites",
    "guess_time",
    "lay_out",
    "measures_of",
    "settle_types",
    "suggest_watches",
    "take_sample",
    "write_draft",
]
