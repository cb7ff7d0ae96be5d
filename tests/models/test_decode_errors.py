from __future__ import annotations

import copy
import operator
import pickle
import traceback
from collections.abc import Callable
from typing import Any, Literal

import msgspec
import pytest

from kinformer.models import (
    ObjectDecodeError,
    V1ObjectMeta,
    V1Pod,
    V1StatefulSet,
    decode,
    decoder_for,
    detacher_for,
    encode,
    from_dict,
)
from kinformer.models._identity import Identity, identity_of, items_of, members_of
from tests.levels import TOO_MANY

BAD = b'{"metadata":{"name":"web","namespace":"ns"},"spec":{"containers":[{"name":"c","image":["canary"]}]}}'
BAD_NODE_NAME = b'{"metadata":{"name":"web","namespace":"ns"},"spec":{"nodeName":["canary"]}}'
DEEP = b'{"a":' * TOO_MANY + b"1" + b"}" * TOO_MANY

lazily = decoder_for(V1Pod).decode


class Mode(msgspec.Struct):
    mode: Literal["fast", "slow"]


class Moody(msgspec.Struct):
    metadata: V1ObjectMeta
    spec: Mode


def test_reading_an_unfitting_field_names_the_object_and_the_path() -> None:
    with pytest.raises(ObjectDecodeError) as caught:
        _ = lazily(BAD_NODE_NAME).spec

    assert str(caught.value) == "Pod ns/web: spec.nodeName: Expected `str | null`, got `array`"
    assert (caught.value.what, caught.value.path) == ("Pod ns/web", "spec.nodeName")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_reading_a_lazy_part_names_the_spec_and_the_path() -> None:
    with pytest.raises(
        ObjectDecodeError, match=r"^PodSpec: containers\[0\]\.image: Expected `str | null`, got `array`$"
    ):
        _ = lazily(BAD).spec.containers


@pytest.mark.parametrize(
    "decoding",
    [lambda: decode(V1Pod, BAD), lambda: encode(lazily(BAD)), lambda: detacher_for(V1Pod, eager=True)(lazily(BAD))],
)
def test_whatever_decodes_an_object_names_it_and_the_path(decoding: Callable[[], object]) -> None:
    with pytest.raises(ObjectDecodeError, match=r"^Pod ns/web: spec\.containers\[0\]\.image: Expected"):
        decoding()


def test_a_users_own_type_is_named_and_no_value_is_quoted() -> None:
    with pytest.raises(ObjectDecodeError) as caught:
        decode(Moody, b'{"kind":"Car","metadata":{"name":"a"},"spec":{"mode":"canary"}}')

    assert str(caught.value) == "Car a: spec.mode: Invalid enum value"


@pytest.mark.parametrize(
    "data",
    [
        b'{"metadata":{"name":"a"},"spec":{"mode":"canary"}}',
        b'{"metadata":{"name":"a"},"spec":{"mode":"canary\xff"}}',
        b'{"metadata":{"name":"a","labels":{"canary":1}},"spec":{"mode":"fast"}}',
    ],
)
def test_neither_the_error_nor_its_traceback_quotes_the_object(data: bytes) -> None:
    with pytest.raises(ObjectDecodeError) as caught:
        decode(Moody, data)

    assert "canary" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_lazy_field_s_error_does_not_quote_the_object_either() -> None:
    pod = lazily(b'{"metadata":{"name":"a"},"spec":{"nodeName":"canary\xff"}}')
    with pytest.raises(ObjectDecodeError, match=r"^Pod a: spec: it is not UTF-8$") as caught:
        _ = pod.spec

    assert caught.value.__context__ is None


def test_an_object_that_does_not_decode_can_be_shown_compared_and_copied() -> None:
    bad = lazily(BAD_NODE_NAME)

    assert "spec=<does not decode>" in repr(bad)
    assert "containers=<does not decode>" in repr(lazily(BAD))
    assert bad == copy.deepcopy(bad)
    assert not operator.ne(bad, copy.deepcopy(bad))
    assert bad != lazily(b'{"metadata":{"name":"web","namespace":"ns"},"spec":{}}')


