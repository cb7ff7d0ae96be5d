"""A mutating webhook: pods get their images from a mirror instead of Docker Hub.

``nginx`` and ``docker.io/library/nginx`` become ``mirror.example.com/library/nginx``. Images of other registries stay
as they are, and so do the pods of namespaces with the label ``image-mirror: off``. There is no controller: the manager
only serves the webhook, on every replica, and registers it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.manager import ControllerSpec
from kinformer.models import V1Container, V1Pod
from kinformer.operator.webhooks import AdmissionRequest, Webhooks
from kinformer.options import option

ORIGINAL = "example.com/original-images"

webhooks = Webhooks("image-mirror.example.com")


@dataclass(frozen=True)
class MirrorOptions:
    mirror: str = option("mirror.example.com", "The registry that has the images of Docker Hub.")


SPEC = ControllerSpec(name="image-mirror", options=MirrorOptions, permissions=(), webhooks="image_mirror:webhooks")


def mirrored(image: str, mirror: str) -> str:
    """The image at the mirror, if Docker Hub has it; else as it is."""
    registry, slash, rest = image.partition("/")
    if slash and ("." in registry or ":" in registry or registry == "localhost"):
        if registry not in ("docker.io", "index.docker.io"):
            return image
        image = rest
    return f"{mirror}/{image if '/' in image else f'library/{image}'}"


# A mirror that is down must not keep pods from starting: they come from Docker Hub then.
@webhooks.mutating(
    V1Pod, operations=("CREATE",), namespace_selector="image-mirror!=off", failure_policy="Ignore", timeout=5
)
def use_mirror(request: AdmissionRequest[V1Pod]) -> V1Pod | None:
    mirror, pod = request.context.read(MirrorOptions).mirror, request.object
    spec = pod.spec
    if spec is None:
        return None
    containers: list[V1Container] = [*(spec.init_containers or ()), *spec.containers]
    changed = [found for found in containers if found.image and mirrored(found.image, mirror) != found.image]
    if not changed:
        return None  # the API server may call it again, with the changed pod
    originals = ",".join(sorted({found.image for found in changed if found.image}))
    pod.metadata.annotations = {**(pod.metadata.annotations or {}), ORIGINAL: originals}
    for container in changed:
        container.image = mirrored(container.image or "", mirror)
    request.warn(f"images come from {mirror}: {originals}")
    return pod
