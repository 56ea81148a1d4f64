"""Throws a home away with all that belongs to it, wherever that lies. For tests, and for a person who starts anew."""

import shutil
from pathlib import Path

from services.engines.home import hold
from services.engines.place import pointed
from services.engines.sockets import forget_sockets


def discard(home: Path) -> None:
    """Raises HomeInUse while somebody runs it, HomeNotUsable when it points to data that is not there."""
    if not home.exists():
        return
    with hold(home):
        data = pointed(home) or home
        forget_sockets(data)
        for folder in {data, home}:
            shutil.rmtree(folder)
