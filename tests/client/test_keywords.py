"""Keyword arguments that several functions share are refused when they are misspelt."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.client import connect
from kinformer.models import V1ConfigMap, V1Pod
from kinformer.operator.webhooks import Webhooks


async def test_a_misspelt_argument_is_an_error_that_names_those_that_there_are() -> None:
    misspelt: dict[str, Any] = {"contaner": "c"}
    async with connect(url="http://127.0.0.1:1") as client:
        pods = client.resource(V1Pod)
        with pytest.raises(TypeError, match="unexpected keyword argument 'contaner': want some of container, stdin"):
            pods.exec("a", ["true"], "default", **misspelt)
        with pytest.raises(TypeError, match="want some of container, follow"):
            pods.logs("a", "default", **misspelt)
        with pytest.raises(TypeError, match="want some of container, input, check"):
            await pods.run("a", ["true"], "default", **misspelt)


def test_so_is_one_of_a_webhook() -> None:
    misspelt: dict[str, Any] = {"operation": ("CREATE",)}
    with pytest.raises(TypeError, match="unexpected keyword argument 'operation': want some of operations"):
        Webhooks("w").validating(V1ConfigMap, **misspelt)
