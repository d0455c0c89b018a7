"""Run many schedules on all cores: python -m tests.simulation.many --family vector --from 1000000 --count 1000.

Without --family all families are run, without --from the seeds are those that the check of this commit begins with.
Prints how many were run, in which time, and every failure with the command that tells its story; the exit code is 1
when there was one.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context

from tests.simulation.families import FAMILIES, verdict
from tests.simulation.slices import fresh_slice

_CHUNK = 25
_SECONDS_BETWEEN_LINES = 60.0


def judged(family: str, first: int, count: int) -> tuple[int, float, list[str]]:
    """Judge a chunk of seeds: how many, in how many seconds of processor time, and what went wrong."""
    began = time.process_time()
    failures = [why for seed in range(first, first + count) if (why := verdict(family, seed)) is not None]
    return count, time.process_time() - began, failures


def run(pool: ProcessPoolExecutor, processes: int, family: str, first: int, count: int) -> int:
    """Judge the schedules of one family, print what is found as it is found, and return how many failed."""
    chunks: Iterator[tuple[int, int]] = (
        (begin, min(_CHUNK, first + count - begin)) for begin in range(first, first + count, _CHUNK)
    )
    began = said = time.monotonic()
    done, failed, seconds = 0, 0, 0.0
    waiting: set[Future[tuple[int, float, list[str]]]] = set()
    while True:
        waiting |= {pool.submit(judged, family, *chunk) for chunk in islice(chunks, 2 * processes - len(waiting))}
        if not waiting:
            break
        ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in ready:
            many, spent, failures = future.result()
            done, seconds, failed = done + many, seconds + spent, failed + len(failures)
            for why in failures:
                print(why, flush=True)
        if time.monotonic() - said > _SECONDS_BETWEEN_LINES:
            said = time.monotonic()
            print(f"{family}: {done:,} of {count:,} schedules, {failed} failed", flush=True)
    each = 1000.0 * seconds / max(1, done)
    print(
        f"{family}: {done:,} schedules, seeds {first} to {first + count - 1}: {failed} failed; "
        f"{time.monotonic() - began:.0f} s, {seconds:.0f} s of processor time, {each:.0f} ms each",
        flush=True,
    )
    return failed


def main() -> int:
    """Read the command line, run, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.many", description=__doc__.splitlines()[0])
    parser.add_argument("--family", action="append", choices=sorted(FAMILIES), help="one family; may be repeated")
    parser.add_argument("--from", dest="first", type=int, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="schedules of each family (default 1000)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: one for each core")
    asked = parser.parse_args()
    first = asked.first
    if first is None:
        first = fresh_slice().first
        print(f"seeds from {first}, drawn from {fresh_slice().source}", flush=True)
    failed = 0
    with ProcessPoolExecutor(asked.processes, mp_context=get_context("spawn")) as pool:
        for family in asked.family or FAMILIES:
            failed += run(pool, asked.processes, family, first, asked.count)
    print(f"{failed} schedules failed" if failed else "no schedule failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
