"""The one table between refusals and gRPC statuses, both ways (design/style.md, rule 8)."""

from __future__ import annotations

from typing import Any, Final

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

from services.kernel import errors
from services.kernel.text import encodable

DETAILS_KEY: Final = "grpc-status-details-bin"
MASKED: Final = "internal error"
_INFO_MOST: Final = 6_000
"""ErrorInfo in bytes: metadata of a call is limited to 8 KiB by default, and a larger one loses the whole answer."""

# Most specific first: the first row whose type matches is the answer.
_TABLE: Final[tuple[tuple[type[errors.Refusal], grpc.StatusCode], ...]] = (
    (errors.Invalid, grpc.StatusCode.INVALID_ARGUMENT),
    (errors.NotFound, grpc.StatusCode.NOT_FOUND),
    (errors.AlreadyExists, grpc.StatusCode.ALREADY_EXISTS),
    (errors.NotAllowed, grpc.StatusCode.FAILED_PRECONDITION),
    (errors.EtagMismatch, grpc.StatusCode.ABORTED),
    (errors.Conflict, grpc.StatusCode.ABORTED),
    (errors.Compacted, grpc.StatusCode.OUT_OF_RANGE),
    (errors.TooLarge, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (errors.Exhausted, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (errors.Denied, grpc.StatusCode.PERMISSION_DENIED),
    (errors.Unauthenticated, grpc.StatusCode.UNAUTHENTICATED),
    (errors.Unavailable, grpc.StatusCode.UNAVAILABLE),
    (errors.DeadlineExceeded, grpc.StatusCode.DEADLINE_EXCEEDED),
)
_KIND_KEY: Final = "kind"
"""Tells refusals apart that share a status: `etag` for EtagMismatch, `size` for TooLarge."""
_KINDS: Final[dict[type[errors.Refusal], str]] = {errors.EtagMismatch: "etag", errors.TooLarge: "size"}


def code_of(refusal: errors.Refusal) -> grpc.StatusCode:
    """The status code of a refusal."""
    return next(code for kind, code in _TABLE if isinstance(refusal, kind))


def to_status(refusal: errors.Refusal, domain: str) -> status_pb2.Status:
    """The whole status: code, safe message, and one ErrorInfo with reason, domain and metadata."""
    metadata = dict(refusal.metadata)
    if type(refusal) in _KINDS:
        metadata[_KIND_KEY] = _KINDS[type(refusal)]
    info = error_details_pb2.ErrorInfo(reason=refusal.reason, domain=domain, metadata=metadata)
    while info.ByteSize() > _INFO_MOST:
        longest = max(info.metadata, key=lambda key: len(info.metadata[key]))
        info.metadata[longest] = info.metadata[longest][: len(info.metadata[longest]) // 2] + "…"
    packed = any_pb2.Any()
    packed.Pack(info)
    number: int = code_of(refusal).value[0]
    # Details that cannot be encoded make the call hang until the caller's deadline (PUB22).
    return status_pb2.Status(code=number, message=encodable(refusal.message)[:1000], details=[packed])


def refusal_from(error: grpc.RpcError) -> errors.Refusal | None:
    """The refusal that a call was answered with; None when the status is none of ours (a masked bug, say)."""
    code = error.code()
    kinds = [kind for kind, its_code in _TABLE if its_code is code]
    if not kinds:
        return None
    info = _info(error)
    metadata = dict(info.metadata)
    marker = metadata.pop(_KIND_KEY, None)
    kind = next((k for k in kinds if _KINDS.get(k) == marker), kinds[-1])
    return kind(info.reason or code.name, error.details() or "", **metadata)


def _info(error: grpc.RpcError) -> error_details_pb2.ErrorInfo:
    info = error_details_pb2.ErrorInfo()
    metadata: Any = error.trailing_metadata() or ()
    for key, value in metadata:
        if key == DETAILS_KEY:
            for detail in status_pb2.Status.FromString(value).details:
                if detail.Unpack(info):
                    break
    return info
