"""One file per kind of watch, which says what is true of it: a new kind of watch brings a new file, named here."""

from __future__ import annotations

from tacit.verify.question import Question
from tacit.verify.rows import Rows
from tacit.verify.truths.condition import ConditionTruth
from tacit.verify.truths.frequent import FrequentTruth
from tacit.verify.truths.inner_product import InnerProductTruth
from tacit.verify.truths.quantile import QuantileTruth
from tacit.verify.truths.ranking import RankingTruth
from tacit.verify.truths.self_join import SelfJoinTruth
from tacit.verify.truths.topico import TopicoTruth
from tacit.verify.truths.tracked import TrackedTruth
from tacit.verify.truths.truth import Truth

__all__ = ["KINDS", "truth_of"]

KINDS: tuple[type[Truth], ...] = (
    ConditionTruth, TrackedTruth, RankingTruth, TopicoTruth, FrequentTruth, SelfJoinTruth, InnerProductTruth,
    QuantileTruth,
)  # fmt: skip


def truth_of(rows: Rows, question: Question) -> Truth:
    """The truth of a watch, by its kind."""
    (kind,) = (each for each in KINDS if each.fits(question.plan))
    return kind(rows, question)
