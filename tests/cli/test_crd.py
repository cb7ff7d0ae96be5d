from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from kinformer.cli import crd_import
from kinformer.cli.crd import CrdError
from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.models import V1CustomResourceDefinition
from tests.cli.commands import Done, kinformer

API = """
from kinformer.operator import CustomResource, Fields

class Spec(Fields):
    image: str

class Shop(CustomResource[Spec, None], group="example.com", version="v1", plural="shops"):
    pass

class OldShop(
    CustomResource[Spec, None], group="example.com", version="v1beta1", plural="shops", kind="Shop", storage=False
):
    pass

class Base(CustomResource[Spec, None]):
    pass
"""

USER = """
from my_operator.api import Shop
from kinformer.operator import CustomResource

class Flag(CustomResource[Shop, None], group="example.com", version="v1", plural="flags"):
    pass
"""


async def crd(folder: Path, *packages: str, monkeypatch: pytest.MonkeyPatch) -> Done:
    monkeypatch.chdir(folder)
    return await kinformer("crd", *packages)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "my_operator"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "api.py").write_text(API)
    return folder


BAKERY = Path(__file__).parents[1] / "operator" / "bakery.yaml"


async def test_an_imported_definition_is_the_same_when_it_is_printed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = await kinformer("crd", "import", BAKERY)
    (tmp_path / "bakery.py").write_text(imported.out)

    printed = await crd(tmp_path, "bakery", monkeypatch=monkeypatch)

    assert yaml.safe_load(printed.out) == yaml.safe_load(BAKERY.read_text())


async def test_a_definition_is_imported_from_a_cluster_or_a_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        await client.resource(V1CustomResourceDefinition).create(yaml.safe_load(BAKERY.read_text()))
        await crd_import.run(source="bakeries.example.com")
        with pytest.raises(CrdError, match=r"the cluster has no definition shops\.example\.com"):
            await crd_import.run(source="shops.example.com")
        with pytest.raises(CrdError, match=r"/nothing cannot be read: 40[13]"):
            await crd_import.run(source=f"{server.url}/nothing")

    assert "class Bakery(" in capsys.readouterr().out


async def test_a_definition_in_a_list_is_imported_from_a_url(capsys: pytest.CaptureFixture[str]) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(BAKERY.read_text())]}

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=yaml.safe_dump(listed))

    app = web.Application()
    app.router.add_get("/list.yaml", answer)
    async with TestServer(app) as server:
        await crd_import.run(source=str(server.make_url("/list.yaml")))

    assert "class Bakery(" in capsys.readouterr().out


async def test_all_definitions_of_a_package_are_printed_each_once(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "other.py").write_text(USER.replace("CustomResource[Shop", "CustomResource[dict[str, str]"))

    done = await crd(package.parent, "my_operator", monkeypatch=monkeypatch)

    assert done.status == 0, done.err
    flags, shops = yaml.safe_load_all(done.out)
    assert (flags["metadata"]["name"], shops["metadata"]["name"]) == ("flags.example.com", "shops.example.com")
    assert [version["name"] for version in shops["spec"]["versions"]] == ["v1", "v1beta1"]


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("", "elsewhere", "there is no module elsewhere: want one that can be imported from here"),
        ("", "", "the name of the package is empty: want one, as in my_operator"),
        ("", "./my_operator/api.py", "./my_operator/api.py is a path: want the name of a module, as in my"),
        ("", "my_operator.api", "my_operator.api defines no custom resource: want a subclass of CustomResource"),
        (
            "import nothing_like_it",
            "my_operator",
            "my_operator.api cannot be imported: it imports nothing_like_it, and there is no such module",
        ),
        ("1 / 0", "my_operator", "my_operator.api cannot be imported: ZeroDivisionError: division by zero"),
        (API.replace("str", "tuple[int, str]"), "my_operator", "spec.image: tuple cannot be expressed in a definition"),
        (
            API.replace(", storage=False", ""),
            "my_operator",
            "shops.example.com is stored in v1 and v1beta1: want one",
        ),
    ],
    ids=["no module", "no name", "a path", "no resource", "an import", "an error", "a type", "versions"],
)
async def test_what_is_wrong_is_one_line(
    package: Path, monkeypatch: pytest.MonkeyPatch, text: str, name: str, said: str
) -> None:
    (package / "api.py").write_text(text)

    done = await crd(package.parent, name, monkeypatch=monkeypatch)

    assert done.status == 1
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1
