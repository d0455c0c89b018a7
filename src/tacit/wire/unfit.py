"""What is wrong with a message that came, in half a sentence; ``decode`` makes the whole one of it."""

from __future__ import annotations

__all__ = ["UnfitError"]


class UnfitError(ValueError):
    """What does not fit, in half a sentence."""
