"""The number of alerts of each watch, whatever is stored and forgotten in between."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from tacit.runtime.alert_counts import AlertCounts
from tacit.runtime.store import Store

NAMES = ("hot", "cold")
_STEPS = st.one_of(
    st.tuples(st.just("raise"), st.sampled_from(NAMES), st.integers(0, 9)),  # the same id again is the same alert
    st.tuples(st.just("forget"), st.sampled_from(NAMES), st.integers(0, 9)),
    st.tuples(st.just("ask"), st.sampled_from(NAMES), st.just(0)),
)


@given(st.lists(_STEPS, max_size=30))
def test_it_is_what_a_count_of_all_would_say(steps: list[tuple[str, str, int]]) -> None:
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        counts = AlertCounts(store)
        for what, name, number in steps:
            id_ = f"{name}{number}"
            if what == "raise":
                store.commit([("INSERT OR IGNORE INTO alerts (id, watch, document) VALUES (?, ?, '{}')", (id_, name))])
            elif what == "forget":
                store.commit([("DELETE FROM alerts WHERE id = ?", (id_,))])
                counts.recount()
            for each in NAMES if what == "ask" else ():
                (wanted,) = store.one("SELECT COUNT(*) FROM alerts WHERE watch = ?", (each,)) or (0,)
                assert counts.of(each) == wanted
        store.close()
