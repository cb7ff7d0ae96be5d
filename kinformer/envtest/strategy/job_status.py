"""Validation of a Job's status by kube-apiserver. It is the same for the job controller and for others.

The input is the new job and the old one, and the result is the list of errors. Most rules about a field are checked
only when the field has changed. So an old error does not prevent the change of another field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from kinformer.envtest.causes import invalid, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, has_condition
from kinformer.envtest.strategy.fields import Unique, not_negative

__all__ = ("check_job_status", "indexes_in", "misread_indexes")

_INTEGER = re.compile(r"[+-]?[0-9]+")


def check_job_status(job: Obj, old: Obj) -> Iterator[Cause]:
    """Check the status itself, and the change of the status."""
    spec, status, before = job["spec"], job.get("status") or {}, old.get("status") or {}
    yield from not_negative("active", "succeeded", "failed", "ready", "terminating")(status, "status")
    yield from _uncounted_uids(status)
    yield from _completion(status, before)
    yield from _finish(spec, status, before)
    yield from _indexes(spec, status, before)
    yield from _pods_left(status, before)
    yield from _criteria(spec, status)
    yield from _change(spec, status, before)


def _uncounted_uids(status: Obj) -> Iterator[Cause]:
    uncounted = status.get("uncountedTerminatedPods") or {}
    unique = Unique().over_one_list()  # a pod that has succeeded cannot also have failed
    for name in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(name) or ()):
            field = f"status.uncountedTerminatedPods.{name}[{index}]"
            yield from unique(uid, field) if uid else (invalid(field, uid, "must not be empty"),)


def _completion(status: Obj, before: Obj) -> Iterator[Cause]:
    complete, failed = has_condition(status, "Complete"), has_condition(status, "Failed")
    completed, is_new = status.get("completionTime"), complete != has_condition(before, "Complete")
    moved = completed != before.get("completionTime")
    if (is_new or failed != has_condition(before, "Failed")) and complete and failed:
        yield _conditions("cannot set Complete=True and Failed=true conditions")
    target = has_condition(status, "FailureTarget")
    if (is_new or target != has_condition(before, "FailureTarget")) and complete and target:
        yield _conditions("cannot set Complete=True and FailureTarget=true conditions")
    if (is_new or moved) and completed and not complete:
        text = "cannot set completionTime when there is no Complete=True condition"
        yield invalid("status.completionTime", completed, text)
    if (is_new or moved) and complete and not completed:
        yield required("status.completionTime", "completionTime is required for Complete jobs")
    started = status.get("startTime")
    if (moved or started != before.get("startTime")) and started and completed and _time(completed) < _time(started):
        yield invalid("status.completionTime", completed, "must be equal to or after `startTime`")


def _finish(spec: Obj, status: Obj, before: Obj) -> Iterator[Cause]:
    complete, failed = has_condition(status, "Complete"), has_condition(status, "Failed")
    met, was_met = has_condition(status, "SuccessCriteriaMet"), has_condition(before, "SuccessCriteriaMet")
    fails_now = not has_condition(before, "Failed") or status.get("failedIndexes") != before.get("failedIndexes")
    if failed and fails_now and not has_condition(status, "FailureTarget"):
        yield _conditions("cannot set Failed=True condition without the FailureTarget=true condition")
    if complete and not met and (was_met or not has_condition(before, "Complete")):
        yield _conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    if not (complete or failed):
        return
    is_new, active = not _finished(before), status.get("active") or 0
    if active > 0 and (is_new or active != (before.get("active") or 0)):
        yield invalid("status.active", active, "active>0 is invalid for finished job")
    never_ran = spec.get("suspend") is True and spec.get("completions") == 0
    if not status.get("startTime") and (is_new or before.get("startTime")) and not never_ran:
        yield required("status.startTime", "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods") or {}
    if any(uncounted.values()) and (is_new or uncounted != (before.get("uncountedTerminatedPods") or {})):
        shown = {name.capitalize(): uncounted.get(name) for name in ("succeeded", "failed")}
        yield invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job")


def _indexes(spec: Obj, status: Obj, before: Obj) -> Iterator[Cause]:
    done, bad = status.get("completedIndexes") or "", status.get("failedIndexes")
    done_changed = done != (before.get("completedIndexes") or "")
    bad_changed = bad != before.get("failedIndexes")
    completions, per_index = spec.get("completions"), spec.get("backoffLimitPerIndex") is not None
    if done_changed and completions is not None and (why := misread_indexes(done, completions)):
        yield invalid("status.completedIndexes", done, f"error parsing completedIndexes: {why}")
    if bad_changed and completions is not None and per_index and bad and (why := misread_indexes(bad, completions)):
        yield invalid("status.failedIndexes", bad, f"error parsing failedIndexes: {why}")
    if done_changed and done and spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid("status.completedIndexes", done, text)
    if bad_changed and bad is not None and not per_index:
        yield invalid(
            "status.failedIndexes", bad, "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        )
    if (done_changed or bad_changed) and completions is not None and done and bad:
        both = [
            max(first, other)
            for first, last in indexes_in(done, completions)
            for other, end in indexes_in(bad, completions)
            if first <= end and other <= last
        ]
        if both:
            yield invalid(
                "status.failedIndexes", bad, f"failedIndexes and completedIndexes overlap at index: {min(both)}"
            )


def _pods_left(status: Obj, before: Obj) -> Iterator[Cause]:
    ready, active, going = status.get("ready"), status.get("active") or 0, status.get("terminating")
    if going and _finished(status) and (not _finished(before) or going != before.get("terminating")):
        yield invalid("status.terminating", going, "terminating>0 is invalid for finished job")
    changed = ready != before.get("ready") or active != (before.get("active") or 0)
    if changed and ready is not None and ready > active:
        yield invalid("status.ready", ready, "cannot set more ready pods than active")


def _criteria(spec: Obj, status: Obj) -> Iterator[Cause]:
    met = has_condition(status, "SuccessCriteriaMet")
    if met and has_condition(status, "Failed"):
        yield _conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and has_condition(status, "FailureTarget"):
        yield _conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if spec.get("successPolicy") is not None and has_condition(status, "Complete") and not met:
        yield _conditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")


def _change(spec: Obj, status: Obj, before: Obj) -> Iterator[Cause]:
    for terminal in ("Failed", "Complete", "FailureTarget"):
        if has_condition(before, terminal) and not has_condition(status, terminal):
            yield _conditions(f"cannot disable the terminal {terminal}=True condition")
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    # When an elastic job shrinks, its number of succeeded pods can decrease.
    for name in ("failed",) if elastic else ("failed", "succeeded"):
        count = status.get(name) or 0
        if count < (before.get(name) or 0):
            yield invalid(f"status.{name}", count, f"cannot decrease the {name} counter")
    completed, was_completed = status.get("completionTime"), before.get("completionTime")
    if completed and was_completed and completed != was_completed:
        yield invalid("status.completionTime", completed, "field is immutable")
    started, was_started = status.get("startTime"), before.get("startTime")
    resumes = has_condition(before, "Suspended") and has_condition(status, "Suspended", "False")
    if was_started and started != was_started and not spec.get("suspend") and not resumes:
        yield invalid("status.startTime", started, "field is immutable for unsuspended job once set")
    met, was_met = has_condition(status, "SuccessCriteriaMet"), has_condition(before, "SuccessCriteriaMet")
    if was_met and not met:
        yield _conditions("cannot disable the SuccessCriteriaMet=True condition")
    if has_condition(before, "Complete") and met and not was_met:
        yield _conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")


def _finished(status: Obj) -> bool:
    return has_condition(status, "Complete") or has_condition(status, "Failed")


def _conditions(detail: str) -> Cause:
    return Cause("status.conditions", "FieldValueInvalid", f"Invalid value: {detail}")


def _time(value: Any) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


def _interval(text: str, completions: int) -> tuple[int, int] | str:
    """The first and the last index of an interval, or the error text."""
    parts = text.split("-")
    if len(parts) > 2:
        return (
            f'the fragment "{text}" violates the requirement that an index interval can have at most two parts '
            "separated by '-'"
        )
    for part in parts:
        if not _INTEGER.fullmatch(part):
            return f'cannot convert string to integer for index: "{part}"'
        if int(part) >= completions:
            return f'too large index: "{part}"'
    first, last = int(parts[0]), int(parts[-1])
    if len(parts) == 2 and first >= last:
        return f"non-increasing order, previous: {first}, current: {last}"
    return first, last


def indexes_in(text: str, completions: int) -> Iterator[tuple[int, int]]:
    """All valid intervals."""
    for part in text.split(","):
        if not isinstance(read := _interval(part, completions), str):
            yield read


def misread_indexes(text: str, completions: int) -> str:
    """The error of a list of intervals. Empty if there is none."""
    before: int | None = None
    for part in text.split(",") if text else ():
        read = _interval(part, completions)
        if isinstance(read, str):
            return read
        if before is not None and before >= read[0]:
            return f"non-increasing order, previous: {before}, current: {read[0]}"
        before = read[1]
    return ""
