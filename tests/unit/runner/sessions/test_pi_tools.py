"""Pi's extension for the gateway's tools, run by node against a real MCP server; and how Pi is launched with it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from services.runner.domain.agent import AgentTask
from services.runner.sessions.pi.launch import TOOLS, Launch, PiInstallation
from tests.fakes.tool_gateway import ToolGateway, offering

NODE = shutil.which("node")
_DRIVER = """
import extension from %s;
const tools = new Map(), commands = new Map(), heard = new Map();
await extension({
  registerTool: (tool) => tools.set(tool.name, tool),
  registerCommand: (name, command) => commands.set(name, command),
  on: (event, handler) => heard.set(event, handler),
});
const said = { names: [...tools.keys()], token: process.env.TREADLE_TOKEN ?? null, answers: [] };
for (const [name, params] of JSON.parse(process.argv[2] ?? "[]")) {
  if (name === "says") {
    said.answers.push(heard.get("input")?.({ text: params.text }));
    continue;
  }
  if (name === "is told") {
    await commands.get(params.command).handler(params.words, {});
    continue;
  }
  try {
    const answer = await tools.get(name).execute("id", params, undefined, undefined, {});
    said.answers.push({ ok: answer.content[0].text });
  } catch (fault) {
    said.answers.push({ fault: fault.message });
  }
}
said.description = tools.get("thread_spawn")?.description;
console.log(JSON.stringify(said));
"""


async def driven(folder: Path, url: str, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    driver = folder / "driver.mjs"
    driver.write_text(_DRIVER % json.dumps(TOOLS.as_uri()))
    environment = {"PATH": os.environ["PATH"], "TREADLE_GATEWAY_URL": url, "TREADLE_TOKEN": "token-1"}
    assert NODE is not None
    process = await asyncio.create_subprocess_exec(
        NODE, str(driver), json.dumps(calls), env=environment, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(process.communicate(), 30)
    said: dict[str, Any] = json.loads(out)
    return said


def says(text: str) -> tuple[str, dict[str, Any]]:
    """A prompt comes in."""
    return "says", {"text": text}


def echo(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"said": arguments.get("text", "")}


def refuse(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ok": False, "error": {"code": "no_live_turn", "message": "not now"}}


needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


@needs_node
async def test_the_gateways_tools_are_pis_tools(tmp_path: Path) -> None:
    async with offering(thread_spawn=echo, thread_cancel=refuse) as gateway:
        said = await driven(tmp_path, gateway.url, ("thread_spawn", {"text": "hello ✓"}), ("thread_cancel", {}))
    assert said["names"] == ["thread_spawn", "thread_cancel"]
    assert said["description"] == "Does thread_spawn"
    assert json.loads(said["answers"][0]["ok"]) == {"said": "hello ✓"}
    assert json.loads(said["answers"][1]["fault"])["error"]["code"] == "no_live_turn"
    assert gateway.tokens == {"Bearer token-1"}
    assert gateway.of("thread_spawn")[0]["request_id"].startswith("pi-")


@needs_node
async def test_the_token_is_gone_from_what_pis_commands_inherit(tmp_path: Path) -> None:
    async with offering(thread_spawn=echo) as gateway:
        assert (await driven(tmp_path, gateway.url))["token"] is None


@needs_node
async def test_what_changes_something_names_its_turn_whatever_the_model_has_said(tmp_path: Path) -> None:
    async with offering({"get_plan"}, add_todos=echo, get_plan=echo, thread_spawn=echo) as gateway:
        gateway.turned |= {"add_todos", "get_plan"}
        add = ("add_todos", {"turn_id": "trn_9"})
        calls = [says("treadle:turn trn_1\ntreadle:turn trn_8\nHi"), add, ("get_plan", {}), ("thread_spawn", {})]
        said = await driven(tmp_path, gateway.url, *calls, says("treadle:turn trn_2\n"), add, says("Hi"), add)
    assert [call.get("turn_id") for call in gateway.of("add_todos")] == ["trn_1", "trn_2", "trn_2"]
    assert "turn_id" not in gateway.of("get_plan")[0] | gateway.of("thread_spawn")[0]
    assert said["answers"][0] == {"action": "transform", "text": "treadle:turn trn_8\nHi"}
    assert said["answers"][4] == {"action": "transform", "text": ""}


@needs_node
async def test_a_newer_token_is_used_from_then_on(tmp_path: Path) -> None:
    told = ("is told", {"command": "treadle-token", "words": "token-2"})
    async with offering(thread_spawn=echo) as gateway:
        await driven(tmp_path, gateway.url, ("thread_spawn", {}), told, ("thread_spawn", {}))
    assert gateway.tokens == {"Bearer token-1", "Bearer token-2"}


@needs_node
async def test_a_service_that_is_away_is_asked_again_with_the_same_key(tmp_path: Path) -> None:
    away = {"ok": False, "error": {"code": "unavailable", "message": "not now", "retryable": True}}
    answers: list[dict[str, Any]] = [away, away, {"ok": True}]
    async with offering(thread_spawn=lambda _: answers.pop(0)) as gateway:
        said = await driven(tmp_path, gateway.url, ("thread_spawn", {}))
    assert json.loads(said["answers"][0]["ok"]) == {"ok": True}
    assert len({call["request_id"] for call in gateway.of("thread_spawn")}) == 1
    assert len(gateway.of("thread_spawn")) == 3


@needs_node
async def test_a_gateway_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    gateway = ToolGateway({"thread_spawn": echo})
    await gateway.start()
    await gateway.stop()
    driving = asyncio.create_task(driven(tmp_path, gateway.url))
    await asyncio.sleep(0.15)
    await gateway.start()
    try:
        assert (await driving)["names"] == ["thread_spawn"]
    finally:
        await gateway.stop()


@needs_node
async def test_without_a_gateway_pi_goes_on_without(tmp_path: Path) -> None:
    gateway = ToolGateway({})
    await gateway.start()
    await gateway.stop()
    assert (await driven(tmp_path, gateway.url))["names"] == []


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:1"])
async def test_pi_gets_extension_and_token_where_there_is_a_gateway(tmp_path: Path, url: str) -> None:
    out = tmp_path / "seen"
    child = tmp_path / "child"
    child.write_text(f'#!/bin/sh\necho "$@" > {out}\nenv | sort >> {out}\n')
    child.chmod(0o700)
    task = AgentTask("ses_1", "", "", "medium", None, "token-1")
    launch = Launch(PiInstallation((str(child),), tmp_path / "work", (), url), task)
    started = await launch.child()
    while await started.read():
        pass
    await started.stop()
    launch.clean()
    seen = out.read_text()
    assert (str(TOOLS) in seen) == bool(url)
    assert ("TREADLE_TOKEN=token-1" in seen) == bool(url)
    assert (f"TREADLE_GATEWAY_URL={url}\n" in seen) == bool(url)
