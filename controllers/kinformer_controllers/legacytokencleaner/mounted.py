"""Finding the Secrets that a pod refers to, and may therefore use at any time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kinformer.models import V1Pod

__all__ = ("secrets_of",)

#: The volume sources that refer to a Secret, with the field of the reference.
_BY_REFERENCE: Final = (
    ("cephfs", "secret_ref"),
    ("cinder", "secret_ref"),
    ("flex_volume", "secret_ref"),
    ("rbd", "secret_ref"),
    ("scale_io", "secret_ref"),
    ("iscsi", "secret_ref"),
    ("storageos", "secret_ref"),
    ("csi", "node_publish_secret_ref"),
)


def secrets_of(pod: V1Pod) -> set[str]:
    """Return the names of all Secrets that a pod's spec refers to."""
    spec: Any = pod.spec
    if spec is None:
        return set()
    names = {reference.name for reference in spec.image_pull_secrets or ()}
    for containers in (spec.containers, spec.init_containers, spec.ephemeral_containers):
        for container in containers or ():
            names.update(_of_container(container))
    for volume in spec.volumes or ():
        names.update(_of_volume(volume))
    return {name for name in names if name}


def _of_container(container: Any) -> Iterator[str | None]:
    for source in container.env_from or ():
        if source.secret_ref is not None:
            yield source.secret_ref.name
    for variable in container.env or ():
        value = variable.value_from
        if value is not None and value.secret_key_ref is not None:
            yield value.secret_key_ref.name


def _of_volume(volume: Any) -> Iterator[str | None]:
    if volume.secret is not None:
        yield volume.secret.secret_name
    if volume.azure_file is not None:
        yield volume.azure_file.secret_name
    for source in (volume.projected.sources if volume.projected is not None else None) or ():
        if source.secret is not None:
            yield source.secret.name
    for kind, field in _BY_REFERENCE:
        source = getattr(volume, kind)
        reference = getattr(source, field) if source is not None else None
        if reference is not None:
            yield reference.name
