"""Every flag of kube-controller-manager 1.36, and what becomes of it here. One declaration.

In: constants. Out: what :mod:`~kinformer_controllers.kubecontrollermanager.translation` accepts, what the command
passes on to ``kinformer manager``, and the table in ``docs/controllers/flags.md``. Flags of controllers are declared
with their kinds and defaults only: the installed controllers' specs tell which of them have an effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

__all__ = ("FLAGS", "VERSION", "Effect", "Flag", "Kind")

#: The version of Kubernetes whose flags these are.
VERSION: Final = "1.36"


class Kind(Enum):
    """What a flag takes. The values are the words that ``--help`` shows."""

    BOOL = ""
    INT = "int"
    FLOAT = "float"
    TEXT = "string"
    DURATION = "duration"
    #: Texts with commas between. If the flag is repeated, they are added to those before.
    LIST = "strings"


class Effect(Enum):
    """What a flag does here. The values are the words of the table."""

    SAME = "same"
    OTHER = "other default"
    NONE = "no effect"
    REFUSED = "refused"
    #: A flag of a controller: the same if the controller is here, without effect if it is not.
    CONTROLLER = "same, if its controller is here"


@dataclass(frozen=True, slots=True)
class Flag:
    """
    One flag.

    :param name: without dashes
    :param default: its default in Kubernetes, as it would be written
    :param section: the section of ``--help``
    :param here: the default here, if it is another one
    :param why: why it differs, or has no effect, or is refused
    """

    name: str
    kind: Kind
    default: str
    section: str
    effect: Effect
    here: str = ""
    why: str = ""


_B, _I, _F, _T, _D, _L = Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.TEXT, Kind.DURATION, Kind.LIST

_PROFILES: Final = "a Go profiler reads them. `/page` and `kinformer debug` show where time goes here."
_HTTP2: Final = "the endpoint speaks HTTP/1.1."
_FRONT_PROXY: Final = "names of users in headers are never believed. Use a token or a client certificate."
_LOOKUP: Final = "nothing is looked up in the cluster: client certificates count only with `--client-ca-file`."
_MIGRATION: Final = "controllers cannot be handed over to cloud-controller-manager while both run."
_METRICS: Final = "all metrics are shown, with all their labels."
_KLOG: Final = "there is one log, to standard error, without a buffer."

#: The flags that are no controller's, by section: name, kind, default, effect, and why.
_OWN: Final[Mapping[str, tuple[tuple[str, Kind, str, Effect, str, str], ...]]] = {
    "Debugging": (
        ("contention-profiling", _B, "false", Effect.NONE, "", _PROFILES),
        ("profiling", _B, "true", Effect.NONE, "", _PROFILES),
    ),
    "Leader migration": (
        ("enable-leader-migration", _B, "false", Effect.REFUSED, "", _MIGRATION),
        ("leader-migration-config", _T, "", Effect.REFUSED, "", _MIGRATION),
    ),
    "Generic": (
        ("cidr-allocator-type", _T, "RangeAllocator", Effect.SAME, "", "any other value is refused, as there."),
        ("cloud-config", _T, "", Effect.NONE, "", "the cloud's controllers run in cloud-controller-manager."),
        ("cloud-provider", _T, "", Effect.SAME, "", "empty or `external`; any other value is refused, as there."),
        ("controller-shutdown-timeout", _D, "10s", Effect.SAME, "", ""),
        ("controller-start-interval", _D, "0s", Effect.NONE, "", "all controllers start at once."),
        ("controllers", _L, "*", Effect.SAME, "", "a controller that is not here is named in the log."),
        ("emulated-version", _L, "", Effect.REFUSED, "", "only `1.36` is accepted: there is one behaviour."),
        ("external-cloud-volume-plugin", _T, "", Effect.NONE, "", "1.36 has no such plug-ins any more."),
        ("feature-gates", _L, "", Effect.SAME, "", "a gate that no controller here asks for is named in the log."),
        ("kube-api-burst", _I, "30", Effect.SAME, "", "counts only with `--kube-api-qps`."),
        ("kube-api-content-type", _T, "application/vnd.kubernetes.protobuf", Effect.NONE, "", "always JSON."),
        (
            "kube-api-qps",
            _F,
            "20",
            Effect.OTHER,
            "no limit",
            (
                "the server's priority and fairness decides better. The limit is for each service account, or for all "
                "controllers together without `--use-service-account-credentials`. A negative number means no limit, "
                "as in kube-controller-manager. So does 0, which means 5 there. Without this flag, all controllers "
                "together delete at most 50 objects a second, with bursts of 100."
            ),
        ),
        ("leader-elect", _B, "true", Effect.SAME, "", ""),
        ("leader-elect-lease-duration", _D, "15s", Effect.SAME, "", ""),
        ("leader-elect-renew-deadline", _D, "10s", Effect.SAME, "", ""),
        ("leader-elect-resource-lock", _T, "leases", Effect.SAME, "", ""),
        ("leader-elect-resource-name", _T, "kube-controller-manager", Effect.SAME, "", ""),
        ("leader-elect-resource-namespace", _T, "kube-system", Effect.SAME, "", ""),
        ("leader-elect-retry-period", _D, "2s", Effect.SAME, "", ""),
        ("min-compatibility-version", _L, "", Effect.NONE, "", "nothing here depends on it."),
        ("min-resync-period", _D, "12h0m0s", Effect.NONE, "", "what failed is tried again, so nothing is replayed."),
        ("use-service-account-credentials", _B, "false", Effect.SAME, "", ""),
        ("allow-untagged-cloud", _B, "false", Effect.NONE, "", "it is deprecated, and does nothing there either."),
        ("node-sync-period", _D, "0s", Effect.NONE, "", "it is deprecated, and does nothing there either."),
    ),
    "Secure serving": (
        ("bind-address", _T, "0.0.0.0", Effect.SAME, "", ""),
        ("cert-dir", _T, "", Effect.NONE, "", "a self-signed certificate stays in memory, as there without this flag."),
        ("disable-http2-serving", _B, "false", Effect.NONE, "", _HTTP2),
        ("http2-max-streams-per-connection", _I, "0", Effect.NONE, "", _HTTP2),
        ("permit-address-sharing", _B, "false", Effect.NONE, "", "the address of an ended process is always taken."),
        ("permit-port-sharing", _B, "false", Effect.REFUSED, "", "a second process could answer probes of the first."),
        ("secure-port", _I, "10257", Effect.SAME, "", ""),
        ("tls-cert-file", _T, "", Effect.SAME, "", ""),
        (
            "tls-cipher-suites",
            _L,
            "",
            Effect.OTHER,
            "Python's",
            "they are those of OpenSSL's and Python's security policy. The names are Kubernetes'.",
        ),
        ("tls-curve-preferences", _L, "", Effect.REFUSED, "", "Python cannot choose several curves."),
        (
            "tls-min-version",
            _T,
            "",
            Effect.SAME,
            "",
            "the default is `VersionTLS12` there as well.",
        ),
        ("tls-private-key-file", _T, "", Effect.SAME, "", ""),
        ("tls-sni-cert-key", _L, "", Effect.REFUSED, "", "the endpoint has one certificate: `--tls-cert-file`."),
    ),
    "Authentication": (
        (
            "authentication-kubeconfig",
            _T,
            "",
            Effect.OTHER,
            "`--kubeconfig`",
            "without it, kube-controller-manager treats the owner of every token as anonymous.",
        ),
        ("authentication-skip-lookup", _B, "false", Effect.NONE, "", _LOOKUP),
        ("authentication-token-webhook-cache-ttl", _D, "10s", Effect.SAME, "", ""),
        ("authentication-tolerate-lookup-failure", _B, "false", Effect.NONE, "", _LOOKUP),
        (
            "client-ca-file",
            _T,
            "",
            Effect.SAME,
            "",
            "a certificate of another authority ends the handshake; there, the request is refused.",
        ),
        ("requestheader-allowed-names", _L, "", Effect.NONE, "", _FRONT_PROXY),
        ("requestheader-client-ca-file", _T, "", Effect.NONE, "", _FRONT_PROXY),
        ("requestheader-extra-headers-prefix", _L, "x-remote-extra-", Effect.NONE, "", _FRONT_PROXY),
        ("requestheader-group-headers", _L, "x-remote-group", Effect.NONE, "", _FRONT_PROXY),
        ("requestheader-uid-headers", _L, "", Effect.NONE, "", _FRONT_PROXY),
        ("requestheader-username-headers", _L, "x-remote-user", Effect.NONE, "", _FRONT_PROXY),
    ),
    "Authorization": (
        ("authorization-always-allow-paths", _L, "/healthz,/readyz,/livez", Effect.SAME, "", ""),
        (
            "authorization-kubeconfig",
            _T,
            "",
            Effect.OTHER,
            "`--kubeconfig`",
            "without it, kube-controller-manager refuses all other paths to everybody.",
        ),
        ("authorization-webhook-cache-authorized-ttl", _D, "10s", Effect.SAME, "", ""),
        ("authorization-webhook-cache-unauthorized-ttl", _D, "10s", Effect.SAME, "", ""),
    ),
    "Metrics": (
        ("allow-metric-labels", _L, "", Effect.NONE, "", _METRICS),
        ("allow-metric-labels-manifest", _T, "", Effect.NONE, "", _METRICS),
        ("disabled-metrics", _L, "", Effect.NONE, "", _METRICS),
        ("show-hidden-metrics-for-version", _T, "", Effect.NONE, "", _METRICS),
    ),
    "Logs": (
        ("log-flush-frequency", _D, "5s", Effect.NONE, "", _KLOG),
        ("log-text-info-buffer-size", _T, "0", Effect.NONE, "", _KLOG),
        ("log-text-split-stream", _B, "false", Effect.NONE, "", _KLOG),
        ("logging-format", _T, "text", Effect.SAME, "", "`text` or `json`."),
        ("v", _I, "0", Effect.SAME, "", ""),
        ("vmodule", _T, "", Effect.NONE, "", "details are switched on for everything, by `--v`."),
    ),
    "Misc": (
        (
            "kubeconfig",
            _T,
            "",
            Effect.OTHER,
            "`$KUBECONFIG` or `~/.kube/config`",
            "if neither is there, the pod's service account is used, as there.",
        ),
        ("master", _T, "", Effect.REFUSED, "", "the kubeconfig has the server's address."),
    ),
    "Global": (
        ("help", _B, "false", Effect.SAME, "", ""),
        ("version", _T, "false", Effect.SAME, "", "prints this project's version."),
    ),
}

#: The flags of controllers: kind and default, by name.
_OF_CONTROLLERS: Final[Mapping[str, tuple[Kind, str]]] = {
    "allocate-node-cidrs": (_B, "false"),
    "attach-detach-reconcile-sync-period": (_D, "1m0s"),
    "cluster-cidr": (_T, ""),
    "cluster-name": (_T, "kubernetes"),
    **{
        f"cluster-signing-{part}{what}-file": (_T, "")
        for part in ("", "kube-apiserver-client-", "kubelet-client-", "kubelet-serving-", "legacy-unknown-")
        for what in ("cert", "key")
    },
    "cluster-signing-duration": (_D, "8760h0m0s"),
    "concurrent-cron-job-syncs": (_I, "5"),
    "concurrent-daemonset-syncs": (_I, "2"),
    "concurrent-deployment-syncs": (_I, "5"),
    "concurrent-device-taint-eviction-syncs": (_I, "8"),
    "concurrent-endpoint-syncs": (_I, "5"),
    "concurrent-ephemeralvolume-syncs": (_I, "5"),
    "concurrent-gc-syncs": (_I, "20"),
    "concurrent-horizontal-pod-autoscaler-syncs": (_I, "5"),
    "concurrent-job-syncs": (_I, "5"),
    "concurrent-namespace-syncs": (_I, "10"),
    "concurrent-rc-syncs": (_I, "5"),
    "concurrent-replicaset-syncs": (_I, "5"),
    "concurrent-resource-quota-syncs": (_I, "5"),
    "concurrent-resourceclaim-syncs": (_I, "50"),
    "concurrent-service-endpoint-syncs": (_I, "5"),
    "concurrent-service-syncs": (_I, "1"),
    "concurrent-serviceaccount-token-syncs": (_I, "5"),
    "concurrent-statefulset-syncs": (_I, "5"),
    "concurrent-ttl-after-finished-syncs": (_I, "5"),
    "concurrent-validating-admission-policy-status-syncs": (_I, "5"),
    "configure-cloud-routes": (_B, "true"),
    "disable-attach-detach-reconcile-sync": (_B, "false"),
    "disable-force-detach-on-timeout": (_B, "false"),
    "enable-dynamic-provisioning": (_B, "true"),
    "enable-garbage-collector": (_B, "true"),
    "enable-hostpath-provisioner": (_B, "false"),
    "endpoint-updates-batch-period": (_D, "0s"),
    "endpointslice-updates-batch-period": (_D, "0s"),
    "flex-volume-plugin-dir": (_T, "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"),
    "horizontal-pod-autoscaler-cpu-initialization-period": (_D, "5m0s"),
    "horizontal-pod-autoscaler-downscale-stabilization": (_D, "5m0s"),
    "horizontal-pod-autoscaler-initial-readiness-delay": (_D, "30s"),
    "horizontal-pod-autoscaler-sync-period": (_D, "15s"),
    "horizontal-pod-autoscaler-tolerance": (_F, "0.1"),
    "large-cluster-size-threshold": (_I, "50"),
    "legacy-service-account-token-clean-up-period": (_D, "8760h0m0s"),
    "max-endpoints-per-slice": (_I, "100"),
    "mirroring-concurrent-service-endpoint-syncs": (_I, "5"),
    "mirroring-endpointslice-updates-batch-period": (_D, "0s"),
    "mirroring-max-endpoints-per-subset": (_I, "1000"),
    "namespace-sync-period": (_D, "5m0s"),
    "node-cidr-mask-size": (_I, "0"),
    "node-cidr-mask-size-ipv4": (_I, "0"),
    "node-cidr-mask-size-ipv6": (_I, "0"),
    "node-eviction-rate": (_F, "0.1"),
    "node-monitor-grace-period": (_D, "50s"),
    "node-monitor-period": (_D, "5s"),
    "node-startup-grace-period": (_D, "1m0s"),
    "pv-recycler-increment-timeout-nfs": (_I, "30"),
    "pv-recycler-minimum-timeout-hostpath": (_I, "60"),
    "pv-recycler-minimum-timeout-nfs": (_I, "300"),
    "pv-recycler-pod-template-filepath-hostpath": (_T, ""),
    "pv-recycler-pod-template-filepath-nfs": (_T, ""),
    "pv-recycler-timeout-increment-hostpath": (_I, "30"),
    "pvclaimbinder-sync-period": (_D, "15s"),
    "resource-quota-sync-period": (_D, "5m0s"),
    "root-ca-file": (_T, ""),
    "route-reconciliation-period": (_D, "10s"),
    "secondary-node-eviction-rate": (_F, "0.01"),
    "service-account-private-key-file": (_T, ""),
    "service-cluster-ip-range": (_T, ""),
    "terminated-pod-gc-threshold": (_I, "12500"),
    "unhealthy-zone-threshold": (_F, "0.55"),
}
_OWN_FLAGS: Final = tuple(
    Flag(name, kind, default, section, effect, here, why)
    for section, rows in _OWN.items()
    for name, kind, default, effect, here, why in rows
)
_CONTROLLERS_FLAGS: Final = tuple(
    Flag(name, kind, default, "Controllers", Effect.CONTROLLER) for name, (kind, default) in _OF_CONTROLLERS.items()
)
FLAGS: Final[Mapping[str, Flag]] = {flag.name: flag for flag in (*_OWN_FLAGS, *_CONTROLLERS_FLAGS)}
