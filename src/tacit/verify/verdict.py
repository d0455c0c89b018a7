"""What the judge says of one watch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Gap", "Verdict"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Panes of which it was published that nobody can answer for them."""

    first: int
    last: int


@dataclass(slots=True)
class Verdict:
    """Of one watch: how many panes were judged, and all that is wrong.

    ``wrong``: an answer, or an alert, called valid and beyond its promise. ``lost``: a change of the answer, or of the
    truth beyond the margins, without an alert. ``doubled``: one change with two alerts. ``skipped``: panes between
    others that were never answered and are in no gap; ``unanswered``: those at the end of the data. ``revised``: panes
    that were called valid and have another answer now; the one before is judged, too. ``late``: alerts that came when
    their pane was long past. ``excused``: panes that are beyond the promise because a site dropped late rows of theirs,
    and counted these; ``dropped`` is how many. ``apart``: panes in another state than valid; ``apart_off``: how many of
    them are off what the sites that they speak for hold. ``unpromised``: panes of which nothing is promised.
    """

    watch: str
    kind: str = ""
    panes: int = 0
    crossings: int = 0
    alerts: int = 0
    changes: int = 0  # that were told beside the alerts: values that are tracked, and orders
    late: int = 0
    dropped: int = 0
    excused: int = 0
    unpromised: int = 0
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    revised: int = 0
    skipped: list[tuple[int, int]] = field(default_factory=list)
    unanswered: int = 0
    before: int = 0
    gaps: list[Gap] = field(default_factory=list)
    apart: dict[str, int] = field(default_factory=dict)
    apart_off: dict[str, int] = field(default_factory=dict)
    problem: str = ""

    @property
    def is_good(self) -> bool:
        """Is nothing wrong, lost, doubled or left out, and was there anything to judge?"""
        bad = self.wrong or self.lost or self.doubled or self.skipped or self.problem
        return not bad and not self.unanswered and self.panes + sum(self.apart.values()) + self.unpromised > 0

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "good": self.is_good}
