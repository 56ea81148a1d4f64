"""Generated requests, valid and not, against every route of the document: no 5xx, nothing that it does not announce."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.fakes.running_gateway import gateways

_CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "unsupported_method",
)


async def test_generated_requests_get_the_answers_that_the_document_announces(tmp_path: Path) -> None:
    async with gateways() as start:
        gateway = await start()
        running = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).parent / "schemathesis"),
            *("run", f"http://{gateway.address}/openapi.json", "--exclude-path-regex", "/(stream|wait)$"),
            *("--checks", ",".join(_CHECKS), "--max-examples", "5", "--seed", "1", "--no-color"),
            *("--phases", "examples,coverage,fuzzing"),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await asyncio.wait_for(running.communicate(), 100)
        assert running.returncode == 0, out.decode(errors="replace")[-5000:]
        assert gateway.script.asked
