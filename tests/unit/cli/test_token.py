"""`treadle token`: what it prints is what the gateway takes."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta

import pytest
from typer.testing import CliRunner, Result

from services.cli.main import app
from services.kernel.clock import SystemClock
from services.kernel.principal import Authenticator, Principal
from tests.fakes.running_gateway import gateways

SECRET = "a-secret-of-at-least-thirty-two-characters"


def _run(*words: str, secret: str | None = SECRET) -> Result:
    return CliRunner().invoke(app, ["token", *words], env={"TREADLE_AUTH_SECRET": secret, "COLUMNS": "140"})


def test_it_is_for_a_reviewer_of_the_default_tenant_where_nothing_else_is_said() -> None:
    made = _run("ann")
    assert made.exit_code == 0, made.stderr
    principal = Authenticator(SECRET, SystemClock()).authenticate(f"Bearer {made.stdout.strip()}")
    assert principal == Principal("default", "ann", "user", frozenset({"reviewer"}))


async def test_a_person_logs_in_with_it() -> None:
    made = _run("王さん", "--role", "viewer", "-r", "admin", "--tenant", "acme", "--hours", "0.5").stdout.strip()
    async with gateways() as start:
        gateway = await start(auth_secret=SECRET)
        told = await gateway.http.post(
            "/auth/session", json={"token": made}, headers={"origin": f"http://127.0.0.1:{gateway.port}"}
        )
        assert told.status_code == 200, told.text
        assert (told.json()["tenant"], told.json()["subject"], told.json()["roles"]) == (
            "acme",
            "王さん",
            ["admin", "viewer"],
        )


@pytest.mark.parametrize(
    ("words", "secret", "said"),
    [
        (["ann"], None, "TREADLE_AUTH_SECRET is not set"),
        (["ann"], "short", "TREADLE_AUTH_SECRET"),
        (["ann", "--role", "runner"], SECRET, "viewer, reviewer and admin"),
        (["ann", "--tenant", "No"], SECRET, "[a-z0-9_-]{1,63}"),
        (["a\nb"], SECRET, "printable"),
        (["ann", "--hours", "0"], SECRET, "0.01"),
    ],
)
def test_what_no_gateway_would_take_is_refused(words: list[str], secret: str | None, said: str) -> None:
    ended = _run(*words, secret=secret)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert said in ended.stderr
    assert secret is None or secret not in ended.stderr.replace("TREADLE_AUTH_SECRET", "").replace("shorter", "")


async def test_who_shows_none_or_an_old_one_is_told_where_one_comes_from() -> None:
    async with gateways() as start:
        gateway = await start(auth_secret=SECRET)
        late = Authenticator(SECRET, SystemClock()).mint(
            Principal("default", "ann", "user", frozenset({"viewer"})), timedelta(seconds=-1)
        )
        for token, reason in (("", "TOKEN_REQUIRED"), (late, "TOKEN_EXPIRED")):
            running = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "services.cli.main", "inbox"),
                env={"PATH": "/usr/bin:/bin", "TREADLE_URL": f"http://{gateway.address}", "TREADLE_TOKEN": token},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = await running.communicate()
            assert (running.returncode, out) == (5, b"")
            assert reason in err.decode()
            assert "`treadle token NAME`" in err.decode()
