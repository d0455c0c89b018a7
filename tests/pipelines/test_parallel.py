"""Tasks: results in order, failures that say whose they are."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from tacit.pipelines.parallel import run_tasks
from tacit.vocabulary.errors import SentenceError, TacitError


@dataclass(frozen=True)
class Case:
    name: str
    divisor: int


def half(number: int) -> tuple[int, float]:
    return os.getpid(), number / 2


def divide(case: Case) -> float:
    if case.divisor < 0:
        raise SentenceError("a negative divisor", line=3, column=case.divisor, hint="make it positive")
    return 1 / case.divisor


def test_results_in_order_from_other_processes(spark: SparkSession) -> None:
    outcomes = run_tasks(spark, half, range(7))
    assert [value for _, value in outcomes] == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    assert os.getpid() not in {process for process, _ in outcomes}
    assert run_tasks(spark, half, []) == []


def test_closures_travel(spark: SparkSession) -> None:
    offset = 40
    assert run_tasks(spark, lambda number: number + offset, [1, 2]) == [41, 42]


def test_errors_name_the_item(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TacitError) as caught:
        run_tasks(spark, divide, [Case("fine", 1), Case("threshold 0.5", 0), Case("later", -1)])
    assert str(caught.value) == "threshold 0.5: ZeroDivisionError: division by zero"
    assert capfd.readouterr() == ("", "")


def test_our_own_errors_come_back_as_themselves(spark: SparkSession) -> None:
    with pytest.raises(SentenceError) as caught:
        run_tasks(spark, divide, [Case("x", -7)])
    assert str(caught.value) == "line 3, column -7: a negative divisor; make it positive"
    assert (caught.value.line, caught.value.column, caught.value.hint) == (3, -7, "make it positive")


def test_results_and_errors_that_cannot_travel(spark: SparkSession) -> None:
    class OddError(Exception):
        def __init__(self, a: int, b: int) -> None:
            super().__init__(f"{a} and {b}")

    def fail(number: int) -> int:
        raise OddError(number, number)

    with pytest.raises(TacitError, match=r"^5: OddError: 5 and 5$"):
        run_tasks(spark, fail, [5])
    with pytest.raises(TacitError, match=r"^5: TypeError: cannot pickle"):
        run_tasks(spark, lambda number: (each for each in [number]), [5])
