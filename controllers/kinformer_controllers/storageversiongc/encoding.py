"""What is left of a StorageVersion when some API servers are gone, and the version in which the others write.

In: a StorageVersion, the entries that stay, and the time. Out: its new status. The rule is that of Kubernetes' API
servers (``k8s.io/apiserver/pkg/storageversion``), which write the same fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from kinformer.controllerutil.conditions import replace_condition, without_condition
from kinformer.models import (
    V1alpha1ServerStorageVersion,
    V1alpha1StorageVersion,
    V1alpha1StorageVersionCondition,
    V1alpha1StorageVersionStatus,
)

__all__ = ("ALL_EQUAL", "status_with")

ALL_EQUAL: Final = "AllEncodingVersionsEqual"


def status_with(
    found: V1alpha1StorageVersion, servers: Sequence[V1alpha1ServerStorageVersion], now: datetime
) -> V1alpha1StorageVersionStatus:
    """
    The status of an object with these entries of API servers.

    The common version is set if all servers write in one version. The condition's time changes with its status, and
    also if the servers agree on another version than before.
    """
    versions = {server.encoding_version for server in servers}
    common = versions.pop() if len(versions) == 1 else None
    word = "set" if common is not None else "unset"
    condition = V1alpha1StorageVersionCondition(
        type=ALL_EQUAL,
        status="False" if common is None else "True",
        observed_generation=found.metadata.generation,
        last_transition_time=now.replace(microsecond=0),
        reason=f"CommonEncodingVersion{word.capitalize()}",
        message=f"Common encoding version {word}",
    )
    before, conditions = found.status.common_encoding_version, found.status.conditions
    if before is not None and common is not None and before != common:
        conditions = without_condition(conditions, ALL_EQUAL)
    return V1alpha1StorageVersionStatus(
        common_encoding_version=common,
        conditions=replace_condition(conditions, condition),
        storage_versions=list(servers),
    )
