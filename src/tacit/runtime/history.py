"""What a watch remembers of the panes that it has answered, under all its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tacit.protocols.members import NEVER
from tacit.runtime.provisional import Provisional

__all__ = ["Gap", "History"]

Gap = tuple[int, int, tuple[int, ...]]
"""The first and the last pane that nobody can answer for, and the sites that lost them (none: they were skipped)."""


@dataclass(slots=True)
class History:
    """``newest`` is the pane that was answered last; what was said of panes up to ``kept`` is not said anew.

    While panes are settled once more, ``shown`` is what was said of the newest pane that was ever answered: people are
    shown that until the settlement has come so far again.
    """

    newest: int = NEVER
    kept: int = NEVER
    shown: dict[str, Any] | None = None
    provisional: Provisional = field(default_factory=Provisional)
    gaps: list[Gap] = field(default_factory=list)
