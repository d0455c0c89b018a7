"""What a coordinator is asked beside SELECT: watches are made, changed, paused, dropped and shown.

    CREATE WATCH …                      EXPLAIN WATCH name [AS …]          DROP WATCH [IF EXISTS] name | DROP SITE name
    PAUSE WATCH name                    RESUME WATCH name                  SHOW WATCHES | SHOW WATCH name | SHOW SITES
    SHOW ALERTS [FOR name] [LIMIT n]    ALTER WATCH name SET MARGIN n, THRESHOLD n, WITHIN n [PERCENT]
    SHOW CHANGES [FOR name] [LIMIT n]

A statement is understood here and carried out elsewhere: whether a watch of that name exists is not known yet.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from sqlglot.tokenizer_core import Token, TokenType

from tacit.language.clauses import split_sentences
from tacit.language.dialect import tokenize
from tacit.language.places import Source, closest
from tacit.language.python_functions import PythonFunction
from tacit.language.sentence import check_functions, plan_of
from tacit.language.slips import check_slips
from tacit.language.statement_kinds import (
    AlterWatch,
    Change,
    CreateWatch,
    DropSite,
    DropWatch,
    ExplainWatch,
    PauseWatch,
    ResumeWatch,
    ShowAlerts,
    ShowChanges,
    ShowSites,
    ShowWatch,
    ShowWatches,
    Statement,
)
from tacit.language.tokens import is_word, split_commas
from tacit.language.words import Words

__all__ = ["NAME_MAX", "parse_statements", "statement_lines"]

NAME_MAX = 128  # characters of the name of a watch
SENTENCE_MAX = 100_000  # characters of one statement: a longer one would hold up the coordinator while it is read
SCRIPT_MAX = 1_000_000  # characters of all statements that come together

# What other systems say, or people try first.
COMMENTS = ("--", "/*")
VERBS = {
    **dict.fromkeys(("DELETE", "REMOVE"), "DROP WATCH name"),
    **dict.fromkeys(("STOP", "SUSPEND", "DISABLE"), "PAUSE WATCH name"),
    **dict.fromkeys(("START", "CONTINUE", "UNPAUSE", "ENABLE"), "RESUME WATCH name"),
    **dict.fromkeys(("LIST", "WATCHES", "LS"), "SHOW WATCHES"),
    **dict.fromkeys(("DESCRIBE", "DESC", "STATUS"), "SHOW WATCH name"),
    **dict.fromkeys(("UPDATE", "SET", "CHANGE"), "ALTER WATCH name SET MARGIN 0.1"),
    **dict.fromkeys(("ALERTS", "HISTORY"), "SHOW ALERTS"),
    **dict.fromkeys(("WATCH", "INSERT", "REPLACE"), "CREATE WATCH name AS SELECT …"),
    "SITES": "SHOW SITES",
}
STARTS = ("CREATE", "EXPLAIN", "DROP", "PAUSE", "RESUME", "SHOW", "ALTER")
SHOWN = ("WATCHES", "WATCH", "SITES", "ALERTS", "CHANGES")
CHANGED = ("MARGIN", "THRESHOLD", "WITHIN")
CHANGED_SYNONYMS = {
    **dict.fromkeys(("EPSILON", "ERROR", "TOLERANCE", "PRECISION", "ACCURACY"), "WITHIN"),
    **dict.fromkeys(("BOUND", "LEVEL"), "THRESHOLD"),
    **dict.fromkeys(("SLACK", "HYSTERESIS"), "MARGIN"),
}


def parse_statements(
    text: str,
    *,
    functions: Mapping[str, PythonFunction] | None = None,
    row_functions: Collection[str] = (),
) -> tuple[Statement, ...]:
    """The statements of a script, in order; see ``tacit.language.parse`` for the options.

    Raises SentenceError, and nothing else, for a script that is wrong anywhere: nothing of it is to be carried out.
    A script of comments alone has no statements, and nothing is wrong about it.

    >>> parse_statements("PAUSE WATCH spread; SHOW ALERTS FOR spread LIMIT 5;")
    (PauseWatch(name='spread'), ShowAlerts(name='spread', limit=5))
    """
    check_functions(functions or {})
    source = Source(text)
    if len(text) > SCRIPT_MAX:
        raise source.error(
            f"these are {len(text):,} characters, and a coordinator reads {SCRIPT_MAX:,} at once",
            0,
            "send them in parts",
        )
    sentences = split_sentences(tokenize(source))
    if not sentences and not text.strip().startswith(COMMENTS):
        raise source.error("there is no statement here", 0, "write SHOW WATCHES, or CREATE WATCH name AS SELECT …")
    return tuple(_statement(source, tokens, functions or {}, row_functions) for tokens in sentences)


def statement_lines(text: str) -> tuple[int, ...]:
    """The line in which each statement of a script begins, counted from 1.

    >>> statement_lines("SHOW WATCHES; SHOW SITES;\\n-- now\\nPAUSE WATCH spread")
    (1, 1, 3)
    """
    source = Source(text)
    return tuple(source.place(tokens[0])[0] for tokens in split_sentences(tokenize(source)))


def _statement(
    source: Source,
    tokens: Sequence[Token],
    functions: Mapping[str, PythonFunction],
    row_functions: Collection[str],
) -> Statement:
    words = Words(source, tokens)
    length = source.end_of(tokens[-1]) - tokens[0].start
    if length > SENTENCE_MAX:
        raise source.error(f"this statement has {length:,} characters, and {SENTENCE_MAX:,} is the most", tokens[0])
    if words.sees("EXPLAIN") and len(tokens) == 3 and is_word(tokens[1], "WATCH"):
        words.take("EXPLAIN")
        words.take("WATCH")
        return ExplainWatch(words.name("EXPLAIN WATCH name"))
    if words.sees("CREATE", "EXPLAIN", "SELECT", "WITH"):
        plan = plan_of(source, list(tokens), functions, row_functions)
        if plan.explain:
            return ExplainWatch(plan.name, plan)
        check_name(source, plan.name, tokens[2])  # CREATE WATCH name
        return CreateWatch(plan)
    if words.sees("DROP", "PAUSE", "RESUME", "SHOW", "ALTER"):
        check_slips(source, tokens)
    if words.take("DROP"):
        return _drop(words)
    if words.take("PAUSE"):
        words.expect("WATCH", "PAUSE WATCH name")
        return words.finished(PauseWatch(words.name("PAUSE WATCH name")))
    if words.take("RESUME"):
        words.expect("WATCH", "RESUME WATCH name")
        return words.finished(ResumeWatch(words.name("RESUME WATCH name")))
    if words.take("SHOW"):
        return _show(words)
    if words.take("ALTER"):
        return _alter(words)
    raise _unknown(source, tokens[0])


def check_name(source: Source, name: str, at: Token) -> None:
    """Refuse a name that cannot be shown, sent or typed; only a new watch is held to that."""
    if len(name) > NAME_MAX:
        raise source.error(f"the name of the watch has {len(name):,} characters, and {NAME_MAX} is the most", at)
    if not name.strip():
        raise source.error("the name of the watch is empty", at, "write CREATE WATCH name AS SELECT …")
    if name != name.strip():
        raise source.error("the name of the watch begins or ends with a blank", at, f'write "{name.strip()}"')
    if unfit := next((letter for letter in name if not letter.isprintable()), None):
        raise source.error(
            f"the name of the watch has a character in it that cannot be shown (U+{ord(unfit):04X})", at, "leave it out"
        )


def _drop(words: Words) -> DropWatch | DropSite:
    if words.take("SITE"):
        return words.finished(DropSite(words.name("DROP SITE name")))
    words.expect("WATCH", "DROP WATCH name")
    if_exists = False
    if words.sees("IF") and len(words.rest) > 1:  # a watch may be called if
        words.take("IF")
        words.expect("EXISTS", "DROP WATCH IF EXISTS name")
        if_exists = True
    return words.finished(DropWatch(words.name("DROP WATCH name"), if_exists))


def _show(words: Words) -> Statement:
    if words.take("WATCHES"):
        return words.finished(ShowWatches())
    if words.take("SITES"):
        return words.finished(ShowSites())
    if words.take("WATCH"):
        if not words.rest:
            raise words.missing("a name", "write SHOW WATCH name, or SHOW WATCHES for all")
        return words.finished(ShowWatch(words.name("SHOW WATCH name")))
    for word, kind in (("ALERTS", ShowAlerts), ("CHANGES", ShowChanges)):
        if words.take(word):
            name = limit = None
            if words.take("FOR"):
                name = words.name(f"SHOW {word} FOR name")
            if words.take("LIMIT"):
                limit = words.whole_number("LIMIT 10")
            return words.finished(kind(name, limit), "FOR", "LIMIT")
    raise words.wrong("WATCHES, WATCH, SITES, ALERTS or CHANGES", SHOWN, "write SHOW WATCHES")


def _alter(words: Words) -> AlterWatch:
    example = "ALTER WATCH name SET MARGIN 0.1"
    words.expect("WATCH", example)
    name = words.name(example)
    words.expect("SET", f"ALTER WATCH {name} SET MARGIN 0.1")
    if not words.rest:
        raise words.missing("a change", "write SET MARGIN 0.1, SET THRESHOLD 5 or SET WITHIN 3 PERCENT")
    changes: list[Change] = []
    for comma, piece in split_commas(words.rest):
        change = _change(words, Words(words.source, piece, after=comma or words.last))
        if any(change.what == other.what for other in changes):
            raise words.source.error(f"{change.what.upper()} is set twice", piece[0], "leave one of them out")
        changes.append(change)
    return AlterWatch(name, tuple(changes))


def _change(words: Words, piece: Words) -> Change:
    source = words.source
    if not piece.rest:
        raise piece.missing("a change", "write SET MARGIN 0.1, THRESHOLD 5")
    first = piece.rest[0]
    if not piece.take(*CHANGED):
        meant = CHANGED_SYNONYMS.get(first.text.upper())
        if meant:
            raise source.error(f"ALTER WATCH cannot set {first.text}", first, f"did you mean {meant}?")
        rest = "what else a watch says is fixed; drop it and create it anew"
        raise piece.wrong("MARGIN, THRESHOLD or WITHIN", CHANGED, rest)
    what = first.text.upper()
    if piece.sees("="):
        raise source.error("did not expect = here", piece.rest[0], f"{what} 0.1 is written without it")
    at = piece.rest[0] if piece.rest else source.end_of(first)
    number = _number(piece, what)
    percent = piece.take("PERCENT", "%")
    if percent and what != "WITHIN":
        raise source.error(f"{what} is a number of its own, not a share of another", piece.last, "leave it out")
    if what == "MARGIN" and number < 0:
        raise source.error(f"MARGIN {number} is negative", at, "a margin is 0 or more")
    if what == "WITHIN" and number < 0:
        raise source.error(f"WITHIN {number} is below 0", at, "an error is 0 or more")
    if percent and number >= 100:
        raise source.error(f"WITHIN {number} PERCENT promises nothing", at, "stay below 100")
    line, column = source.place(first)
    allowed = ("PERCENT",) if what == "WITHIN" and not percent else ()
    return piece.finished(Change(what.lower(), number, bool(percent), line, column), *allowed, after="a comma")


def _number(piece: Words, what: str) -> Decimal:
    """A number with a sign perhaps; a sum or a name is not one."""
    sign = piece.take("-", "+")
    if not piece.rest:
        raise piece.missing("a number", f"write {what} 0.1")
    token = piece.advance()
    if token.token_type != TokenType.NUMBER:
        raise piece.source.error(f"expected a number after {what}, not {token.text}", token, f"write {what} 0.1")
    try:
        number = Decimal(token.text)
    except InvalidOperation:
        raise piece.source.error(f"{token.text} is not a number", token, f"write {what} 0.1") from None
    if abs(float(number)) == float("inf"):
        raise piece.source.error(f"{token.text} is too large", token)
    return number.copy_negate() if sign is not None and sign.text == "-" else number


def _unknown(source: Source, token: Token) -> Exception:
    word = token.text.upper()
    meant = closest(word, STARTS)
    if word in VERBS:
        hint = f"write {VERBS[word]}"
    elif meant:
        hint = f"did you mean {meant}?"
    else:
        hint = "SHOW WATCHES lists what is watched"
    what = "a statement starts with CREATE, EXPLAIN, DROP, PAUSE, RESUME, SHOW or ALTER"
    return source.error(f"{what}, not {token.text}", token, hint)
