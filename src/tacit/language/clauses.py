"""Cuts a script into sentences and a sentence into its clauses, by its tokens.

A clause starts with a keyword outside all brackets. WINDOW, EVERY, ALERT, TRACK, SKETCH, USING and PER are soft
keywords: where a name is expected they are names, so a column may be called ``window`` or ``track``. The clauses
after SELECT may come in any order. What a clause says is read elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from tacit.language.places import Source, closest
from tacit.language.slips import check_slips
from tacit.language.tokens import NOT_WORDS, Tokens, is_quoted_name, is_word, nesting, split_commas
from tacit.vocabulary.errors import SentenceError

__all__ = ["Clause", "Sentence", "read_sentence", "split_list", "split_sentences"]

HARD = {
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "UNION", "EXCEPT", "INTERSECT",
    "QUALIFY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY", "LATERAL",
}  # fmt: skip
SET_OPERATIONS = {"UNION", "EXCEPT", "INTERSECT"}
SOFT = {"WINDOW", "EVERY", "ALERT", "TRACK", "SKETCH", "USING", "PER"}
# After these a name is expected, so a soft keyword is a name there.
WANTS_A_NAME = HARD | {
    "AS", "AND", "OR", "NOT", "IN", "LIKE", "RLIKE", "ILIKE", "IS", "BETWEEN", "DIV", "WHEN", "BY", "MARGIN", "WITHIN",
    "DISTINCT", "=", "<", ">", "<=", ">=", "<>", "!=", "<=>", "==", "+", "-", "*", "/", "%", ",", ".", "||",
    "&", "|", "^", "~", "::",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Clause:
    """A keyword and the tokens after it, up to the next clause."""

    keyword: Token
    tokens: Tokens


@dataclass(frozen=True, slots=True)
class Sentence:
    """``[EXPLAIN] [CREATE] WATCH name AS`` and the clauses by keyword."""

    name: str
    explain: bool
    text: str
    end: int  # the offset just after the last token
    tokens: Tokens  # from SELECT on
    clauses: dict[str, Clause] = field(default_factory=dict)


def split_sentences(tokens: Sequence[Token]) -> list[list[Token]]:
    """The non-empty sentences between semicolons."""
    sentences: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            sentences.append([])
        else:
            sentences[-1].append(token)
    return [sentence for sentence in sentences if sentence]


def split_list(source: Source, clause: Clause) -> list[tuple[Token, Tokens]]:
    """The items between a clause's outer commas, each with the token it follows; none may be empty."""
    items = [(comma or clause.keyword, piece) for comma, piece in split_commas(clause.tokens)]
    for index, (after, piece) in enumerate(items):
        if not piece and index + 1 < len(items):
            raise source.error("something is missing before the comma", items[index + 1][0])
        if not piece:
            after_what = "the comma" if after.token_type == TokenType.COMMA else after.text
            raise source.error(f"something is missing after {after_what}", source.end_of(after))
    return items


def read_sentence(source: Source, tokens: Sequence[Token]) -> Sentence:
    """One sentence, cut into clauses; brackets are known to balance afterwards."""
    name, explain, rest = _header(source, list(tokens))
    check_slips(source, rest)
    sentence = Sentence(name, explain, source.between(tokens[0], tokens[-1]), source.end_of(tokens[-1]), tuple(rest))
    starts = [*_starts(rest), len(rest)]
    for start, stop in pairwise(starts):
        keyword = rest[start]
        word = keyword.text.upper()
        if word in sentence.clauses:
            raise source.error(f"{word} stands here a second time", keyword, "a watch has one of each clause")
        sentence.clauses[word] = Clause(keyword, tuple(rest[start + 1 : stop]))
        if word in SET_OPERATIONS:
            break  # what follows is another query; the refusal of the word comes first
    return sentence


