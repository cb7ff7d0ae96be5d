from __future__ import annotations

import copy
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kinformer import models
from kinformer.meta import GroupVersionKind
from kinformer.models import (
    CoreV1Event,
    CoreV1EventSeries,
    EventsV1Event,
    MicroTime,
    V1beta1LeaseCandidateSpec,
    V1ConfigMap,
    V1Container,
    V1EndpointSlice,
    V1JSONSchemaProps,
    V1Lease,
    V1LeaseSpec,
    V1ObjectMeta,
    V1Pod,
    V1PodList,
    V1PodSpec,
    V1ReplicationController,
    builtin_resources,
    decode,
    decoder_for,
    detacher_for,
    encode,
    from_dict,
    interner_for,
    model_for,
    resource_for,
    successor_for,
    to_dict,
)
from kinformer.models._lazy import source_of
from kinformer.models._source import model_names, shape_of

POD = b"""{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"ns","resourceVersion":"7",
"creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{"manager":"m"}],"labels":{"app":"db"}},
"spec":{"containers":[{"name":"c","image":"i"}],"unheardOf":true},"status":{"phase":"Running"},"unheardOf":1}"""


#: Decodes as lists and watches do: spec and status stay bytes.
lazily = decoder_for(V1Pod).decode


def raw(pod: object, field: str) -> bool:
    return isinstance(type(pod).__lazy_fields__[field].peek(pod), msgspec.Raw)


def test_a_model_has_kubernetes_asyncios_attributes() -> None:
    pod = decode(V1Pod, POD)

    assert pod.metadata.resource_version == "7"
    assert pod.metadata.creation_timestamp == datetime(2026, 1, 1, tzinfo=UTC)
    assert pod.spec.containers[0].image == "i"
    assert pod.status.phase == "Running"
    assert pod.metadata.deletion_timestamp is None


def test_a_list_in_a_map_may_be_null_as_go_writes_it() -> None:
    request = {"metadata": {}, "spec": {"extra": {"scopes": None, "groups": ["a"]}}}

    assert from_dict(models.V1CertificateSigningRequest, request).spec.extra == {"scopes": None, "groups": ["a"]}


def test_every_model_can_be_made_and_decodes_an_empty_object() -> None:
    for name in model_names():
        assert decode(getattr(models, name), b"{}") is not None, name


def test_every_models_fields_are_those_of_the_class_of_that_name() -> None:
    from kubernetes_asyncio.client import models as theirs

    for name in model_names():
        assert shape_of(name) == (getattr(theirs, name).openapi_types, getattr(theirs, name).attribute_map), name


def test_a_name_that_is_no_model_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="V1Nonsense"):
        models.V1Nonsense  # noqa: B018  # looking is the test


def test_spec_and_status_stay_bytes_until_they_are_read() -> None:
    pod = lazily(POD)
    assert raw(pod, "spec")

    pod.spec  # noqa: B018  # reading is the test
    assert not raw(pod, "spec")
    assert raw(pod, "status")


@pytest.mark.parametrize("read_first", [False, True])
def test_reading_a_field_does_not_change_what_an_object_is_encoded_to(read_first: bool) -> None:
    pod = lazily(POD)
    if read_first:
        assert pod.spec
        assert pod.status

    assert encode(pod) == encode(decode(V1Pod, POD))
    assert b"unheardOf" not in encode(pod)


def test_an_object_in_a_container_is_encoded_as_alone() -> None:
    assert encode({"items": [lazily(POD)]}) == b'{"items":[%b]}' % encode(decode(V1Pod, POD))
    assert encode(V1PodList(items=[lazily(POD)])) == encode({"items": [lazily(POD)]})


def test_a_read_field_is_encoded_from_the_model_with_its_changes() -> None:
    pod = decode(V1Pod, POD)
    pod.spec.containers[0].image = "j"

    assert to_dict(pod)["spec"] == {"containers": [{"name": "c", "image": "j"}]}


def test_an_object_read_and_one_not_read_are_equal() -> None:
    one, other = lazily(POD), lazily(POD)
    assert one.spec.containers[0].name == "c"

    assert one == other
    other.spec.node_name = "n1"
    assert one != other
    assert one != "a pod"


def test_a_model_is_shown_with_what_is_in_it_read_or_not() -> None:
    assert "image='i'" in repr(lazily(POD))


