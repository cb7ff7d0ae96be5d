from __future__ import annotations

from pathlib import Path

import pytest

from kinformer.cli.manifests import ManifestError, apply_manifests, read_manifests
from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.models import V1ConfigMap

TWO = """\
# a comment
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: default}
---
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: default}
data: {colour: red}
"""


def test_a_file_holds_any_number_of_objects_and_each_knows_its_line(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(TWO)

    assert [(m.source, str(m)) for m in read_manifests(file)] == [
        (f"{file}:2", "ConfigMap a"),
        (f"{file}:7", "ConfigMap b"),
    ]


def test_a_folder_is_read_in_the_order_of_its_files_names(tmp_path: Path) -> None:
    (tmp_path / "2.yml").write_text(TWO.replace("name: a", "name: c"))
    (tmp_path / "1.yaml").write_text(TWO)
    (tmp_path / "notes.txt").write_text("no manifest")

    assert [str(m) for m in read_manifests(tmp_path)] == ["ConfigMap a", "ConfigMap b", "ConfigMap c", "ConfigMap b"]


def test_a_list_stands_for_its_items(tmp_path: Path) -> None:
    file = tmp_path / "list.yaml"
    item = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}"
    file.write_text(f"apiVersion: v1\nkind: List\nitems: [{item % 'a'}, {item % 'b'}]\n")

    assert [str(m) for m in read_manifests(file)] == ["ConfigMap a", "ConfigMap b"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no manifests in it"),
        ("- a\n- b", ":1: is not an object"),
        ("kind: Pod\nmetadata: {name: a}", ":1: has no apiVersion"),
        ("apiVersion: v1\nmetadata: {name: a}", ":1: has no kind"),
        ("apiVersion: v1\nkind: Pod", ":1: Pod has no metadata.name"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: [}", ":3: is not YAML"),
        ("a: !!python/object:os.system x", "is not YAML"),
    ],
)
def test_what_is_no_manifest_is_an_error_that_says_where_and_why(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)

    with pytest.raises(ManifestError, match=f"bad.yaml.*{problem}"):
        read_manifests(file)


def test_a_missing_or_binary_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ManifestError, match=r"binary.yaml: is not text"):
        read_manifests(tmp_path / "binary.yaml")
    with pytest.raises(ManifestError, match=r"nowhere.yaml: No such file"):
        read_manifests(tmp_path / "nowhere.yaml")


async def test_applying_makes_objects_and_applying_again_merges_into_them(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(TWO)
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        await apply_manifests(client, read_manifests(file))
        file.write_text(TWO.replace("colour: red", "size: large"))
        await apply_manifests(client, read_manifests(file))
        made = await client.resource(V1ConfigMap).get("b", "default")

    assert made.data == {"colour": "red", "size": "large"}


async def test_a_refused_object_is_an_error_with_its_place_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(TWO.replace("name: a", "name: NOT A NAME"))
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        with pytest.raises(ManifestError, match=r"two.yaml:2: ConfigMap NOT A NAME: .*NOT A NAME"):
            await apply_manifests(client, read_manifests(file))


async def test_an_object_without_a_namespace_is_put_into_default(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(TWO.replace(", namespace: default", ""))
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        await apply_manifests(client, read_manifests(file))
        await apply_manifests(client, read_manifests(file))
        made = await client.resource(V1ConfigMap).list("default")

    assert {"a", "b"} <= {config_map.metadata.name for config_map in made.items}


async def test_an_invalid_name_is_an_error_with_its_place_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b/c}")
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        with pytest.raises(ManifestError, match=r"odd.yaml:1: ConfigMap a: "):
            await apply_manifests(client, read_manifests(file))
