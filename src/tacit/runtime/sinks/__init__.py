"""Where alerts go: at least once, in order, with an id to tell them apart by."""

from tacit.runtime.sinks.delivery import Backlog, Delivery
from tacit.runtime.sinks.making import make_sinks
from tacit.runtime.sinks.sink import AlertDocument, Sink, SinkError

__all__ = ["AlertDocument", "Backlog", "Delivery", "Sink", "SinkError", "make_sinks"]
