"""How patient a coordinator is."""

from __future__ import annotations

__all__ = ["Tuning"]


class Tuning:
    """Seconds: a site's lease, until things are said again, until a start waits no more.

    ``backlog``: when more panes than this wait for their answer, a watch on wall clocks skips some; None: never.
    """

    def __init__(
        self, *, lease: float = 10.0, resend: float = 1.0, gather: float = 30.0, backlog: int | None = None
    ) -> None:
        self.lease, self.resend, self.gather, self.backlog = lease, resend, gather, backlog
