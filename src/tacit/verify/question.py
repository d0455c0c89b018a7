"""What a watch asks, as its sentence is written: the trees of SELECT and of the goal, and what WINDOW and WHERE say.

Only the language's front end is used: nothing is taken from how a sentence is lowered to sums.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tacit.functions.goals import Frequent, SketchGoal, Top
from tacit.language.clauses import read_sentence, split_list
from tacit.language.dialect import read_item, tokenize
from tacit.language.goal_clause import GoalClause
from tacit.language.places import Source
from tacit.language.plan import WatchPlan
from tacit.language.ranking import RankingClause
from tacit.language.sentence import parse_watch
from tacit.language.tables import read_tables

__all__ = ["Question", "question_of"]

TICK_US = 1_000_000  # a watch that steps by rows is looked at once a second


@dataclass(frozen=True, slots=True)
class Question:
    """A sentence: ``items`` are the trees of SELECT by their names, ``goal`` is the tree of what is kept, if any."""

    plan: WatchPlan
    items: dict[str, exp.Expr]
    goal: exp.Expr | None
    aliases: tuple[str, ...]

    @property
    def pane_us(self) -> int:
        """How long a pane is."""
        every = self.plan.window.every.duration_us
        return TICK_US if every is None else every

    def end_of(self, pane: int) -> int:
        """The instant at which a pane ends."""
        return (pane + 1) * self.pane_us


def question_of(text: str) -> Question:
    """The question of a sentence.

    >>> asked = question_of("CREATE WATCH a AS SELECT AVG(x) AS m FROM t WINDOW LAST 1 HOUR ALERT WHEN m > 1 MARGIN 2")
    >>> list(asked.items), asked.goal.this.sql(), asked.pane_us
    (['m'], 'm > 1', 36000000)
    """
    plan = parse_watch(text)
    source = Source(text)
    sentence = read_sentence(source, tokenize(source))
    items = {}
    for after, tokens in split_list(source, sentence.clauses["SELECT"]):
        tree = read_item(source, tokens, after)
        name = tree.alias if isinstance(tree, exp.Alias) else tree.name or source.between(tokens[0], tokens[-1])
        items[name.casefold()] = tree.this if isinstance(tree, exp.Alias) else tree
    goal: exp.Expr | None
    if isinstance(plan.goal, Top):
        goal = RankingClause(source, sentence).tree
    elif isinstance(plan.goal, Frequent):
        goal = None
    else:
        goal = GoalClause(source, sentence).tree
    several = isinstance(plan.goal, SketchGoal) and not isinstance(plan.goal, Frequent)
    tables = read_tables(source, sentence.clauses["FROM"], several=several)
    aliases = tuple(dict.fromkeys(name for table in tables for name in (table.name, table.alias)))
    return Question(plan, items, goal, aliases)
