"""Which volumes of pods are attached."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.models import V1Pod, from_dict
from kinformer_controllers.attachdetach.following import nodes_with_volumes


@pytest.mark.parametrize(
    ("source", "counts"),
    [
        ({"persistentVolumeClaim": {"claimName": "c"}}, True),
        ({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}, True),
        ({"iscsi": {"targetPortal": "1.2.3.4", "iqn": "i", "lun": 0}}, True),
        ({"fc": {"wwids": ["w"]}}, True),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, True),
        ({"configMap": {"name": "c"}}, False),
        (None, False),
    ],
    ids=str,
)
def test_only_pods_with_a_volume_that_may_be_attached_are_looked_at(
    source: dict[str, Any] | None, counts: bool
) -> None:
    def pod(**spec: Any) -> V1Pod:
        volumes = [{"name": "files", "emptyDir": {}}, *([{"name": "v", **source}] if source else [])]
        body = {"containers": [], "volumes": volumes, **spec}
        return from_dict(V1Pod, {"metadata": {"name": "p", "namespace": "ns"}, "spec": body})

    assert nodes_with_volumes(pod(nodeName="n")) == (("n",) if counts else ())
    assert nodes_with_volumes(pod()) == ()
