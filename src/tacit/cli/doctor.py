"""``tacit doctor``: what tacit needs, what is here, and what to do about the difference.

Also runs before anything is installed, from the repository: ``PYTHONPATH=src python3 -m tacit.cli.doctor``.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from tacit.cli.checks import Check, examine

if TYPE_CHECKING:
    import typer

__all__ = ["as_json", "as_text", "is_healthy", "register"]


def is_healthy(checks: list[Check]) -> bool:
    """Whether nothing that tacit needs is missing; notes do not count."""
    return all(check.state != "problem" for check in checks)


def as_text(checks: list[Check]) -> str:
    """A line per check, and under it what to do.

    >>> print(as_text([Check("Java", "ok", "17.0.15 from PATH"), Check("make", "note", "not found", "install it")]))
    ok       Java       17.0.15 from PATH
    note     make       not found
                        -> install it
    <BLANKLINE>
    Everything that tacit needs is here.
    """
    lines = []
    for check in checks:
        lines.append(f"{check.state:<8} {check.name:<10} {check.found}")
        if check.advice:
            lines.append(f"{'':<20}-> {check.advice}")
    problems = sum(check.state == "problem" for check in checks)
    summary = (
        f"{problems} problem{'s' if problems > 1 else ''}." if problems else "Everything that tacit needs is here."
    )
    return "\n".join([*lines, "", summary])


def as_json(checks: list[Check]) -> str:
    """The same for programs: ``{"ok": bool, "checks": [{"name", "state", "found", "advice"}]}``."""
    return json.dumps({"ok": is_healthy(checks), "checks": [asdict(check) for check in checks]}, indent=2)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    import typer

    @app.command()
    def doctor(
        json_: bool = typer.Option(False, "--json", help="Print the findings as JSON."),
        spark: bool = typer.Option(True, "--spark/--no-spark", help="Also run a short Spark job (some seconds)."),
    ) -> None:
        """Check Python, Java, Spark and the machine, and say what to do when something is missing."""
        checks = examine(with_spark=spark)
        typer.echo(as_json(checks) if json_ else as_text(checks))
        raise typer.Exit(0 if is_healthy(checks) else 1)


def _main() -> int:
    parser = argparse.ArgumentParser(prog="tacit doctor", description="Check what tacit needs on this machine.")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--no-spark", action="store_true", help="do not run a Spark job")
    options = parser.parse_args()
    checks = examine(with_spark=not options.no_spark)
    print(as_json(checks) if options.json else as_text(checks))
    return 0 if is_healthy(checks) else 1


if __name__ == "__main__":
    sys.exit(_main())