@pytest.mark.parametrize("type_", [V1Pod, V1StatefulSet, Moody, dict, Any])
@pytest.mark.parametrize("field", ["spec", "unheardOf", "aFirst"])
def test_an_object_of_too_many_levels_is_one_error_that_names_it(type_: type, field: str) -> None:
    data = b'{"kind":"Car","metadata":{"name":"deep","namespace":"ns"},"%b":%b}' % (field.encode(), DEEP)
    if field == "aFirst":
        data = b'{"aFirst":%b,"kind":"Car","metadata":{"name":"deep","namespace":"ns"}}' % DEEP

    with pytest.raises(ObjectDecodeError, match=r"^Car ns/deep: it is nested too deeply$"):
        decode(type_, data)


def test_a_deep_dict_is_one_error_too() -> None:
    deep: dict[str, Any] = {}
    for _ in range(TOO_MANY):
        deep = {"a": deep}

    with pytest.raises(ObjectDecodeError, match="nested too deeply"):
        from_dict(V1Pod, {"spec": deep})


def test_an_objects_identity_is_found_despite_its_errors() -> None:
    whole = Identity("Pod", "ns", "web", "7")
    said = b'"kind":"Pod","metadata":{"managedFields":[%b],"name":"web","namespace":"ns","resourceVersion":"7"}'

    assert identity_of(b"{%b}" % (said % b"1")) == whole
    assert identity_of(b"{%b}" % (said % DEEP)) == whole
    assert identity_of(b'{"kind":["Pod"],"metadata":{"name":5,"namespace":"ns"}}') == Identity(namespace="ns")
    assert identity_of(b'{"metadata":[]}') == identity_of(b"[1") == identity_of(b"") == Identity()
    assert whole.key == "ns/web"
    assert Identity(name="a\x1b[0m").described("Car") == "'Car a\\x1b[0m'"


def test_json_is_split_at_its_outermost_level() -> None:
    assert items_of(b' [ {"a":[1,2]} , "x,]\\"," , 3 ] ') == [b'{"a":[1,2]}', b'"x,]\\","', b"3"]
    assert items_of(b"[]") == []
    assert dict(members_of(b'{"a" : {"b":[1,{}]}, "c\\u0064":"}" }')) == {"a": b'{"b":[1,{}]}', "cd": b'"}"'}


@pytest.mark.parametrize("data", [b"", b"{}", b"[1", b"[1]x", b"x[1]", b"[1]]", b'["'])
def test_what_is_no_array_is_not_split(data: bytes) -> None:
    with pytest.raises(ValueError, match="malformed"):
        items_of(data)


def test_from_dict_names_all_fields_that_the_type_does_not_know() -> None:
    text = {
        "metadata": {"name": "a", "lables": {}},
        "meta": 1,
        "spec": {"containrs": [], "containers": [{"name": "c", "env": [{"name": "n", "val": "v"}]}]},
    }
    with pytest.raises(ObjectDecodeError) as caught:
        from_dict(V1Pod, text)

    assert str(caught.value) == (
        "a: there are no fields metadata.lables (is it labels?), meta (is it metadata?), "
        "spec.containrs (is it containers?), spec.containers[0].env[0].val (is it value?)"
    )


def test_from_dict_names_the_fields_of_a_user_s_type() -> None:
    with pytest.raises(ObjectDecodeError, match=r"there is no field spec\.colour$"):
        from_dict(Moody, {"metadata": {"name": "a"}, "spec": {"mode": "fast", "colour": "red"}})


def test_from_dict_takes_any_keys_where_the_type_says_nothing_of_them() -> None:
    text = {"metadata": {"name": "a", "labels": {"any": "thing"}}, "spec": {"nodeSelector": {"some": "where"}}}

    assert from_dict(V1Pod, text).spec.node_selector == {"some": "where"}
    assert from_dict(dict, {"any": 1}) == {"any": 1}
