"""What a ranking promises, and what must be so of numbers that sites show."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tacit.protocols.topk.leeway import Policy
from tacit.protocols.topk.messages import Shown
from tacit.vocabulary import BoolArray, FloatArray, ProtocolError
from tacit.vocabulary.batches import LARGEST

__all__ = ["Rules", "all_finite", "check_numbers", "holds"]


@dataclass(frozen=True, slots=True)
class Rules:
    """What a watch promises, and how it is kept. ``quantum`` is 1 for whole scores, 0 for others."""

    k: int
    epsilon: float = 0.0
    quantum: float = 0.0
    policy: Policy = field(default_factory=Policy)
    closed: bool = False  # scores are negative: no list is ever open
    ranked: float = np.inf  # how closely the scores of members are known


def check_numbers(site: int, shown: Shown) -> None:
    """ProtocolError for scores that cannot be computed with: sums of all sites' must be finite, too."""
    values, border = shown.entries.values, shown.border
    if not (np.abs(values) <= LARGEST).all() or np.isnan(border) or border > LARGEST:
        raise ProtocolError(f"site {site} showed scores that are not finite, or beyond {LARGEST:g}")


def all_finite(sums: FloatArray) -> None:
    """ProtocolError unless the sums over sites are numbers."""
    if not np.isfinite(sums).all():
        raise ProtocolError("sites showed scores whose sum is not finite")


def holds(leeway: FloatArray, member: BoolArray) -> bool:
    """Has every member at least the leeway of every other object, and none too little?"""
    return bool(leeway[member].min() >= max(0.0, leeway[~member].max(initial=0.0)))
