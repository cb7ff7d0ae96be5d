"""Write what is made from the controllers' specs: the tables in the documentation, and the entry points.

Run ``python -m scripts.catalogue`` after a spec was added or changed. A test in ``tests/docs`` checks that all of it
is up to date.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path
from typing import Final

import kinformer_controllers
from kinformer.options import options_of
from kinformer.spec import ControllerSpec
from scripts.flags import FIRST, FLAGS_PAGE, flags_table

__all__ = (
    "GUIDE",
    "PAGE",
    "PYPROJECT",
    "SECTIONS",
    "SHARDING",
    "entry_points_text",
    "flags_text",
    "main",
    "sharding_text",
    "specs",
    "table_text",
)

_ROOT: Final = Path(__file__).parents[1]
PAGE: Final = _ROOT / "docs" / "controllers" / "README.md"
GUIDE: Final = _ROOT / "docs" / "controllers.md"
SHARDING: Final = _ROOT / "docs" / "sharding.md"
PYPROJECT: Final = _ROOT / "pyproject.toml"

#: The sections of the page, and the controllers in each. A controller without a spec is left out for the given reason:
#: its short name, whether Kubernetes runs it by default, and why it is not here.
SECTIONS: Final[dict[str, dict[str, tuple[str, str, str] | None]]] = {
    "Workloads": {
        "deployment-controller": None,
        "replicaset-controller": None,
        "replicationcontroller-controller": None,
        "statefulset-controller": None,
        "daemonset-controller": None,
        "job-controller": None,
        "cronjob-controller": None,
        "ttl-after-finished-controller": None,
        "disruption-controller": None,
        "horizontal-pod-autoscaler-controller": None,
        "podgroup-protection-controller": None,
    },
    "Pods, nodes, objects without owners": {
        "garbage-collector-controller": None,
        "namespace-controller": None,
        "pod-garbage-collector-controller": None,
        "node-lifecycle-controller": None,
        "taint-eviction-controller": None,
        "node-ipam-controller": None,
        "ttl-controller": None,
        "resourcequota-controller": None,
        "device-taint-eviction-controller": None,
        "resourceclaim-controller": None,
        "resourcepoolstatusrequest-controller": None,
    },
    "Services": {
        "endpoints-controller": None,
        "endpointslice-controller": None,
        "endpointslice-mirroring-controller": None,
        "service-cidr-controller": None,
        "service-lb-controller": None,
        "node-route-controller": None,
        "cloud-node-lifecycle-controller": None,
    },
    "Accounts, certificates, roles": {
        "serviceaccount-controller": None,
        "serviceaccount-token-controller": None,
        "legacy-serviceaccount-token-cleaner-controller": None,
        "root-ca-certificate-publisher-controller": None,
        "certificatesigningrequest-approving-controller": None,
        "certificatesigningrequest-signing-controller": None,
        "certificatesigningrequest-cleaner-controller": None,
        "podcertificaterequest-cleaner-controller": None,
        "kube-apiserver-serving-clustertrustbundle-publisher-controller": None,
        "service-ca-certificate-publisher-controller": (
            "service-ca-cert-publisher",
            "no",
            "it is part of OpenShift. `--controllers` accepts its name.",
        ),
        "clusterrole-aggregation-controller": None,
        "validatingadmissionpolicy-status-controller": None,
        "bootstrap-signer-controller": None,
        "token-cleaner-controller": None,
    },
    "Volumes": {
        "persistentvolume-binder-controller": None,
        "persistentvolume-expander-controller": None,
        "persistentvolumeclaim-protection-controller": None,
        "persistentvolume-protection-controller": None,
        "persistentvolume-attach-detach-controller": None,
        "ephemeral-volume-controller": None,
        "volumeattributesclass-protection-controller": None,
        "selinux-warning-controller": None,
    },
    "Stored versions": {
        "storageversion-garbage-collector-controller": None,
        "storage-version-migrator-controller": None,
    },
}

#: What the column "by default" says of a controller, if it is more than yes or no.
_BY_DEFAULT: Final = {
    "cloud-node-lifecycle-controller": "by cloud-controller-manager",
    "node-ipam-controller": "yes, and does nothing without `--allocate-node-cidrs`",
    "node-route-controller": "by cloud-controller-manager",
    "service-lb-controller": "by cloud-controller-manager",
    "serviceaccount-token-controller": "yes, with a signing key",
}
#: Short names that Kubernetes does not have.
_OWN_ALIASES: Final = ("taint-eviction",)
_SHARDED_HEAD: Final = "| controller | shared by | why it runs on a leader only |\n|---|---|---|\n"
_SHARED_BY: Final = {"owner": "namespace or owner"}
_GUIDE_HEAD: Final = "| name | what it does | flags |\n"
_HEAD: Final = (
    "| long name | short name | by default | here | what differs, or why it is left out |\n|---|---|---|---|---|\n"
)


def specs() -> dict[str, tuple[str, ControllerSpec]]:
    """The package and the spec of each built-in controller, by its name."""
    found: dict[str, tuple[str, ControllerSpec]] = {}
    for module in pkgutil.iter_modules(kinformer_controllers.__path__):
        name = f"{kinformer_controllers.__name__}.{module.name}.spec"
        if module.ispkg and importlib.util.find_spec(name) is not None:
            spec: ControllerSpec = importlib.import_module(name).SPEC
            found[spec.name] = (module.name, spec)
    return found


def table_text() -> str:
    """The page's sections, from the first heading to the end."""
    here = specs()
    parts = []
    for title, names in SECTIONS.items():
        rows = [_row(name, left_out, here.get(name)) for name, left_out in names.items()]
        parts.append(f"## {title}\n\n{_HEAD}" + "".join(rows))
    return "\n".join(parts)


