"""Spark's errors in one sentence: the cause behind wrappers, and interrupts that are not lost."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from py4j.protocol import Py4JError
from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

from tacit.pipelines.failures import one_sentence
from tacit.vocabulary.errors import InputError, MachineError, TacitError


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


def test_a_connection_that_breaks_during_a_call_is_that_of_a_java_that_ended() -> None:
    """As long as the process is not gone, nothing else tells."""
    with pytest.raises(MachineError, match="Spark's Java process has ended"):
        with one_sentence():
            raise Py4JError("An error occurred while calling o113.get")


def test_the_cause_is_told_and_not_what_wraps_it(spark: SparkSession) -> None:
    class WrappedError(Py4JError):
        java_exception = spark._jvm.java.lang.RuntimeException(  # type: ignore[misc]
            "Exception thrown in awaitResult:", spark._jvm.java.io.IOException("the disk is full")
        )

    with pytest.raises(TacitError, match="the disk is full"):
        with one_sentence():
            raise WrappedError("Exception thrown in awaitResult:")


def test_a_job_that_is_cancelled_is_no_fault_of_the_data(spark: SparkSession) -> None:
    """Queries are stopped while their batches run; a watch must not be given up for that."""
    group = "cancelled-by-a-test"
    context = spark.sparkContext

    def work() -> None:
        context.setJobGroup(group, "to be cancelled", interruptOnCancel=True)
        with one_sentence():
            spark.range(2).selectExpr("java_method('java.lang.Thread', 'sleep', 60000L + id)").collect()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(inheritable_thread_target(spark)(work))
        end = time.monotonic() + 60
        while not context.statusTracker().getActiveJobsIds() and time.monotonic() < end:
            time.sleep(0.05)
        context.cancelJobGroup(group)
        with pytest.raises(TacitError) as caught:
            running.result(60)
    assert not isinstance(caught.value, InputError)
    assert "cancelled" in str(caught.value)
