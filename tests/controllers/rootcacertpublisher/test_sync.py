"""Every namespace has the ConfigMap with the certificates by which the API server is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from kinformer.models import V1ConfigMap, V1ObjectMeta
from kinformer.options import OptionError
from kinformer_controllers.rootcacertpublisher.controller import DESCRIPTION, RootCAPublisher
from kinformer_controllers.shared.identity import root_ca
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, already_exists, conflict, forbidden, namespace_terminating, not_found
from tests.metrics import metric_value

NAME = "kube-root-ca.crt"
ANNOTATION = "kubernetes.io/description"
PEM = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"


class World(Cluster):
    def __init__(self, phase: str = "Active") -> None:
        super().__init__()
        self.client.certificate_authorities = PEM.encode()
        self.publisher = RootCAPublisher(FakeContext(self.client, self.informers, clock=self.clock))
        self.put_namespace("ns", phase)

    def publish(self, data: dict[str, str], annotations: dict[str, str] | None = None) -> V1ConfigMap:
        config_map = V1ConfigMap(
            metadata=V1ObjectMeta(name=NAME, namespace="ns", annotations=annotations, labels={"kept": "yes"}), data=data
        )
        self.put(config_map)
        return config_map

    async def sync(self) -> None:
        await self.publisher.sync("ns")

    @property
    def published(self) -> Any:
        return self.on_server(V1ConfigMap, f"ns/{NAME}")


async def test_a_namespace_without_the_config_map_gets_it() -> None:
    world = World()

    await world.sync()

    assert world.requests == [f"create ConfigMap ns/{NAME}"]
    assert world.published.data == {"ca.crt": PEM}
    assert world.published.metadata.annotations == {ANNOTATION: DESCRIPTION}


@pytest.mark.parametrize(
    ("data", "annotations"),
    [
        pytest.param({"ca.crt": PEM, "extra": "x"}, {ANNOTATION: DESCRIPTION}, id="a field more"),
        pytest.param({"ca.crt": "another"}, {ANNOTATION: DESCRIPTION}, id="another value"),
        pytest.param({}, {ANNOTATION: DESCRIPTION}, id="nothing"),
        pytest.param({"ca.crt": PEM}, {"mine": "x"}, id="no description"),
    ],
)
async def test_a_changed_one_is_corrected_and_the_cached_one_left(
    data: dict[str, str], annotations: dict[str, str]
) -> None:
    world = World()
    cached = world.publish(dict(data), dict(annotations))

    await world.sync()

    assert world.requests == [f"update ConfigMap ns/{NAME}"]
    assert world.published.data == {"ca.crt": PEM}
    assert world.published.metadata.annotations == annotations | {ANNOTATION: DESCRIPTION}
    assert world.published.metadata.labels == {"kept": "yes"}
    assert cached.data == data
    assert cached.metadata.annotations == annotations


async def test_an_equivalent_one_in_other_words_is_not_written_repeatedly() -> None:
    world = World()
    world.publish({"ca.crt": PEM}, {ANNOTATION: "in the words of a later version"})

    await world.sync()

    assert not world.requests


@pytest.mark.parametrize("error", [not_found(), namespace_terminating()])
async def test_a_namespace_that_is_gone_or_going_is_no_error(error: Exception) -> None:
    world = World()
    world.errors["create ConfigMap"] = [error]

    await world.sync()

    assert world.published is None


@pytest.mark.parametrize("error", [forbidden(), already_exists()])
async def test_what_cannot_be_made_is_tried_again_and_counted_by_its_code(error: Any) -> None:
    world, labels = World(), {"code": str(error.status.code)}
    world.errors["create ConfigMap"] = [error]
    before = metric_value("root_ca_cert_publisher_sync_total", labels) or 0

    with pytest.raises(type(error)):
        await world.sync()

    assert metric_value("root_ca_cert_publisher_sync_total", labels) == before + 1
    assert metric_value("root_ca_cert_publisher_sync_duration_seconds_count", labels)


async def test_a_write_that_was_overtaken_is_tried_again() -> None:
    world = World()
    world.publish({})
    world.errors["update ConfigMap"] = [conflict()]

    with pytest.raises(type(conflict())):
        await world.sync()
    await world.sync()

    assert world.published.data == {"ca.crt": PEM}


def test_the_certificates_are_the_files_or_else_the_clients(
    tmp_path: Path,
) -> None:
    world, file = World(), tmp_path / "ca.pem"
    file.write_text(PEM)
    world.client.certificate_authorities = b"by the client"

    assert root_ca(world.client, str(file)) == PEM.encode()
    assert root_ca(world.client, "") == b"by the client"


def test_a_file_that_has_no_certificates_is_refused_by_name(tmp_path: Path) -> None:
    world, file = World(), tmp_path / "ca.pem"
    file.write_text("hello")

    with pytest.raises(OptionError, match=f"--root-ca-file {file}: it has no certificate in PEM"):
        root_ca(world.client, str(file))
    with pytest.raises(OptionError, match="--root-ca-file /nowhere: No such file or directory"):
        root_ca(world.client, "/nowhere")


def test_without_any_certificates_it_says_so_and_publishes_none() -> None:
    world = World()
    world.client.certificate_authorities = b""

    with capture_logs() as logs:
        RootCAPublisher(FakeContext(world.client, world.informers))

    assert [line["event"] for line in logs] == ["no_root_ca"]
