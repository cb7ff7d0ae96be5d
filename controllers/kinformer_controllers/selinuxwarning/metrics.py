"""The metric of conflicts, under Kubernetes' name. It is shown while the controller runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from kinformer.meta import split_key
from kinformer_controllers.selinuxwarning.users import Conflict
from kinformer_controllers.shared.gauges import LiveGauge

__all__ = ("shown_conflicts",)

_CONFLICTS: Final = LiveGauge(
    "selinux_warning_controller_selinux_volume_conflict",
    "Conflict between two Pods using the same volume",
    (
        *("property", "pod1_namespace", "pod1_name", "pod1_value"),
        *("pod2_namespace", "pod2_name", "pod2_value"),
    ),
)


def shown_conflicts(read: Callable[[], set[Conflict]]) -> AbstractContextManager[None]:
    """
    Show conflicts.

    :param read: returns the present ones; any thread may call it
    """

    def count() -> dict[tuple[str, ...], float]:
        return {(it.what, *split_key(it.pod), it.value, *split_key(it.other), it.other_value): 1 for it in read()}

    return _CONFLICTS.shown(count)
