"""A custom resource for the tests of what operators are made of."""

from __future__ import annotations

from typing import Any

from kinformer.models import V1ObjectMeta
from kinformer.operator import CustomResource, Fields

__all__ = ("WebApp", "WebAppSpec", "WebAppStatus", "web_app")


class WebAppSpec(Fields):
    image: str
    replicas: int = 1


class WebAppStatus(Fields):
    ready_replicas: int = 0
    observed_generation: int | None = None


class WebApp(CustomResource[WebAppSpec, WebAppStatus], group="example.com", version="v1", plural="webapps"):
    """A web server with a name."""


def web_app(name: str = "shop", namespace: str = "default", **spec: Any) -> WebApp:
    return WebApp(metadata=V1ObjectMeta(name=name, namespace=namespace), spec=WebAppSpec(**{"image": "shop:1", **spec}))
