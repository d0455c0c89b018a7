"""No watch takes a link down: what cannot travel is a problem of that watch, on a real wire, and others go on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.language import statements
from tests.runtime.light import LightSystem, rows, until
from tests.runtime.live import RecordedBatch

FINE = "CREATE WATCH fine AS SELECT SUM(x) AS s FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND TRACK s WITHIN 0.5"
BY_K = (
    "CREATE WATCH by_k AS SELECT k, SUM(x) AS s FROM d WINDOW LAST 8 SECONDS EVERY 1 SECOND GROUP BY k TRACK s WITHIN 1"
)
TOP_K = "CREATE WATCH top AS SELECT k, SUM(x) AS s FROM d WINDOW LAST 8 SECONDS GROUP BY k ORDER BY s DESC LIMIT 2"


class BothBatch(RecordedBatch):
    """Rows as the watch ``fine`` counts them, and as another one does, which has groups."""

    def __init__(self, sentence: str, seconds: range, key: str) -> None:
        fine, other = rows(FINE, seconds, 5), rows(sentence, seconds, 5, keys=[key])
        super().__init__(fine._recording, fine._at, fine.max_time)
        self._other = other

    def pane_outcomes(self, wanted):
        return [(super(BothBatch, self) if w[0].name == "fine" else self._other).pane_outcomes([w])[0] for w in wanted]

    def sample(self, plan, *rest):
        return super().sample(plan, *rest) if plan.name == "fine" else self._other.sample(plan, *rest)


@pytest.fixture
def system(tmp_path: Path) -> Iterator[LightSystem]:
    with LightSystem(tmp_path, lease_seconds=2) as made:
        made.site("north")
        made.site("south")
        made.runner.ask({"sql": FINE})
        made.feed(FINE, range(100, 130), 5)
        until(lambda: made.watch("fine")["state"] == "valid")
        yield made


def still_fine(system: LightSystem, seconds: range, other: str = FINE) -> None:
    """No link broke, and the watch that was fine goes on to be."""
    for at in seconds:
        for site in system.sites.values():
            site.feed(BothBatch(other, range(at, at + 1), "k"))
        time.sleep(0.05)
    newest = seconds[-1] - 1
    until(lambda: (system.watch("fine")["pane"], system.watch("fine")["state"]) == (newest, "valid"))
    assert [site.reasons for site in system.sites.values()] == [[], []]


@pytest.mark.parametrize("oversized", ["name", "sentence"])
def test_a_watch_that_no_site_can_read_is_a_problem_of_that_watch(
    system: LightSystem, monkeypatch: pytest.MonkeyPatch, oversized: str
) -> None:
    """New ones are refused when they are written; one may be left over from a release that did not."""
    for limit in ("NAME_MAX", "SENTENCE_MAX", "SCRIPT_MAX"):
        monkeypatch.setattr(statements, limit, 1 << 30)
    name = "n" * 5_000 if oversized == "name" else "long"
    text = f"/* {'long ' * 300_000} */ SUM(y)" if oversized == "sentence" else "SUM(x)"
    text = FINE.replace("WATCH fine", f"WATCH {name}").replace("SUM(x)", text.replace("y", "x"))
    system.runner.ask({"sql": text})
    until(lambda: set(system.watch(name)["problems"]) == {"north", "south"})
    assert "cannot be read here" in system.watch(name)["problems"]["north"]
    still_fine(system, range(130, 150))
    system.runner.ask({"sql": f"DROP WATCH {name}"})
    until(lambda: [site.agent.problems for site in system.sites.values()] == [{}, {}])


@pytest.mark.parametrize("sentence", [BY_K, TOP_K], ids=["groups", "ranking"])
def test_a_key_that_no_message_takes_is_a_problem_of_that_watch(system: LightSystem, sentence: str) -> None:
    name = sentence.split()[2]
    system.runner.ask({"sql": sentence})
    until(lambda: all(2 in site.agent.watches for site in system.sites.values()))
    for name_of_site, key in (("south", "k" * 2_000_000), ("north", "k")):
        system.sites[name_of_site].feed(BothBatch(sentence, range(130, 136), key))
    until(lambda: "shorter" in system.watch(name)["problems"].get("south", ""))
    still_fine(system, range(136, 150), sentence)
