"""Every call over REST that changes a session, its workers or its plan: how to make it, and how to see what it did.

A call is made on a desk of its own: what it needs is there, and nobody else changes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

Json = dict[str, Any]


@dataclass
class Desk:
    """A session that an outside agent drives, its turn open, thread mode on, a worker `reg` registered, three steps and
    a document."""

    http: httpx.AsyncClient
    session: str
    names: dict[str, str] = field(default_factory=dict)

    async def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        """Of the API; the answer must be 200."""
        response = await self.http.request(method, f"/api{path.format(s=self.session, **self.names)}", json=body)
        assert response.status_code == 200, response.text
        answer: Json = response.json()
        return answer


Seen = Callable[[Desk], Awaitable[Any]]


@dataclass(frozen=True)
class Mutation:
    """One RPC. `seen` is what the call changes; once done it is `after`. `other`: a body that asks for something else.
    `same`: what every repeat answers alike, where that is not the whole."""

    rpc: str
    verb: str
    path: str
    body: Json
    other: Json
    seen: Seen
    after: Any
    before: Callable[[Desk], Awaitable[None]] | None = None
    same: Callable[[Json], Any] = lambda answer: answer
    keyed_by_session: bool = True
    """One person's key for two sessions is two keys; streaming's keys are the person's."""

    @property
    def has_body(self) -> bool:
        """Whether its fields go into a body; else into the query."""
        return self.verb != "DELETE"


async def open_desk(http: httpx.AsyncClient) -> Desk:
    """A new one."""
    session = (await http.post("/api/sessions", json={"adapter": "external"})).json()["id"]
    desk = Desk(http, session)
    await desk.ask("POST", "/sessions/{s}/turn_begin", {"text": "go"})
    await desk.ask("POST", "/coordination/flag", {"session_id": session, "enabled": True})
    desk.names["worker"] = f"w-{session}"
    worker = {"name": "reg", "worker_session_id": desk.names["worker"], "brief": "watch"}
    await desk.ask("POST", "/coordination/register", {"coordinator_session_id": session, **worker})
    await desk.ask("POST", "/sessions/{s}/plan/add", {"items": ["one", "two", "three"]})
    await desk.ask("PUT", "/sessions/{s}/documents/doc", {"content": "first"})
    return desk


def _get(path: str, show: Callable[[Json], Any]) -> Seen:
    async def seen(desk: Desk) -> Any:
        return show(await desk.ask("GET", path))

    return seen


def _plan(show: Callable[[list[Json]], Any]) -> Seen:
    return _get("/sessions/{s}/plan", lambda plan: (plan["version"], show(plan["steps"])))


def _worker(name: str, show: Callable[[Json], Any]) -> Seen:
    return _get("/sessions/{s}/workers", lambda roster: [show(one) for one in roster["threads"] if one["name"] == name])


def _texts(steps: list[Json]) -> list[str]:
    return [step["text"] for step in steps]


_PLAN = "/sessions/{s}/plan"
_TURNS = _get("/sessions/{s}/turns", lambda listed: [turn["number"] for turn in listed["turns"]])
_STATE = _get("/sessions/{s}", lambda session: (session["state"], session["outcome"]))


async def _turn_ends(desk: Desk) -> None:
    """Also for planning, which is told."""
    await desk.ask("POST", "/sessions/{s}/turn_end", {"text": "done"})
    while (await desk.ask("GET", "/sessions/{s}/turns"))["turns"][-1]["running"]:
        await asyncio.sleep(0.02)


async def step_names(desk: Desk) -> None:
    steps = (await desk.ask("GET", _PLAN))["steps"]
    desk.names |= {f"step{step['index']}": step["id"] for step in steps}


async def _source(desk: Desk) -> None:
    """A branch with one step more, and one edited."""
    await _turn_ends(desk)
    branch = await desk.ask("POST", "/sessions/{s}/branches", {"turn": 1, "fork": True})
    desk.names["branch"] = branch["session_id"]
    while (await desk.ask("GET", "/sessions/{branch}/branch"))["state"] == "forking":
        await asyncio.sleep(0.02)
    await desk.ask("POST", "/sessions/{branch}/plan/edit", {"edits": [{"index": 1, "text": "ONE"}]})
    await desk.ask("POST", "/sessions/{branch}/plan/edit", {"edits": [{"index": 2, "text": "TWO"}]})
    changes = (await desk.ask("GET", "/sessions/{s}/diff/{branch}"))["changes"]
    desk.names |= {f"origin{change['after']['index']}": change["origin_id"] for change in changes}


