"""gRPC statuses as refusals, for every stub of the runner.

A status that is nobody's (a masked bug, a cut connection) counts as unavailable: the question may be asked again, and
the fence keeps a repeated answer from taking effect twice.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import grpc

from services.kernel import grpc_errors
from services.kernel.errors import Refusal, Unavailable

_T = TypeVar("_T")


async def refusing(call: Awaitable[_T]) -> _T:
    """The call's answer. Raises a refusal."""
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        raise refusal_of(error) from None


def refusal_of(error: grpc.aio.AioRpcError) -> Refusal:
    """What the status says."""
    return grpc_errors.refusal_from(error) or Unavailable(error.code().name, error.details() or "")
