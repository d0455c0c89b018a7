"""What is told of each published answer: what changed, from which pane on, and the alerts that this makes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit.language.sentence import parse_watch
from tacit.language.shape import shape_of
from tacit.runtime.answers import Said, Teller
from tacit.vocabulary import Answer, State
from tacit.wire.control import Measure

WATCH = (
    "CREATE WATCH g AS SELECT k, SUM(x) AS s FROM t WINDOW LAST 10 SECONDS EVERY 1 SECOND GROUP BY k ALERT WHEN s > 2"
)
KEYS = tuple(f'["{number}"]' for number in range(5))
PLAN = parse_watch(WATCH)
SHAPE = shape_of(PLAN, Measure(np.zeros(0), np.ones(1)))
sides = st.sampled_from([0, 1, 2])
rows = st.lists(st.tuples(sides, st.sampled_from([0.0, 1.0, np.nan])), max_size=5)


def _teller(said: dict[str, Said]) -> Teller:
    return Teller(PLAN, SHAPE, 1, 1_000_000, said)


def _answer(pane: int, row: list[tuple[int, float]]) -> Answer:
    chosen = np.array([side for side, _ in row], dtype=np.int64)
    estimates = np.array([[value] for _, value in row]).reshape(len(row), 1)
    return Answer(pane, State.VALID, chosen, estimates, (0,), (), pane)


@given(
    st.lists(rows, min_size=1, max_size=8), st.dictionaries(st.sampled_from(KEYS), st.builds(Said, sides, st.just(1.0)))
)
def test_it_tells_what_differs_from_what_was_said(story: list, known: dict[str, Said]) -> None:
    teller, twin, groups = _teller(dict(known)), dict(known), 0
    for pane, row in enumerate(story):
        groups = max(groups, len(row))
        row = [*row, *[(0, 0.0)] * (groups - len(row))]  # groups do not go away
        changed, alerts = teller.tell(_answer(pane, row), KEYS)
        expected = {}
        for key, (side, value) in zip(KEYS, row, strict=False):
            before = twin.get(key)
            if (
                before is None
                or before.side != side
                or not (before.value == value or np.isnan([before.value, value]).all())
            ):
                expected[key] = side
                if (before is not None and before.side == 1) != (side == 1):
                    assert key.strip('["]') in {alert["group"][2:-2] for alert in alerts}
            twin[key] = Said(side, value)
        assert {key: now.side for key, (_, now) in changed.items()} == expected
        assert len(alerts) <= len(expected)


def test_a_group_is_spoken_of_from_the_pane_on_that_it_is_there() -> None:
    teller = _teller({})
    row = [(1, 0.0), (1, 0.0)]
    assert teller.tell(_answer(4, row), KEYS, {0: 4})[0].keys() == {KEYS[0]}
    assert teller.tell(_answer(5, row), KEYS, {0: 4})[0] == {}
    changed, alerts = teller.tell(_answer(6, row), KEYS, {0: 4, 1: 6})
    assert changed == {KEYS[1]: (6, Said(1, 0.0))}
    assert [(alert["pane"], alert["group"]) for alert in alerts] == [(6, KEYS[1])]
