"""`treadle token`."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.exits import Exit

_DAYS_MOST = 366


def token(
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="Who it is for: 1..256 printable characters.")],
    roles: Annotated[
        list[str] | None,
        typer.Option(
            "--role", "-r", help="viewer, reviewer or admin, more than once if need be.", show_default="reviewer"
        ),
    ] = None,
    tenant: Annotated[str, typer.Option(help="The tenant, [a-z0-9_-]{1,63}.")] = "default",
    hours: Annotated[float, typer.Option(min=0.01, max=24 * _DAYS_MOST, help="How long it is good.")] = 12,
) -> None:
    """Prints a token for a person, signed with TREADLE_AUTH_SECRET of the environment.

    It logs in at the console, and goes into TREADLE_TOKEN or an Authorization header. Nothing is stored: only another
    secret takes it back.
    """
    from datetime import timedelta

    from services.kernel.clock import SystemClock
    from services.kernel.errors import Unauthenticated
    from services.kernel.principal import Authenticator, Principal
    from services.kernel.settings import CommonSettings, SettingsFault, load

    try:
        secret = load(CommonSettings).secret()
    except SettingsFault as fault:
        raise _wrong(str(fault)) from None
    if secret is None:
        raise _wrong("TREADLE_AUTH_SECRET is not set: without it nobody needs a token")
    authenticator = Authenticator(secret, SystemClock())
    given = frozenset(roles or ["reviewer"])
    if not given <= {"viewer", "reviewer", "admin"}:
        raise _wrong("a person's roles are viewer, reviewer and admin")
    made = authenticator.mint(Principal(tenant, subject, "user", given), timedelta(hours=hours))
    try:
        authenticator.authenticate(f"Bearer {made}")
    except Unauthenticated as refused:
        raise _wrong(refused.message) from None
    typer.echo(made)


def _wrong(what: str) -> typer.Exit:
    typer.echo(f"treadle: {what}", err=True)
    return typer.Exit(Exit.USAGE)
