"""``tacit up CONFIG``: the coordinator and all sites of a configuration on this machine."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tacit.cli.doing import Doing, with_seconds
from tacit.vocabulary.alerts import about_text, basis_text, change_text

if TYPE_CHECKING:
    from tacit.runtime.config_models import Config

__all__ = ["register", "run_here"]

_SHOW_S = 1.0
_END_S = 8.0
_ANSWER_S = 120.0  # what has no answer by then runs out as if it had
_SILENT_S = 120.0  # a coordinator that is not up by then is waited for no longer without a word


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def up(
        config: Path = typer.Argument(..., metavar="CONFIG", help="The configuration (TOML)."),
        processes: bool = typer.Option(
            False, "--processes", help="One process for the coordinator and one with its own Spark for each site."
        ),
        seconds: float | None = typer.Option(None, min=1, help="End by itself after so long; else when interrupted."),
        json_: bool = typer.Option(False, "--json", help="Print the last answers as JSON at the end."),
    ) -> None:
        """Start the coordinator and every site of a configuration here, and show what is watched."""
        from tacit.runtime.config import load_config

        loaded = load_config(config)
        if processes:
            raise typer.Exit(_run_processes(config, loaded, seconds, json_))
        raise typer.Exit(run_here(loaded, seconds, json_))


def run_here(config: Config, seconds: float | None, json_: bool, *, judged: bool = False) -> int:
    """Coordinator and sites as threads of this process, around one Spark; ``seconds`` count from when that is up.

    What is ``judged`` runs for so long after its first answer, however quick the machine is at the start.
    """
    from tacit.cli.live import kernels_text, load_kernels, stop_on_signals
    from tacit.cli.work import as_json, orderly_end
    from tacit.recording.run import spark_room
    from tacit.runtime.coordinator_runner import check_watches
    from tacit.runtime.local import LocalSystem

    status: dict[str, Any] = {}
    with Screen(quiet=json_) as screen:
        screen.say("setting up")
        with orderly_end():
            spark_room()
            check_watches(config)
            system = LocalSystem(config)
        screen.say(kernels_text())
        with orderly_end():  # compiling takes no notice of an event; nothing is there yet that must end in order
            load_kernels()
        with stop_on_signals() as stop:

            def say(text: str) -> None:
                if stop.is_set():  # interrupted before there is anything to show
                    raise KeyboardInterrupt
                screen.say(text)

            try:
                system.start(say)
                stop.again()  # type: ignore[attr-defined]
                assert system.sites is not None
                screen.say_once(_where(config, system.coordinator.port))
                status = _show(system, stop, screen, seconds, answering=judged)
                failures = system.sites.failures
                if judged:
                    status["verdicts"] = _verdicts(config, system.coordinator.port)
            finally:
                screen.say("ending")
                system.stop()
    if json_:
        typer.echo(as_json(status))
    else:
        screen.last(status)
    for failure in failures.values():
        raise failure
    return 0 if all(verdict["good"] for verdict in status.get("verdicts", [])) else 1


def _verdicts(config: Config, port: int) -> list[dict[str, Any]]:
    """What is to be said of every watch until now, by the truth of the sources."""
    from tacit.api.client import connect
    from tacit.verify.following import judge_now

    with connect(f"127.0.0.1:{port}") as client:
        names = sorted(watch["watch"] for watch in client.watches())
        return [verdict.as_dict() for verdict in judge_now(config, client, names)]


def _where(config: Config, port: int) -> str:
    host = config.coordinator.listen.rpartition(":")[0]
    states = [config.coordinator.state, *(site.state for site in config.sites.values())]
    return f"coordinator on {host}:{port}; state in {', '.join(str(state) for state in states)}"


def _show(
    system: Any, stop: threading.Event, screen: Screen, seconds: float | None, *, answering: bool = False
) -> dict[str, Any]:
    """Until it ends, which may be so long after the first answer; the last status."""
    from tacit.vocabulary.errors import TacitError

    begin = system.sites.spark_up
    first: float | None = None
    before = 0  # messages until the first answer
    seen: set[str] = set()
    status: dict[str, Any] = {}
    while True:
        system.mind(stop)
        status = system.coordinator.ask({"status": True})
        screen.sites({runner.name: (runner.status, list(runner.config.tables)) for runner in system.sites.runners})
        alerts = system.coordinator.ask({"sql": "SHOW ALERTS LIMIT 100"})["results"][0]["alerts"]
        for alert in reversed(alerts):
            if alert["id"] not in seen:
                seen.add(alert["id"])
                screen.alert(alert)
        if first is None and any(watch["answer"] for watch in status["watches"]):
            first = time.monotonic() - begin
            before = _messages(status)
        status["first_answer_seconds"], status["first_answer_messages"] = first, before
        screen.table(status["watches"])
        if len(system.sites.failures) == len(system.sites.runners):
            raise next(iter(system.sites.failures.values()), TacitError("no site runs"))
        passed = time.monotonic() - begin
        if answering:
            passed -= min(passed, _ANSWER_S) if first is None else first
        left = None if seconds is None else seconds - passed
        if (left is not None and left <= 0) or stop.wait(_SHOW_S if left is None else min(_SHOW_S, max(0.05, left))):
            return status


def _messages(status: dict[str, Any]) -> int:
    return sum(watch["cost"]["messages"]["total"] for watch in status["watches"])


class Screen:
    """A table that is drawn again and again on a terminal; in a pipe, lines for what happens."""

    def __init__(self, *, quiet: bool = False) -> None:
        from tacit.cli.work import output

        self._console = output()
        self._quiet = quiet
        self._live: Any = None
        self._doing, self._since = "", time.monotonic()
        self._lines = Doing()
        self._statuses: dict[str, str] = {}
        self._states: dict[str, str] = {}
        self._alerts: list[str] = []
        self._complaints: set[str] = set()
        self._rows: list[dict[str, Any]] = []

    def __enter__(self) -> Screen:
        if self._console.is_terminal and not self._quiet:
            from rich.live import Live

            self._live = Live(
                console=self._console, refresh_per_second=4, transient=True, get_renderable=self._rendered
            )
            self._live.__enter__()
        else:
            self._lines.__enter__()
        return self

    def __exit__(self, *story: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)
            self._live = None
        self._lines.__exit__()

    def say(self, text: str) -> None:
        """What is being done: on a terminal a line that comes and goes, else a line on standard error."""
        if text != self._doing:
            self._doing, self._since = text, time.monotonic()
        if self._live is None:
            self._lines.say(text)
        self._draw()

    def sites(self, sites: dict[str, tuple[str, list[str]]]) -> None:
        """What each site does, and which tables it has: said when that changes."""
        fresh = {name for name, (status, _) in sites.items() if self._statuses.get(name) != status}
        self._statuses = {name: status for name, (status, _) in sites.items()}
        if self._live is None:
            for name in sorted(fresh):
                status, tables = sites[name]
                self._lines.say(f"site {name}: {status}" + (f" {', '.join(tables)}" if status == "reading" else ""))
            self._lines.say("")
        busy = [f"site {name}: {status}" for name, (status, _) in sites.items() if status != "reading"]
        self._doing = "; ".join(busy)

    def complain(self, text: str) -> None:
        """Something that the user must know, on standard error, the first time that it is said."""
        if text not in self._complaints:
            self._complaints.add(text)
            typer.echo(f"tacit: {text}", err=True)

    def say_once(self, text: str) -> None:
        """A line that stays."""
        self._doing = ""
        if not self._quiet:
            self._console.print(text, soft_wrap=True)

    def alert(self, alert: dict[str, Any]) -> None:
        """An alert was raised."""
        basis = basis_text(alert)
        line = f"{alert['at']}  {about_text(alert)}: {change_text(alert)}" + (f" ({basis})" if basis else "")
        self._alerts = [*self._alerts, line][-8:]
        if self._live is None and not self._quiet:
            self._console.print(line, soft_wrap=True, markup=False)

    def table(self, rows: list[dict[str, Any]]) -> None:
        """What is watched now; without a terminal, a line for each state that is new, but those that pass by."""
        self._rows = rows
        for row in rows if self._live is None else ():
            waiting = f", waiting for {', '.join(row['waiting_for'])}" if row["waiting_for"] else ""
            state = row["state"] + waiting
            if row["state"] != "resolving" and self._states.get(row["watch"]) != state:
                self._states[row["watch"]] = state
                self._lines.say(f"watch {row['watch']}: {state}")
                self._lines.say("")
        self._draw()

    def last(self, status: dict[str, Any]) -> None:
        """What there is to say at the end, which stays."""
        from tacit.cli.live import watch_table
        from tacit.cli.work import show

        if status.get("watches"):
            show(self._console, watch_table(status["watches"]))
        if (first := status.get("first_answer_seconds")) is not None:
            start = f"{status['first_answer_messages']:,} of {_messages(status):,} messages were said until then"
            self._console.print(f"first answer {first:.1f} s after Spark was up; {start}", soft_wrap=True)
        for verdict in status.get("verdicts", []):
            judged = f"{verdict['watch']}: {verdict['panes']} panes judged, {len(verdict['wrong'])} wrong"
            lost = f"{len(verdict['lost'])} of them without an alert" if verdict["lost"] else "each with its alert"
            crossed = f"; {verdict['crossings']} crossings" + (f", {lost}" if verdict["crossings"] else "")
            self._console.print(judged + crossed, soft_wrap=True, markup=False)
            for line in [verdict["problem"]] * bool(verdict["problem"]) + verdict["wrong"][:5] + verdict["lost"][:5]:
                self._console.print(f"  {line}", soft_wrap=True, markup=False)

    def _draw(self) -> None:
        if self._live is not None:
            self._live.refresh()

    def _rendered(self) -> Any:
        """What stands on the terminal now; it is asked for four times a second."""
        from rich.console import Group
        from rich.text import Text

        from tacit.cli.live import watch_table

        parts: list[Any] = [watch_table(self._rows)] if self._rows else []
        parts += [Text(line, style="yellow") for line in self._alerts]
        if self._doing:
            parts.append(Text(with_seconds(self._doing, self._since) + " …", style="dim"))
        return Group(*parts)


def _compile_kernels(stop: threading.Event) -> None:
    """In a process of its own, so that this one stays small; it ends early when it is told to."""
    import subprocess
    import sys

    command = [sys.executable, "-m", "tacit.recording.warm"]
    compiling = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)  # interrupts are ours
    while compiling.poll() is None:
        if stop.wait(_SHOW_S):
            compiling.terminate()
            compiling.wait()
            return


def _run_processes(path: Path, config: Config, seconds: float | None, json_: bool) -> int:
    """One process each; a site or coordinator that ends is started again."""
    from tacit._kernel_cache import are_compiled
    from tacit.cli.live import kernels_text, stop_on_signals
    from tacit.cli.work import as_json
    from tacit.pipelines.private_folders import remove_left_folders
    from tacit.runtime.coordinator_runner import check_watches
    from tacit.runtime.processes import Processes
    from tacit.vocabulary.errors import OptionError

    port = int(config.coordinator.listen.rpartition(":")[2])
    if port == 0:
        raise OptionError(
            f"{path}: listen of [coordinator] has port 0, and processes of their own cannot know which one"
        )
    check_watches(config)
    commands = {"coordinator": ["coordinator", str(path), "--quiet"]}
    commands |= {f"site {name}": ["site", str(path), name, "--quiet"] for name in config.sites}
    processes = Processes(commands, config)
    with stop_on_signals() as stop, Screen(quiet=json_) as screen:
        status: dict[str, Any] = {}
        try:
            if not are_compiled():  # once, and not by each process for itself
                screen.say(kernels_text())
                _compile_kernels(stop)
            names = ", ".join(config.sites)
            screen.say(f"starting the coordinator, and Spark at {names}" if names else "starting the coordinator")
            if not stop.is_set():
                processes.start()
            screen.say_once(_where(config, port))
            begin = linked = time.monotonic()  # sites link up when their Spark is there: seconds count from then
            all_here = False
            while not stop.wait(_SHOW_S) and (seconds is None or time.monotonic() - linked < seconds):
                processes.mind()
                status = processes.status() or status
                screen.table(status.get("watches", []))
                if status and processes.silence is None:
                    online = {site["site"]: site["online"] for site in status["sites"]}
                    all_here = all_here or all(online.get(name, False) for name in config.sites)
                    words = {True: "linked up", False: "starting Spark, or away"}
                    screen.sites({name: (words[online.get(name, False)], []) for name in config.sites})
                elif status:
                    screen.say(f"the coordinator is asked: {processes.silence}")
                if not all_here and time.monotonic() - begin < _ANSWER_S:
                    linked = time.monotonic()
                if not status and processes.silence is not None and time.monotonic() - begin > _SILENT_S:
                    screen.complain(f"the coordinator cannot be asked: {processes.silence}")
        finally:
            screen.say("ending")
            if processes.stop(_END_S):
                remove_left_folders()
    if json_:
        typer.echo(as_json(status))
    else:
        screen.last(status)
    if not status and processes.silence is not None:
        screen.complain(f"the coordinator cannot be asked: {processes.silence}")
    return 0
