"""Which cases of a parametrized test run in `make test`, and which in `make check` only."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

__all__ = ["parametrize_in_tiers"]


def parametrize_in_tiers(names: str, cases: Iterable[object], *, in_test: int) -> pytest.MarkDecorator:
    """Return ``pytest.mark.parametrize`` with all but the first ``in_test`` cases marked ``middle``."""
    marked: list[object] = []
    for place, case in enumerate(cases):
        if place < in_test:
            marked.append(case)
        elif isinstance(case, type(pytest.param())):
            marked.append(pytest.param(*case.values, marks=[*case.marks, pytest.mark.middle], id=case.id))
        else:
            values = case if "," in names and isinstance(case, tuple) else (case,)
            marked.append(pytest.param(*values, marks=pytest.mark.middle))
    return pytest.mark.parametrize(names, marked)
