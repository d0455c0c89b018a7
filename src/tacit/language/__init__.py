"""SQL text to watch plans. See docs/LANGUAGE.md for the language itself."""

from tacit.language.altering import altered
from tacit.language.explain import describe, explain_text
from tacit.language.plan import ByKey, ByMember, ColumnUse, Every, Grouping, SketchKey, WatchPlan, Window
from tacit.language.python_functions import PythonFunction
from tacit.language.schema_check import check_columns
from tacit.language.sentence import parse, parse_watch
from tacit.language.sketch_words import sketch_guarantee
from tacit.language.statement_kinds import (
    AlterWatch,
    Change,
    CreateWatch,
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
from tacit.language.statements import parse_statements

__all__ = [
    "AlterWatch",
    "ByKey",
    "ByMember",
    "Change",
    "ColumnUse",
    "CreateWatch",
    "DropWatch",
    "Every",
    "ExplainWatch",
    "Grouping",
    "PauseWatch",
    "PythonFunction",
    "ResumeWatch",
    "ShowAlerts",
    "ShowChanges",
    "ShowSites",
    "ShowWatch",
    "ShowWatches",
    "SketchKey",
    "Statement",
    "WatchPlan",
    "Window",
    "altered",
    "check_columns",
    "describe",
    "explain_text",
    "parse",
    "parse_statements",
    "parse_watch",
    "sketch_guarantee",
]
