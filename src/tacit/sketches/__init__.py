"""Summaries of streams: small, of known error, and mergeable."""

from tacit.sketches.bloom import BloomFilter
from tacit.sketches.count_min import CountMin
from tacit.sketches.deterministic_wave import DeterministicWave
from tacit.sketches.dyadic import DyadicCountMin
from tacit.sketches.dyadic_ecm import DyadicEcm
from tacit.sketches.ecm import EcmSketch
from tacit.sketches.exponential_histogram import ExponentialHistogram
from tacit.sketches.hashing import Key, Keys, fingerprint, fingerprints, hash_ranges
from tacit.sketches.loading import load, load_merged
from tacit.sketches.parameters import Counter, Query, Shape, merged_error, split, unmerged_error
from tacit.sketches.randomized_wave import RandomizedWave
from tacit.sketches.sketch import Sketch
from tacit.sketches.window import SlidingWindow

__all__ = [
    "BloomFilter",
    "CountMin",
    "Counter",
    "DeterministicWave",
    "DyadicCountMin",
    "DyadicEcm",
    "EcmSketch",
    "ExponentialHistogram",
    "Key",
    "Keys",
    "Query",
    "RandomizedWave",
    "Shape",
    "Sketch",
    "SlidingWindow",
    "fingerprint",
    "fingerprints",
    "hash_ranges",
    "load",
    "load_merged",
    "merged_error",
    "split",
    "unmerged_error",
]
