"""``tacit bench``: the measurements of the repository's ``benchmarks/`` folder, by name.

A benchmark is a module there with ``DESCRIPTION`` and ``main(arguments) -> exit code``. They belong to the source tree
and are not installed: they are looked for beside the sources, then in the current folder.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path

import typer

__all__ = ["descriptions", "find_folder", "register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
    def bench(
        context: typer.Context,
        list_: bool = typer.Option(False, "--list", help="Say which benchmarks there are."),
    ) -> None:
        """Run benchmarks: tacit bench NAME … OPTIONS; without a name, all of them. NAME --help says its options."""
        words = list(context.args)
        if words and words[0] in ("--help", "-h"):
            typer.echo(context.get_help())
            return
        raise typer.Exit(_bench(words, list_))


def _bench(words: list[str], listing: bool) -> int:
    from tacit.vocabulary.errors import OptionError

    folder = find_folder()
    known = descriptions(folder)
    first_option = next((k for k, word in enumerate(words) if word.startswith("-")), len(words))
    names, arguments = words[:first_option], words[first_option:]
    for name in names:
        if name not in known:
            raise OptionError(f"there is no benchmark named '{name}'; the benchmarks are {', '.join(known)}")
    if listing:
        width = max(map(len, known), default=0)
        for name, description in known.items():
            typer.echo(f"{name:<{width}}  {description}")
        return 0
    if str(folder.parent) not in sys.path:
        sys.path.insert(0, str(folder.parent))
    failed = []
    for name in names or known:
        typer.echo(f"== {name}: {known[name]}")
        if import_module(f"{folder.name}.{name}").main(arguments) != 0:
            failed.append(name)
    if failed:
        typer.echo(f"failed: {', '.join(failed)}", err=True)
    return 1 if failed else 0


def find_folder() -> Path:
    """The folder with the benchmarks; MachineError where there is none."""
    from tacit.vocabulary.errors import MachineError

    beside_sources = Path(__file__).resolve().parents[3] / "benchmarks"
    for folder in (beside_sources, Path.cwd() / "benchmarks"):
        if any(folder.glob("*.py")) and descriptions(folder):
            return folder
    raise MachineError(
        "the benchmarks are not installed with tacit; run this in a clone of its repository, where benchmarks/ is"
    )


def descriptions(folder: Path) -> dict[str, str]:
    """The benchmarks of a folder, by name; read without running them."""
    found = {}
    for path in sorted(folder.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, (ast.Assign, ast.AnnAssign)):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = any(isinstance(target, ast.Name) and target.id == "DESCRIPTION" for target in targets)
            if named and isinstance(node.value, ast.Constant):
                found[path.stem] = str(node.value.value)
    return found
