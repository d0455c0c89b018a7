"""The SELECT list: trees with their names."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from tacit.language.clauses import Clause, split_list
from tacit.language.dialect import read_item
from tacit.language.places import Source
from tacit.language.texts import Texts
from tacit.language.tokens import Tokens, is_word

__all__ = ["Item", "read_selection"]


@dataclass(frozen=True, slots=True)
class Item:
    """One item of SELECT: its tree without the alias, its name, and whether the alias was written."""

    tree: exp.Expr
    tokens: Tokens
    name: str
    aliased: bool


def read_selection(source: Source, texts: Texts, clause: Clause) -> list[Item]:
    """The items in order; an item without an alias is named by its own text."""
    if clause.tokens and is_word(clause.tokens[0], "DISTINCT"):
        raise source.error("SELECT DISTINCT has no meaning for a watch", clause.tokens[0], "leave DISTINCT out")
    items = []
    for after, tokens in split_list(source, clause):
        tree = read_item(source, tokens, after)
        if isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)):
            raise source.error("a watch cannot select *", tree, "name the aggregates, as in AVG(x) AS mean")
        if isinstance(tree, exp.Aliases):
            raise source.error("an item has one name", tree, "write AVG(x) AS mean")
        if isinstance(tree, exp.Alias):
            name = tree.args["alias"]
            spoken = len(tokens) > 2 and tokens[-2].token_type == TokenType.ALIAS
            if not isinstance(name, exp.Identifier) or name.meta.get("start") != tokens[-1].start:
                raise source.error(f"{tokens[-1].text} is no name", tokens[-1])
            items.append(Item(tree.this, tokens[: -2 if spoken else -1], tree.alias, aliased=True))
        else:
            name = tree.name if isinstance(tree, exp.Column) else texts.write(tokens)
            items.append(Item(tree, tokens, name, aliased=False))
    return items
