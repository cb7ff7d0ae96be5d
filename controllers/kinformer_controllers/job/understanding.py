"""Detecting Jobs that cannot be synced. They are reported once, and skipped until they change."""

from __future__ import annotations

from kinformer.logs import get_logger
from kinformer.meta import SelectorError, label_selector_as_selector, meta_namespace_key
from kinformer.models import V1Job
from kinformer.record import WARNING, EventRecorder
from kinformer_controllers.job.modes import unknown_completion_mode

__all__ = ("is_understood",)

log = get_logger(__name__)


def is_understood(job: V1Job, recorder: EventRecorder) -> bool:
    """Whether a Job can be synced. If not, the reason is logged, and recorded as an Event where Kubernetes does so."""
    key = meta_namespace_key(job)
    if (mode := unknown_completion_mode(job)) is not None:
        message = "Skipped Job sync because completion mode is unknown"
        recorder.event(job, WARNING, "UnknownCompletionMode", message)
        log.error("completion_mode_unknown", key=key, mode=mode)
        return False
    try:
        label_selector_as_selector(job.spec.selector)
    except SelectorError as error:
        log.error("selector_not_understood", kind="Job", key=key, error=str(error))
        return False
    return True
