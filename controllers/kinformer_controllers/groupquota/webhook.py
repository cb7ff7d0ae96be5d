"""The decision: a request is charged to the GroupQuotas that apply to it, or it is refused.

A request is also refused if its charge cannot be written, for example because the API server is away. Such a refusal
says after how many seconds the client may try again. client-go then does so by itself. A request to which no GroupQuota
applies is admitted in any state. Each replica withdraws the charges that it has made for requests that were refused
after all. If it dies before, the reservations end with their time limit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

import anyio
import msgspec

from kinformer.cache import InformerStateError
from kinformer.client import Client
from kinformer.client.errors import ClientError, Conflict
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.leaderelection import LeadershipLost
from kinformer.logs import get_logger
from kinformer.manager import Controller, LeaderElection, SyncError
from kinformer.manager.election import Election
from kinformer.meta import GroupResource
from kinformer.models import V1Namespace
from kinformer.operator.webhooks.reviews import RawRequest
from kinformer.tasks import plain_task_group
from kinformer_controllers.groupquota.accessor import GroupQuotaAccessor, Namespaces
from kinformer_controllers.groupquota.controller import GroupQuotaController
from kinformer_controllers.groupquota.group_quota import (
    GROUP_QUOTAS,
    KIND,
    GroupQuotaError,
    read_group_quota,
)
from kinformer_controllers.groupquota.reservations import ReservationLedger
from kinformer_controllers.groupquota.sightings import Sightings
from kinformer_controllers.shared.quota.admission import (
    EvaluationTimedOut,
    NoRoom,
    QuotaEvaluator,
    QuotaRefused,
    UncoveredScopes,
    time_limit,
)
from kinformer_controllers.shared.quota.evaluator import CREATE, UPDATE, Request
from kinformer_controllers.shared.quota.registry import MODELS, WHOLE, Registry, core_registry
from kinformer_controllers.shared.quota.sources import InformerSource, NoSource, ObjectSource

__all__ = (
    "Decision",
    "QuotaWebhook",
)

log = get_logger(__name__)

#: Seconds until an API server stops waiting, if its request does not tell. A webhook's timeoutSeconds has this default.
TIMEOUT: Final = 10.0

#: Seconds of that time that are kept for sending the answer. If the time is less than twice as long, half is kept.
MARGIN: Final = 2.0

# Seconds between two checks of the API server, and seconds that it has to answer one.
_ASK_PERIOD, _PATIENCE = 1.0, 2.0

# Seconds after which a client may send an undecided request again.
_RETRY_AFTER: Final = 1

#: The most seconds for which a charge is reserved. A request may take a minute. The event of its object comes later.
RESERVATION: Final = 90.0


class Decision(NamedTuple):
    """
    The answer to a request.

    :param code: 200 if the request is admitted, otherwise the HTTP status of its refusal
    :param retry_after: seconds after which the client may try again; 0 if a new try is of no use
    """

    code: int = 200
    reason: str = ""
    message: str = ""
    retry_after: int = 0


_YES: Final = Decision()


class QuotaWebhook:
    """
    One replica: enforces GroupQuotas, and recounts them while it leads.

    :param informers: the informers to use. :meth:`run` runs them
    :param reservation: the most seconds for which a charge is reserved
    :param period: seconds between two full recounts
    :param election: the Lease that a replica must hold to recount; None if there is only one replica
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory | None = None,
        *,
        reservation: float = RESERVATION,
        period: float = 300.0,
        election: LeaderElection | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or RealClock()
        # The time of the last check of the API server, and why it did not answer.
        self._asking = anyio.Lock()
        self._asked: tuple[float, str] | None = None
        self._client = client
        self._election = election
        self._informers = informers or SharedInformerFactory(client, clock=self._clock)
        quotas: Any = self._informers.informer_for(dict, GROUP_QUOTAS, namespaced=False, kind=KIND)
        self._quotas = quotas
        self._namespace_informer = self._informers.informer_for(V1Namespace)
        self.namespaces = Namespaces(client, self._namespace_informer)
        counting = self._registry_for_counting()
        sightings = Sightings(counting, reservation, self._clock)
        self.ledger = ReservationLedger(reservation, self._clock, sightings)
        self.accessor = GroupQuotaAccessor(client, quotas, self.namespaces, self.ledger, sightings, self._clock)
        self.withdrawer = _Withdrawer(self.accessor, self.ledger, self._clock)
        self.evaluator = QuotaEvaluator(
            self.accessor,
            core_registry(clock=self._clock),
            # All requests are in one batch, because requests of several namespaces may be charged to the same quota.
            batch_of=lambda _: "",
            workers=1,
            reservations=self.ledger,
            clock=self._clock,
        )
        self.controller = GroupQuotaController(
            client,
            self._informers,
            quotas,
            self.accessor,
            self.namespaces,
            self.ledger,
            sightings,
            counting,
            period=period,
            clock=self._clock,
        )

    def _registry_for_counting(self) -> Registry:
        def source_of(resource: GroupResource) -> ObjectSource:
            # The controller's monitor finds the other resources.
            return InformerSource(self._informers.informer_for(MODELS[resource])) if resource in WHOLE else NoSource()

        return core_registry(source_of, clock=self._clock)

    @property
    def has_synced(self) -> bool:
        """Whether the caches for decisions have synced."""
        return self._quotas.has_synced and self._namespace_informer.has_synced

    @property
    def leads(self) -> bool:
        """Whether this replica recounts."""
        return self.ledger.leads

    async def run(self) -> None:
        """Work until cancelled."""
        async with plain_task_group() as tasks:
            tasks.start_soon(self._informers.run)
            tasks.start_soon(self.evaluator.run)
            tasks.start_soon(self.withdrawer.run)
            tasks.start_soon(self.controller.run)
            if self._election is None:
                await self.controller.lead(self._client)
            while self._election is not None:
                await self._take_part(self._election)

    async def _take_part(self, settings: LeaderElection) -> None:
        """Take part in one election: recount while elected, and return when the election has ended."""
        election = Election(settings, self._client, self._clock)
        try:
            await election.run(lambda: self.controller.lead(election.guarded(self._client)))
        except LeadershipLost as error:
            log.warning("quota_webhook_leads_no_more", why=str(error))

    async def trouble(self) -> str:
        """
        Why requests cannot be decided; empty if they can.

        However often this is called, the API server is checked once a second at most.
        """
        if not self.has_synced:
            return "GroupQuotas and namespaces are not known yet"
        async with self._asking:
            if self._asked is None or self._clock.monotonic() - self._asked[0] >= _ASK_PERIOD:
                silence = await self._silence()
                self._asked = self._clock.monotonic(), silence
        return self._asked[1] or self.accessor.trouble

    async def _silence(self) -> str:
        """Why the API server does not answer; empty if it does."""
        try:
            with time_limit(_PATIENCE, self._clock):
                await self._client.server_version()
        except EvaluationTimedOut:
            return f"the API server does not answer: nothing has come for {_PATIENCE:g} s"
        except ClientError as error:
            return f"the API server does not answer: {error}"
        return ""

    async def decide(self, asked: RawRequest, timeout: float = TIMEOUT) -> Decision:
        """
        Charge a request, or refuse it.

        :param timeout: seconds until the API server stops waiting. The decision is made :data:`MARGIN` seconds earlier
        """
        if asked.operation not in (CREATE, UPDATE):
            return _YES
        if asked.object is None:
            return Decision(400, "BadRequest", f"the request is a {asked.operation} and has no object")
        resource = GroupResource(asked.resource.group, asked.resource.resource)
        if resource == GROUP_QUOTAS.group_resource:
            return self._check_quota(asked)
        if not asked.namespace or resource == GroupResource("", "namespaces"):
            return _YES
        seconds = timeout - min(MARGIN, timeout / 2)
        deadline = self._clock.monotonic() + seconds
        if not self.has_synced and not await self._syncs_until(deadline):
            return _undecided(503, "GroupQuotas are not known yet")
        try:
            request = _request(asked, asked.object, resource)
            return await self._charge(request, deadline)
        except QuotaRefused as refusal:
            return Decision(403, "Forbidden", str(refusal))
        except (UncoveredScopes, ValueError) as error:
            return Decision(422, "Invalid", f"quota cannot be computed: {error}")
        except EvaluationTimedOut:
            return _undecided(504, f"quota could not be charged within {seconds:g} s")
        except Conflict:
            return _undecided(504, f"quota could not be charged within {seconds:g} s: others changed it at each try")
        except NoRoom as error:
            return _undecided(503, f"quota cannot be charged: {error}")
        except ClientError as error:
            log.warning("request_not_checked", namespace=asked.namespace, name=asked.name, error=str(error))
            return _undecided(503, f"quota cannot be checked: {error}")
        except Exception as error:  # any other error refuses this request and ends nothing else
            log.exception("request_not_understood", namespace=asked.namespace, name=asked.name)
            return Decision(500, "InternalError", f"quota cannot be computed: {type(error).__name__}")

    async def _syncs_until(self, deadline: float) -> bool:
        """Wait until the caches of a new replica have synced. Return whether they have."""
        try:
            with time_limit(deadline - self._clock.monotonic(), self._clock):
                await self._quotas.wait_synced()
                await self._namespace_informer.wait_synced()
        except (EvaluationTimedOut, InformerStateError):
            return False
        return True

    async def _charge(self, request: Request, deadline: float) -> Decision:
        if not self.namespaces.knows(request.namespace):
            with time_limit(deadline - self._clock.monotonic(), self._clock):
                await self.namespaces.know(request.namespace)
        namespace, obj, old = request.namespace, request.object, request.old_object
        for invalid in self.accessor.invalid():
            if invalid.is_about(namespace, obj):
                return Decision(403, "Forbidden", f"GroupQuota {invalid.name} is invalid: {invalid.error}")
        concerned = [quota for quota in self.accessor.quotas() if quota.is_about(namespace, obj)]
        if not concerned:
            return _YES
        if old is not None and not all(quota.is_about(namespace, old) for quota in concerned):
            request = replace(request, has_moved=True)
        for quota in concerned:
            if self.controller.is_doubted(quota.name):
                with time_limit(deadline - self._clock.monotonic(), self._clock):
                    await self.controller.counted(quota.name)
        await self.evaluator.evaluate(request, deadline - self._clock.monotonic())
        return _YES

    def _check_quota(self, asked: RawRequest) -> Decision:
        assert asked.object is not None
        try:
            # The status is not checked: if it is invalid, a recount replaces it.
            read_group_quota(
                {"metadata": {"name": asked.name}, "spec": asked.object.get("spec")}, self.namespaces.labels
            )
        except GroupQuotaError as error:
            return Decision(422, "Invalid", f'GroupQuota "{asked.name}" is invalid: {error}')
        return _YES