async def _scripted(desk: Desk) -> None:
    """A conversation with an agent of Treadle's own in the desk's place."""
    desk.session = (await desk.ask("POST", "/sessions", {"adapter": "scripted"}))["id"]


async def _asks(desk: Desk) -> None:
    """The same, and its agent asks which of two."""
    await _scripted(desk)
    await desk.ask("POST", "/sessions/{s}/prompt", {"text": "[[gate choice a|b]]"})
    while not (gates := (await desk.ask("GET", "/sessions/{s}/gates"))["gates"]):
        await asyncio.sleep(0.02)
    desk.names["gate"] = gates[0]["id"]


COORDINATION = [
    Mutation(
        *("SetThreadMode", "POST", "/coordination/flag"),
        {"session_id": "{s}", "enabled": True, "policy": {"budget_seconds": 5}},
        {"session_id": "{s}", "enabled": True, "policy": {"budget_seconds": 6}},
        _get("/coordination/roster?coordinator_session_id={s}", lambda roster: roster["policy"]["budget_seconds"]),
        5,
    ),
    Mutation(
        *("RegisterWorker", "POST", "/coordination/register"),
        {"coordinator_session_id": "{s}", "name": "new", "worker_session_id": "new-{s}", "brief": "b"},
        {"coordinator_session_id": "{s}", "name": "new", "worker_session_id": "new-{s}", "brief": "c"},
        _worker("new", lambda one: one["brief"]),
        ["b"],
    ),
    Mutation(
        *("SpawnWorkers", "POST", "/sessions/{s}/workers"),
        {"threads": [{"name": "new", "brief": "b"}, {"name": "Bad", "brief": "b"}]},
        {"threads": [{"name": "newer", "brief": "b"}]},
        _get("/sessions/{s}/workers", lambda roster: [one["name"] for one in roster["threads"]]),
        ["reg", "new"],
    ),
    Mutation(
        *("AddNote", "POST", "/sessions/{s}/notes"),
        {"note": "n"},
        {"note": "m"},
        _get("/sessions/{s}/notes", lambda listed: [note["text"] for note in listed["notes"]]),
        ["n"],
    ),
    Mutation(
        *("ReportResult", "POST", "/sessions/{s}/workers/reg/report"),
        {"text": "so far"},
        {"text": "so far", "final": True},
        _worker("reg", lambda one: (one["result_version"], one.get("result"), one["status"])),
        [(1, "so far", "running")],
    ),
    Mutation(
        *("SetWorkerStatus", "POST", "/sessions/{s}/workers/reg/status"),
        {"status": "unknown"},
        {"status": "failed"},
        _worker("reg", lambda one: one["status"]),
        ["unknown"],
    ),
    Mutation(
        *("CancelWorker", "POST", "/sessions/{s}/workers/reg/cancel"),
        {"reason": "first"},
        {"reason": "second"},
        _worker("reg", lambda one: (one["status"], one["cancel_reason"])),
        [("cancelled", "first")],
    ),
]

