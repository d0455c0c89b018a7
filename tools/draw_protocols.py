"""Write the diagrams of docs/PROTOCOLS.md from the transition tables of the machines.

python tools/draw_protocols.py          rewrites the page
python tools/draw_protocols.py --check  exits with 1 when the page and the tables disagree
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from tacit.protocols import claims, settlement, threshold

PAGE = Path(__file__).resolve().parent.parent / "docs" / "PROTOCOLS.md"
TABLES: dict[str, Mapping[tuple[Any, str], Any]] = {
    "site": claims.TRANSITIONS,
    "coordinator": settlement.TRANSITIONS,
    "balancing": threshold.TRANSITIONS,
}
MARK = re.compile(r"(<!-- diagram: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def diagram(table: Mapping[tuple[Enum, str], Enum | tuple[Enum, ...]]) -> str:
    """A state diagram in Mermaid's words; the first state of the table is where a machine starts."""
    start = next(iter(table))[0]
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {start.name}"]
    for (state, event), after in table.items():
        for target in after if isinstance(after, tuple) else (after,):
            lines.append(f"    {state.name} --> {target.name}: {event}")
    return "\n".join([*lines, "```", ""])


def page_with_diagrams(page: str) -> str:
    """The page with every diagram drawn afresh."""
    return MARK.sub(lambda found: found[1] + diagram(TABLES[found[2]]) + found[3], page)


if __name__ == "__main__":
    text = PAGE.read_text()
    drawn = page_with_diagrams(text)
    if "--check" in sys.argv:
        sys.exit(int(drawn != text))
    PAGE.write_text(drawn)
