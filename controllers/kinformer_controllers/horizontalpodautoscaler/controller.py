"""The horizontal pod autoscaler, as kube-controller-manager has it.

In: HorizontalPodAutoscalers, the scale of their targets (of any kind that has one), their pods, and metrics. Out: the
scale of the target, and the autoscaler's status. Each autoscaler is evaluated once in a period, and not when something
changes: metrics change all the time.

Promised: a target is scaled only by a number that metrics, or the limits of the spec, have asked for in this very
evaluation. If some metrics cannot be read, the others may scale up, and never down.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple, NoReturn

from kinformer.cache import deletion_handling_key
from kinformer.client.errors import ClientError
from kinformer.controllerutil.conditions import is_condition_true
from kinformer.controllerutil.selecting import selected_by
from kinformer.manager import Controller, ControllerContext, SyncError
from kinformer.meta import meta_namespace_key
from kinformer.meta.quantity import Quantity
from kinformer.models import (
    V1Pod,
    V2HorizontalPodAutoscaler,
    V2HorizontalPodAutoscalerStatus,
    V2MetricStatus,
)
from kinformer.record import NORMAL, WARNING
from kinformer_controllers.horizontalpodautoscaler.behavior import History, limited_replicas
from kinformer_controllers.horizontalpodautoscaler.measuring import MetricsClient
from kinformer_controllers.horizontalpodautoscaler.metrics import AUTOSCALERS, DESIRED, Evaluation
from kinformer_controllers.horizontalpodautoscaler.proposals import MetricFailed, Target, measure, propose
from kinformer_controllers.horizontalpodautoscaler.replicas import Terms, Timing, Tolerances
from kinformer_controllers.horizontalpodautoscaler.scales import Scale, Scales
from kinformer_controllers.horizontalpodautoscaler.selectors import TargetSelectors
from kinformer_controllers.horizontalpodautoscaler.spec import HpaOptions
from kinformer_controllers.horizontalpodautoscaler.statuses import remove_condition, set_condition, shown
from kinformer_controllers.horizontalpodautoscaler.turns import Turns
from kinformer_controllers.shared.gates import Gates
from kinformer_controllers.shared.scale_selector import UnreadableScale

__all__ = ("HorizontalPodAutoscalerController",)

COMPONENT = "horizontal-pod-autoscaler"
#: From so many autoscalers in a namespace on, metrics are read for all of them together.
_MANY = 5


class EvaluationFailed(SyncError):
    """An autoscaler could not be evaluated as a whole. The status says why."""

    def __init__(self, text: str, *, is_spec: bool = False) -> None:
        super().__init__(text)
        self.is_spec = is_spec


class _Wanted(NamedTuple):
    """
    What the metrics ask for together.

    :param metric: the name of the metric that asks for most
    :param failure: why some of the metrics were not computed; empty if all were
    """

    replicas: int
    metric: str
    statuses: list[V2MetricStatus]
    failure: str


# More than 15 fields: six are its options, and a sync needs all others.
class HorizontalPodAutoscalerController:
    """Evaluates HorizontalPodAutoscalers. It is the event handler for them, too."""

    def __init__(self, context: ControllerContext) -> None:
        options = context.read(HpaOptions)
        self._window = options.horizontal_pod_autoscaler_downscale_stabilization
        self._tolerance = options.horizontal_pod_autoscaler_tolerance
        self._timing = Timing(
            options.horizontal_pod_autoscaler_cpu_initialization_period,
            options.horizontal_pod_autoscaler_initial_readiness_delay,
        )
        gates = Gates(options.feature_gates)
        self._to_zero = gates.is_on("HPAScaleToZero")
        self._own_tolerances = gates.is_on("HPAConfigurableTolerance")
        self._clock = context.clock
        self._scales = Scales(context.client)
        self._server = context.client.resource(V2HorizontalPodAutoscaler)
        self._metrics = MetricsClient(context.client, context.clock)
        self._recorder = context.recorder(COMPONENT)
        autoscalers, pods = (
            context.informers.informer_for(V2HorizontalPodAutoscaler),
            context.informers.informer_for(V1Pod),
        )
        self._autoscalers, self._pods = autoscalers.indexer, pods.indexer
        self._selectors = TargetSelectors()
        self._turns = Turns(options.horizontal_pod_autoscaler_sync_period, self._shares, self._clock)
        self._histories: dict[str, History] = {}
        self.controller = Controller(
            COMPONENT,
            self.sync,
            workers=options.concurrent_horizontal_pod_autoscaler_syncs,
            queue_name="horizontalpodautoscaler",
            limiter=self._turns,
            clock=self._clock,
        )
        self.controller.handle(autoscalers, self).wait_for(pods)

    def on_add(self, hpa: V2HorizontalPodAutoscaler, is_in_initial_list: bool, /) -> None:
        key = meta_namespace_key(hpa)
        if self._selectors.register(key):
            AUTOSCALERS.inc()
        self.controller.queue.add_after(key, self._turns.when(key))

    def on_update(self, old: V2HorizontalPodAutoscaler, new: V2HorizontalPodAutoscaler, /) -> None:
        self.on_add(new, False)

    def on_delete(self, obj: Any, /) -> None:
        key = deletion_handling_key(obj)
        if self._selectors.forget(key):
            AUTOSCALERS.dec()

    async def sync(self, key: str) -> float | None:
        """
        Evaluate an autoscaler.

        :return: seconds until the next evaluation; None if the autoscaler is gone
        :raises EvaluationFailed: if it could not be evaluated. It is evaluated again after the period, too
        :raises ClientError: if its status could not be written
        """
        hpa = self._autoscalers.get_by_key(key)
        if hpa is None:
            self._histories.pop(key, None)
            return None
        with Evaluation(self._clock) as evaluation:
            await self._evaluate(copy.copy(hpa), key, evaluation)
        return self._turns.when(key)

    async def _evaluate(self, hpa: V2HorizontalPodAutoscaler, key: str, evaluation: Evaluation) -> None:
        before = hpa.status
        status = hpa.status = copy.copy(before) if before is not None else V2HorizontalPodAutoscalerStatus()
        now = self._clock.now()
        about = hpa.spec.scale_target_ref
        reference = f"{about.kind}/{hpa.metadata.namespace}/{about.name}"
        try:
            scale = await self._scales.read(about, hpa.metadata.namespace)
        except (ClientError, UnreadableScale, ValueError) as error:
            self._event(hpa, "FailedGetScale", str(error))
            text = f"the HPA controller was unable to get the target's current scale: {error}"
            set_condition(status, "AbleToScale", False, "FailedGetScale", text, now)
            await self._write_failure(hpa, before)
            if isinstance(error, ValueError):
                raise EvaluationFailed(
                    f"invalid API version in scale target reference: {error}", is_spec=True
                ) from error
            raise EvaluationFailed(f"failed to query scale subresource for {reference}: {error}") from error
        text = "the HPA controller was able to get the target's current scale"
        set_condition(status, "AbleToScale", True, "SucceededGetScale", text, now)
        current = scale.replicas
        least = 1 if hpa.spec.min_replicas is None else hpa.spec.min_replicas
        most = hpa.spec.max_replicas
        history = self._histories.setdefault(key, History())
        history.begin(current, self._clock.monotonic())
        from_zero = self._to_zero and is_condition_true(status.conditions, "ScaledToZero")
        statuses: list[V2MetricStatus] | None = None
        reason = failure = ""
        wanted = current
        if current == 0 and not (from_zero and (least != 0 or _counts_objects(hpa))):
            text = "scaling is disabled since the replica count of the target is zero"
            set_condition(status, "ScalingActive", False, "ScalingDisabled", text, now)
            if not self._to_zero:
                remove_condition(status, "ScaledToZero")
        elif current > most:
            reason, wanted = "Current number of replicas above Spec.MaxReplicas", most
        elif 0 < current < least:
            reason, wanted = "Current number of replicas below Spec.MinReplicas", least
        else:
            try:
                asked = await self._ask_metrics(hpa, scale, evaluation)
            except EvaluationFailed as error:
                status.current_replicas, status.current_metrics = current, evaluation.statuses
                await self._write_failure(hpa, before)
                self._event(hpa, "FailedComputeMetricsReplicas", str(error))
                raise EvaluationFailed(
                    f"failed to compute desired number of replicas based on listed metrics for {reference}: {error}"
                ) from error
            statuses, failure = asked.statuses, asked.failure
            wanted = max(asked.replicas, 0)
            if wanted > current:
                reason = f"{asked.metric} above target"
            elif wanted < current:
                reason = "All metrics below target"
            limited = limited_replicas(
                history,
                hpa.spec.behavior,
                current=current,
                wanted=wanted,
                least=least,
                most=most,
                window=self._window,
                now=self._clock.monotonic(),
            )
            set_condition(status, "AbleToScale", True, *limited.able, now)
            set_condition(status, "ScalingLimited", limited.is_limited, *limited.limit, now)
            wanted = limited.replicas
            if current == 0 and least != 0 and wanted < least:
                wanted = least
                reason = reason or "Current number of replicas below Spec.MinReplicas"
        if wanted != current:
            await self._rescale(hpa, before, scale, wanted, reason, statuses)
            history.scaled(hpa.spec.behavior, current, wanted, self._clock.monotonic())
            self._note_zero(hpa, current, wanted, least, now)
            evaluation.action = "scale_up" if wanted > current else "scale_down"
            status.last_scale_time = now.replace(microsecond=0)
        status.current_replicas, status.desired_replicas, status.current_metrics = current, wanted, statuses
        DESIRED.labels(hpa.metadata.namespace, hpa.metadata.name).set(wanted)
        await self._write(hpa, before)
        if failure:
            raise EvaluationFailed(failure)

    async def _ask_metrics(self, hpa: V2HorizontalPodAutoscaler, scale: Scale, evaluation: Evaluation) -> _Wanted:
        """
        Compute what all metrics ask for: the most counts.

        :raises EvaluationFailed: if none can be computed, or some cannot and the others ask for fewer pods
        """
        status, now = hpa.status, self._clock.now()
        specs = hpa.spec.metrics or ()
        target = self._target_of(hpa, scale, now)
        terms = Terms(self._tolerances(hpa), self._timing, now)
        evaluation.statuses = statuses = [V2MetricStatus(type="") for _ in specs]
        replicas, metric = 0, ""
        failures: list[MetricFailed] = []
        for index, spec in enumerate(specs):
            with evaluation.of_metric(spec.type, status.current_replicas or 0) as computation:
                try:
                    measured = await measure(self._metrics, spec, target)
                    found = propose(spec, measured, target, terms)
                except MetricFailed as error:
                    computation.failed(is_spec=error.is_spec)
                    self._event(hpa, error.reason, error.cause)
                    failures.append(error)
                    continue
                computation.proposed(found.replicas)
            statuses[index] = found.status
            if replicas == 0 or found.replicas > replicas:
                replicas, metric = found.replicas, found.name
        failure = ""
        if failures:
            failure = f"invalid metrics ({len(failures)} invalid out of {len(specs)}), first error is: {failures[0]}"
            if len(failures) == len(specs) or replicas < target.replicas:
                text = f"the HPA was unable to compute the replica count: {failures[0].cause}"
                set_condition(status, "ScalingActive", False, failures[0].reason, text, now)
                raise EvaluationFailed(failure)
        text = f"the HPA was able to successfully calculate a replica count from {metric}"
        set_condition(status, "ScalingActive", True, "ValidMetricFound", text, now)
        return _Wanted(replicas, metric, statuses, failure)

    def _shares(self, namespace: str) -> bool:
        """Whether a namespace has many autoscalers, so that metrics are read for all of them together."""
        return self._selectors.count(namespace) >= _MANY

    def _target_of(self, hpa: V2HorizontalPodAutoscaler, scale: Scale, now: datetime) -> Target:
        """
        The target's pods, if no other autoscaler selects them.

        :raises EvaluationFailed: if the target has no selector, or another autoscaler selects its pods
        """
        namespace = hpa.metadata.namespace
        text = scale.selector
        if not text:
            self._event(hpa, "SelectorRequired", "selector is required")
            why = "the HPA target's scale is missing a selector"
            set_condition(hpa.status, "ScalingActive", False, "InvalidSelector", why, now)
            raise EvaluationFailed("selector is required")
        selector = self._selectors.put(meta_namespace_key(hpa), text)
        pods = selected_by(self._pods, namespace, selector)
        selecting = self._selectors.selecting(namespace, pods)
        if len(selecting) > 1:
            why = f"pods by selector {text} are controlled by multiple HPAs: [{' '.join(selecting)}]"
            self._refuse(hpa, "AmbiguousSelector", why, now)
        return Target(namespace, pods, selector, scale.replicas, scale.observed, self._shares(namespace))

    async def _rescale(
        self,
        hpa: V2HorizontalPodAutoscaler,
        before: V2HorizontalPodAutoscalerStatus | None,
        scale: Scale,
        wanted: int,
        reason: str,
        statuses: list[V2MetricStatus] | None,
    ) -> None:
        """
        Write the target's scale.

        :raises EvaluationFailed: if it cannot be written
        """
        status, now = hpa.status, self._clock.now()
        try:
            await scale.write(wanted, self._clock)
        except ClientError as error:
            self._event(hpa, "FailedRescale", f"New size: {wanted}; reason: {reason}; error: {error}")
            text = f"the HPA controller was unable to update the target scale: {error}"
            set_condition(status, "AbleToScale", False, "FailedUpdateScale", text, now)
            status.current_replicas, status.current_metrics = scale.replicas, statuses
            await self._write_failure(hpa, before)
            about = hpa.spec.scale_target_ref
            where = f"{about.kind}/{hpa.metadata.namespace}/{about.name}"
            raise EvaluationFailed(f"failed to rescale {where}: {error}") from error
        text = f"the HPA controller was able to update the target scale to {wanted}"
        set_condition(status, "AbleToScale", True, "SucceededRescale", text, now)
        self._event(hpa, "SuccessfulRescale", f"New size: {wanted}; reason: {reason}", NORMAL)

    def _note_zero(self, hpa: V2HorizontalPodAutoscaler, current: int, wanted: int, least: int, now: datetime) -> None:
        """Note whether it was the autoscaler that left its target without pods: only then it scales it up again."""
        if not self._to_zero:
            remove_condition(hpa.status, "ScaledToZero")
        elif current > 0 and wanted == 0 and least == 0 and _counts_objects(hpa):
            text = "the HPA controller scaled the workload to zero"
            set_condition(hpa.status, "ScaledToZero", True, "ScaledToZero", text, now)
        else:
            text = "the HPA controller did not scale the workload to zero"
            set_condition(hpa.status, "ScaledToZero", False, "NotScaledToZero", text, now)

    def _tolerances(self, hpa: V2HorizontalPodAutoscaler) -> Tolerances:
        down = up = self._tolerance
        behavior = hpa.spec.behavior if self._own_tolerances else None
        if behavior is not None and behavior.scale_down is not None and behavior.scale_down.tolerance is not None:
            down = float(Quantity.parse(behavior.scale_down.tolerance))
        if behavior is not None and behavior.scale_up is not None and behavior.scale_up.tolerance is not None:
            up = float(Quantity.parse(behavior.scale_up.tolerance))
        return Tolerances(down, up)

    def _refuse(self, hpa: V2HorizontalPodAutoscaler, reason: str, why: str, now: datetime) -> NoReturn:
        self._event(hpa, reason, why)
        set_condition(hpa.status, "ScalingActive", False, reason, why, now)
        raise EvaluationFailed(why)

    def _event(self, hpa: V2HorizontalPodAutoscaler, reason: str, message: str, type_: str = WARNING) -> None:
        self._recorder.event(hpa, type_, reason, message)

    async def _write_failure(
        self, hpa: V2HorizontalPodAutoscaler, before: V2HorizontalPodAutoscalerStatus | None
    ) -> None:
        """Write the status of an evaluation that has failed. Its own error counts, whether or not this succeeds."""
        with suppress(ClientError):
            await self._write(hpa, before)

    async def _write(self, hpa: V2HorizontalPodAutoscaler, before: V2HorizontalPodAutoscalerStatus | None) -> None:
        """Write the status, if it differs from the one before."""
        if shown(before) == shown(hpa.status):
            return
        try:
            await self._server.update_status(hpa)
        except ClientError as error:
            self._event(hpa, "FailedUpdateStatus", str(error))
            raise


def _counts_objects(hpa: V2HorizontalPodAutoscaler) -> bool:
    return any(metric.type in ("Object", "External") for metric in hpa.spec.metrics or ())