@pytest.mark.parametrize("read_first", [False, True])
def test_a_deep_copy_shares_nothing_that_can_be_changed(read_first: bool) -> None:
    pod = lazily(POD)
    if read_first:
        assert pod.spec
    mine = copy.deepcopy(pod)
    mine.metadata.labels["app"] = "web"
    mine.spec.containers.append(V1Container(name="d"))

    assert pod == decode(V1Pod, POD)


def test_a_shallow_copy_has_the_same_parts() -> None:
    pod = decode(V1Pod, POD)

    assert copy.copy(pod).metadata is pod.metadata
    assert copy.copy(pod) == pod


def test_null_is_none() -> None:
    pod = decode(V1Pod, b'{"metadata":null,"spec":null}')

    assert pod.metadata is None
    assert pod.spec is None


def test_a_value_of_a_wrong_type_is_an_error_with_its_path() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"^V1Pod: metadata\.labels: Expected"):
        decode(V1Pod, b'{"metadata":{"labels":[]}}')


def test_a_model_that_contains_itself_decodes_to_any_depth() -> None:
    schema = decode(V1JSONSchemaProps, b'{"properties":{"a":{"properties":{"b":{"not":{"type":"string"}}}}}}')

    assert schema.properties["a"].properties["b"]._not.type == "string"


def test_a_lease_is_written_with_the_six_digits_that_the_server_wants() -> None:
    lease = V1Lease(spec=V1LeaseSpec(renew_time=MicroTime(2026, 1, 1, tzinfo=UTC)))
    assert b'"renewTime":"2026-01-01T00:00:00.000000Z"' in encode(lease)

    assert encode(decode(V1Lease, encode(lease))) == encode(lease)


@pytest.mark.parametrize(
    ("model", "attribute"),
    [
        (CoreV1Event, "event_time"),
        (CoreV1EventSeries, "last_observed_time"),
        (EventsV1Event, "event_time"),
        (V1LeaseSpec, "acquire_time"),
        (V1beta1LeaseCandidateSpec, "ping_time"),
    ],
)
def test_a_plain_datetime_is_a_micro_time_in_a_field_of_such(model: type[Any], attribute: str) -> None:
    moment = datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    made = model(**{attribute: moment})
    assert to_dict(made)[made.attribute_map[attribute]] == "2026-01-01T00:00:00.000000Z"

    changed = model()
    setattr(changed, attribute, moment)
    assert changed == made
    assert to_dict(copy.deepcopy(changed)) == to_dict(made)
    assert to_dict(msgspec.structs.replace(changed)) == to_dict(made)


def test_a_plain_time_has_no_fraction() -> None:
    meta = V1ObjectMeta(creation_timestamp=datetime(2026, 1, 1, tzinfo=UTC))

    assert encode(meta) == b'{"creationTimestamp":"2026-01-01T00:00:00Z"}'


async def test_kubernetes_asyncios_client_takes_a_model_as_a_body() -> None:
    from kubernetes_asyncio.client import ApiClient

    async with ApiClient() as client:
        body = client.sanitize_for_serialization(decode(V1Pod, POD))

    assert body["metadata"]["resourceVersion"] == "7"
    assert body["spec"] == {"containers": [{"name": "c", "image": "i"}]}


def test_a_model_of_kubernetes_asyncios_own_can_be_encoded() -> None:
    from kubernetes_asyncio import client as theirs

    assert encode(theirs.V1ConfigMap(data={"a": "b"}, metadata=theirs.V1ObjectMeta(name="n"))) == encode(
        V1ConfigMap(data={"a": "b"}, metadata=V1ObjectMeta(name="n"))
    )


def test_something_that_is_no_object_cannot_be_encoded() -> None:
    with pytest.raises(NotImplementedError, match="complex"):
        encode({"a": 1j})


def test_from_dict_and_to_dict_are_each_others_inverse() -> None:
    value = {"metadata": {"name": "a"}, "spec": {"replicas": 3, "template": {"metadata": {"labels": {"a": "b"}}}}}

    controller = from_dict(V1ReplicationController, value)
    assert controller.spec.replicas == 3
    assert to_dict(controller) == value


