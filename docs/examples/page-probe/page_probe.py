"""Probes pages: each Probe has a ConfigMap with its URL. The page is requested once a minute; its lines are Events."""

from __future__ import annotations

from datetime import datetime, timedelta

from pages import forget, lines_of, look_at

from kinformer.models import V1ConfigMap, from_dict
from kinformer.operator import CustomResource, Fields, Reconciler

EVERY = timedelta(seconds=60)


class ProbeSpec(Fields):
    url: str


class ProbeStatus(Fields):
    code: int = 0
    checked_at: datetime | None = None


class Probe(CustomResource[ProbeSpec, ProbeStatus], group="example.com", version="v1", plural="probes"):
    """A page that is looked at once a minute."""


class Probes(Reconciler[Probe]):
    name = "page-probe"
    owns = (V1ConfigMap,)

    async def reconcile(self, obj: Probe) -> timedelta | None:
        probe = await self.finalizer("example.com/probe").ensure(obj, cleanup=self.forget)
        if probe is None:
            return None
        wanted = {"metadata": {"name": probe.metadata.name}, "data": {"url": probe.spec.url}}
        await self.applier.ensure_owned(probe, from_dict(V1ConfigMap, wanted))
        now, last = self.context.clock.now(), probe.status.checked_at if probe.status else None
        if last is not None and now < last + EVERY:
            return last + EVERY - now  # something else has changed
        await self.update_status(probe, ProbeStatus(code=await look_at(probe.spec.url), checked_at=now))
        return EVERY

    async def daemon(self, obj: Probe) -> None:
        async for line in lines_of(obj.spec.url):
            self.event(obj, "Said", line)

    async def forget(self, probe: Probe) -> None:
        await forget(probe.spec.url)
