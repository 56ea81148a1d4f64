"""Comments of the protos as descriptions, out of the descriptor set that `make protos` writes (stubs have none)."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2

_SET = "treadle.binpb"
_IN_TREE = Path(__file__).parents[2] / "protos" / "gen" / "treadle" / _SET


@cache
def comments() -> dict[str, str]:
    """Full name to leading comment, of everything that has one; empty where the descriptor set is not at hand."""
    data = _read()
    if data is None:
        return {}
    found: dict[str, str] = {}
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        for location in file.source_code_info.location:
            text = location.leading_comments.strip()
            name = _name(file, list(location.path)) if text else None
            if name is not None:
                found[name] = "\n".join(line.strip() for line in text.splitlines())
    return found


def _read() -> bytes | None:
    """From the tree, or from the installed package (where it is packed beside the stubs)."""
    if _IN_TREE.is_file():
        return _IN_TREE.read_bytes()
    try:
        packed = resources.files("treadle") / _SET
        return packed.read_bytes() if packed.is_file() else None
    except (ModuleNotFoundError, FileNotFoundError):
        return None


def _name(file: Any, path: list[int]) -> str | None:
    """The full name of what a location's path leads to; a path alternates field number and index."""
    names, holder = [file.package] if file.package else [], file
    if not path or len(path) % 2:
        return None
    for number, index in zip(path[::2], path[1::2], strict=True):
        field = holder.DESCRIPTOR.fields_by_number.get(number)
        if field is None or not field.is_repeated or field.message_type is None:
            return None
        holder = getattr(holder, field.name)[index]
        if not hasattr(holder, "name"):
            return None
        names.append(holder.name)
    return ".".join(names)
