"""``kinformer manager --dry-run``: print the flags of a manager, and check its permissions.

The output is YAML that ``--config`` takes. It has each flag with its value and a comment that says where the value
comes from. At the end, comments say which permissions are missing: the server is asked with a SelfSubjectAccessReview
for each permission that the selected controllers declare.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import click
import yaml
from click.core import ParameterSource

from kinformer.cli.config_file import ConfigFile
from kinformer.cli.config_keys import keys_of
from kinformer.cli.flags import NAMES, values_of_flags, variable_of
from kinformer.client import Client
from kinformer.models import V1ResourceAttributes, V1SelfSubjectAccessReview, V1SelfSubjectAccessReviewSpec
from kinformer.permissions import Permission, Rule, permissions_of

__all__ = ("Review", "effective_configuration", "review", "shown_review")


def effective_configuration(context: click.Context) -> Iterator[str]:
    """Each flag of a command as a line of YAML, with a comment that says where its value comes from."""
    config, values = ConfigFile.of(context), values_of_flags(context)
    for name, key in keys_of(context.command.get_params(context)).items():
        parameter = key.parameter
        value = values[name]
        source = _source(context, parameter, config)
        if parameter.type is NAMES and parameter.multiple:
            value = list(value)
        elif parameter.multiple:
            value = dict(pair.split("=", 1) for pair in value)
        elif isinstance(value, Path):
            value = str(value)
        if value is None:
            yield f"# {name} is not set"
        else:
            text = yaml.safe_dump({name: value}, default_flow_style=True, width=10_000).strip().removeprefix("{")
            yield f"{text.removesuffix('}')}  # {source}"


def _source(context: click.Context, parameter: click.Option, config: ConfigFile | None) -> str:
    name = parameter.name or ""
    match context.get_parameter_source(name):
        case ParameterSource.COMMANDLINE:
            return "flag"
        case ParameterSource.ENVIRONMENT:
            return f"environment {variable_of(parameter)}"
        case ParameterSource.DEFAULT_MAP if config is not None:
            return f"{config.path}, line {config.lines[name]}"
        case _:
            return "default"


@dataclass(frozen=True, slots=True)
class Review:
    """
    The result of asking the server about permissions.

    :param asked: how many permissions it was asked about
    :param missing: the permissions that it does not give, by the name of the controller that needs them
    :param undeclared: the controllers that do not declare which permissions they need
    """

    asked: int
    missing: Mapping[str, tuple[Permission, ...]]
    undeclared: tuple[str, ...]


async def review(client: Client, rules: Mapping[str, Iterable[Rule] | None], namespaces: Sequence[str] = ()) -> Review:
    """
    Ask the server whether this client has the permissions of some rules.

    :param rules: the rules by the name of the controller that needs them; None if it does not declare them
    :param namespaces: the only namespaces that the controllers work in; empty for all
    :raises ClientError: if the server cannot answer
    """
    wanted = {
        name: [where for one in permissions_of(it) for where in _in_each(one, namespaces)]
        for name, it in rules.items()
        if it is not None
    }
    each = list(dict.fromkeys(one for permissions in wanted.values() for one in permissions))
    reviews = client.resource(V1SelfSubjectAccessReview)
    allowed: dict[Permission, bool] = {}

    async def ask(one: Permission) -> None:
        attributes = V1ResourceAttributes(
            verb=one.verb,
            group=one.group,
            resource=one.resource,
            subresource=one.part or None,
            namespace=one.namespace or None,
            name=one.name or None,
        )
        asked = await reviews.create(
            V1SelfSubjectAccessReview(spec=V1SelfSubjectAccessReviewSpec(resource_attributes=attributes))
        )
        allowed[one] = asked.status is not None and bool(asked.status.allowed)

    async with anyio.create_task_group() as tasks:
        for one in each:
            tasks.start_soon(ask, one)
    missing = {
        name: lacking
        for name, permissions in wanted.items()
        if (lacking := tuple(one for one in permissions if not allowed[one]))
    }
    return Review(len(each), missing, tuple(name for name, it in rules.items() if it is None))


def _in_each(permission: Permission, namespaces: Sequence[str]) -> Iterator[Permission]:
    if permission.namespace or not namespaces:
        yield permission
    else:
        yield from (permission._replace(namespace=name) for name in namespaces)


def shown_review(review: Review) -> Iterator[str]:
    """The result as lines of comments, for the end of the configuration."""
    lacking = len({one for permissions in review.missing.values() for one in permissions})
    yield f"# permissions: {review.asked - lacking} of {review.asked} given"
    for name, permissions in review.missing.items():
        yield from (f"# missing for {name}: {permission}" for permission in permissions)
    for name in review.undeclared:
        yield f"# not checked: {name} does not say which permissions it needs"
