"""Whose a state folder is: a lock that ends with its process, and a marker that says the folder is ours.

``LOCK`` is held with flock, so a process that was killed holds nothing; what it says is only for people.
``tacit-state.json`` says what the folder is the state of: nothing is ever removed, or written into, that lacks it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.vocabulary.errors import OptionError

__all__ = ["LOCK", "MARKER", "foreign_entries", "hold", "is_ours", "lock", "owner_of"]

LOCK = "LOCK"
MARKER = "tacit-state.json"
FORMAT = 1
OWN = (
    LOCK, MARKER, f"{MARKER}.new", "checkpoints",
    *(f"{name}.sqlite{end}" for name in ("coordinator", "site") for end in ("", "-wal", "-shm", "-journal")),
)  # fmt: skip
"""Everything that tacit ever puts into a state folder; what else is there is somebody else's."""


@contextmanager
def hold(folder: Path, what: str) -> Iterator[Path]:
    """The state folder of ``what`` ("coordinator", "site north"), made if need be, for this process alone.

    OptionError when another process has it, when it is the state of something else, or when it holds other files.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"the state folder {folder} cannot be made: {error.strerror}; name another") from None
    owner = owner_of(folder)
    if owner is None and any(each.name != LOCK for each in folder.iterdir()):
        raise OptionError(f"{folder} holds files that are not tacit's; name an empty folder as state")
    if owner is not None and owner != what:
        raise OptionError(f"{folder} is the state of {owner}, not of {what}; name another folder as state")
    with lock(folder, what):
        if owner is None:
            _write(folder / MARKER, {"format": FORMAT, "state_of": what})
        yield folder


@contextmanager
def lock(folder: Path, what: str) -> Iterator[None]:
    """The lock of a folder that exists; OptionError says who has it."""
    try:
        descriptor = _locked(folder / LOCK)
    except OSError as error:
        raise OptionError(f"the state folder {folder} cannot be locked: {error.strerror}; name another") from None
    if descriptor is None:
        raise OptionError(f"the state in {folder} is in use by {_holder(folder)}; end it first")
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"pid": os.getpid(), "what": what}).encode())
        yield
    finally:
        os.close(descriptor)


def owner_of(folder: Path) -> str | None:
    """What the folder is the state of, by its marker; None when it has none."""
    try:
        found = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        return str(found["state_of"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise OptionError(f"{folder / MARKER} is damaged; if the folder is tacit's, remove it by hand") from None


def is_ours(folder: Path) -> bool:
    """Does the folder carry tacit's marker?"""
    return (folder / MARKER).is_file()


def foreign_entries(folder: Path) -> list[Path]:
    """What lies in a state folder and is not tacit's, in order."""
    return sorted(each for each in folder.iterdir() if each.name not in OWN)


def _locked(path: Path) -> int | None:
    """A descriptor with the lock on the file of that name, or None when another process has it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        # Between opening and locking the folder may have been removed, and the lock would be on a file that is gone.
        try:
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)


def _holder(folder: Path) -> str:
    try:
        said = json.loads((folder / LOCK).read_text(encoding="utf-8"))
        return f"{said['what']} (process {int(said['pid'])})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _write(path: Path, value: object) -> None:
    """Whole or not at all."""
    draft = path.with_name(f"{path.name}.new")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