def test_the_objects_own_to_dict_has_attribute_names_or_jsons() -> None:
    pod = V1Pod(api_version="v1", spec=V1PodSpec(containers=[V1Container(name="c")], node_name="n"))

    assert pod.to_dict() == {"api_version": "v1", "spec": {"containers": [{"name": "c"}], "node_name": "n"}}
    assert pod.to_dict(serialize=True) == {"apiVersion": "v1", "spec": {"containers": [{"name": "c"}], "nodeName": "n"}}


def test_detaching_drops_managed_fields_and_keeps_all_else() -> None:
    pod = lazily(POD)
    detacher_for(V1Pod)(pod)

    assert pod.metadata.managed_fields is None
    pod.metadata.managed_fields = decode(V1Pod, POD).metadata.managed_fields
    assert pod == decode(V1Pod, POD)


def test_detaching_can_keep_managed_fields() -> None:
    pod = lazily(POD)
    detacher_for(V1Pod, keep_managed_fields=True)(pod)

    assert pod.metadata.managed_fields[0].manager == "m"


def test_kept_managed_fields_are_not_decoded_again_while_equal() -> None:
    succeed = successor_for(V1Pod, keep_managed_fields=True)
    pods = [lazily(POD) for _ in range(4)]
    for old, new in pairwise(pods):
        _ = old.metadata.managed_fields
        succeed(old, new)

    assert pods[3].metadata.managed_fields is pods[2].metadata.managed_fields
    assert pods[3].metadata.managed_fields[0].manager == "m"


@pytest.mark.parametrize("keep_managed_fields", [False, True])
def test_an_eager_object_is_decoded_before_anybody_reads_it(keep_managed_fields: bool) -> None:
    detach = detacher_for(V1Pod, keep_managed_fields=keep_managed_fields, eager=True)
    succeed = successor_for(V1Pod, keep_managed_fields=keep_managed_fields, eager=True)
    old, new = lazily(POD), lazily(POD)
    detach(old)
    succeed(old, new)

    for pod in (old, new):
        slots = [field.peek(pod) for field in V1Pod.__lazy_fields__.values()]
        slots.append(type(pod.metadata).__lazy_fields__["managed_fields"].peek(pod.metadata))
        assert not any(isinstance(value, msgspec.Raw) for value in slots)
        assert (pod.metadata.managed_fields is not None) is keep_managed_fields
        pod.metadata.managed_fields = decode(V1Pod, POD).metadata.managed_fields
        assert pod == decode(V1Pod, POD)


def test_an_eager_object_that_does_not_fit_is_refused_at_once() -> None:
    with pytest.raises(msgspec.ValidationError, match="nodeName"):
        detacher_for(V1Pod, eager=True)(lazily(b'{"spec": {"nodeName": 5}}'))


def test_heavy_parts_of_an_early_field_have_their_own_bytes() -> None:
    line = bytearray(POD)
    pod = lazily(line)
    detacher_for(V1Pod, early=("spec", "fields of other types"))(pod)
    line[:] = bytes(len(line))

    assert not raw(pod, "spec")
    assert source_of(pod.spec) is None
    assert raw(pod.spec, "containers")
    assert raw(pod, "status")
    pod.metadata.managed_fields = decode(V1Pod, POD).metadata.managed_fields
    assert pod == decode(V1Pod, POD)


def test_an_early_field_may_be_null() -> None:
    pod = lazily(b'{"spec": null, "status": null}')
    detacher_for(V1Pod, early=("spec", "status"))(pod)

    assert (pod.spec, pod.status) == (None, None)


def test_an_early_field_that_does_not_fit_fails_its_reader() -> None:
    pod = lazily(b'{"spec": {"nodeName": 5}}')
    detacher_for(V1Pod, early=("spec",))(pod)

    with pytest.raises(msgspec.ValidationError, match="nodeName"):
        _ = pod.spec


