"""From refusals and gRPC statuses to HTTP: the table of design/gateway.md, and nothing of an exception's text."""

from __future__ import annotations

import grpc
import orjson
import pytest

from gateway import problems
from gateway.refusals import TooManyRequests
from services.kernel import errors
from services.kernel.grpc_errors import DETAILS_KEY, code_of, to_status

TABLE = [
    (errors.Invalid, 400),
    (errors.Compacted, 400),
    (errors.Unauthenticated, 401),
    (errors.Denied, 403),
    (errors.NotFound, 404),
    (errors.AlreadyExists, 409),
    (errors.NotAllowed, 409),
    (errors.Conflict, 409),
    (errors.EtagMismatch, 409),
    (errors.TooLarge, 413),
    (errors.Exhausted, 429),
    (errors.Unavailable, 503),
    (errors.DeadlineExceeded, 504),
]


def over_the_wire(refusal: errors.Refusal) -> grpc.aio.AioRpcError:
    """The error as a caller gets it."""
    status = to_status(refusal, "threads.treadle")
    trailing = grpc.aio.Metadata((DETAILS_KEY, status.SerializeToString()))
    return grpc.aio.AioRpcError(code_of(refusal), grpc.aio.Metadata(), trailing, status.message)


def bare(code: grpc.StatusCode, details: str = "ZX-SECRET-7 at 10.0.0.1:5432") -> grpc.aio.AioRpcError:
    """An error that no service of ours has made."""
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details)


@pytest.mark.parametrize(("kind", "status"), TABLE)
def test_each_refusal_has_its_status_here_and_over_the_wire(kind: type[errors.Refusal], status: int) -> None:
    refusal = kind("SOME_REASON", "what is wrong", state="done", limit=3)
    for problem in (problems.of_refusal(refusal), problems.of_rpc(over_the_wire(refusal))):
        assert problem.status == status
        document = orjson.loads(problem.body("req_1"))
        assert document["reason"] == "SOME_REASON"
        assert document["detail"] == "what is wrong"
        assert document["metadata"] == {"state": "done", "limit": "3"}
        assert (document["state"], document["request_id"]) == ("done", "req_1")


def test_the_table_covers_every_refusal_of_the_kernel() -> None:
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.Refusal)}
    assert kinds - {errors.Refusal} == {kind for kind, _ in TABLE}


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_what_the_transport_says_never_leaves(code: grpc.StatusCode) -> None:
    problem = problems.of_rpc(bare(code))
    assert b"ZX-SECRET-7" not in problem.body("req_1")
    if code in (
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.DATA_LOSS,
    ):
        assert problem == problems.MASKED


def test_only_an_etag_that_came_as_if_match_is_412() -> None:
    stale = over_the_wire(errors.EtagMismatch("ETAG_MISMATCH", "changed"))
    assert problems.of_rpc(stale, if_match=True).status == 412
    assert problems.of_rpc(stale).status == 409
    assert problems.of_rpc(over_the_wire(errors.Conflict("ALREADY_DECIDED", "late")), if_match=True).status == 409


def test_headers_that_go_with_a_status() -> None:
    assert problems.of_refusal(errors.Unauthenticated("X", "")).headers["www-authenticate"] == "Bearer"
    assert problems.of_refusal(errors.Unavailable("X", "")).headers["retry-after"] == "1"
    assert problems.of_refusal(TooManyRequests("X", "", {"retry-after": "7"})).headers["retry-after"] == "7"
