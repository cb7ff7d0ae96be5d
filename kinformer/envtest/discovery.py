"""Discovery: the documents in which clients find what the server serves.

They are the documents of groups and resources (one by one and aggregated), the server's version, and the list of paths.
"""

from __future__ import annotations

from typing import Any

from kinformer.envtest.datafiles import read_table, read_yaml
from kinformer.envtest.openapi import openapi_document, openapi_index
from kinformer.envtest.registry import Registry, Resource
from kinformer.meta.names import GroupVersion

__all__ = ("VERSION", "Discovery")

#: The default content of ``/version``.
VERSION: dict[str, str] = read_yaml(__package__, "version.yaml")

Document = dict[str, Any]


class Discovery:
    """
    The documents for the current content of a registry.

    :param address: ``host:port`` of the server in the documents
    :param version: the content of ``/version``
    """

    def __init__(self, registry: Registry, address: str, version: dict[str, str]):
        self._registry = registry
        self._address = address
        self._version = version

    def document(self, segments: list[str], aggregated: str) -> Document | None:
        """
        The document at a path.

        :param segments: the parts of the path, without empty ones
        :param aggregated: the version of aggregated discovery that the client accepts. ``""`` if it accepts none
        :return: None if there is no such document
        """
        match segments:
            case []:
                return {"paths": self._paths()}
            case ["openapi", "v2"]:
                about = {"title": "Kubernetes", "version": self._version["gitVersion"]}
                return {"swagger": "2.0", "info": about, "paths": {}, "definitions": {}}
            case ["openapi", "v3"]:
                return openapi_index(self._registry)
            case ["openapi", "v3", "api", version]:
                return openapi_document(self._registry, "", version, self._version["gitVersion"])
            case ["openapi", "v3", "apis", group, version]:
                return openapi_document(self._registry, group, version, self._version["gitVersion"])
            case ["version"]:
                return dict(self._version)
            case ["api"]:
                return self._aggregated([("", "v1")], aggregated) if aggregated else self._core_versions()
            case ["apis"]:
                served = [one for one in self._registry.group_versions() if one[0]]
                return self._aggregated(served, aggregated) if aggregated else self._groups(served)
            case ["api", version]:
                return self._resources("", version)
            case ["apis", group]:
                return self._group_document(group)
            case ["apis", group, version]:
                return self._resources(group, version)
        return None

    def _paths(self) -> list[str]:
        listed = {name: words for name, *words in read_table(__package__, "paths.txt")}
        groups = {group for group, _ in self._registry.group_versions() if group}
        paths = {"/api", "/api/v1", "/apis", "/apis/", *listed.pop("other")}
        paths.update(f"/apis/{group}" for group in groups)
        paths.update(f"/apis/{group}/{version}" for group, version in self._registry.group_versions() if group)
        hooks = listed.pop("hooks")
        for probe, checks in listed.items():
            paths.add(f"/{probe}")
            paths.update(f"/{probe}/{check}" for check in (*checks, *(f"poststarthook/{hook}" for hook in hooks)))
        return sorted(paths)

    def _core_versions(self) -> Document:
        addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}]
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}

    def _groups(self, served: list[tuple[str, str]]) -> Document:
        names = dict.fromkeys(group for group, _ in served)
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [self._group(name) for name in names]}

    def _group(self, name: str) -> Document:
        versions = [
            {"groupVersion": str(GroupVersion(group, version)), "version": version}
            for group, version in self._registry.group_versions()
            if group == name
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _group_document(self, name: str) -> Document | None:
        if not any(group == name for group, _ in self._registry.group_versions()):
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(name)}

    def _resources(self, group: str, version: str) -> Document | None:
        if not self._registry.has_group_version(group, version):
            return None
        listed: list[Document] = []
        for resource in self._registry.resources(group, version):
            listed.append(_describe(resource))
            listed += _describe_subresources(resource)
        listed.sort(key=lambda one: str(one["name"]))
        head = {"kind": "APIResourceList", "groupVersion": str(GroupVersion(group, version)), "resources": listed}
        # In a cluster, only the list of the core group has no apiVersion.
        return head if not group and version == "v1" else {"apiVersion": "v1", **head}

    def _aggregated(self, served: list[tuple[str, str]], version: str) -> Document:
        groups: dict[str, list[Document]] = {}
        for group, group_version in served:
            resources = sorted(self._registry.resources(group, group_version), key=lambda one: one.plural)
            entry = {
                "version": group_version,
                "resources": [_describe_aggregated(one) for one in resources],
                "freshness": "Current",
            }
            groups.setdefault(group, []).append(entry)
        items = [
            {
                "metadata": {"name": name, "creationTimestamp": None} if name else {"creationTimestamp": None},
                "versions": versions,
            }
            for name, versions in groups.items()
        ]
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{version}",
            "metadata": {},
            "items": items,
        }


def _other_names(resource: Resource) -> Document:
    names = {"shortNames": resource.short_names, "categories": resource.categories}
    return {name: list(given) for name, given in names.items() if given}


def _describe(resource: Resource) -> Document:
    described: Document = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    described |= _other_names(resource)
    if "watch" in resource.verbs:
        described["storageVersionHash"] = resource.storage_version_hash
    return described


def _describe_subresources(resource: Resource) -> list[Document]:
    found = []
    for name, sub in resource.subresources.items():
        described: Document = {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": sub.gvk.kind,
            "verbs": list(sub.verbs),
        }
        if sub.gvk.group != resource.group:
            described |= {"group": sub.gvk.group, "version": sub.gvk.version}
        found.append(described)
    return found


def _describe_aggregated(resource: Resource) -> Document:
    described: Document = {
        "resource": resource.plural,
        "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    described |= _other_names(resource)
    if resource.subresources:
        described["subresources"] = [
            {
                "subresource": name,
                "responseKind": {"group": sub.gvk.group, "version": sub.gvk.version, "kind": sub.gvk.kind},
                "verbs": list(sub.verbs),
            }
            for name, sub in sorted(resource.subresources.items())
        ]
    return described
