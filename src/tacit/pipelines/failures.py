"""Spark's errors, told in one sentence: who is at fault, what to do next, and no Java trace.

Spark names its error conditions (``DIVIDE_BY_ZERO``, ``UNRESOLVED_COLUMN`` …). Those that a user's sentence or
data can cause have their own words here; any other keeps the first sentence of Spark's message.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException, PythonException
from pyspark.errors.exceptions.captured import convert_exception
from pyspark.logger import PySparkLogger

from tacit.vocabulary import errors
from tacit.vocabulary.errors import DataError, MachineError, SentenceError, TacitError

__all__ = ["GONE", "one_sentence", "translate", "translate_java"]

GONE = "Spark's Java process has ended"
_CUT = re.compile(r"An error occurred while calling \S+$")  # py4j's words for a connection that broke during a call
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\] ?(.*)", re.DOTALL)
_STATE = re.compile(r"SQLSTATE: ?([0-9A-Z]{5})")
_OWN = re.compile(rf"^{re.escape(errors.__name__)}\.(\w+): (.+)$", re.MULTILINE)
_READ_FILE = re.compile(r"reading file (?:file:)?/*(/\S+?)\.?(?=\s|$)")
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_DEPTH = 10
_HEADER, _DAMAGED = "CSV header does not conform", "it is damaged or not what its name says"
_TYPES = {"DOUBLE": "a number", "FLOAT": "a number", "INT": "a whole number", "BIGINT": "a whole number"}


@contextmanager
def one_sentence() -> Iterator[None]:
    """Whatever Spark raises inside leaves as a :class:`TacitError` of one sentence, and only as that.

    PySpark also writes each error, with its Java trace, to standard error; inside it does not.
    """
    handled = sys.exception()
    _hush.enter()
    try:
        yield
    except (PySparkException, Py4JError) as error:
        if (ending := _interruption(error, handled)) is not None:
            raise ending from None
        raise translate(error) from None
    except ConnectionError as error:
        if _from_py4j(error):
            raise MachineError(GONE) from None
        raise
    finally:
        _hush.leave()


class _Hush:
    """PySpark's loggers, silent while any thread is inside :func:`one_sentence`."""

    def __init__(self) -> None:
        self._lock, self._inside, self._levels = threading.Lock(), 0, dict[Any, int]()

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._levels = {logger: logger.level for logger in map(PySparkLogger.getLogger, _LOGGERS)}
                for logger in self._levels:
                    logger.setLevel(logging.CRITICAL + 1)
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for logger, level in self._levels.items():
                    logger.setLevel(level)


_hush = _Hush()


def _from_py4j(error: BaseException) -> bool:
    """Was it Java that could not be reached, rather than something else that the code inside talks to?"""
    frames = traceback.walk_tb(error.__traceback__)
    return any(str(frame.f_globals.get("__name__", "")).startswith("py4j.") for frame, _ in frames)


def _interruption(error: BaseException, handled: BaseException | None) -> BaseException | None:
    """The interrupt or exit during whose unwinding PySpark failed, as when it closes what Java is still writing to.

    One that a caller was already handling is no part of this story.
    """
    before = error.__context__
    while isinstance(before, Exception) and before is not handled:
        before = before.__context__
    return None if before is handled else before


