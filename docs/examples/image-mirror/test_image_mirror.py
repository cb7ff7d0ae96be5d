from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from image_mirror import ORIGINAL, SPEC, mirrored, webhooks

from kinformer.client import Client
from kinformer.envtest import eventually, running
from kinformer.manager import Manager
from kinformer.models import V1Namespace, V1ObjectMeta, V1Pod
from kinformer.operator.webhooks import WebhookServing

MIRROR = "mirror.example.com"
SERVING = WebhookServing(host="127.0.0.1", port=0, secret=("image-mirror", "image-mirror-certificate"))


@pytest.fixture
async def served(kinformer_client: Client, operator_client: Client) -> AsyncIterator[Client]:
    """A client of a server that asks the webhook."""
    manager = Manager(operator_client, known={"image-mirror": SPEC}, options={"mirror": MIRROR}, webhooks=SERVING)
    async with running(manager):
        await eventually(lambda: not manager.unready())
        yield kinformer_client


async def create(client: Client, *images: str, namespace: str = "default") -> V1Pod:
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
    pod = {"metadata": {"name": "web", "namespace": namespace}, "spec": {"containers": containers}}
    return await client.resource(V1Pod).create(pod)


async def test_images_of_docker_hub_come_from_the_mirror(served: Client) -> None:
    pod = await create(served, "nginx:1.29", "grafana/grafana", "quay.io/prometheus/prometheus")

    assert pod.spec is not None
    assert [container.image for container in pod.spec.containers] == [
        "mirror.example.com/library/nginx:1.29",
        "mirror.example.com/grafana/grafana",
        "quay.io/prometheus/prometheus",
    ]
    assert (pod.metadata.annotations or {})[ORIGINAL] == "grafana/grafana,nginx:1.29"


async def test_pods_without_such_images_are_left_as_they_are(served: Client) -> None:
    pod = await create(served, "quay.io/prometheus/prometheus", "mirror.example.com/library/nginx")

    assert pod.metadata.annotations is None


async def test_pods_of_a_namespace_that_wants_no_mirror_are_left_as_they_are(served: Client) -> None:
    metadata = V1ObjectMeta(name="other", labels={"image-mirror": "off"})
    await served.resource(V1Namespace).create(V1Namespace(metadata=metadata))

    pod = await create(served, "nginx", namespace="other")

    assert pod.spec is not None
    assert [container.image for container in pod.spec.containers] == ["nginx"]


def test_pods_start_also_while_nobody_serves() -> None:
    hook = next(iter(webhooks.hooks.values()))

    assert (hook.failure_policy, hook.timeout) == ("Ignore", 5)


@pytest.mark.parametrize(
    ("image", "wanted"),
    [
        ("nginx", "m/library/nginx"),
        ("nginx:1.29@sha256:ab", "m/library/nginx:1.29@sha256:ab"),
        ("docker.io/library/nginx", "m/library/nginx"),
        ("docker.io/nginx", "m/library/nginx"),
        ("grafana/grafana", "m/grafana/grafana"),
        ("localhost/nginx", "localhost/nginx"),
        ("registry:5000/nginx", "registry:5000/nginx"),
        ("ghcr.io/a/b", "ghcr.io/a/b"),
    ],
)
def test_what_an_image_becomes(image: str, wanted: str) -> None:
    assert mirrored(image, "m") == wanted
