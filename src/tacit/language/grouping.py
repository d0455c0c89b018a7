"""GROUP BY keys and GROUP BY EACH(list) AS name."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from tacit.language.clauses import Clause, split_list
from tacit.language.dialect import read_item
from tacit.language.places import Source
from tacit.language.plan import ByKey, ByMember, Grouping
from tacit.language.rows import RowReader, function_name, has_aggregate, unwrapped
from tacit.language.selection import Item
from tacit.language.tokens import is_word

__all__ = ["Groups", "read_groups", "with_lists"]


@dataclass(frozen=True, slots=True)
class Groups:
    """How rows are grouped, and how SELECT may name the keys."""

    grouping: Grouping | None = None
    member: str | None = None  # the name after EACH(list) AS
    key_texts: frozenset[str] = field(default=frozenset())  # normal texts of the key expressions
    key_names: frozenset[str] = field(default=frozenset())  # casefolded names

    def is_key(self, item: Item, rows: RowReader) -> bool:
        """Does this item of SELECT show a key?"""
        tree = unwrapped(item.tree)
        if self.member is not None:
            return isinstance(tree, exp.Column) and tree.name.casefold() == self.member.casefold()
        return bool(self.key_texts) and rows.texts.normal(item.tokens) in self.key_texts


def read_groups(source: Source, clause: Clause | None, items: list[Item], rows: RowReader) -> Groups:
    """The grouping; keys may be expressions, aliases of SELECT, or positions in it."""
    if clause is None:
        return Groups()
    keys: list[Item] = []
    for after, tokens in split_list(source, clause):
        if is_word(tokens[0], "ALL", "ROLLUP", "CUBE", "GROUPING") or tokens[0].text == "GROUPING SETS":
            raise source.error(f"GROUP BY {tokens[0].text} is not part of a watch", tokens[0], "list the keys")
        keys.append(Item(read_item(source, tokens, after), tokens, "", aliased=False))
    if any(_is_each(key.tree) for key in keys):
        return _by_member(source, [key.tree for key in keys], items, rows)
    return _by_key(source, keys, items, rows)


def with_lists(
    source: Source, groups: Groups, clause: Clause, items: list[Item], rows: RowReader
) -> tuple[Groups, int]:
    """The groups with the keys of PER at the end, and how many these are: every value of them has its own list."""
    lists = read_groups(source, clause, items, rows)
    if not isinstance(groups.grouping, ByKey) or not isinstance(lists.grouping, ByKey):
        return groups, 0  # EACH, which is refused where the goal is read
    own = [
        (text, name)
        for text, name in zip(groups.grouping.expressions, groups.grouping.names, strict=True)
        if text not in lists.grouping.expressions
    ]
    if not own:
        raise source.error("a list needs something to rank", clause.keyword, "GROUP BY a key that is not after PER")
    both = ByKey(
        (*(text for text, _ in own), *lists.grouping.expressions), (*(name for _, name in own), *lists.grouping.names)
    )
    texts, names = groups.key_texts | lists.key_texts, groups.key_names | lists.key_names
    return Groups(both, None, texts, names), len(lists.grouping.expressions)


def _is_each(tree: exp.Expr) -> bool:
    call = tree.this if isinstance(tree, exp.Alias) else tree
    return isinstance(call, exp.Anonymous) and function_name(call) == "each"


def _by_member(source: Source, trees: list[exp.Expr], items: list[Item], rows: RowReader) -> Groups:
    if len(trees) > 1:
        other = next((tree for tree in trees if not _is_each(tree)), trees[1])
        raise source.error("EACH(list) is the only key of its watch", other, "put a condition on the other into WHERE")
    (tree,) = trees
    if not isinstance(tree, exp.Alias):
        raise source.error("the members of the list have no name", tree, "write GROUP BY EACH(list) AS member")
    pieces = rows.texts.arguments(tree.this)
    if len(tree.this.expressions) != 1 or len(pieces) != 1:
        raise source.error("EACH is written EACH(list)", tree)
    member = tree.alias
    row = rows.read(tree.this.expressions[0], pieces[0], "array", where="EACH")
    shown = [item.name for item in items if item.aliased and _names(item.tree, member)]
    return Groups(
        ByMember(row.present, shown[0] if shown else member),
        member,
        key_names=frozenset({member.casefold()}),
    )


def _names(tree: exp.Expr, name: str) -> bool:
    tree = unwrapped(tree)
    return isinstance(tree, exp.Column) and tree.name.casefold() == name.casefold()


def _by_key(source: Source, keys: list[Item], items: list[Item], rows: RowReader) -> Groups:
    expressions: list[str] = []
    names: list[str] = []
    texts: set[str] = set()
    for written in keys:
        tree = written.tree
        if isinstance(tree, exp.Alias):
            raise source.error(
                f"did not expect {tree.alias} here", tree.args["alias"], "name a key in SELECT, as in hour(t) AS hour"
            )
        key = _resolved(source, written, items)
        if has_aggregate(key.tree):
            raise source.error("a key is a value of one row, not an aggregate", tree)
        if isinstance(unwrapped(key.tree), exp.Literal):
            raise source.error("a constant puts every row into one group", tree, "leave it out of GROUP BY")
        text = rows.texts.normal(key.tokens)
        if text in texts:
            raise source.error("this key stands here a second time", tree)
        expressions.append(rows.read(key.tree, key.tokens, "any", where="GROUP BY").present)
        names.append(_key_name(rows, key, text, items))
        texts.add(text)
    folded = frozenset(name.casefold() for name in names)
    return Groups(ByKey(tuple(expressions), tuple(names)), None, frozenset(texts), folded)


def _resolved(source: Source, key: Item, items: list[Item]) -> Item:
    """What a key stands for: a position in SELECT, an alias of SELECT, or itself."""
    tree = unwrapped(key.tree)
    if isinstance(tree, exp.Literal) and tree.name.isdigit() and not tree.is_string:
        position = int(tree.name)
        if not 1 <= position <= len(items):
            raise source.error(f"SELECT has no item {position}", tree)
        return items[position - 1]
    if isinstance(tree, exp.Column) and len(tree.parts) == 1:
        for item in items:
            if item.aliased and item.name.casefold() == tree.name.casefold():
                return item
    return key


def _key_name(rows: RowReader, key: Item, text: str, items: list[Item]) -> str:
    for item in items:
        if item.aliased and rows.texts.normal(item.tokens) == text:
            return item.name
    tree = unwrapped(key.tree)
    return tree.name if isinstance(tree, exp.Column) else rows.texts.write(key.tokens)
