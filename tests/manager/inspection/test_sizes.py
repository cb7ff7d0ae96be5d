from __future__ import annotations

from typing import Any

import pytest

from kinformer.cache import SharedIndexInformer
from kinformer.manager.inspection.sizes import Sizes
from kinformer.models import V1ConfigMap, V1ObjectMeta, encode
from tests.cache.scripted import ScriptedListerWatcher


def config(name: str, size: int) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default"), data={"text": size * "x"})


def informer_of(*objects: Any) -> SharedIndexInformer[Any]:
    informer = SharedIndexInformer(ScriptedListerWatcher(), V1ConfigMap)
    for each in objects:
        informer.indexer.add(each)
    return informer


def test_few_objects_are_all_measured_and_measured_again_later() -> None:
    objects = [config("small", 10), config("large", 10_000)]
    sizes, informer = Sizes(), informer_of(*objects)
    both = sum(len(encode(each)) for each in objects)

    assert sizes.of(informer, 100) == pytest.approx(both, abs=1)
    informer.indexer.update(config("large", 10))
    assert sizes.of(informer, 129) == pytest.approx(both, abs=1)
    assert sizes.of(informer, 130) == pytest.approx(2 * len(encode(objects[0])), abs=1)


def test_of_many_objects_some_are_measured() -> None:
    informer = informer_of(*(config(f"{number:04}", 100) for number in range(1000)))

    assert Sizes().of(informer, 0) == 1000 * len(encode(config("0000", 100)))


def test_objects_that_cannot_be_encoded_have_no_size() -> None:
    informer = SharedIndexInformer(ScriptedListerWatcher(), dict)
    assert Sizes().of(informer, 0) == 0

    informer.indexer.add({"metadata": {"name": "a"}, "data": "\ud800"})

    assert Sizes().of(informer, 0) is None
