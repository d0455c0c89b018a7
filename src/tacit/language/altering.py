"""ALTER WATCH: the sentence of a watch with another margin, threshold or error, everything else as it was written.

The sentence's own tokens are edited, so what comes of it is again a sentence that a user could have written, comments
included. Which tokens are the number is proposed from the words and then proved: the new sentence must mean the old
goal with that one number changed, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot.tokenizer_core import Token, TokenType

from tacit.functions.goals import AllOf, AnyOf, Comparison, Frequent, Goal, SketchGoal, Top, Track
from tacit.language.clauses import read_sentence, split_sentences
from tacit.language.dialect import tokenize
from tacit.language.places import Source
from tacit.language.plan import WatchPlan
from tacit.language.python_functions import PythonFunction
from tacit.language.sentence import parse_watch
from tacit.language.statement_kinds import AlterWatch, Change
from tacit.language.texts import bare
from tacit.language.tokens import CLOSING, NOT_WORDS, OPENING, is_word
from tacit.vocabulary.errors import SentenceError

__all__ = ["altered"]

COMPARED = {TokenType.GT, TokenType.GTE, TokenType.LT, TokenType.LTE}
# A bracket after one of these groups; after any other word it belongs to a call.
GROUPS = ("WHEN", "NOT", "AND", "OR", "MARGIN", "BETWEEN")


def altered(
    text: str,
    alteration: AlterWatch,
    *,
    functions: Mapping[str, PythonFunction] | None = None,
    row_functions: Collection[str] = (),
) -> str:
    """The CREATE WATCH sentence with the numbers of ALTER WATCH in it.

    Raises SentenceError, placed in the ALTER WATCH statement, for a change that the watch has no place for.

    >>> from tacit.language.statements import parse_statements
    >>> text = "CREATE WATCH w AS SELECT AVG(x) AS a FROM t ALERT WHEN a > 5"
    >>> altered(text, parse_statements("ALTER WATCH w SET THRESHOLD 7, MARGIN 0.5")[0])
    'CREATE WATCH w AS SELECT AVG(x) AS a FROM t ALERT WHEN a > 7 MARGIN 0.5'
    """
    try:
        return _all_changed(text, alteration.changes, functions or {}, row_functions)
    except SentenceError as error:
        # A threshold that falls below the old margin is fine with the new one: the other way round it may be.
        try:
            return _all_changed(text, alteration.changes[::-1], functions or {}, row_functions)
        except SentenceError:
            raise error from None


def _all_changed(
    text: str, changes: Sequence[Change], functions: Mapping[str, PythonFunction], row_functions: Collection[str]
) -> str:
    for change in changes:
        text = _changed(text, change, functions, row_functions)
    return text


def _changed(text: str, change: Change, functions: Mapping[str, PythonFunction], row_functions: Collection[str]) -> str:
    plan = parse_watch(text, functions=functions, row_functions=row_functions)
    _refuse(plan, change)
    kept = replace(plan, text="", columns=())
    for candidate in _candidates(text, change):
        try:
            found = parse_watch(candidate, functions=functions, row_functions=row_functions)
        except SentenceError:
            continue
        same = replace(found, text="", columns=(), goal=plan.goal) == kept
        if same and found.goal in _goals_after(plan.goal, change, found.goal, text):
            return candidate
    what = change.what.upper()
    if isinstance(plan.goal, Frequent):
        reason = f"{what} {change.number} does not fit {plan.name}: a threshold is at least 1, and above the margin"
        raise _error(change, reason, "SET THRESHOLD 20000, MARGIN 1000 changes both")
    if what == "THRESHOLD":
        raise _error(change, f"{plan.name} compares two values that both depend on the data, so it has no threshold")
    raise _error(change, f"{plan.name} has several comparisons, and {what} does not say which is meant")


def _refuse(plan: WatchPlan, change: Change) -> None:
    if isinstance(plan.goal, Frequent):
        if change.what == "within":
            hint = "it has SET THRESHOLD and SET MARGIN"
            raise _error(change, f"{plan.name} lists keys, and WITHIN belongs to a watch that tracks", hint)
        return
    tracks = isinstance(plan.goal, Track | Top | SketchGoal)
    if isinstance(plan.goal, SketchGoal) and change.what == "within" and not change.percent:
        reason = f"{plan.name} is read off a sketch, which is off by a share of what it counts"
        raise _error(change, reason, f"SET WITHIN {change.number} PERCENT")
    if isinstance(plan.goal, Top) and change.percent:
        raise _error(change, f"how far {plan.name} may be off is said in the unit of its scores", "SET WITHIN 50")
    if isinstance(plan.goal, Track | SketchGoal) and change.what == "within" and not change.number:
        raise _error(change, f"WITHIN {change.number} is not above 0", "an exact value cannot be kept")
    if change.what == "within" and not tracks:
        hint = "an alert has SET MARGIN and SET THRESHOLD"
        raise _error(change, f"{plan.name} alerts, and WITHIN belongs to a watch that tracks", hint)
    if change.what != "within" and tracks:
        hint = "its error is changed with SET WITHIN 3, or SET WITHIN 3 PERCENT"
        raise _error(change, f"{plan.name} does not alert, and has no {change.what.upper()}", hint)
    if change.what == "threshold" and not isinstance(plan.goal, Comparison):
        raise _error(change, f"{plan.name} has several comparisons, and THRESHOLD does not say which is meant")


def _goals_after(
    goal: Goal | Top | SketchGoal, change: Change, found: Goal | Top | SketchGoal, text: str
) -> list[Goal | Top | SketchGoal]:
    """What may be meant: of frequent keys ``>= n`` is ``> n - 1``, and a margin may be a share of the threshold."""
    if not isinstance(goal, Frequent):
        return [_goal_after(goal, change)]
    number = float(change.number)
    if not isinstance(found, Frequent) or not math.isfinite(number):
        return []
    if change.what == "margin":
        return [replace(goal, margin=number)] if 0 <= number < goal.threshold else []
    margin = found.margin if _in_percent(text) else goal.margin
    return [replace(goal, threshold=each, margin=margin) for each in (number, math.ceil(number) - 1.0) if each > margin]


def _in_percent(text: str) -> bool:
    source = Source(text)
    last = bare(read_sentence(source, split_sentences(tokenize(source))[0]).clauses["HAVING"].tokens)[-1]
    return is_word(last, "PERCENT") or last.text == "%"


def _goal_after(goal: Goal | Top | SketchGoal, change: Change) -> Goal | Top | SketchGoal:
    number = float(change.number)
    if isinstance(goal, Frequent):
        raise AssertionError("what may be meant of frequent keys is said by _goals_after")
    if isinstance(goal, SketchGoal):
        return replace(goal, within=number / 100.0)
    if isinstance(goal, Track):
        return replace(goal, within=number, percent=change.percent)
    if isinstance(goal, Top):
        return replace(goal, within=number)
    if isinstance(goal, (AllOf, AnyOf)):  # the two ends of BETWEEN share one margin
        parts = tuple(_goal_after(part, change) for part in goal.parts)
        return replace(goal, parts=parts)  # type: ignore[arg-type]  # parts of a condition are conditions
    return replace(goal, threshold=number) if change.what == "threshold" else replace(goal, margin=number)


def _candidates(text: str, change: Change) -> Iterator[str]:
    """Sentences that could be meant, the likeliest first."""
    source = Source(text)
    sentence = read_sentence(source, split_sentences(tokenize(source))[0])
    number = f"{change.number}"
    if change.what == "within" and "LIMIT" in sentence.clauses:
        for word in ("LIMIT", "PER", "USING"):
            tokens = sentence.clauses[word].tokens if word in sentence.clauses else ()
            for index in range(len(tokens) - 1):
                if is_word(tokens[index], "WITHIN"):
                    stops = [k for k in range(index + 1, len(tokens)) if is_word(tokens[k], "RANKED", "WITHIN")]
                    last = tokens[(stops[0] if stops else len(tokens)) - 1]
                    yield _spliced(text, tokens[index + 1], last, number)
        limit = sentence.clauses["LIMIT"].tokens[0]
        yield f"{text[: limit.end + 1]} WITHIN {number}{text[limit.end + 1 :]}"
        return
    if change.what == "within":
        tokens = sentence.clauses["TRACK"].tokens
        number += " PERCENT" if change.percent else ""
        for index in range(len(tokens) - 1):
            if is_word(tokens[index], "WITHIN"):
                yield _spliced(text, tokens[index + 1], tokens[-1], number)
        return
    tokens = sentence.clauses["HAVING" if "HAVING" in sentence.clauses else "ALERT"].tokens
    level = _condition_level(tokens)
    signs = [index for index in level if tokens[index].token_type in COMPARED or is_word(tokens[index], "BETWEEN")]
    if len(signs) != 1:
        return
    at = signs[0]
    stop = _right_end(tokens, at)
    if change.what == "threshold":
        yield _spliced(text, tokens[at + 1], tokens[stop - 1], number)
        start = _left_start(tokens, at)
        yield _spliced(text, tokens[start], tokens[at - 1], number)
        return
    for index in level:
        if index > at + 1 and is_word(tokens[index], "MARGIN") and index + 1 < len(tokens):
            yield _spliced(text, tokens[index + 1], tokens[_right_end(tokens, index) - 1], number)
    end = tokens[stop - 1].end + 1
    yield f"{text[:end]} MARGIN {number}{text[end:]}"


def _spliced(text: str, first: Token, last: Token, number: str) -> str:
    before = text[: first.start]
    gap = "" if before[-1:].isspace() or before.endswith("(") else " "
    return f"{before}{gap}{number}{text[last.end + 1 :]}"


def _condition_level(tokens: Sequence[Token]) -> list[int]:
    """The indices of the tokens that no call encloses: AVG(x > 1) hides its comparison, (a > 1) does not."""
    level: list[int] = []
    calls: list[bool] = []
    for index, token in enumerate(tokens):
        if token.token_type in CLOSING and calls:
            calls.pop()
        if not any(calls):
            level.append(index)
        if token.token_type in OPENING:
            before = tokens[index - 1] if index else None
            word = before is not None and (
                before.token_type == TokenType.IDENTIFIER
                or (
                    before.token_type not in NOT_WORDS
                    and before.text[:1].isidentifier()
                    and not is_word(before, *GROUPS)
                )
            )
            calls.append(word or token.token_type != TokenType.L_PAREN)
    return level


def _right_end(tokens: Sequence[Token], at: int) -> int:
    """The index after the operand that follows ``at``: up to MARGIN, AND, OR, or the bracket that encloses it."""
    depth = 0
    for index in range(at + 1, len(tokens)):
        token = tokens[index]
        if token.token_type in CLOSING:
            if depth == 0:
                return index
            depth -= 1
        elif token.token_type in OPENING:
            depth += 1
        elif depth == 0 and index > at + 1 and is_word(token, "MARGIN"):
            return index
    return len(tokens)


def _left_start(tokens: Sequence[Token], at: int) -> int:
    """The index of the first token of the operand before ``at``."""
    depth = 0
    for index in range(at - 1, -1, -1):
        token = tokens[index]
        if token.token_type in OPENING:
            if depth == 0:
                return index + 1
            depth -= 1
        elif token.token_type in CLOSING:
            depth += 1
        elif depth == 0 and is_word(token, "WHEN", "NOT"):
            return index + 1
    return 0


def _error(
    change: Change, message: str, hint: str = "drop the watch and create it with the new condition"
) -> SentenceError:
    return SentenceError(message, line=change.line, column=change.column, hint=hint)
