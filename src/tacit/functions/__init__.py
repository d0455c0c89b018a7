"""Expressions over statistics: what they are worth, how they change, and what can be proved of them on a ball."""

from tacit.functions.evaluate import gradient, value
from tacit.functions.expressions import (
    Binary,
    ChiSquare,
    Constant,
    Expression,
    InformationGain,
    Opaque,
    Unary,
    Variable,
)
from tacit.functions.forms import degree, kind_of, means_form, substitute, variables
from tacit.functions.goals import AllOf, AnyOf, Comparison, Condition, Goal, Track
from tacit.functions.interval import bounds_over_ball, bounds_over_box
from tacit.functions.monitor import Monitor
from tacit.functions.statistics import Moment, Statistic
from tacit.functions.tables import Tables, Zones

__all__ = [
    "AllOf",
    "AnyOf",
    "Binary",
    "ChiSquare",
    "Comparison",
    "Condition",
    "Constant",
    "Expression",
    "Goal",
    "InformationGain",
    "Moment",
    "Monitor",
    "Opaque",
    "Statistic",
    "Tables",
    "Track",
    "Unary",
    "Variable",
    "Zones",
    "bounds_over_ball",
    "bounds_over_box",
    "degree",
    "gradient",
    "kind_of",
    "means_form",
    "substitute",
    "value",
    "variables",
]
