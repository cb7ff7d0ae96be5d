from __future__ import annotations

import socket
from collections.abc import AsyncIterator

import anyio
import pytest
from image_mirror import ORIGINAL, make_webhooks, mirrored, serve

from kinformer.client import Client
from kinformer.envtest import eventually
from kinformer.models import V1MutatingWebhookConfiguration, V1Pod
from kinformer.operator.webhooks import Address

MIRROR = "mirror.example.com"


@pytest.fixture
async def served(kinformer_client: Client, operator_client: Client) -> AsyncIterator[Client]:
    """A client of a server that asks the webhook."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve, operator_client, MIRROR, Address(url=f"https://127.0.0.1:{port}"), port)
        await eventually(
            lambda: kinformer_client.resource(V1MutatingWebhookConfiguration).get("image-mirror.example.com")
        )
        yield kinformer_client
        tasks.cancel_scope.cancel()


async def create(client: Client, *images: str) -> V1Pod:
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
    pod = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": containers}}
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


def test_pods_start_also_while_nobody_serves() -> None:
    hook = next(iter(make_webhooks(MIRROR).hooks.values()))

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
