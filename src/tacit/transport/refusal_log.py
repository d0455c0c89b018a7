"""Log lines about callers that were not let in: who called from where, but never a token, and not too many lines."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

__all__ = ["RefusalLog"]

_AGAIN_S = 60.0  # one line about a caller and its reason in so long
_CALLERS = 100  # remembered; more are counted together
_SENTENCE_MAX = 400  # characters: the name in it is the caller's own choice

_log = logging.getLogger(__name__)


class RefusalLog:
    """Counts refusals by address (without the port) and reason, and logs the first of each minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}  # when a line was logged, and how many came since

    def note(self, peer: str, sentence: str) -> None:
        """A call from ``peer`` was refused with this sentence."""
        now = self._clock()
        caller = (peer.rpartition(":")[0] or peer, sentence[:_SENTENCE_MAX])
        if caller not in self._seen and len(self._seen) >= _CALLERS:
            self._seen = {key: value for key, value in self._seen.items() if now - value[0] < _AGAIN_S}
            if len(self._seen) >= _CALLERS:
                caller = ("many addresses", "callers are refused faster than they can be listed")
        logged, count = self._seen.get(caller, (float("-inf"), 0))
        if now - logged < _AGAIN_S:
            self._seen[caller] = (logged, count + 1)
            return
        self._seen[caller] = (now, 0)
        more = f" ({count:,} more times since the last line)" if count else ""
        _log.warning("a call from %s is refused: %s%s", caller[0], caller[1], more)
