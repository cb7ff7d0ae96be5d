"""Write the table of Kubernetes' protobuf fields with which the embedded server reads requests.

    python -m scripts.protobuf KUBERNETES

KUBERNETES is a folder with Kubernetes' ``generated.proto`` files, such as a checkout of its sources. Only numbers are
taken from there. Names and types of fields come from kubernetes_asyncio's metadata.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kinformer.models._resources import builtin_resources
from kinformer.models._source import model_names, parts_of_type, shape_of

__all__ = ("main",)

TABLE: Final = Path(__file__).parents[1] / "kinformer" / "envtest" / "handlers" / "protobuf.txt"

_HEAD: Final = """\
# The numbers of the fields of built-in types in protobuf. Made by scripts/protobuf.py from Kubernetes' generated.proto.
#
# A field with several numbers is in a message of its own there, and directly in the object in JSON.
"""
_OTHERS: Final = {  # bodies of subresources and of deletes
    "V1Binding": "k8s.io.api.core.v1.Binding",
    "V1DeleteOptions": "k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "V1Eviction": "k8s.io.api.policy.v1.Eviction",
    "V1Scale": "k8s.io.api.autoscaling.v1.Scale",
    "AuthenticationV1TokenRequest": "k8s.io.api.authentication.v1.TokenRequest",
}
_PACKAGES: Final = {  # where they are not k8s.io.api and the first part of the group
    "": "k8s.io.api.core",
    "internal.apiserver.k8s.io": "k8s.io.api.apiserverinternal",
    "apiextensions.k8s.io": "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions",
    "apiregistration.k8s.io": "k8s.io.kube_aggregator.pkg.apis.apiregistration",
}
_MESSAGE: Final = re.compile(r"^message (\w+) \{$(.*?)^\}$", re.DOTALL | re.MULTILINE)
_FIELD: Final = re.compile(
    r"^  (?:optional|repeated|map<string, (?P<value>.*)>) ?(?P<type>[\w.]*) (?P<name>\w+) = (?P<number>\d+);$",
    re.MULTILINE,
)


class _Field(NamedTuple):
    name: str
    type: str
    number: int


def main(folder: Path) -> None:
    """Read the files in a folder, and write the table."""
    messages = {name: fields for path in sorted(folder.rglob("generated.proto")) for name, fields in _messages(path)}
    rows: dict[str, list[str]] = {}
    for model, info in builtin_resources().items():
        package = _PACKAGES.get(info.group, f"k8s.io.api.{info.group.partition('.')[0]}")
        message = f"{package}.{info.version}.{info.kind}"
        if message in messages and model in model_names():
            _add(rows, messages, model, message)
        elif model in model_names():
            sys.stderr.write(f"there is no message {message}\n")
    for model, message in _OTHERS.items():
        _add(rows, messages, model, message)
    lines = (_folded(f"{model} {' '.join(fields)}") for model, fields in sorted(rows.items()))
    TABLE.write_text(_HEAD + "".join(lines), encoding="utf-8")


def _messages(path: Path) -> Iterator[tuple[str, list[_Field]]]:
    text = path.read_text(encoding="utf-8")
    package = re.search(r"^package (.*);$", text, re.MULTILINE)
    assert package is not None
    for message in _MESSAGE.finditer(text):
        fields = [
            _Field(it["name"], it["value"] or it["type"], int(it["number"])) for it in _FIELD.finditer(message[2])
        ]
        yield (
            f"{package[1]}.{message[1]}",
            [it._replace(type=it.type[1:] if it.type[0] == "." else f"{package[1]}.{it.type}") for it in fields],
        )


def _add(rows: dict[str, list[str]], messages: dict[str, list[_Field]], model: str, message: str) -> None:
    """Add the row of a model, and of the models that it contains."""
    if model in rows:
        return
    shape = shape_of(model)
    types = {shape.json_names[attribute]: type_ for attribute, type_ in shape.types.items()}
    # A few messages write apiGroup as aPIGroup, or webhooks as Webhooks. Those of schemas have no $ and no dashes.
    names = {name.lower().replace("-", "").removeprefix("$"): name for name in types}
    rows[model] = row = []

    def add_fields(message: str, before: str) -> None:
        for field in messages[message]:
            name = names.get(field.name.lower())
            if name is not None:
                row.append(f"{name}:{before}{field.number}")
                for part in parts_of_type(types[name]):
                    if part in model_names():
                        _add(rows, messages, part, field.type)
            elif field.type.lower().endswith(field.name.lower()):
                add_fields(field.type, f"{before}{field.number}.")
            else:
                sys.stderr.write(f"{model} has no field {field.name}, which is in {message}\n")

    add_fields(message, "")
    if missing := types.keys() - {"apiVersion", "kind"} - {field.partition(":")[0] for field in row}:
        sys.stderr.write(f"{message} has no fields {', '.join(sorted(missing))}\n")


def _folded(row: str, width: int = 120) -> str:
    lines = [""]
    for word in row.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append(" ")
        lines[-1] += f" {word}" if lines[-1].strip() else word
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
