"""In the place of ``k8s-crd-resolver``, which is not on the package registry: for dask-kubernetes' tests.

    python crds.py -r -j PATCH DEFINITION RESULT

It writes a CustomResourceDefinition with the types that it refers to, and applies a JSON patch of `add`s. The types of
Kubernetes come from the package kubernetes-validate. The program runs in the environment of the tests, which does not
have this project.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import yaml

__all__ = ("resolve",)

_TYPES: Final = "kubernetes-json-schema/v1.25.0-local/_definitions.json"
_EITHER: Final = {"x-kubernetes-int-or-string": True}
_KUBERNETES: Final = {
    **json.loads(files("kubernetes_validate").joinpath(_TYPES).read_text(encoding="utf-8"))["$defs"],
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _EITHER,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _EITHER,
}


def resolve(given: Any) -> Any:
    """The schema without references, without descriptions, and without what a definition may not have."""
    if isinstance(given, list):
        return [resolve(part) for part in given]
    if not isinstance(given, dict):
        return given
    if isinstance(given.get("$ref"), str):
        return resolve(_referred(given["$ref"]))
    if isinstance(types := given.get("type"), list):
        given = {**given, "type": types[0]}  # the other is null
    return {key: resolve(value) for key, value in given.items() if not _is_dropped(key, value)}


def _referred(to: str) -> Any:
    file, _, place = to.partition("#")
    name = place.rpartition("/")[2]
    if not file or file.startswith("python://k8s_crd_resolver/"):
        return _KUBERNETES[name]
    return yaml.safe_load(Path(file.removeprefix("python://")).read_text(encoding="utf-8"))["definitions"][name]


def _is_dropped(key: str, value: Any) -> bool:
    about_types = key.startswith("x-kubernetes-") and key not in _EITHER
    return about_types or (key == "description" and isinstance(value, str))


def _add(definition: Any, path: str, value: Any) -> None:
    *way, last = path.strip("/").split("/")
    for part in way:
        definition = definition[int(part) if isinstance(definition, list) else part]
    definition[last] = value


if __name__ == "__main__":
    patch, source, result = map(Path, sys.argv[3:])
    resolved = resolve(yaml.safe_load(source.read_text(encoding="utf-8")))
    for step in json.loads(patch.read_text(encoding="utf-8")):
        assert step["op"] == "add"
        _add(resolved, step["path"], step["value"])
    result.write_text(yaml.safe_dump(resolved), encoding="utf-8")
