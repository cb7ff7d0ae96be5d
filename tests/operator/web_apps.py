"""A custom resource for the tests of what operators are made of."""

from __future__ import annotations

from typing import Any

from kinformer.models import V1ObjectMeta
from kinformer.operator import CustomResource, Fields
from kinformer.operator.webhooks import Webhooks

__all__ = ("OldWebApp", "WebApp", "WebAppSpec", "WebAppStatus", "convert_web_apps", "web_app")


class WebAppSpec(Fields):
    image: str
    replicas: int = 1


class WebAppStatus(Fields):
    ready_replicas: int = 0
    observed_generation: int | None = None


class WebApp(CustomResource[WebAppSpec, WebAppStatus], group="example.com", version="v1", plural="webapps"):
    """A web server with a name."""


class OldWebApp(
    CustomResource[WebAppSpec, WebAppStatus],
    group="example.com",
    version="v1beta1",
    plural="webapps",
    kind="WebApp",
    storage=False,
):
    """An older version of it. Its replicas count half."""


def convert_web_apps(webhooks: Webhooks) -> None:
    """Register the conversions between the two versions."""

    @webhooks.converting(OldWebApp, WebApp)
    def up(old: OldWebApp) -> WebApp:
        return WebApp(metadata=old.metadata, spec=WebAppSpec(image=old.spec.image, replicas=old.spec.replicas * 2))

    @webhooks.converting(WebApp, OldWebApp)
    def down(new: WebApp) -> OldWebApp:
        return OldWebApp(metadata=new.metadata, spec=WebAppSpec(image=new.spec.image, replicas=new.spec.replicas // 2))


def web_app(name: str = "shop", namespace: str = "default", **spec: Any) -> WebApp:
    return WebApp(metadata=V1ObjectMeta(name=name, namespace=namespace), spec=WebAppSpec(**{"image": "shop:1", **spec}))
