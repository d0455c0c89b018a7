"""ALERT WHEN condition, or TRACK value WITHIN number [PERCENT]."""

from __future__ import annotations

from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from tacit.functions.expressions import Constant
from tacit.functions.goals import Goal, Track
from tacit.language.clauses import Clause, Sentence
from tacit.language.conditions import lower_condition
from tacit.language.dialect import KEYWORDS, read_condition
from tacit.language.lowering import Lowering
from tacit.language.places import Source, closest
from tacit.language.tokens import is_word

__all__ = ["GoalClause"]


class GoalClause:
    """ALERT WHEN or TRACK, read as trees before the aliases of SELECT are known."""

    def __init__(self, source: Source, sentence: Sentence) -> None:
        alert, track = sentence.clauses.get("ALERT"), sentence.clauses.get("TRACK")
        self.source, self.percent = source, False
        self.within: exp.Expr | None = None
        if alert and track:
            later = max(alert.keyword, track.keyword, key=lambda token: token.start)
            raise source.error("a watch either alerts or tracks", later, "write a second watch for the other")
        if alert:
            when = alert.tokens[0] if alert.tokens else None
            if when is None or not is_word(when, "WHEN"):
                place = when or source.end_of(alert.keyword)
                raise source.error("WHEN is missing after ALERT", place, "write ALERT WHEN …")
            self.tokens = alert.tokens[1:]
            self.tree = read_condition(source, self.tokens, when, margins=True)
        elif track:
            self._read_track(track)
        else:
            raise source.error(
                "the watch does not say what to keep",
                sentence.end,
                "end it with ALERT WHEN condition, with TRACK value WITHIN 5, or with ORDER BY score DESC LIMIT 20",
            )

    def _read_track(self, clause: Clause) -> None:
        tokens = list(clause.tokens)
        depth, at = 0, None
        for index, token in enumerate(tokens):
            depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
            if depth == 0 and token.token_type == TokenType.COMMA:
                raise self.source.error("a watch tracks one value", token, "write a second watch for the other")
            following = tokens[index + 1] if index + 1 < len(tokens) else None
            grouped = following is not None and following.text.upper().startswith("GROUP")
            if depth == 0 and is_word(token, "WITHIN") and not grouped and at is None:
                at = index
        if at is None:
            last = tokens[-1] if tokens else clause.keyword
            raise self.source.error(
                "TRACK does not say how closely", self.source.end_of(last), "write WITHIN 5, or WITHIN 3 PERCENT"
            )
        amount = tokens[at + 1 :]
        self.percent = bool(amount) and (is_word(amount[-1], "PERCENT") or amount[-1].text == "%")
        for token, following in pairwise(amount):
            if is_word(token, "PERCENT"):
                meant = closest(following.text, KEYWORDS)
                hint = f"did you mean {meant}?" if meant and meant != following.text.upper() else None
                raise self.source.error(f"did not expect {following.text} after {token.text}", following, hint)
        self.tree = read_condition(self.source, tokens[:at], clause.keyword, margins=False)
        self.within = read_condition(self.source, amount[:-1] if self.percent else amount, tokens[at], margins=False)

    def lower(self, lowering: Lowering) -> Goal:
        """The goal, once the aliases of SELECT are known."""
        if self.within is None:
            return lower_condition(lowering, self.tree, self.tokens)
        expression = lowering.number(self.tree)
        if isinstance(expression, Constant):
            raise self.source.error("what is tracked does not depend on the data", self.tree, "track an aggregate")
        within = lowering.constant(self.within, "WITHIN")
        if within <= 0:
            raise self.source.error(f"WITHIN {within:g} is not above 0", self.within, "an exact value cannot be kept")
        if self.percent and within >= 100:
            raise self.source.error(f"WITHIN {within:g} PERCENT promises nothing", self.within, "stay below 100")
        return Track(expression, within, self.percent)
