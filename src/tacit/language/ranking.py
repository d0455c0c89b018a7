"""Top-k sentences: ORDER BY score DESC LIMIT k [WITHIN e] [RANKED WITHIN n] [USING protocol] [PER column]."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tacit.functions.additive import row_weights
from tacit.functions.goals import Top
from tacit.language.clauses import Clause, Sentence, split_list
from tacit.language.dialect import read_condition
from tacit.language.grouping import Groups
from tacit.language.lowering import Lowering
from tacit.language.places import Source, closest
from tacit.language.plan import Window
from tacit.language.tokens import Tokens, is_word

__all__ = ["RankingClause", "is_ranking"]

PROTOCOLS = ("coordinator", "topico")
_K_MOST = 100_000
_ENDS = ("WITHIN", "RANKED")


def is_ranking(sentence: Sentence) -> bool:
    """Does the sentence ask for the largest groups?"""
    return "ORDER BY" in sentence.clauses or "LIMIT" in sentence.clauses


class RankingClause:
    """What to rank by and how many to keep, read as trees before the aliases of SELECT are known."""

    def __init__(self, source: Source, sentence: Sentence) -> None:
        self.source = source
        clauses = sentence.clauses
        for word in ("ALERT", "TRACK"):
            if word in clauses:
                raise source.error(
                    f"a ranking tells every change of its list, and has no {word}",
                    clauses[word].keyword,
                    "leave it out",
                )
        if "ORDER BY" not in clauses:
            raise source.error(
                "LIMIT does not say what the groups are ranked by",
                clauses["LIMIT"].keyword,
                "write ORDER BY … DESC LIMIT …",
            )
        if "LIMIT" not in clauses:
            keyword = clauses["ORDER BY"].keyword
            raise source.error("the ranking does not say how many to keep", keyword, "write ORDER BY … DESC LIMIT 20")
        if "GROUP BY" not in clauses:
            raise source.error(
                "a ranking needs groups", clauses["ORDER BY"].keyword, "write GROUP BY key ORDER BY … DESC LIMIT …"
            )
        self._keyword = clauses["ORDER BY"].keyword
        self.tree, self._tokens, self.largest, self._ties = self._read_order(clauses["ORDER BY"])
        self._amounts: dict[str, tuple[Token, Tokens]] = {}
        self.k = self._read_limit(self._without_amounts(clauses["LIMIT"]), clauses["LIMIT"])
        self.per: tuple[Token, Tokens] | None = None
        if "PER" in clauses:
            self.per = (clauses["PER"].keyword, self._without_amounts(clauses["PER"]))
        self.using = self._read_using(clauses["USING"]) if "USING" in clauses else None
        self._using_at = clauses["USING"].keyword if "USING" in clauses else self._keyword

    def _read_order(self, clause: Clause) -> tuple[exp.Expr, Tokens, bool, list[tuple[Token, Tokens]]]:
        items = split_list(self.source, clause)
        after, tokens = items[0]
        tokens, largest = self._direction(after, tokens)
        return read_condition(self.source, tokens, after, margins=False), tokens, largest, items[1:]

    def _direction(self, after: Token, tokens: Tokens) -> tuple[Tokens, bool]:
        for place, token in enumerate(tokens):
            if is_word(token, "NULLS"):
                raise self.source.error("a score is never NULL", token, "leave NULLS FIRST and NULLS LAST out")
            ends = place + 1 == len(tokens) or is_word(tokens[place + 1], "NULLS")
            if is_word(token, "ASC", "DESC") and (place == 0 or not ends):
                raise self.source.error(f"did not expect {token.text} here", token, "write ORDER BY score DESC")
        last = tokens[-1]
        if is_word(last, "ASC", "DESC"):
            return tokens[:-1], is_word(last, "DESC")
        return tokens, False

    def _without_amounts(self, clause: Clause) -> Tokens:
        """The tokens before WITHIN and RANKED WITHIN, whose amounts are noted."""
        tokens = list(clause.tokens)
        starts = [at for at, token in enumerate(tokens) if is_word(token, *_ENDS)]
        starts = [at for at in starts if not (at and is_word(tokens[at - 1], "RANKED"))]
        for at, end in pairwise([*starts, len(tokens)]):
            word, first = "WITHIN", at + 1
            if is_word(tokens[at], "RANKED"):
                word = "RANKED"
                if first == len(tokens) or not is_word(tokens[first], "WITHIN"):
                    raise self.source.error("RANKED does not say how closely", tokens[at], "write RANKED WITHIN 5")
                first += 1
            if word in self._amounts:
                raise self.source.error(f"{word} stands here a second time", tokens[at])
            amount = tuple(tokens[first:end])
            if not amount:
                raise self.source.error("a number is missing after WITHIN", self.source.end_of(tokens[first - 1]))
            if is_word(amount[-1], "PERCENT") or amount[-1].text == "%":
                raise self.source.error(
                    "how far a list may be off is said in the unit of its scores", amount[-1], "write WITHIN 50"
                )
            self._amounts[word] = (tokens[first - 1], amount)
        return tuple(tokens[: starts[0]] if starts else tokens)

    def _read_limit(self, tokens: Tokens, clause: Clause) -> int:
        if not tokens:
            raise self.source.error(
                "a number is missing after LIMIT", self.source.end_of(clause.keyword), "write LIMIT 20"
            )
        if len(tokens) > 1:
            meant = closest(tokens[1].text, ["WITHIN", "RANKED", "PER", "USING"])
            raise self.source.error(
                f"did not expect {tokens[1].text} here", tokens[1], f"did you mean {meant}?" if meant else None
            )
        text = tokens[0].text
        if tokens[0].token_type is not TokenType.NUMBER or not text.isdigit() or int(text) == 0:
            raise self.source.error(f"LIMIT needs a whole number above 0, not {text}", tokens[0])
        if int(text) > _K_MOST:
            raise self.source.error(f"LIMIT {text} is more than can be kept ({_K_MOST:,})", tokens[0])
        return int(text)

    def _read_using(self, clause: Clause) -> str:
        tokens = self._without_amounts(clause)
        if len(tokens) != 1 or not is_word(tokens[0], *(name.upper() for name in PROTOCOLS)):
            place = tokens[0] if tokens else self.source.end_of(clause.keyword)
            raise self.source.error("a ranking is kept USING coordinator or USING topico", place)
        return tokens[0].text.lower()

    def lower(self, lowering: Lowering, groups: Groups, per: int, window: Window) -> Top:
        """The goal, once the aliases of SELECT are known."""
        source = self.source
        if self.using == "topico":
            self._check_topico(window)
        if groups.member is not None:
            raise source.error(
                "members of lists are not ranked", self._keyword, "GROUP BY a key, or watch each member with ALERT WHEN"
            )
        for _, tokens in self._ties:
            raise source.error(
                "which of groups with equal scores is listed is not kept", tokens[0], "order by the score alone"
            )
        expression = lowering.number(self.tree)
        statistics = lowering.vector.statistics
        weights = row_weights(expression, len(statistics))
        if weights is None:
            raise source.error(
                "this score does not add up over sites",
                self.tree,
                "rank by COUNT(*), SUM(x), or sums and multiples of them",
            )
        adds = all(each.nonnegative or not weight for each, weight in zip(statistics, weights.tolist(), strict=True))
        if self.using == "topico" and not (adds and (weights >= 0.0).all()):
            raise source.error(
                "topico adds up what cannot be negative", self.tree, "rank by COUNT(*) or COUNT_IF, or leave USING out"
            )
        within, ranked = (self._amount(lowering, word) for word in ("WITHIN", "RANKED"))
        if ranked == 0.0:
            raise source.error("RANKED WITHIN 0 would tell every change", self._amounts["RANKED"][0], "say how closely")
        return Top(expression, self.k, self.largest, within or 0.0, per, ranked, self.using)

    def _check_topico(self, window: Window) -> None:
        if window.kind != "time":
            raise self.source.error(
                "topico counts the rows of some time", self._using_at, "write WINDOW LAST 15 SECONDS EVERY 5 SECONDS"
            )
        if not self.largest:
            raise self.source.error("topico finds the largest", self._using_at, "write ORDER BY … DESC")
        if self._amounts:
            after, _ = next(iter(self._amounts.values()))
            raise self.source.error("topico promises no error", after, "leave WITHIN out, or USING topico")

    def _amount(self, lowering: Lowering, word: str) -> float | None:
        if word not in self._amounts:
            return None
        after, tokens = self._amounts[word]
        tree = read_condition(self.source, tokens, after, margins=False)
        amount = lowering.constant(tree, "WITHIN")
        if amount < 0:
            raise self.source.error(f"WITHIN {amount:g} is below 0", tree)
        return amount


def check_alone(source: Source, sentence: Sentence, words: Sequence[str]) -> None:
    """PER and USING belong to rankings."""
    for word in words:
        if word in sentence.clauses:
            raise source.error(
                f"{word} belongs to a ranking",
                sentence.clauses[word].keyword,
                "write ORDER BY … DESC LIMIT … before it",
            )
