"""``kinformer crd import``: prints the Python classes of a CustomResourceDefinition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import click

from kinformer.cli.crd import CrdError
from kinformer.cli.manifests import Manifest, parse_manifests, read_manifests
from kinformer.client import NotFound, connect
from kinformer.client.causes import cause_of
from kinformer.models import V1CustomResourceDefinition, to_dict
from kinformer.operator.source import NoDefinition, source_of

__all__ = ("run",)

_KIND = "CustomResourceDefinition"
_SIGNS_OF_A_FILE = (".yaml", ".yml", ".json")


async def run(*, source: str) -> int:
    """
    Print a module with the classes of one definition.

    :param source: a file or a URL of YAML or JSON with one definition, or the name of a definition of the cluster that
        kubectl would use
    :raises CrdError: if there is no definition or several, or no classes can be made from it
    :raises ManifestError: if the file cannot be read, or there is something else than objects in it
    """
    if "://" in source:
        found = _definitions(parse_manifests(await _content(source), source))
    elif source.endswith(_SIGNS_OF_A_FILE) or "/" in source:
        found = _definitions(read_manifests(Path(source)))
    else:
        found = [await _of_cluster(source)]
    if len(found) != 1:
        names = ", ".join(str(one["metadata"]["name"]) for one in found)
        raise CrdError(f"{source} has {f'several definitions ({names})' if found else 'no definition'}: want one")
    try:
        click.echo(source_of(found[0]), nl=False)
    except NoDefinition as error:
        raise CrdError(f"{source}: {error}") from error
    return 0


def _definitions(manifests: Iterable[Manifest]) -> list[Mapping[str, Any]]:
    return [manifest.obj for manifest in manifests if manifest.obj["kind"] == _KIND]


async def _content(url: str) -> bytes:
    try:
        async with aiohttp.ClientSession(trust_env=True, raise_for_status=True) as session:
            return await (await session.get(url)).read()
    except (aiohttp.ClientError, TimeoutError) as error:
        raise CrdError(f"{url} cannot be read: {cause_of(error) or type(error).__name__}") from error


async def _of_cluster(name: str) -> Mapping[str, Any]:
    async with connect() as client:
        try:
            return to_dict(await client.resource(V1CustomResourceDefinition).get(name))
        except NotFound as error:
            raise CrdError(f"the cluster has no definition {name}: want a name such as shops.example.com") from error
