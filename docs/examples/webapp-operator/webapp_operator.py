"""Web applications as a custom resource: each WebApp has a Deployment, a Service, an Ingress, a ConfigMap and a name.

The name is a record in a zone outside the cluster (here a JSON file), which is what the finalizer is for. Everything
inside the cluster is owned: it goes with its WebApp, and is put right when somebody changes or deletes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Meta

from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1Condition, V1ConfigMap, V1Deployment, V1Ingress, V1Service, from_dict
from kinformer.operator import Column, CustomResource, Fields, Reconciler, list_map, set_condition

FINALIZER = "example.com/dns"


class WebAppSpec(Fields):
    image: Annotated[str, Meta(min_length=1)]
    host: Annotated[str, Meta(pattern="^[a-z0-9.-]+$")]
    replicas: Annotated[int, Meta(ge=0)] = 1


class WebAppStatus(Fields):
    phase: Literal["", "Progressing", "Ready"] = ""
    ready_replicas: int = 0
    host: str = ""
    observed_generation: int | None = None
    conditions: Annotated[list[V1Condition], list_map("type")] = []


class WebApp(
    CustomResource[WebAppSpec, WebAppStatus],
    group="example.com",
    version="v1",
    plural="webapps",
    short_names=("wa",),
    columns=(
        Column("Phase", ".status.phase"),
        Column("Ready", ".status.readyReplicas"),
        Column("Host", ".spec.host"),
        Column("Age", ".metadata.creationTimestamp"),
    ),
):
    """A web application that is reached by its host name."""


class Dns(Protocol):
    """The zone that host names stand in."""

    async def set(self, host: str, target: str) -> None: ...
    async def remove(self, host: str) -> None: ...


class FileDns:
    """A zone that is a JSON file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def _write(self, host: str, target: str | None) -> None:
        records = json.loads(self._path.read_text()) if self._path.exists() else {}
        if records.get(host) != target:
            changed = {**records, host: target}
            self._path.write_text(json.dumps({name: to for name, to in changed.items() if to is not None}, indent=1))

    async def set(self, host: str, target: str) -> None:
        self._write(host, target)

    async def remove(self, host: str) -> None:
        self._write(host, None)


def owned_by(app: WebApp) -> tuple[V1ConfigMap, V1Deployment, V1Service, V1Ingress]:
    """What a WebApp comes to in the cluster."""
    labels = {"app": app.metadata.name}
    meta = {"name": app.metadata.name, "labels": labels}
    container = {
        "name": "web",
        "image": app.spec.image,
        "ports": [{"containerPort": 8080}],
        "envFrom": [{"configMapRef": {"name": app.metadata.name}}],
    }
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    deployment = {"replicas": app.spec.replicas, "selector": {"matchLabels": labels}, "template": pods}
    service = {"selector": labels, "ports": [{"port": 80, "targetPort": 8080, "protocol": "TCP"}]}
    backend = {"service": {"name": app.metadata.name, "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    ingress = {"rules": [{"host": app.spec.host, "http": {"paths": [path]}}]}
    return (
        from_dict(V1ConfigMap, {"metadata": meta, "data": {"host": app.spec.host}}),
        from_dict(V1Deployment, {"metadata": meta, "spec": deployment}),
        from_dict(V1Service, {"metadata": meta, "spec": service}),
        from_dict(V1Ingress, {"metadata": meta, "spec": ingress}),
    )


class WebApps(Reconciler[WebApp]):
    name = "webapp-operator"
    owns = (V1ConfigMap, V1Deployment, V1Service, V1Ingress)
    workers = 2

    def __init__(self, context: ControllerContext, dns: Dns) -> None:
        super().__init__(context)
        self.dns = dns
        self.record = self.finalizer(FINALIZER)
        self.deployments = context.informers.informer_for(V1Deployment)

    async def reconcile(self, obj: WebApp) -> float | None:
        app = await self.record.ensure(obj, cleanup=self.forget)
        if app is None:
            return None
        for owned in owned_by(app):
            await self.applier.ensure_owned(app, owned)
        status = app.status or WebAppStatus()
        if status.host != app.spec.host:
            await self.forget(app)
            # The host is noted before its record is made. Otherwise a crash between the two leaves a record behind.
            app = await self.update_status(app, msgspec.structs.replace(status, host=app.spec.host))
        await self.dns.set(app.spec.host, f"{app.metadata.name}.{app.metadata.namespace}.svc")
        return await self.tell(app)

    async def forget(self, app: WebApp) -> None:
        """Remove the record that was made, which may be that of an earlier host."""
        if app.status is not None and app.status.host:
            await self.dns.remove(app.status.host)

    async def tell(self, app: WebApp) -> float | None:
        deployment = self.deployments.indexer.get_by_key(f"{app.metadata.namespace}/{app.metadata.name}")
        ready = (deployment.status.ready_replicas or 0) if deployment is not None and deployment.status else 0
        done = ready >= app.spec.replicas
        old, message = app.status or WebAppStatus(), f"{ready} of {app.spec.replicas} replicas are ready"
        status = WebAppStatus(
            phase="Ready" if done else "Progressing",
            ready_replicas=ready,
            host=app.spec.host,
            observed_generation=app.metadata.generation,
            conditions=set_condition(
                old.conditions,
                "Ready",
                done,
                reason="DeploymentReady" if done else "DeploymentNotReady",
                message=message,
                observed_generation=app.metadata.generation,
                now=self.context.clock.now(),
            ),
        )
        await self.update_status(app, status)
        if status.phase != old.phase:
            self.event(app, status.phase, message)
        return None if done else 30.0


def make_controller(context: ControllerContext, dns: Dns | None = None) -> Controller:
    return WebApps(context, dns or FileDns(Path(context.option("webapp_dns_file", "dns.json")))).controller()
