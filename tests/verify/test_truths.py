"""Every kind of truth calls what is right right, and what is beyond its promise wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit.verify.judge import judge_watch
from tests.verify.recordings import history, rows_of

pytest.importorskip("duckdb")

# Panes of 1 second; north has a row each second, south one each other second.
ROWS = {
    "north": [
        {"ts": float(t), "x": float(t), "k": "a" if t < 4 else "b", "list": ["p", "q"][: 1 + t % 2]} for t in range(8)
    ],
    "south": [{"ts": t + 0.5, "x": 10.0, "k": "c", "list": ["q"]} for t in range(0, 8, 2)],
}
LAST = 6


def listed(pane: int, *objects: str) -> dict[str, Any]:
    """The alert of a list."""
    return {"pane": pane, "ranking": [[[each], 1] for each in objects]}


# north x: 0..7; the window of pane p (LAST 2 SECONDS) has the rows of p - 1 and p.
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "condition": (
        "SELECT SUM(x) AS s FROM readings WINDOW LAST 2 SECONDS EVERY 1 SECOND ALERT WHEN s > 16 MARGIN 1",
        # s by pane: 10, 11, 13, 15, 17, 19, 21
        {"changes": [(1, "", 0, 11.0), (4, "", 1, 17.0)], "alerts": [{"pane": 4, "side": "above"}]},
        {"changes": [(2, "", 1, 13.0)], "alerts": [{"pane": 2, "side": "above"}]},
    ),
    "tracked": (
        "SELECT AVG(x) AS m FROM readings WINDOW LAST 2 SECONDS EVERY 1 SECOND TRACK m WITHIN 1.5",
        # m by pane: 5, 3.67, 4.33, 5, 5.67, 6.33, 7
        {"changes": [(0, "", 1, 4.5), (5, "", 1, 6.0)]},
        {"changes": [(0, "", 1, 4.5)]},
    ),
    "by key": (
        "SELECT k, COUNT(*) AS n FROM readings WINDOW LAST 2 SECONDS EVERY 1 SECOND GROUP BY k ALERT WHEN n > 1",
        {
            "changes": [(1, '["a"]', 1, 2.0), (4, '["a"]', 0, 1.0), (5, '["b"]', 1, 2.0)],
            "alerts": [
                {"pane": 1, "side": "above", "group": ["a"]}, {"pane": 4, "side": "below", "group": ["a"]},
                {"pane": 5, "side": "above", "group": ["b"]},
            ],
        },
        {"changes": [(1, '["a"]', 1, 2.0)], "alerts": [{"pane": 1, "side": "above", "group": ["a"]}]},
    ),
    "by member": (
        "SELECT m, COUNT_IF(PRESENT) AS n FROM readings WINDOW LAST 4 SECONDS EVERY 1 SECOND"
        " GROUP BY EACH(list) AS m ALERT WHEN n > 3 MARGIN 0.5",
        # p: 1, 2, 3, 4, 4, 4, 4; q: 1, 2, 3, 4, 4, 4, 4
        {
            "changes": [(3, '["p"]', 1, 4.0), (3, '["q"]', 1, 4.0)],
            "alerts": [{"pane": 3, "side": "above", "group": ["p"]}, {"pane": 3, "side": "above", "group": ["q"]}],
        },
        {"changes": [(3, '["p"]', 1, 4.0)], "alerts": [{"pane": 3, "side": "above", "group": ["p"]}]},
    ),
    "ranking": (
        "SELECT k, COUNT(*) AS n FROM readings WINDOW LAST 4 SECONDS EVERY 1 SECOND GROUP BY k"
        " ORDER BY n DESC LIMIT 1 WITHIN 0",
        # a: 1 2 3 4 3 2 1; c: 1 1 2 2 2 2 2; b from pane 4: 1 2 3
        {"lists": [(0, "", [['["a"]', 1]]), (5, "", [['["b"]', 2]])], "alerts": [listed(0, "a"), listed(5, "b")]},
        {"lists": [(0, "", [['["a"]', 1]])], "alerts": [listed(0, "a")]},
    ),
    "topico": (
        "SELECT k, COUNT(*) AS n FROM readings WINDOW LAST 1 SECOND EVERY 1 SECOND GROUP BY k"
        " ORDER BY n DESC LIMIT 1 USING topico",
        {"lists": [(0, "", [['["a"]', 1]])], "alerts": [listed(0, "a")]},  # south moves at every pane
        {"lists": [(0, "", [['["nobody"]', 1]])], "alerts": [listed(0, "a")]},
    ),
    "frequent": (
        "SELECT k, COUNT(*) AS n FROM readings WINDOW LAST 4 SECONDS EVERY 1 SECOND GROUP BY k"
        " HAVING COUNT(*) > 2 SKETCH EPSILON 0.01 DELTA 0.01",
        {
            "lists": [(2, "", [['["a"]', 3]]), (5, "", []), (6, "", [['["b"]', 3]])],
            "alerts": [listed(2, "a"), listed(5), listed(6, "b")],
        },
        {"lists": [(2, "", [['["a"]', 3]])], "alerts": [listed(2, "a")]},
    ),
    "self join": (
        "SELECT SELF_JOIN_SIZE(k) AS f FROM readings WINDOW LAST 4 SECONDS EVERY 1 SECOND"
        " TRACK f WITHIN 10 PERCENT SKETCH EPSILON 0.01 DELTA 0.01",
        # 2, 5, 13, 20, 14, 12, 14
        {"changes": [(0, "", 1, 2.0), (1, "", 1, 5.0), (2, "", 1, 13.0), (3, "", 1, 20.0), (4, "", 1, 13.0)]},
        {"changes": [(0, "", 1, 2.0), (1, "", 1, 5.0), (2, "", 1, 13.0), (4, "", 1, 13.0)]},
    ),
    "inner product": (
        "SELECT INNER_PRODUCT(k, k) AS f FROM readings WINDOW LAST 4 SECONDS EVERY 1 SECOND"
        " TRACK f WITHIN 10 PERCENT SKETCH EPSILON 0.01 DELTA 0.01",
        {"changes": [(0, "", 1, 2.0), (1, "", 1, 5.0), (2, "", 1, 13.0), (3, "", 1, 20.0), (4, "", 1, 13.0)]},
        {"changes": [(0, "", 1, 2.0), (1, "", 1, 5.0), (2, "", 1, 13.0), (4, "", 1, 13.0)]},
    ),
    "quantile": (
        "SELECT QUANTILE(x, 0.5) AS q FROM readings WINDOW LAST 4 SECONDS EVERY 1 SECOND TRACK q WITHIN 5 PERCENT",
        # 0 10; 0 1 10; 0 1 2 10 10; 0 1 2 3 10 10; 1 2 3 4 10 10; 2 3 4 5 10 10; 3 4 5 6 10 10
        {"changes": [(0, "", 1, 0.0), (1, "", 1, 1.0), (2, "", 1, 2.0), (4, "", 1, 3.5), (5, "", 1, 5.0)]},
        {"changes": [(0, "", 1, 0.0), (1, "", 1, 1.0), (2, "", 1, 2.0), (4, "", 1, 10.0), (5, "", 1, 5.0)]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_right_is_called_right(name: str, tmp_path: Path) -> None:
    sentence, right, _ = CASES[name]
    verdict = judge_watch(history(sentence, LAST, **right), rows_of(tmp_path, ROWS), until=LAST)
    assert verdict.is_good, verdict
    assert verdict.panes + verdict.unpromised == LAST + 1


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"topico"}))
def test_what_is_beyond_its_promise_is_called_wrong(name: str, tmp_path: Path) -> None:
    sentence, _, wrong = CASES[name]
    verdict = judge_watch(history(sentence, LAST, **wrong), rows_of(tmp_path, ROWS), until=LAST)
    assert verdict.wrong, verdict


def test_a_topico_list_is_judged_where_counts_stand_still(tmp_path: Path) -> None:
    sentence, right, wrong = CASES["topico"]
    still = {"north": [{"ts": float(t), "k": "a"} for t in range(12)], "south": [{"ts": 0.0, "k": "a"}]}
    judged = [
        judge_watch(history(sentence, 10, **said), rows_of(tmp_path, still), until=10) for said in (right, wrong)
    ]  # fmt: skip
    assert judged[0].is_good
    assert judged[0].panes > 0
    assert judged[1].wrong
