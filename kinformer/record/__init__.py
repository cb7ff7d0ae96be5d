"""Events: messages for people about what controllers did, or failed to do.

A controller calls an :class:`EventRecorder`, which passes the event to an :class:`EventBroadcaster`. The broadcaster's
task passes it to all listeners. The main listener is a sink that writes the event to the API server. Before that, the
:class:`EventCorrelator` joins similar events and drops those that are too many. A worker never waits for any of this.
"""

from __future__ import annotations

from kinformer.record.broadcaster import EventBroadcaster
from kinformer.record.correlator import Correlated, CorrelatorOptions, EventCorrelator
from kinformer.record.recorder import NORMAL, WARNING, EventRecorder, Recorder, reference_to
from kinformer.record.sink import ClientSink, EventSink

__all__ = (
    "NORMAL",
    "WARNING",
    "ClientSink",
    "Correlated",
    "CorrelatorOptions",
    "EventBroadcaster",
    "EventCorrelator",
    "EventRecorder",
    "EventSink",
    "Recorder",
    "reference_to",
)
