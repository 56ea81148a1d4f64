"""Finds the route of a path. Literals win over variables; the order of the protos does not matter."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from gateway.transcode.http_rules import Route, RuleFault
from services.kernel.errors import Invalid

_NOT_IN_A_SEGMENT: Final = re.compile(r"[/\x00-\x1f\x7f-\x9f]")


@dataclass(slots=True)
class _Node:
    """One level of the tree of paths."""

    literals: dict[str, _Node] = field(default_factory=dict)
    any: _Node | None = None
    routes: dict[str, Route] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Match:
    """What a path leads to: the routes by verb, and the path's decoded segments."""

    routes: dict[str, Route]
    segments: list[str]


class Router:
    """A tree of all routes, built once at start-up."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        for route in routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        node = self._root
        for segment in route.segments:
            if segment is None:
                node.any = node.any or _Node()
                node = node.any
            else:
                node = node.literals.setdefault(segment, _Node())
        if route.verb in node.routes:
            raise RuleFault(f"{route.verb} {route.template}: two RPCs on one path")
        node.routes[route.verb] = route

    def match(self, raw_path: bytes) -> Match | None:
        """The routes of a raw (still percent-encoded) path; None when there are none."""
        segments = [_segment(part) for part in raw_path.decode("ascii", "replace").strip("/").split("/")]
        node = _find(self._root, segments, 0)
        return None if node is None else Match(node.routes, segments)


def path_fields(route: Route, segments: list[str]) -> dict[str, str]:
    """The request fields that the path fills."""
    return {var.field: "/".join(segments[var.start : var.end]) for var in route.variables}


def _find(node: _Node, segments: list[str], at: int) -> _Node | None:
    if at == len(segments):
        return node if node.routes else None
    literal = node.literals.get(segments[at])
    found = None if literal is None else _find(literal, segments, at + 1)
    if found is None and node.any is not None and segments[at]:
        found = _find(node.any, segments, at + 1)
    return found


def _segment(part: str) -> str:
    """One decoded segment. An encoded slash, a control character or bad UTF-8 never reaches a resource name."""
    if "%" not in part:
        return part
    try:
        text = unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise Invalid("INVALID_PATH", "the path is not UTF-8", field="path") from None
    if _NOT_IN_A_SEGMENT.search(text):
        raise Invalid("INVALID_PATH", "a path segment holds a slash or a control character", field="path")
    return text