PLANNING = [
    Mutation(
        *("SetObjective", "PUT", "/sessions/{s}/objective"),
        {"text": "a"},
        {"text": "b"},
        _get("/sessions/{s}/objective", lambda one: (one["text"], one["version"])),
        ("a", 1),
    ),
    Mutation(
        *("AddTodos", "POST", f"{_PLAN}/add"),
        {"items": ["four"]},
        {"items": ["five"]},
        _plan(_texts),
        (2, ["one", "two", "three", "four"]),
    ),
    Mutation(
        *("ToggleTodos", "POST", f"{_PLAN}/toggle"),
        {"indices": [1, 3]},
        {"indices": [2]},
        _plan(lambda steps: [step["done"] for step in steps]),
        (2, [True, False, True]),
    ),
    Mutation(
        *("EditTodos", "POST", f"{_PLAN}/edit"),
        {"edits": [{"index": 1, "text": "uno"}]},
        {"edits": [{"index": 2, "text": "due"}]},
        _plan(_texts),
        (2, ["uno", "two", "three"]),
    ),
    Mutation(
        *("RemoveTodos", "POST", f"{_PLAN}/remove"),
        {"indices": [1]},
        {"indices": [2]},
        _plan(_texts),
        (2, ["two", "three"]),
    ),
    Mutation(
        *("MoveSteps", "POST", f"{_PLAN}/move"),
        {"index": 3, "after_index": 0},
        {"index": 3, "after_index": 1},
        _plan(_texts),
        (2, ["three", "one", "two"]),
        _turn_ends,
    ),
    Mutation(
        *("ReorderSteps", "PUT", f"{_PLAN}/order"),
        {"step_ids": ["{step2}", "{step3}", "{step1}"]},
        {"step_ids": ["{step3}", "{step2}", "{step1}"]},
        _plan(_texts),
        (2, ["two", "three", "one"]),
        lambda desk: _both(desk, _turn_ends, step_names),
    ),
    Mutation(
        *("PutDocument", "PUT", "/sessions/{s}/documents/doc"),
        {"content": "second"},
        {"content": "third"},
        _get("/sessions/{s}/documents/doc", lambda one: (one["content"], one["version"])),
        ("second", 2),
    ),
    Mutation(
        *("DeleteDocument", "DELETE", "/sessions/{s}/documents/doc"),
        {},
        {},
        _get("/sessions/{s}/documents", lambda listed: [one["key"] for one in listed.get("documents", [])]),
        [],
    ),
    Mutation(
        *("LockDocument", "PUT", "/sessions/{s}/documents/doc/lock"),
        {"locked": True},
        {"locked": False},
        _get("/sessions/{s}/documents/doc", lambda one: (one["locked"], one["version"])),
        (True, 2),
    ),
    Mutation(
        *("BranchSession", "POST", "/sessions/{s}/branches"),
        {"turn": 0, "title": "once"},
        {"turn": 0, "title": "twice"},
        _get("/sessions/{s}/branches", lambda listed: len(listed["branches"])),
        1,
        same=lambda branch: branch["session_id"],
    ),
    Mutation(
        *("CherryPick", "POST", "/sessions/{s}/cherry_pick"),
        {"source": "{branch}", "origin_ids": ["{origin1}"]},
        {"source": "{branch}", "origin_ids": ["{origin2}"]},
        _plan(_texts),
        (2, ["ONE", "two", "three"]),
        _source,
    ),
]

_SESSIONS = [
    Mutation(
        *("CreateSession", "POST", "/sessions"),
        {"adapter": "external", "title": "made for {s}"},
        {"adapter": "external", "title": "not made for {s}"},
        _get("/sessions?page_size=200", lambda listed: listed),
        None,
    ),
    Mutation(
        *("OpenTurn", "POST", "/sessions/{s}/turn_begin"),
        {"text": "again"},
        {"text": "and again"},
        _TURNS,
        [1, 2],
        _turn_ends,
        same=lambda answer: answer["turn_id"],
    ),
    Mutation(
        *("CloseTurn", "POST", "/sessions/{s}/turn_end"),
        {"text": "done"},
        {"text": "done otherwise"},
        _get("/sessions/{s}/messages", lambda listed: [one["text"] for one in listed["messages"]]),
        ["go", "done"],
        same=lambda answer: answer["turn_id"],
    ),
    Mutation(
        *("AbortSession", "POST", "/sessions/{s}/abort"), {}, {}, _STATE, ("idle", "aborted"), same=lambda _: None
    ),
    Mutation(
        *("PromptSession", "POST", "/sessions/{s}/prompt"),
        {"text": "[[slow 60s]]"},
        {"text": "[[slow 61s]]"},
        _TURNS,
        [1],
        _scripted,
        same=lambda answer: answer["turn_id"],
    ),
    Mutation(
        *("AnswerGate", "POST", "/sessions/{s}/gates/{gate}/answer"),
        {"value": "a"},
        {"value": "b"},
        _get("/sessions/{s}/gates", lambda listed: [(one["state"], one.get("answer")) for one in listed["gates"]]),
        [("answered", {"value": "a"})],
        _asks,
    ),
]


SESSIONS = [replace(mutation, keyed_by_session=False) for mutation in _SESSIONS]


async def _both(desk: Desk, *steps: Callable[[Desk], Awaitable[None]]) -> None:
    for step in steps:
        await step(desk)


def filled(value: Any, names: dict[str, str]) -> Any:
    """A body with the desk's names in the place of `{…}`."""
    if isinstance(value, dict):
        return {key: filled(member, names) for key, member in value.items()}
    if isinstance(value, list):
        return [filled(member, names) for member in value]
    return value.format(**names) if isinstance(value, str) else value
