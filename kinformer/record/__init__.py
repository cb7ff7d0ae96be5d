"""Events: what controllers did and what they could not do, written for people to read.

A controller tells an :class:`EventRecorder`, which hands the event to an :class:`EventBroadcaster`; its task gives it
to whoever listens, first of all to a sink that writes it to the API server. Before that the :class:`EventCorrelator`
makes many similar ones one and drops what is too much. A worker is never held up by any of it.
"""

from __future__ import annotations

from kinformer.record.broadcaster import EventBroadcaster
from kinformer.record.correlator import Correlated, CorrelatorOptions, EventCorrelator
from kinformer.record.recorder import NORMAL, WARNING, EventRecorder, Recorder
from kinformer.record.reference import reference_to
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