def _row(name: str, left_out: tuple[str, str, str] | None, found: tuple[str, ControllerSpec] | None) -> str:
    if found is None:
        if left_out is None:
            raise LookupError(f"{name} has no spec: want one, or the reason why it is left out")
        short, default, why = left_out
        return f"| `{name}` |{f' `{short}` ' if short else ' '}| {default} | | Left out: {why} |\n"
    package, spec = found
    default = _BY_DEFAULT.get(name, "yes" if spec.on_by_default else "no")
    if spec.feature_gate:
        default = f"no (`{spec.feature_gate}`)"
    short = "".join(f" `{alias}`{' (here only)' if alias in _OWN_ALIASES else ''} " for alias in spec.aliases) or " "
    differs = spec.differs or "nothing that can be seen"
    return f"| `{name}` |{short}| {default} | [`{package}`]({spec.page}) | {differs} |\n"


def flags_text() -> str:
    """The table of the guide: what each controller does, and its flags."""
    lines = ["| name | what it does | flags |\n|---|---|---|\n"]
    here = specs()
    for name in [name for names in SECTIONS.values() for name in names if name in here]:
        _, spec = here[name]
        flags = [f"`{one.flag}`" for one in options_of(spec.options)] if spec.options is not None else []
        short = (spec.aliases or (name,))[0]
        lines.append(
            f"| [`{short}`](controllers/{spec.page}) | {spec.summary} | {', '.join(flags)} |\n".replace("|  |", "| |")
        )
    return "".join(lines)


def sharding_text() -> str:
    """The table of what decides the shard of each controller's keys, or why processes cannot share them."""
    rows = []
    for name, (_, spec) in specs().items():
        shared_by = _SHARED_BY.get(spec.sharded_by, spec.sharded_by)
        row = f"| `{(spec.aliases or (name,))[0]}` | {shared_by} | {spec.on_leader} |\n"
        rows.append(row.replace("|  |", "| |"))
    return _SHARDED_HEAD + "".join(sorted(rows))


def entry_points_text() -> str:
    """The entry points of the built-in controllers, as lines of pyproject.toml: by the short name, if there is one."""
    lines = sorted(
        f'{(spec.aliases or (name,))[0]} = "kinformer_controllers.{package}.spec:SPEC"\n'
        for name, (package, spec) in specs().items()
    )
    return "".join(lines)


def main() -> None:
    """Write all files."""
    guide = GUIDE.read_text()
    GUIDE.write_text(guide[: guide.index(_GUIDE_HEAD)] + flags_text())
    page = PAGE.read_text()
    PAGE.write_text(page[: page.index("## ")] + table_text())
    page = SHARDING.read_text()
    SHARDING.write_text(re.sub(rf"{re.escape(_SHARDED_HEAD)}(?:\|.*\n)*", lambda _: sharding_text(), page))
    text = FLAGS_PAGE.read_text()
    FLAGS_PAGE.write_text(text[: text.index(FIRST)] + flags_table())
    PYPROJECT.write_text(
        re.sub(
            r'(?<=\[project\.entry-points\."kinformer\.controllers"\]\n).*?(?=\n\[)',
            lambda _: entry_points_text(),
            PYPROJECT.read_text(),
            flags=re.DOTALL,
        )
    )


if __name__ == "__main__":
    main()
