"""The claims of a StatefulSet's pods."""

from __future__ import annotations

from kinformer.models import to_dict
from kinformer_controllers.statefulset.pods import claims_of, has_storage, set_storage
from tests.controllers.statefulset.objects import make_pod, make_set

SET = make_set(volumes=("data", "logs"))


def mount(name: str, claim: str) -> dict[str, object]:
    return {"name": name, "persistentVolumeClaim": {"claimName": claim}}


def test_a_claim_is_named_after_its_template_its_set_and_the_ordinal() -> None:
    claims = claims_of(SET, make_pod(1))

    assert {name: claim.metadata.name for name, claim in claims.items()} == {"data": "data-web-1", "logs": "logs-web-1"}
    assert {claim.metadata.namespace for claim in claims.values()} == {"ns"}


def test_a_claim_has_its_templates_labels_and_those_that_the_set_selects() -> None:
    templates = [{"metadata": {"name": "data", "labels": {"tier": "db", "app": "x"}, "annotations": {"a": "b"}}}]
    claim = claims_of(make_set(volumeClaimTemplates=templates), make_pod(1))["data"]

    assert claim.metadata.labels == {"tier": "db", "app": "web"}
    assert claim.metadata.annotations == {"a": "b"}
    assert claims_of(SET, make_pod(1))["data"].metadata.labels == {"app": "web"}


def test_making_claims_leaves_the_template_as_it_is() -> None:
    before = to_dict(SET)

    claims_of(SET, make_pod(1))["data"].metadata.name = "changed"

    assert to_dict(SET) == before


def test_storage_is_right_where_each_claim_is_mounted_under_its_templates_name() -> None:
    both = [mount("data", "data-web-1"), mount("logs", "logs-web-1")]

    assert has_storage(SET, make_pod(1, volumes=both))
    assert has_storage(SET, make_pod(1, volumes=[*both, {"name": "tmp", "emptyDir": {}}]))
    assert not has_storage(SET, make_pod(1))
    assert not has_storage(SET, make_pod(1, volumes=both[:1]))
    assert not has_storage(SET, make_pod(1, volumes=[both[0], mount("logs", "other")]))
    assert not has_storage(SET, make_pod(1, volumes=[both[0], {"name": "logs", "emptyDir": {}}]))
    assert not has_storage(SET, make_pod(name="foo", volumes=both))
    assert has_storage(make_set(), make_pod(1))


def test_a_pod_is_given_its_claims_and_keeps_its_other_volumes() -> None:
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
    pod = make_pod(1, volumes=volumes)

    set_storage(SET, pod)

    assert has_storage(SET, pod)
    assert [volume.name for volume in (pod.spec.volumes if pod.spec else None) or ()] == ["data", "logs", "tmp"]


def test_a_claim_template_without_a_name_is_called_nothing() -> None:
    statefulset = make_set(volumes=("data",))
    (statefulset.spec.volume_claim_templates or [])[0].metadata.name = None

    assert list(claims_of(statefulset, make_pod(2))) == [""]
    assert claims_of(statefulset, make_pod(2))[""].metadata.name == "-web-2"