def _header(source: Source, tokens: list[Token]) -> tuple[str, bool, list[Token]]:
    """Reads up to SELECT; answers the name, whether to explain, and the tokens from SELECT on."""
    position, explain = 0, False
    end = source.end_of(tokens[-1])

    def at(offset: int = 0) -> Token | None:
        return tokens[position + offset] if position + offset < len(tokens) else None

    def next_is(*words: str) -> bool:
        token = at()
        return token is not None and is_word(token, *words)

    if next_is("EXPLAIN"):
        explain, position = True, position + 1
        if next_is("WATCH"):
            follower = at(1)
            if follower is not None and is_word(follower, "CREATE"):
                position += 1
    if next_is("CREATE"):
        position += 1
        if next_is("OR"):
            raise source.error("a watch cannot be replaced", tokens[position], "leave OR REPLACE out")
        if not next_is("WATCH"):
            raise _expected(source, "WATCH", at(), end, "CREATE WATCH name AS SELECT …")
    elif position == len(tokens):
        raise _expected(source, "WATCH", None, end, "EXPLAIN WATCH name AS SELECT …")
    elif not next_is("WATCH") or not explain:
        raise _not_a_watch(source, tokens[position])
    position += 1
    if next_is("IF"):
        raise source.error("IF NOT EXISTS is not part of CREATE WATCH", tokens[position], "leave it out")
    named = at()
    if named is None or next_is("AS", "SELECT"):
        raise source.error("the watch has no name", named or end, "write CREATE WATCH name AS SELECT …")
    if named.token_type in NOT_WORDS and not is_quoted_name(named, source.text):
        raise _not_a_name(source, named)
    position += 1
    follower = at()
    if follower is not None and follower.start == named.end + 1 and not is_quoted_name(named, source.text):
        hint = f'a name with signs in it stands in quotes: "{named.text}{follower.text}…"'
        raise source.error(f"did not expect {follower.text} after {named.text}", follower, hint)
    if not next_is("AS"):
        if explain and at() is None:
            raise source.error(
                f"what {named.text} watches is not said here", end, f"write EXPLAIN WATCH {named.text} AS SELECT …"
            )
        raise _expected(source, "AS", at(), end, f"CREATE WATCH {named.text} AS SELECT …")
    position += 1
    if next_is("WITH"):
        raise source.error("a watch reads one table, without WITH", tokens[position], "put the condition into WHERE")
    if not next_is("SELECT"):
        raise _expected(source, "SELECT", at(), end, f"CREATE WATCH {named.text} AS SELECT … FROM …")
    return named.text, explain, tokens[position:]


def _expected(source: Source, word: str, found: Token | None, end: int, example: str) -> SentenceError:
    if found is None:
        return source.error(f"the sentence ends where {word} is expected", end, f"write {example}")
    meant = closest(found.text, [word])
    return source.error(
        f"expected {word} here, not {found.text}", found, f"did you mean {word}?" if meant else f"write {example}"
    )


def _not_a_name(source: Source, token: Token) -> SentenceError:
    """What stands where the name of a watch is expected is a text, a number, or nothing at all."""
    if token.token_type in (TokenType.STRING, TokenType.RAW_STRING):
        return source.error(
            f"expected the name of the watch, and '{token.text}' is a text",
            token,
            f'write "{token.text}", or no quotes',
        )
    if token.token_type == TokenType.NUMBER:
        return source.error(
            f"expected the name of the watch, not the number {token.text}",
            token,
            f'in quotes it is a name: "{token.text}"',
        )
    return source.error("the watch has no name", token, "write CREATE WATCH name AS SELECT …")


def _not_a_watch(source: Source, token: Token) -> SentenceError:
    if is_word(token, "SELECT", "WITH"):
        return source.error(
            "a plain SELECT answers once, which this version cannot do",
            token,
            "write CREATE WATCH name AS SELECT … ALERT WHEN …",
        )
    if is_word(token, "SHOW", "DROP", "PAUSE", "RESUME", "ALTER"):
        return source.error(
            f"{token.text.upper()} is asked of a running coordinator",
            token,
            "CREATE WATCH and EXPLAIN WATCH can be said here",
        )
    meant = closest(token.text, ["CREATE", "EXPLAIN"])
    return source.error(
        f"a sentence starts with CREATE WATCH or EXPLAIN WATCH, not {token.text}",
        token,
        f"did you mean {meant}?" if meant and meant != token.text.upper() else None,
    )


def _starts(tokens: Sequence[Token]) -> list[int]:
    """The indices of the tokens that start a clause."""
    depths = nesting(tokens)
    return [
        index
        for index, token in enumerate(tokens)
        if depths[index] == 0 and is_word(token, *HARD, *SOFT) and _opens(tokens, index)
    ]


def _opens(tokens: Sequence[Token], index: int) -> bool:
    token = tokens[index]
    before = tokens[index - 1] if index else None
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if before is not None and before.token_type == TokenType.DOT:
        return False
    if is_word(token, "FROM"):  # x IS DISTINCT FROM y
        is_distinct = index > 1 and is_word(tokens[index - 1], "DISTINCT") and is_word(tokens[index - 2], "IS", "NOT")
        return not is_distinct
    if is_word(token, *HARD):
        return True
    if following is None:
        return True
    if is_word(token, "ALERT") and is_word(following, "WHEN", "IF"):
        return True
    if is_word(token, "WINDOW") and is_word(following, "LAST", "SINCE"):
        return True
    if is_word(token, "SKETCH") and is_word(following, "EPSILON", "DELTA"):
        return True
    if following.token_type in (TokenType.L_PAREN, TokenType.DOT, TokenType.COMMA):
        return False
    wants_a_name = before is not None and (before.token_type not in NOT_WORDS and before.text.upper() in WANTS_A_NAME)
    return not wants_a_name
