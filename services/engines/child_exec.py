"""Run by path, not imported: turns a fresh Python process into an engine.

Drops root, ties the engine's life to its parent, restores signals, then replaces itself. A tiny program
instead of subprocess's `preexec_fn`, which runs Python between fork and exec and may deadlock among threads.
Arguments: parent pid, uid, gid (-1 to stay), signal at the parent's death, command…
"""

import ctypes  # all imports come first: once root is dropped, Python's own folder may be out of reach
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_RESET = ("SIGPIPE", "SIGXFSZ", "SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP")


def become(parent: int, uid: int, gid: int, death_signal: int, command: list[str]) -> None:
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    # After dropping privileges, which clears it. It fires when the *thread* that started us ends.
    if sys.platform == "linux":
        if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        sys.exit("the process that started this engine is gone")
    for name in _RESET:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.umask(0o077)
    os.execv(command[0], command)


if __name__ == "__main__":
    become(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
