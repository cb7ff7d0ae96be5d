"""A mutating webhook: pods get their images from a mirror instead of Docker Hub.

``nginx`` and ``docker.io/library/nginx`` become ``mirror.example.com/library/nginx``. Images of other registries stay
as they are, and so do the pods of namespaces that are excluded by the configuration. Each replica of the webhook runs
:func:`serve`: the certificate is in a Secret that they share, made and renewed by whichever comes first.
"""

from __future__ import annotations

import os

import anyio

from kinformer.client import Client, connect
from kinformer.logs import configure_logging
from kinformer.models import V1Container, V1Pod
from kinformer.operator.webhooks import (
    Address,
    AdmissionRequest,
    ClusterCertificate,
    Registration,
    Webhooks,
    WebhookServer,
    service_hosts,
)

NAMESPACE, SERVICE, SECRET = "image-mirror", "image-mirror", "image-mirror-certificate"
ORIGINAL = "example.com/original-images"


def mirrored(image: str, mirror: str) -> str:
    """The image at the mirror, if Docker Hub has it; else as it is."""
    registry, slash, rest = image.partition("/")
    if slash and ("." in registry or ":" in registry or registry == "localhost"):
        if registry not in ("docker.io", "index.docker.io"):
            return image
        image = rest
    return f"{mirror}/{image if '/' in image else f'library/{image}'}"


def make_webhooks(mirror: str) -> Webhooks:
    webhooks = Webhooks("image-mirror.example.com")

    # A mirror that is down must not keep pods from starting: they come from Docker Hub then.
    @webhooks.mutating(V1Pod, operations=("CREATE",), failure_policy="Ignore", timeout=5)
    def use_mirror(request: AdmissionRequest[V1Pod]) -> V1Pod | None:
        pod = request.object
        spec = pod.spec
        if spec is None:
            return None
        containers: list[V1Container] = [*(spec.init_containers or ()), *spec.containers]
        changed = [found for found in containers if found.image and mirrored(found.image, mirror) != found.image]
        if not changed:
            return None  # asked again for what it has changed already, it changes nothing
        originals = ",".join(sorted({found.image for found in changed if found.image}))
        pod.metadata.annotations = {**(pod.metadata.annotations or {}), ORIGINAL: originals}
        for container in changed:
            container.image = mirrored(container.image or "", mirror)
        request.warn(f"images come from {mirror}: {originals}")
        return pod

    return webhooks


async def serve(client: Client, mirror: str, address: Address | None = None, port: int = 9443) -> None:
    """
    Serve until cancelled, and have API servers know where.

    :param address: where they find it; the Service of the manifest if None
    """
    webhooks = make_webhooks(mirror)
    registration = Registration(client, webhooks, address or Address(service=(NAMESPACE, SERVICE)))
    hosts = service_hosts(SERVICE, NAMESPACE) if address is None else ("127.0.0.1",)
    certificate = ClusterCertificate(client, (NAMESPACE, SECRET), hosts, registration.publish)
    await WebhookServer(webhooks, certificate, port=port).run()


async def main() -> None:
    configure_logging(logging_format="json")
    async with connect() as client:
        await serve(client, os.environ.get("MIRROR", "mirror.example.com"))


if __name__ == "__main__":
    anyio.run(main)