def test_decoded_pods_share_the_node_names_images_and_enums_that_recur() -> None:
    text = {
        "spec": {
            "nodeName": "node-1",
            "schedulerName": "default-scheduler",
            "serviceAccountName": "builder",
            "serviceAccount": "builder",
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
            "containers": [{"name": "c", "image": "registry.example.com/c:v1", "imagePullPolicy": "IfNotPresent"}],
        },
        "status": {
            "phase": "Running",
            "hostIP": "192.168.0.1",
            "conditions": [
                {"type": type_, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                for type_ in ("ContainersReady", "Ready")
            ],
            "containerStatuses": [
                {"name": "c", "image": "registry.example.com/c:v1", "imageID": "sha256:0123", "ready": True}
            ],
        },
    }
    one, other = from_dict(V1Pod, text), from_dict(V1Pod, text)

    assert to_dict(one.spec) == text["spec"]
    assert to_dict(one.status)["phase"] == "Running"
    for attribute in ("node_name", "scheduler_name", "service_account_name", "service_account"):
        assert getattr(one.spec, attribute) is getattr(other.spec, attribute)
    for attribute in ("image", "image_pull_policy"):
        assert getattr(one.spec.containers[0], attribute) is getattr(other.spec.containers[0], attribute)
    for attribute in ("phase", "host_ip"):
        assert getattr(one.status, attribute) is getattr(other.status, attribute)
    for attribute in ("type", "status"):
        assert getattr(one.status.conditions[0], attribute) is getattr(other.status.conditions[0], attribute)
    for attribute in ("key", "operator", "effect"):
        assert getattr(one.spec.tolerations[0], attribute) is getattr(other.spec.tolerations[0], attribute)
    first, second = one.status.conditions
    assert first.last_transition_time is second.last_transition_time
    for attribute in ("image", "image_id"):
        mine, yours = one.status.container_statuses[0], other.status.container_statuses[0]
        assert getattr(mine, attribute) is getattr(yours, attribute)


def test_decoded_endpoints_share_the_strings_that_recur() -> None:
    target = {"kind": "Pod", "namespace": "default", "name": "web-1"}
    text = {
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "nodeName": "node-1", "zone": "zone-1", "targetRef": target}, {}],
    }
    one, other = from_dict(V1EndpointSlice, text).endpoints[0], from_dict(V1EndpointSlice, text).endpoints[0]

    assert to_dict(one)["targetRef"] == target
    for attribute in ("node_name", "zone"):
        assert getattr(one, attribute) is getattr(other, attribute)
    for attribute in ("kind", "namespace"):
        assert getattr(one.target_ref, attribute) is getattr(other.target_ref, attribute)


@pytest.mark.parametrize("type_", [dict, V1Container])
def test_sharing_and_interning_leave_alone_what_is_no_object_of_the_api(type_: type) -> None:
    interner_for(type_)(type_())
    successor_for(type_)(type_(), type_())


@pytest.mark.parametrize("type_", [dict, V1Container, V1PodList])
def test_detaching_what_holds_no_bytes_does_nothing(type_: type) -> None:
    detacher_for(type_)(type_())


def test_the_table_of_resources_is_what_kubernetes_asyncios_api_classes_say() -> None:
    spec = find_spec("kubernetes_asyncio")
    assert spec is not None
    assert spec.origin is not None
    said = {}
    for file in Path(spec.origin).parent.glob("client/api/*_api.py"):
        for method in re.split(r"\n    def ", file.read_text()):
            call = re.search(r"call_api\(\s*'/(?:api|apis/([\w.]+))/(\w+)/([^']+)', '(\w+)'", method)
            model = re.search(r'200: "(\w+)"', method)
            if call and model:
                group, version, path, verb = call.groups()
                place = re.fullmatch(r"(namespaces/\{namespace\}/)?(\w+)(/\{name\})?", path)
                if place and (verb == "POST" or (verb == "GET" and place[3])):
                    said[model[1]] = (group or "", version, place[2], bool(place[1]))

    table = builtin_resources()
    assert {name: (i.group, i.version, i.plural, i.namespaced) for name, i in table.items()} == said


def test_a_models_resource_and_a_kinds_model_are_found() -> None:
    info = resource_for(V1ReplicationController)

    assert str(info.gvr) == "v1, Resource=replicationcontrollers"
    assert model_for(info.gvk) is V1ReplicationController
    assert (info.kind, info.namespaced, info.api_version) == ("ReplicationController", True, "v1")


def test_what_is_served_nowhere_is_a_clear_error() -> None:
    with pytest.raises(LookupError, match="V1Container"):
        resource_for(V1Container)
    with pytest.raises(LookupError, match="Widget"):
        model_for(GroupVersionKind("example.com", "v1", "Widget"))


def test_importing_the_models_imports_neither_kubernetes_asyncio_nor_aiohttp() -> None:
    code = (
        "import sys, kinformer.models as m; m.V1Pod().spec; "
        "print([n for n in ('kubernetes_asyncio', 'aiohttp') if n in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
