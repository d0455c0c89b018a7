"""tacit: questions about data that stays where it is. Sites stay silent until the answer could change.

``tacit.replay(watch, data, site=…, time=…)`` replays a watch over recorded data::

    import tacit

    report = tacit.replay(
        "CREATE WATCH hot AS SELECT AVG(temp) AS t FROM air WINDOW LAST 1 DAY ALERT WHEN t > 28 MARGIN 0.5",
        "air.parquet", site="station", time="ts", verify=True,
    )
    print(report.messages["total"], "messages;", len(report.alerts), "alerts;", report.missed, "missed")

``tacit.connect(address)`` is a client of a running coordinator::

    with tacit.connect("127.0.0.1:7070") as client:
        client.execute("CREATE WATCH hot AS SELECT AVG(temp) AS t FROM air WINDOW LAST 1 DAY ALERT WHEN t > 28")
        for change in client.follow("hot"):
            print(change.answer.as_of, change.answer.state, change.answer.value)

Importing tacit needs nothing but Python; what a name needs is loaded when the name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit._kernel_cache import use_numba_cache
from tacit._version import __version__

if TYPE_CHECKING:
    from tacit.api.client import Client, connect
    from tacit.language.python_functions import PythonFunction
    from tacit.recording.report import Alert, Report
    from tacit.recording.run import replay
    from tacit.vocabulary.errors import (
        DataError,
        InputError,
        MachineError,
        OptionError,
        ProtocolError,
        SentenceError,
        TacitError,
    )

__all__ = [
    "Alert",
    "Client",
    "DataError",
    "InputError",
    "MachineError",
    "OptionError",
    "ProtocolError",
    "PythonFunction",
    "Report",
    "SentenceError",
    "TacitError",
    "__version__",
    "connect",
    "replay",
]

_HOMES = {
    "Alert": "recording.report",
    "Client": "api.client",
    "PythonFunction": "language.python_functions",
    "Report": "recording.report",
    "connect": "api.client",
    "replay": "recording.run",
}

use_numba_cache()  # before the first kernel is imported: Numba reads the setting once


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    return getattr(import_module(f"tacit.{_HOMES.get(name, 'vocabulary.errors')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