def translate(error: Exception) -> TacitError:
    """The :class:`TacitError` that says what a Spark error means to the user."""
    if isinstance(error, Py4JNetworkError) or (type(error) is Py4JError and _CUT.match(str(error))):
        return MachineError(GONE)
    condition, parameters, message = _story(error)
    if isinstance(error, PythonException):
        return _of_a_worker(str(error))
    kind = condition.split(".")[0]
    if kind in ("UNRESOLVED_COLUMN", "UNRESOLVED_FIELD"):
        name = _bare(parameters.get("objectName", parameters.get("fieldName", "?")))
        near = [_bare(each) for each in parameters.get("proposal", "").split(", ") if each]
        near = [each for each in near if not each.startswith("__tacit")]
        return SentenceError(
            f"there is no column named {name}", hint=f"the columns are {', '.join(near)}" if near else None
        )
    if kind == "UNRESOLVED_ROUTINE":
        return SentenceError(f"there is no function named {_bare(parameters.get('routineName', '?'))}")
    if kind in ("DIVIDE_BY_ZERO", "REMAINDER_BY_ZERO"):
        return SentenceError(
            "a row divides by zero", hint="write NULLIF(divisor, 0) instead of the divisor to leave such rows out"
        )
    if kind == "CAST_INVALID_INPUT":
        target = parameters.get("targetType", "").strip('"')
        wanted = _TYPES.get(target, f"a {target.lower()}")
        instead = f"TRY_CAST(… AS {target}) leaves such rows out"
        return DataError(f"the value {parameters.get('expression', '?')} is not {wanted}; {instead}")
    if kind == "FAILED_READ_FILE":
        found = _READ_FILE.search(message)
        path = unquote(parameters.get("path", "") or (found.group(1) if found else "a file"))
        why = "its header is not that of the others" if _HEADER in _causes(error) else _DAMAGED
        return DataError(f"cannot read {re.sub('^file:/*', '/', path)}: {why}")
    if isinstance(error, AnalysisException):
        return SentenceError(f"Spark cannot work with this sentence: {_first_sentence(message)}")
    if kind and kind != "INTERNAL_ERROR" and not _is_machine(error, message):
        return DataError(f"Spark stopped at a row: {_first_sentence(message)}")
    return TacitError(f"Spark failed: {_first_sentence(message)}")


def _of_a_worker(message: str) -> TacitError:
    """The error that was raised in a Python worker: Spark tells it as a text, with its trace. Ours is itself again."""
    told = _OWN.findall(message)
    kind = getattr(errors, told[-1][0], None) if told else None
    if isinstance(kind, type) and issubclass(kind, TacitError):
        return kind(told[-1][1])
    lines = message.strip().splitlines() or ["no reason given"]
    return TacitError(f"Spark's Python failed: {lines[-1]}")


def translate_java(java: Any) -> TacitError:
    """As :func:`translate`, of a Java exception that ended a streaming query: what matters is its cause."""
    for _ in range(_DEPTH):
        if java.getCause() is None or (_CONDITION.search(str(java.toString())) and "STREAM_FAILED" not in str(java)):
            break
        java = java.getCause()
    return translate(convert_exception(java))


def _story(error: Exception) -> tuple[str, dict[str, str], str]:
    """The condition, its parameters and Spark's message, also where Spark hides them in a Java trace."""
    condition, parameters, text = "", {}, str(error)
    if isinstance(error, PySparkException):
        condition = error.getCondition() or ""
        parameters = dict(error.getMessageParameters() or {})
    java = getattr(error, "java_exception", None)
    if java is not None:
        text = str(_cause(java).toString())
    found = _CONDITION.search(text)
    if found:
        condition, text = condition or found.group(1), found.group(2)
    return condition, parameters, text


def _is_machine(error: Exception, message: str) -> bool:
    """Is it Spark that could not, whatever the data? So say the SQL states of class XX: a job was cancelled, say."""
    state = error.getSqlState() if isinstance(error, PySparkException) else None
    found = _STATE.search(message)
    return (state or (found.group(1) if found else "")).startswith("XX")


def _cause(java: Any) -> Any:
    """The error that an error of another thread only wraps; one that has a named condition speaks for itself."""
    for _ in range(_DEPTH):
        if _CONDITION.search(str(java.toString())) or java.getCause() is None:
            break
        java = java.getCause()
    return java


def _causes(error: Exception) -> str:
    """What Java says of an error and of those it came from."""
    java, told = getattr(error, "_origin", None) or getattr(error, "java_exception", None), []
    for _ in range(_DEPTH):
        if java is None:
            break
        told.append(str(java.toString()))
        java = java.getCause()
    return "\n".join(told)


def _first_sentence(message: str) -> str:
    lines = message.split("SQLSTATE")[0].strip().splitlines()
    line = next((each.strip() for each in lines if each.strip()), "no reason given")
    return re.split(r"\. (?=[A-Z])", line)[0].rstrip(" .;").replace("`", "")


def _bare(name: str) -> str:
    return name.strip().replace("`", "").strip('"')
