"""Inputs that the server once did not take well: a file each, which a test sends again."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from tests.fuzz.inputs import Input

__all__ = ("inputs", "save")

_HERE = Path(__file__).parent


def save(one: Input, folder: Path) -> Path:
    """Write an input to a file whose name comes from what is in it."""
    body = None if one.body is None else one.body.decode("utf-8", "surrogateescape")
    told = {"method": one.method, "path": one.path, "type": one.type, "accept": one.accept}
    if body is not None and not body.isprintable():
        told["base64"] = base64.b64encode(one.body or b"").decode()
    elif body is not None:
        told["body"] = body
    text = json.dumps(told, indent=1) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    path.write_text(text, encoding="utf-8")
    return path


def inputs() -> list[tuple[str, Input]]:
    """All that are kept, each with its file's name."""
    return [(path.stem, _read(path)) for path in sorted(_HERE.glob("*.json"))]


def _read(path: Path) -> Input:
    told = json.loads(path.read_text(encoding="utf-8"))
    body = base64.b64decode(told["base64"]) if "base64" in told else told.get("body")
    return Input(
        told["method"], told["path"], told["type"], told["accept"], body.encode() if isinstance(body, str) else body
    )
