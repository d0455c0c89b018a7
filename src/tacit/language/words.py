"""The tokens of a short statement, taken one by one, with errors that say what is expected and what is nearest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from sqlglot.tokenizer_core import Token, TokenType

from tacit.language.places import Source, closest
from tacit.language.tokens import NOT_WORDS, is_quoted_name, is_word
from tacit.vocabulary.errors import SentenceError

__all__ = ["Words"]

T = TypeVar("T")


class Words:
    """What is left of a statement. ``after`` is the token that came before it, where there is one."""

    def __init__(self, source: Source, tokens: Sequence[Token], after: Token | None = None) -> None:
        self.source = source
        self.rest = list(tokens)
        self.last = after or tokens[0]

    def sees(self, *words: str) -> bool:
        """Is the next token one of these words?"""
        return bool(self.rest) and is_word(self.rest[0], *words)

    def take(self, *words: str) -> Token | None:
        """The next token, if it is one of these words."""
        return self.advance() if self.sees(*words) else None

    def advance(self) -> Token:
        self.last = self.rest.pop(0)
        return self.last

    def expect(self, word: str, example: str) -> None:
        """Takes the word, or says that it is expected."""
        if not self.take(word):
            if not self.rest:
                raise self.missing(word, f"write {example}")
            raise self.wrong(word, (word,), f"write {example}")

    def name(self, example: str) -> str:
        """A name; one that is not a plain word stands in double quotes or backticks."""
        if not self.rest:
            raise self.missing("a name", f"write {example}")
        token = self.advance()
        if is_quoted_name(token, self.source.text):
            return token.text
        if token.token_type in (TokenType.STRING, TokenType.RAW_STRING):
            raise self.source.error(
                f"expected a name here, and '{token.text}' is a text", token, 'names stand in "double quotes" or alone'
            )
        if token.token_type in NOT_WORDS or not token.text.replace("_", "").isalnum():
            raise self.source.error(f"expected a name here, not {token.text}", token, f"write {example}")
        if self.rest and self.rest[0].start == token.end + 1 and self.rest[0].token_type != TokenType.COMMA:
            cut = self.rest[0]
            hint = f'a name with signs in it stands in quotes: "{token.text}{cut.text}…"'
            raise self.source.error(f"did not expect {cut.text} after {token.text}", cut, hint)
        return token.text

    def whole_number(self, example: str) -> int:
        """A number of things, 1 or more."""
        if not self.rest:
            raise self.missing("a number", f"write {example}")
        token = self.advance()
        if token.token_type != TokenType.NUMBER or not token.text.isascii() or not token.text.isdigit():
            raise self.source.error(f"expected a whole number here, not {token.text}", token, f"write {example}")
        if int(token.text) == 0:
            raise self.source.error("0 is not above 0", token, f"write {example}")
        return int(token.text)

    def finished(self, statement: T, *allowed: str, after: str = "a semicolon") -> T:
        """The statement, if nothing is left; ``allowed`` are words that could have come."""
        if self.rest:
            found = self.rest[0]
            meant = closest(found.text, allowed)
            if meant and meant != found.text.upper():
                hint = f"did you mean {meant}?"
            elif meant:
                hint = f"{meant} comes earlier, and once"
            elif allowed:
                hint = f"{' or '.join(allowed)} may follow"
            else:
                hint = f"{after} is missing before it, or it is one word too many"
            raise self.source.error(f"did not expect {found.text} here", found, hint)
        return statement

    def missing(self, what: str, hint: str) -> SentenceError:
        """The statement ends too early."""
        return self.source.error(f"{what} is missing after {self.last.text}", self.source.end_of(self.last), hint)

    def wrong(self, expected: str, choices: Sequence[str], otherwise: str) -> SentenceError:
        """Something else stands where one of ``choices`` is expected."""
        if not self.rest:
            return self.missing(expected, otherwise)
        found = self.rest[0]
        meant = closest(found.text, choices)
        hint = f"did you mean {meant}?" if meant and meant != found.text.upper() else otherwise
        return self.source.error(f"expected {expected} after {self.last.text}, not {found.text}", found, hint)
