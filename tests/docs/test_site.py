"""The documentation's site: the reference leaves nothing out. `make docs` builds it, and takes warnings for errors."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", DOCS / "extensions" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_has_a_page_and_is_listed_in_its_packages(reference: ModuleType) -> None:
    modules = list(reference.public_modules())
    pages = {name: text for module in modules for name, text in reference.pages_of_names(module).items()}

    for name, text in pages.items():
        own_name = name.rpartition(".")[2]
        described = re.findall(r"^\.\. (?:autoclass|autoexception|autofunction|py:data):: (\w+)$", text, re.MULTILINE)
        assert described == [own_name]
    for module in modules:
        listed = reference.page_of(module)
        targets = re.findall(r"^\* :py:obj:`(\w+) <([\w.]+)>`", listed, re.MULTILINE)
        assert [name for name, _ in targets] == reference.names_of(module)
        assert {target for _, target in targets} <= set(pages)


def test_packages_of_every_layer_have_a_page(reference: ModuleType) -> None:
    pages = {module.__name__ for module in reference.public_modules()}

    packages = {path.parent.name for path in DOCS.parent.glob("kinformer/*/__init__.py")} - {"cli", "bench"}
    assert packages == {page.split(".")[1] for page in pages} & packages
    assert {"kinformer.client", "kinformer.clock", "kinformer.placement.taints"} <= pages


def test_every_page_of_the_docs_is_in_the_contents() -> None:
    index = (DOCS / "index.md").read_text()

    pages = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    assert {page for page in pages if not re.search(rf"^{page}$", index, re.MULTILINE)} == set()


def test_links_into_a_page_lead_to_a_heading_also_outside_the_site() -> None:
    # `make docs` checks the links of the site, whose anchors may differ from those that GitHub and editors make.
    root = DOCS.parent
    texts = {
        path.resolve(): re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        for path in (root / "README.md", *DOCS.rglob("*.md"))
    }

    def anchors(text: str) -> set[str]:
        headings = re.findall(r"^#+ (.*)$", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text), re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}

    links = [
        (path, (path.parent / page).resolve() if page else path, anchor)
        for path, text in texts.items()
        for page, anchor in re.findall(r"\]\(((?:[^)\s:#]+\.md)?)#([^)\s]+)\)", text)
    ]
    assert len(links) > 100
    lost = [(path.name, page.name, anchor) for path, page, anchor in links if anchor not in anchors(texts[page])]
    assert lost == []
