"""SQL text to watch plans. See docs/LANGUAGE.md for the language itself."""

from tacit.language.explain import describe, explain_text
from tacit.language.plan import ByKey, ByMember, ColumnUse, Every, Grouping, WatchPlan, Window
from tacit.language.python_functions import PythonFunction
from tacit.language.schema_check import check_columns
from tacit.language.sentence import parse, parse_watch

__all__ = [
    "ByKey",
    "ByMember",
    "ColumnUse",
    "Every",
    "Grouping",
    "PythonFunction",
    "WatchPlan",
    "Window",
    "check_columns",
    "describe",
    "explain_text",
    "parse",
    "parse_watch",
]
