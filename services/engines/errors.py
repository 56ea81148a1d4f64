"""What can keep the engines from running, each as a type that names the folder, port or file in question.

These are for the person who typed the command: `str(error)` is one plain sentence and says what to do.
"""

from pathlib import Path


class EngineError(Exception):
    """Every refusal of this package; nothing else leaves it on purpose."""


class HomeInUse(EngineError):
    """Another process holds the data folder. `pid` is 0 when the holder could not be named."""

    def __init__(self, home: Path, pid: int) -> None:
        self.home, self.pid = home, pid
        holder = f"process {pid}" if pid else "another process"
        super().__init__(f"The data folder {home} is in use by {holder}. Stop it, or choose another folder.")


class HomeNotWritable(EngineError):
    """The data folder is read-only, or belongs to somebody else."""

    def __init__(self, home: Path, detail: str) -> None:
        self.home = home
        super().__init__(f"The data folder {home} cannot be written: {detail}.")


class HomeFull(EngineError):
    """There is not enough room left. `needed` and `free` are bytes; 0 when only the failure is known."""

    def __init__(self, home: Path, needed: int = 0, free: int = 0) -> None:
        self.home, self.needed, self.free = home, needed, free
        detail = f": {free >> 20} MiB are free, {needed >> 20} MiB are needed" if needed else ""
        super().__init__(f"The disk of the data folder {home} is full{detail}. Free some space and start again.")


class HomeNotUsable(EngineError):
    """The folder cannot serve for another reason: a file in its place, open to everybody, too long a path."""

    def __init__(self, home: Path, detail: str) -> None:
        self.home = home
        super().__init__(f"The data folder {home} cannot be used: {detail}.")


class SecretMissing(EngineError):
    """The data is there, the password that opens it is not."""

    def __init__(self, home: Path, name: str) -> None:
        self.home = home
        super().__init__(f"{home} holds a database but its secret {name} is gone. Restore the file from a backup.")


class BinaryNotFound(EngineError):
    """No usable server program was found."""

    def __init__(self, program: str, advice: str) -> None:
        self.program = program
        super().__init__(f"No usable {program} was found. {advice}")


class AccountNotFound(EngineError):
    """PostgreSQL needs a user with a name, and never runs as root."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"No account to run the engines under: {detail}.")


class PortTaken(EngineError):
    """The port that was asked for is used by another program."""

    def __init__(self, engine: str, port: int) -> None:
        self.engine, self.port = engine, port
        super().__init__(f"Port {port} for {engine} is used by another program. Free it or choose another.")


class OrphanStays(EngineError):
    """A server that an earlier run left on this folder cannot be stopped."""

    def __init__(self, engine: str, folder: Path, pids: tuple[int, ...]) -> None:
        self.engine, self.folder, self.pids = engine, folder, pids
        listed = ", ".join(str(pid) for pid in pids)
        super().__init__(f"{engine} of an earlier run still uses {folder} and does not stop (process {listed}).")


class EngineNotStarted(EngineError):
    """The server gave up or did not get ready in time. `tail` is the end of its own log."""

    def __init__(self, engine: str, log: Path, detail: str, tail: str) -> None:
        self.engine, self.log, self.tail = engine, log, tail
        super().__init__(f"{engine} did not start: {detail}. Its log is {log}.\n{tail}".rstrip())
