"""Stands for Pi's process where the real one cannot be made to misbehave: `python pi_child.py …`, RPC on its pipes.

A prompt is the name of what it does. It starts children in process groups of their own, as Pi's bash tool does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

SLEEP = os.environ.get("FAKE_SLEEP", "600")


def say(**record: Any) -> None:
    sys.stdout.buffer.write(json.dumps(record).encode() + b"\n")
    sys.stdout.buffer.flush()


def message(text: str, stop: str = "stop", size: int = 12) -> None:
    """Each update carries the whole message so far twice, as Pi's do."""
    say(type="message_start", message={"role": "assistant"})
    for start in range(0, len(text), size):
        so_far = text[: start + size]
        event = {"type": "text_delta", "contentIndex": 0, "delta": text[start : start + size], "partial": so_far}
        say(type="message_update", assistantMessageEvent=event, message=so_far)
    say(type="message_update", assistantMessageEvent={"type": "text_end", "contentIndex": 0, "content": text})
    say(type="message_end", message={"role": "assistant", "stopReason": stop})


def big(length: int) -> None:
    """A message in large pieces that carry nothing besides: more than lines that carry it twice could."""
    say(type="message_start", message={"role": "assistant"})
    for start in range(0, length, 65_536):
        event = {"type": "text_delta", "contentIndex": 0, "delta": "x" * min(65_536, length - start)}
        say(type="message_update", assistantMessageEvent=event)
    say(type="message_end", message={"role": "assistant", "stopReason": "stop"})


def run_bash() -> None:
    """A command in a process group of its own, held by a shell between."""
    command = f"sleep {SLEEP} & wait"
    subprocess.Popen(["/bin/sh", "-c", command], start_new_session=True, stdout=subprocess.DEVNULL)
    say(type="tool_execution_start", toolCallId="c1", toolName="bash", args={"command": "SECRET"})


def secrets() -> None:
    """What must not leave the runner, in every record that may carry it; then the process dies in a turn."""
    secret = "ZX-SECRET-7"
    call = {"toolCallId": "c1", "toolName": "bash"}
    block = {"type": "toolcall_delta", "contentIndex": 1, "delta": secret, "partial": secret}
    say(type="message_start", message={"role": "assistant", "content": secret})
    say(type="message_update", assistantMessageEvent=block, message=secret)
    say(type="tool_execution_start", **call, args={"command": secret})
    say(type="tool_execution_update", **call, args=secret, partialResult=secret)
    say(type="tool_execution_end", **call, result={"content": secret}, isError=True)
    say(type="extension_error", extensionPath=secret, error=secret)
    say(type="extension_ui_request", id="n1", method="notify", message=secret)
    say(type="auto_retry_start", attempt=1, maxAttempts=3, delayMs=1, errorMessage=secret)
    say(type="agent_start")
    say(type="auto_retry_end", success=True, attempt=1, finalError=secret)
    message("said so far")
    say(type="message_end", message={"role": "assistant", "stopReason": "error", "errorMessage": secret})
    sys.stderr.write(f"{secret}\n" * 1000)
    sys.stderr.flush()
    os._exit(7)


def words_of(text: str) -> str:
    """The person's words: without the line that names the turn, and without what Pi is told besides."""
    if text.startswith("treadle:turn "):
        text = text.partition("\n")[2]
    return text.partition("\n\n<treadle-context>")[0]


def prompt(text: str) -> None:
    say(type="agent_start")
    what, _, rest = text.partition(" ")
    match what:
        case "long":
            message("x" * int(rest), size=2000)
        case "big":
            big(int(rest))
        case "odd":
            call = {"toolCallId": "\ud83d\0", "toolName": "t\ud83d\0"}
            say(type="tool_execution_start", **call, args={})
            say(type="tool_execution_end", **call, result="\ud83d", isError=False)
            message("## Result\n\na\ud83db\0c \ud83d\ude00", size=1)
        case "secrets":
            secrets()
        case "flood":
            sys.stderr.write("SECRET " * 500_000)
            sys.stderr.flush()
            message("done")
        case "garbage":
            sys.stdout.buffer.write(b"no json\n[1]\n{}\n\xff\xfe\n\n" + b'{"type":"new"}\n')
            message("done")
        case "huge":
            say(type="message_update", assistantMessageEvent={"type": "x"}, message="x" * 8_000_000)
            message("done")
        case "overlong":
            sys.stdout.buffer.write(b"x" * (33 * 1024 * 1024))
            sys.stdout.buffer.flush()
            time.sleep(60)
        case "torn":
            sys.stdout.buffer.write(b'{"type":"mess')
            sys.stdout.buffer.flush()
            os._exit(0)
        case "exit":
            os._exit(int(rest))
        case "silent" | "deaf":
            return
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            run_bash()
            return
        case "bash":
            run_bash()
            return
        case "dialog":
            say(type="extension_ui_request", id="d1", method="confirm", title="Sure?")
            return
        case _:
            message(f"said {text}")
    say(type="agent_end")


def main() -> None:
    deaf = False
    dialog_open = False
    for line in sys.stdin.buffer:
        command = json.loads(line)
        answer = {"type": "response", "command": command["type"], "success": True, "id": command.get("id")}
        match command["type"]:
            case "get_state":
                say(**answer, data={"messageCount": 0})
            case "prompt":
                say(**answer)
                words = words_of(command["message"])
                deaf = words in ("deaf", "stubborn")
                dialog_open = words == "dialog"
                prompt(words)
            case "extension_ui_response":
                dialog_open = False
            case "abort" if not deaf and not dialog_open:
                say(type="message_end", message={"role": "assistant", "stopReason": "aborted"})
                say(type="agent_end")
                say(**answer)


main()
