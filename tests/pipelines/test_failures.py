"""Spark's errors in one sentence: the cause behind wrappers, and interrupts that are not lost."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from tacit.pipelines.failures import one_sentence
from tacit.vocabulary.errors import TacitError


def fail_unwinding(ending: BaseException) -> None:
    """PySpark's own clean-up fails while an interrupt passes through it."""
    with one_sentence():
        try:
            raise ending
        finally:
            raise Py4JError("Broken pipe")


@pytest.mark.parametrize("ending", [SystemExit(143), KeyboardInterrupt()], ids=["exit", "interrupt"])
def test_what_fails_while_an_interrupt_unwinds_does_not_take_its_place(ending: BaseException) -> None:
    with pytest.raises(type(ending)) as caught:
        fail_unwinding(ending)
    assert caught.value is ending


def test_an_interrupt_that_is_being_handled_is_an_older_story() -> None:
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.raises(TacitError, match="Broken pipe"):
            fail_unwinding(ValueError())


def test_an_error_on_its_own_is_told() -> None:
    with pytest.raises(TacitError, match="Spark failed: Broken pipe"):
        with one_sentence():
            raise Py4JError("Broken pipe")


def test_the_cause_is_told_and_not_what_wraps_it(spark: SparkSession) -> None:
    class WrappedError(Py4JError):
        java_exception = spark._jvm.java.lang.RuntimeException(  # type: ignore[misc]
            "Exception thrown in awaitResult:", spark._jvm.java.io.IOException("the disk is full")
        )

    with pytest.raises(TacitError, match="the disk is full"):
        with one_sentence():
            raise WrappedError("Exception thrown in awaitResult:")
