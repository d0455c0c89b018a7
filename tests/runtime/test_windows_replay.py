"""Live windows against those of a replay with --step pane: the same sums, and the same panes that changed."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.recording.stream import Recording
from tacit.recording.updates import pane_messages, updates_of
from tacit.runtime.windows import restore_keeper, window_keeper
from tests.runtime.test_windows import Case, cases
from tests.runtime.window_twin import Row, pane_deltas, row_block

D = 2


@st.composite
def streams(draw: st.DrawFn) -> tuple[Case, Recording]:
    case = draw(cases())
    ticks = sorted(draw(st.lists(st.integers(0, 60), min_size=1, max_size=60)))
    sites = draw(st.lists(st.integers(0, 1), min_size=len(ticks), max_size=len(ticks)))
    values = np.array(draw(st.lists(st.integers(-99, 99), min_size=len(ticks), max_size=len(ticks))), dtype=float)
    shifts = draw(st.sampled_from([0, 1, case.tick_us // 3]))
    return case, Recording.from_arrays(
        t=[case.origin_us + tick * case.tick_us + shifts for tick in ticks],
        site=sites,
        present=np.stack([np.ones(len(ticks)), values], axis=1),
        sites=("a", "b"),
    )


def live(case: Case, recording: Recording, site: int, last_us: int, data: st.DataObject):
    """(pane, sums, changed) of every closed pane up to the recording's last, with restarts between."""
    keeper = window_keeper(case.window, D, keys=("",))
    mine = np.flatnonzero(recording.site == site)
    rows = [Row(int(recording.t[i]), int(i), "", tuple(recording.present[i])) for i in mine]
    disk: dict[str, bytes] = {}
    said = []
    for row_count in [*data.draw(st.lists(st.integers(1, 20), max_size=6)), len(rows)]:
        batch, rows = rows[:row_count], rows[row_count:]
        batch = data.draw(st.permutations(batch))
        assert keeper.add(_deltas(batch, keeper)).late == 0
        watermark = rows[0].t if rows else (last_us // keeper.pane_us + 1) * keeper.pane_us
        for pane in keeper.close_through(watermark):
            sums, changed = keeper.vector(pane)
            said.append((pane, sums[0].tolist(), changed))
        if keeper.closed is not None:
            keeper.settle(keeper.closed - data.draw(st.integers(0, 3)))
        for change in keeper.changes():
            disk.pop(change.key, None)
            if change.blob is not None:
                disk[change.key] = change.blob
        keeper = restore_keeper(case.window, D, disk)
    return keeper.pane_us, said


def _deltas(rows: list[Row], keeper):
    return row_block(rows, D) if keeper.sub_us is None else pane_deltas(rows, keeper.sub_us, D)


@settings(max_examples=200, deadline=None)
@given(streams(), st.data())
def test_live_windows_are_those_of_a_replay_by_panes(stream, data):
    case, recording = stream
    updates = updates_of(recording, case.window, step="pane")
    order, _ = recording.by_site
    present = recording.present[order]
    changes = 0
    for site in (0, 1):
        if not (recording.site == site).any():
            continue
        pane_us, said = live(case, recording, site, int(recording.t.max()), data)
        mine = np.flatnonzero(updates.site == site)
        at, current = 0, [0.0, 0.0]
        assert [pane for pane, _, _ in said] == list(range(said[0][0], said[0][0] + len(said)))
        for pane, sums, changed in said:
            replayed = False
            # a pane of rows is replayed at the time of its last row, a pane of time at its end
            while at < len(mine) and updates.time[mine[at]] < (pane + 1) * pane_us + (not case.window.every.rows):
                current = present[updates.lo[mine[at]] : updates.hi[mine[at]]].sum(axis=0).tolist()
                at, replayed = at + 1, True
            assert sums == current
            assert changed == replayed
            changes += changed
        assert at == len(mine)
    if case.window.every.rows is None:
        assert changes == pane_messages(recording, case.window)