def _undecided(code: int, why: str) -> Decision:
    """A refusal for another reason than a quota that is used up."""
    reason = "Timeout" if code == 504 else "ServiceUnavailable"
    return Decision(code, reason, f"{why}; try again later", _RETRY_AFTER)


def _request(asked: RawRequest, obj: dict[str, Any], resource: GroupResource) -> Request:
    """
    The request as evaluators read it.

    :raises ValueError: if an object has no valid metadata
    """
    return Request(
        CREATE if asked.operation == CREATE else UPDATE,
        resource,
        asked.namespace,
        asked.name,
        _placed(obj, asked.namespace),
        _placed(asked.old_object, asked.namespace) if asked.old_object is not None else None,
        asked.sub_resource,
        bool(asked.dry_run),
    )


class _Metadata(msgspec.Struct, rename="camel"):
    """The fields of an object's metadata that are read here."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    labels: dict[str, str] | None = None


def _placed(obj: dict[str, Any], namespace: str) -> dict[str, Any]:
    """The object with its namespace. A create request may have the namespace only in its path."""
    metadata = obj.get("metadata") or {}
    try:
        msgspec.convert(metadata, _Metadata)
    except msgspec.ValidationError as error:
        raise ValueError(f"metadata: {error}") from error
    return {**obj, "metadata": {**metadata, "namespace": namespace}}


class _Withdrawer:
    """
    Withdraws charges.

    :param ledger: knows the reservations to withdraw
    """

    def __init__(self, accessor: GroupQuotaAccessor, ledger: ReservationLedger, clock: Clock) -> None:
        self._accessor = accessor
        self._ledger = ledger
        self._controller = Controller("groupquota-withdrawals", self._withdraw, clock=clock)
        ledger.withdrawn = self._controller.queue.add

    async def run(self) -> None:
        """Withdraw charges until cancelled."""
        await self._controller.run()

    async def _withdraw(self, name: str) -> None:
        async with self._ledger.counting():
            try:
                written = await self._accessor.countable(name)
            except GroupQuotaError as error:
                raise SyncError(f"GroupQuota {name}: {error}") from error
            if written is None:
                return
            quota = self._ledger.presented(written)
            if len(quota.record.reservations) < len(written.record.reservations):
                await self._accessor.write(quota)
