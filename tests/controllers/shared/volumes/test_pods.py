from __future__ import annotations

import msgspec
import pytest

from kinformer.models import V1Pod, decoder_for
from kinformer_controllers.attachdetach.volumes import Resolver
from kinformer_controllers.shared.volumes.pods import claims_of, has_only_local_volumes, uses_ephemeral_volume

CLAIMED = '{"name":"v","persistentVolumeClaim":{"claimName":"data"}}'


def pod(volumes: str) -> V1Pod:
    text = f'{{"metadata":{{"name":"web","namespace":"ns"}},"spec":{{"nodeName":"n","volumes":[{volumes}]}}}}'
    return decoder_for(V1Pod).decode(text.encode())


def is_undecoded(web: V1Pod) -> bool:
    return type(type(web.spec).__lazy_fields__["volumes"].peek(web.spec)) is msgspec.Raw


@pytest.mark.parametrize("is_read", [False, True])
def test_the_claims_of_a_pod_are_found_without_decoding_its_volumes(is_read: bool) -> None:
    web = pod(CLAIMED + ',{"name":"scratch","ephemeral":{"volumeClaimTemplate":{}}},{"name":"t","projected":{}}')
    if is_read:
        assert web.spec.node_name == "n"

    assert list(claims_of(web)) == ["ns/data", "ns/web-scratch"]
    assert uses_ephemeral_volume(web)
    assert is_undecoded(web)


def test_a_pod_with_local_volumes_only_stays_undecoded() -> None:
    web = pod('{"name":"token","projected":{}}')

    assert list(Resolver(lambda _: None, lambda _: None, lambda _: None).specs(web)) == []
    assert is_undecoded(web)


@pytest.mark.parametrize("source", ["configMap", "downwardAPI", "emptyDir", "hostPath", "image", "projected", "secret"])
def test_volumes_that_the_kubelet_makes_are_local(source: str) -> None:
    volume = f'{{"name":"v","{source}":{{}}}}'

    assert has_only_local_volumes(pod(volume))
    assert not has_only_local_volumes(pod(f"{volume},{CLAIMED}"))
    assert not has_only_local_volumes(pod(volume + ',{"name":"d","iscsi":{"iqn":"i","lun":0,"targetPortal":"p"}}'))
