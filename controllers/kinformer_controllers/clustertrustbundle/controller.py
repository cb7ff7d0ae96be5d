"""The publisher of ClusterTrustBundles: one with the certificates by which pods know the API server.

In: the ClusterTrustBundles of the signer ``kubernetes.io/kube-apiserver-serving``. Out: one bundle, whose name has a
hash of its content, and no other bundle of this signer. Promised: an old bundle is deleted only after the server was
asked whether it has the new one. So there is always one for the volumes of pods.
"""

from __future__ import annotations

import copy
import hashlib
from typing import Final

from prometheus_client import Counter, Histogram

from kinformer.client.errors import ClientError
from kinformer.controllerutil.writing import delete_same
from kinformer.informers import Selection
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, ControllerDisabled, SyncError
from kinformer.models import V1beta1ClusterTrustBundle, V1beta1ClusterTrustBundleSpec, V1ObjectMeta
from kinformer_controllers.clustertrustbundle.spec import SIGNER, TrustBundleOptions
from kinformer_controllers.shared.gates import Gates
from kinformer_controllers.shared.identity import counted, root_ca

__all__ = ("TrustBundlePublisher", "bundle_name", "make_controller")

log = get_logger(__name__)

_NAME: Final = "kube-apiserver-serving-clustertrustbundle-publisher"
_OF_SIGNER: Final = f"spec.signerName={SIGNER}"
_BUNDLES: Final = "bundles"


_SYNCS: Final = Counter(
    "clustertrustbundle_publisher_sync_total",
    "Number of syncs that occurred in cluster trust bundle publisher.",
    ["code"],
)
_SYNC_SECONDS: Final = Histogram(
    "clustertrustbundle_publisher_sync_duration_seconds",
    "The time it took to sync a cluster trust bundle.",
    ["code"],
    buckets=[0.001 * 2**power for power in range(15)],
)


def make_controller(context: ControllerContext) -> Controller:
    """
    The factory of the publisher; its options are :class:`.TrustBundleOptions`.

    :raises ControllerDisabled: if the feature gate ClusterTrustBundle is off, or there is no certificate to publish
    :raises OptionError: if the certificates' file cannot be used
    """
    options = context.read(TrustBundleOptions)
    Gates(options.feature_gates).require("ClusterTrustBundle")
    authorities = root_ca(context.client, options.root_ca_file)
    if not authorities:
        raise ControllerDisabled("there are no certificates of the API server: name their file with --root-ca-file")
    return TrustBundlePublisher(context, authorities.decode()).controller


def bundle_name(content: str) -> str:
    """The name of the bundle with this content."""
    return f"{SIGNER.replace('/', ':')}:{hashlib.sha256(content.encode()).hexdigest()[:24]}"


class TrustBundlePublisher:
    """
    Keeps one bundle.

    :param content: the certificates in PEM
    """

    def __init__(self, context: ControllerContext, content: str) -> None:
        self._clock = context.clock
        self._content, self._name = content, bundle_name(content)
        self._server = context.client.resource(V1beta1ClusterTrustBundle)
        bundles = context.informers.informer_for(
            V1beta1ClusterTrustBundle, view=_NAME, selection=Selection(field_selector=_OF_SIGNER)
        )
        self._cached = bundles.indexer
        queue = "ca_cert_publisher_cluster_trust_bundles"
        self.controller = Controller(_NAME, self.sync, queue_name=queue, clock=self._clock)
        self.controller.watch_mapped(bundles, lambda _: (_BUNDLES,))
        self.controller.queue.add(_BUNDLES)

    async def sync(self, _: str) -> None:
        """
        Create the bundle or correct it, and delete the others.

        :raises ClientError: if the server refuses a request
        :raises SyncError: if the server does not have the bundle that the cache has
        """
        with counted(self._clock, _SYNCS, _SYNC_SECONDS):
            await self._publish()
            if any(bundle.metadata.name != self._name for bundle in self._cached.list()):
                await self._delete_others()

    async def _publish(self) -> None:
        current = self._cached.get_by_key(self._name)
        if current is None:
            spec = V1beta1ClusterTrustBundleSpec(signer_name=SIGNER, trust_bundle=self._content)
            await self._server.create(V1beta1ClusterTrustBundle(metadata=V1ObjectMeta(name=self._name), spec=spec))
        elif current.spec.trust_bundle != self._content:
            wanted = copy.copy(current)
            wanted.spec = copy.copy(current.spec)
            wanted.spec.trust_bundle = self._content
            await self._server.update(wanted)

    async def _delete_others(self) -> None:
        found = (await self._server.list(field_selector=_OF_SIGNER)).items
        by_name = {bundle.metadata.name: bundle for bundle in found}
        ours = by_name.pop(self._name, None)
        if ours is None or ours.spec.trust_bundle != self._content:
            raise SyncError(f"the server does not have {self._name} as it should be: the other bundles stay")
        failed: ClientError | None = None
        for name, bundle in by_name.items():
            log.info("deleting_trust_bundle", bundle=name)
            try:
                await delete_same(self._server, bundle)
            except ClientError as error:
                failed = error
        if failed is not None:
            raise failed
