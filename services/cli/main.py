"""`treadle`: the command's root. Commands load what they need when they run: help is quick, small images work.

Exit codes (services/cli/exits.py): 0 ok, 1 refused or conflict, 2 usage, 3 not found, 4 unavailable, 5 not permitted,
6 a fault of Treadle, 130 interrupted.
"""

from __future__ import annotations

import typer

from services.cli.commands import documents, plans, sessions, threads, workers
from services.cli.commands.demo import demo
from services.cli.commands.doctor import doctor
from services.cli.commands.inbox import inbox
from services.cli.commands.starting import migrate, serve, up
from services.cli.commands.token import token
from services.cli.commands.verify import verify

_EPILOG = (
    "Exit codes: 0 ok · 1 refused or conflict · 2 usage · 3 not found · 4 unavailable · 5 not permitted · "
    "6 fault of Treadle · 130 interrupted. Environment: TREADLE_URL, TREADLE_PORT, TREADLE_TOKEN, TREADLE_HOME."
)
app = typer.Typer(
    name="treadle",
    help="Agent work that people supervise.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(up)
app.command()(demo)
app.command()(inbox)
app.add_typer(threads.app, name="threads")
app.add_typer(sessions.app, name="sessions")
app.add_typer(workers.app, name="workers")
app.add_typer(plans.app, name="plan")
app.add_typer(documents.app, name="documents")
app.command()(doctor)
app.command()(serve)
app.command()(migrate)
app.command()(verify)
app.command()(token)


def main() -> None:
    """The console script."""
    app()


if __name__ == "__main__":
    main()
