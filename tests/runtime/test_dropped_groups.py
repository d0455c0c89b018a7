"""Groups of rankings without rows go where there are very many; nothing else changes, crash or not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.language.plan import Every, Window
from tacit.runtime import window_keeper as keeping
from tacit.runtime.windows import restore_keeper, window_keeper
from tacit.vocabulary.batches import PaneDeltas
from tests.runtime.test_ranking_changes import Fed

S = 1_000_000
WINDOWS = (
    Window("time", Every(duration_us=S), duration_us=5 * S),
    Window("time", Every(duration_us=2 * S), duration_us=5 * S),
    Window("since", Every(duration_us=S), unit="minute"),
    Window("all", Every(duration_us=S)),
)


def by_key(keeper, pane: int) -> dict[str, list[float]]:
    totals = keeper.totals_at(pane)
    return {key: totals[at].tolist() for at, key in enumerate(keeper.keys) if totals[at].any()}


@pytest.mark.middle
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), window=st.sampled_from(WINDOWS))
def test_a_keeper_without_its_empty_groups_says_the_same(seed: int, window: Window) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keeping, "CROWDED", 0)
        patch.setattr(keeping, "_FORGET", 4)
        says_the_same(seed, window)


def says_the_same(seed: int, window: Window) -> None:
    rng = np.random.default_rng(seed)
    plain, dropping = (window_keeper(window, 2, sparse=True) for _ in range(2))
    dropping._crowded = 0
    written: dict[str, bytes] = {}
    dropped = 0
    for second in range(0, 90):
        keys = tuple(f'["k{each}"]' for each in rng.choice(40, int(rng.integers(1, 6)), replace=False) + second)
        rows = rng.integers(1, 4, len(keys))
        sub = np.full(len(keys), second * S // plain.sub_us)  # type: ignore[attr-defined]
        deltas = PaneDeltas(sub, np.arange(len(keys)), rows, np.stack([rng.normal(size=len(keys)), rows], 1), keys)
        for keeper in (plain, dropping):
            keeper.add(deltas)
            keeper.close_through((second + 1) * S)
            if keeper.closed is not None and keeper.closed > 3:
                keeper.settle(keeper.closed - 2)
        oldest, closed = dropping.oldest, dropping.closed
        if oldest is None or closed is None or closed < oldest:
            continue
        for pane in range(oldest, closed + 1):
            assert by_key(dropping, pane) == by_key(plain, pane)
        for change in dropping.changes():
            if change.blob is None:
                written.pop(change.key, None)
            else:
                written[change.key] = change.blob
        dropping.saved()
        dropped += dropping.drop_groups()
        dropping._crowded = 0
        if rng.random() < 0.2:
            dropping = restore_keeper(window, 2, written, sparse=True)
            dropping._crowded = 0
    if window.kind == "time":
        assert dropped
        assert len(dropping.keys) < len(plain.keys)


@pytest.mark.parametrize("more", ["", " USING topico"])
@pytest.mark.parametrize("crashes", [False, True])
def test_a_ranking_goes_on_while_its_objects_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crashes: bool, more: str
) -> None:
    monkeypatch.setattr(keeping, "CROWDED", 30)
    monkeypatch.setattr(keeping, "_FORGET", 4)
    drops: list[bool] = []
    drop = keeping.WindowKeeper.drop_groups
    monkeypatch.setattr(keeping.WindowKeeper, "drop_groups", lambda self: drops.append(drop(self)) or drops[-1])
    fed = Fed(tmp_path, window=4, more=more)
    for second in range(40):
        fed.feed(1, {f"o{second + each}": each + 1 for each in range(4)})
        if crashes and second % 11 == 7:
            fed.live.crash_site("s1")
        if crashes and second % 13 == 5:
            fed.live.crash_coordinator()
    assert any(drops)
    if not more:
        fed.live.settle(20)
        assert fed.state == "valid"
        best = Counter(key for at, key in fed.rows if at >= fed.second - 4).most_common()
        least = best[1][1]
        assert all(dict(best)[name] >= least for name in fed.members)
        assert fed.judged() > 20
