"""Manifests: read objects from YAML files, and apply them. Errors name the file and the line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kinformer.client import AlreadyExists, ApiError, Client, NoKindMatch, PatchType

__all__ = ("Manifest", "ManifestError", "apply_manifests", "parse_manifests", "read_manifests")


class ManifestError(Exception):
    """A manifest cannot be read or applied. The text names the file, usually the line, and the reason."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """
    One object of a YAML file.

    :param source: the file and the line at which the object begins: ``web.yaml:12``
    :param obj: the object
    """

    source: str
    obj: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.obj['kind']} {self.obj['metadata']['name']}"


def read_manifests(path: Path) -> list[Manifest]:
    """
    Read the objects of a YAML file, or of all ``.yaml`` and ``.yml`` files of a folder in the order of their names.

    A ``List``, as kubectl prints it, is replaced by its items.

    :raises ManifestError: if a file cannot be read, there are no objects, or something in a file is not an object
    """
    files = sorted(file for file in path.iterdir() if file.suffix in (".yaml", ".yml")) if path.is_dir() else [path]
    manifests = [manifest for file in files for manifest in _read(file)]
    if not manifests:
        raise ManifestError(f"{path}: no manifests in it")
    return manifests


def _read(file: Path) -> Iterator[Manifest]:
    try:
        return parse_manifests(file.read_bytes(), str(file))
    except OSError as error:
        raise ManifestError(f"{file}: {error.strerror}") from error


def parse_manifests(content: bytes, file: str) -> Iterator[Manifest]:
    """
    The objects of some YAML.

    :param file: the name of the file, or its URL, for errors
    :raises ManifestError: if it is not YAML, or something in it is not an object
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ManifestError(f"{file}: is not text: {error.reason} at byte {error.start}") from error
    loader = yaml.SafeLoader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is None:
                continue
            obj = loader.construct_document(node)
            source = f"{file}:{node.start_mark.line + 1}"
            if isinstance(obj, dict) and obj.get("kind") == "List" and isinstance(obj.get("items"), list):
                for item in obj["items"]:
                    yield _checked(source, item)
            elif obj is not None:
                yield _checked(source, obj)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        raise ManifestError(f"{file}{line}: is not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ManifestError(f"{file}: is not YAML: {error}") from error
    finally:
        loader.dispose()


def _checked(source: str, obj: Any) -> Manifest:
    if not isinstance(obj, dict):
        raise ManifestError(f"{source}: is not an object: want apiVersion, kind and metadata")
    for field in ("apiVersion", "kind"):
        if not isinstance(obj.get(field), str) or not obj[field]:
            raise ManifestError(f"{source}: has no {field}")
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise ManifestError(f"{source}: {obj['kind']} has no metadata.name")
    return Manifest(source, obj)


async def apply_manifests(client: Client, manifests: list[Manifest]) -> None:
    """
    Create the objects, in the order of the list. If an object exists already, its manifest is merged into it.

    An object of a namespaced kind that names no namespace goes to ``default``, as with kubectl.

    :raises ManifestError: if the server does not know a kind, or refuses an object
    """
    for manifest in manifests:
        try:
            resource = await client.resource_for_object(manifest.obj)
            metadata = manifest.obj["metadata"]
            namespace = metadata.get("namespace") or ("default" if resource.namespaced else "")
            try:
                await resource.create(manifest.obj, namespace)
            except AlreadyExists:
                await resource.patch(metadata["name"], manifest.obj, namespace, patch_type=PatchType.MERGE)
        except (NoKindMatch, ApiError, ValueError) as error:
            raise ManifestError(f"{manifest.source}: {manifest}: {error}") from error
