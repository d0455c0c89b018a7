"""All sketches, each as a case of the contract."""

from __future__ import annotations

from tacit import sketches
from tacit.sketches import SlidingWindow
from tests.sketches.case_kinds import WINDOW, Case, Keyed, Member, Ranged, Windowed, WindowedKeys, WindowedRanges

TIME, ROWS = SlidingWindow(WINDOW), SlidingWindow(WINDOW, by="rows")
OTHER = SlidingWindow(WINDOW + 1)
COUNT_MIN = {"width": 6, "depth": 2, "seed": 0}
COUNT_MIN_CHANGES = {"width": 7, "depth": 3, "seed": 1}
WAVE = {"epsilon": 0.5, "delta": 0.2, "seed": 0}
WAVE_CHANGES = {"window": OTHER, "epsilon": 0.4, "delta": 0.1, "seed": 1}

CASES: list[Case] = [
    Keyed(
        "count_min",
        sketches.CountMin,
        COUNT_MIN,
        COUNT_MIN_CHANGES | {"conservative": True},
        epsilon=2.7183 / 6,
        delta=0.1354,
    ),
    Keyed(
        "conservative",
        sketches.CountMin,
        COUNT_MIN | {"conservative": True},
        COUNT_MIN_CHANGES | {"conservative": False},
        epsilon=2.7183 / 6,
        delta=0.1354,
        lossless=False,
    ),
    Ranged(
        "dyadic",
        sketches.DyadicCountMin,
        {"epsilon": 0.9, "delta": 0.5, "bits": 8, "seed": 0},
        {"epsilon": 0.3, "delta": 0.1, "bits": 9, "seed": 1},
        make_with="for_error",
        epsilon=0.9,
        delta=0.5,
    ),
    Member(
        "bloom",
        sketches.BloomFilter,
        {"capacity": 15, "false_positive": 0.1, "seed": 0},
        {"capacity": 100, "false_positive": 0.01, "seed": 1},
        make_with="for_capacity",
        delta=0.1,
    ),
    Windowed(
        "random_wave",
        sketches.RandomizedWave,
        WAVE | {"window": TIME},
        WAVE_CHANGES,
        epsilon=0.5,
        delta=0.2,
        sourced=True,
    ),
    Windowed(
        "random_wave_by_rows",
        sketches.RandomizedWave,
        WAVE | {"window": ROWS},
        WAVE_CHANGES,
        epsilon=0.5,
        delta=0.2,
        sourced=True,
        merges=False,
    ),
]
for counter, kind in (("histogram", sketches.ExponentialHistogram), ("wave", sketches.DeterministicWave)):
    changes = {"window": OTHER, "epsilon": 0.25}
    CASES += [
        Windowed(counter, kind, {"window": TIME, "epsilon": 0.2}, changes, epsilon=0.2, lossless=False),
        Windowed(f"{counter}_by_rows", kind, {"window": ROWS, "epsilon": 0.2}, changes, epsilon=0.2, merges=False),
    ]
for counter in ("histogram", "wave", "random_wave"):
    options = {"epsilon": 0.4, "delta": 0.2, "counter": counter, "seed": 0}
    changes = {
        "window": OTHER,
        "epsilon": 0.3,
        "delta": 0.05,
        "counter": "wave" if counter == "histogram" else "histogram",
        "seed": 1,
    }
    for by, window in (("", TIME), ("_by_rows", ROWS)):
        CASES.append(
            WindowedKeys(
                f"ecm_{counter}{by}",
                sketches.EcmSketch,
                options | {"window": window},
                changes,
                make_with="for_query",
                epsilon=0.4,
                delta=0.2,
                merges=window is TIME,
                lossless=counter == "random_wave",
                sourced=counter == "random_wave",
            )
        )
for counter, other in (("histogram", "wave"), ("wave", "histogram")):
    CASES.append(
        WindowedRanges(
            f"dyadic_ecm_{counter}",
            sketches.DyadicEcm,
            {"window": TIME, "epsilon": 0.8, "delta": 0.3, "bits": 8, "seed": 0, "counter": counter},
            {"window": OTHER, "epsilon": 0.5, "delta": 0.1, "bits": 9, "seed": 1, "counter": other},
            make_with="for_query",
            epsilon=0.8,
            delta=0.3,
            lossless=False,
        )
    )
CASES.append(
    WindowedRanges(
        "dyadic_ecm_by_rows",
        sketches.DyadicEcm,
        {"window": ROWS, "epsilon": 0.8, "delta": 0.3, "bits": 8, "seed": 0},
        make_with="for_query",
        epsilon=0.8,
        delta=0.3,
        merges=False,
    )
)
