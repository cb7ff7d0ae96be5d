"""The two places that rest on how msgspec and kubernetes_asyncio are made: they work today; and if they did not?"""

from __future__ import annotations

import subprocess
import sys

import msgspec

from kinformer.models import V1Pod, decoder_for
from kinformer.models._build import slots_can_be_covered
from kinformer.models._source import _files, _folder, model_names, shape_in, shape_of

#: A process whose msgspec does not let a slot be covered, and whose kubernetes_asyncio writes its models otherwise.
OTHERWISE = """
import re, warnings
import msgspec
defstruct = msgspec.defstruct
def without_slots(name, *args, **options):
    made = defstruct(name, *args, **options)
    if name == "Probe":
        type.__delattr__(made, "field")
    return made
msgspec.defstruct = without_slots
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    from kinformer.models import _source, decoder_for, detacher_for, successor_for, encode
_source._LITERALS = re.compile("nothing like this")
_source._IMPORT = re.compile("nor this ()()")
_source.shape_of.cache_clear()
_source._files.cache_clear()
from kinformer.models import V1Pod
text = b'{"metadata":{"name":"a","managedFields":[{"manager":"m"}]},"spec":{"nodeName":"n"}}'
old, new = decoder_for(V1Pod).decode(text), decoder_for(V1Pod).decode(text)
detacher_for(V1Pod)(old)
successor_for(V1Pod)(old, new)
print(V1Pod.__lazy_fields__, type(new.spec).__name__, encode(new).decode(), old == new, len(_source.model_names()))
print([str(one.message).partition(":")[0] for one in warned])
"""


def test_spec_and_status_are_lazy_with_this_msgspec() -> None:
    pod = decoder_for(V1Pod).decode(b'{"spec":{},"status":{}}')

    assert slots_can_be_covered()
    assert list(V1Pod.__lazy_fields__) == ["spec", "status"]
    assert all(type(field.peek(pod)) is msgspec.Raw for field in V1Pod.__lazy_fields__.values())


def test_reading_the_node_of_a_pod_leaves_the_large_parts_undecoded() -> None:
    pod = decoder_for(V1Pod).decode(
        b'{"spec":{"nodeName":"n","containers":[{"name":"c"}],"volumes":[{"name":"v"}],"affinity":{}},'
        b'"status":{"phase":"Running","containerStatuses":[{"name":"c"}]}}'
    )

    assert (pod.spec.node_name, pod.status.phase) == ("n", "Running")
    unread = {
        name
        for part in (pod.spec, pod.status)
        for name, field in type(part).__lazy_fields__.items()
        if type(field.peek(part)) is msgspec.Raw
    }
    assert unread == {"containers", "volumes", "affinity", "container_statuses"}
    assert [one.name for one in pod.spec.containers] == ["c"]


def test_all_models_are_read_from_the_source_text_of_this_kubernetes_asyncio() -> None:
    assert len(model_names()) > 700
    for name in model_names():
        text = (_folder() / f"{_files()[name]}.py").read_text(encoding="utf-8")
        assert shape_in(text) == shape_of(name), name


def test_source_text_in_another_form_is_not_half_understood() -> None:
    text = (_folder() / "v1_lease.py").read_text(encoding="utf-8")

    assert shape_in(text) is not None
    assert shape_in(text.replace("        'spec': 'V1LeaseSpec'", '        "spec": "V1LeaseSpec"')) is None
    assert shape_in(text.replace("openapi_types", "types")) is None


def test_models_are_right_where_neither_works() -> None:
    done = subprocess.run([sys.executable, "-c", OTHERWISE], capture_output=True, text=True, timeout=200, check=False)

    assert done.returncode == 0, done.stderr[-2000:]
    models, warned = done.stdout.splitlines()
    assert models.startswith("{} V1PodSpec ")
    assert models.split()[3] == "True"
    assert int(models.split()[4]) > 700
    assert "does not let models keep fields undecoded" in warned
