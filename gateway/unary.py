"""A unary RPC over HTTP: request in, message out, answer back. Knows no RPC by name."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

import grpc
from google.protobuf.message import Message

from gateway import problems
from gateway.clients import Unary, check_size
from gateway.http import Receive, Scope, Send, answer, answer_problem, header, read_body
from gateway.origin import SAFE
from gateway.refusals import WrongMediaType
from gateway.transcode.http_rules import Route
from gateway.transcode.json_decode import decoder_of
from gateway.transcode.json_encode import encoder_of
from gateway.transcode.json_read import bad_field, read_object
from gateway.transcode.query import read_query, split_query
from gateway.transcode.router import path_fields
from services.kernel.errors import DeadlineExceeded, Invalid
from services.kernel.principal import Principal
from services.kernel.request import REQUEST_ID

_MEDIA_TYPE: Final = re.compile(r"application/(json|[a-z0-9.-]+\+json)", re.IGNORECASE)
_CHARSET: Final = re.compile(r';\s*charset\s*=\s*"?([^\s";]+)"?', re.IGNORECASE)
_ETAG: Final = re.compile(r'(?:W/)?"([\x21\x23-\x7e]{1,256})"|([\x21\x23-\x7e]{1,256})')
_FROM_HEADERS: Final = {"request_id": b"idempotency-key", "etag": b"if-match"}


class UnaryEndpoint:
    """One route to one unary RPC."""

    def __init__(self, route: Route, call: Unary, body_most: int, deadline_seconds: float) -> None:
        self._route = route
        self._call = call
        self._body_most = body_most
        self._deadline = deadline_seconds
        self._path_fields = {variable.field for variable in route.variables}
        self._header_fields = [name for name in _FROM_HEADERS if name in route.request.fields_by_name]
        self._encoder = encoder_of(route.response)
        self._has_etag = "etag" in route.response.fields_by_name

    async def serve(
        self, scope: Scope, receive: Receive, send: Send, segments: list[str], principal: Principal
    ) -> None:
        """Answers one request; gives up (504) when the whole of it takes longer than the deadline."""
        until = asyncio.get_running_loop().time() + self._deadline
        message = await self._message(scope, receive, segments)
        check_size(message)
        if_match = header(scope, b"if-match") is not None
        try:
            response = await self._call(message, timeout=max(0.0, until - asyncio.get_running_loop().time()))
        except grpc.aio.AioRpcError as error:
            await answer_problem(scope, send, problems.of_rpc(error, if_match=if_match))
            return
        except TimeoutError:
            raise DeadlineExceeded("DEADLINE_EXCEEDED", "the call took too long") from None
        headers = [("etag", quoted_etag(response.etag))] if self._has_etag and response.etag else []
        await answer(send, 200, self._encoder.encode(response), headers=headers)

    async def _message(self, scope: Scope, receive: Receive, segments: list[str]) -> Message:
        """The request message out of path, query, body and headers."""
        if self._route.body:
            if split_query(scope["query_string"]):
                name = split_query(scope["query_string"])[0][0]
                raise Invalid("UNKNOWN_PARAMETER", "this method takes its fields in the body", field=name)
            body = await read_body(scope, receive, self._body_most, self._deadline)
            if body.strip():
                check_media_type(header(scope, b"content-type"))
            message = decoder_of(self._route.request).decode(read_object(body), reserved=self._path_fields)
        else:
            _check_no_body(scope)
            message = read_query(scope["query_string"], self._route.request, self._path_fields)
        for field, value in path_fields(self._route, segments).items():
            setattr(message, field, value)
        for field in self._header_fields:
            _fill(message, field, header(scope, _FROM_HEADERS[field]))
        return message


def _check_no_body(scope: Scope) -> None:
    """Refuses a body where nobody would look at it: who sends an etag there must not believe that it was checked."""
    empty = header(scope, b"content-length") in (None, "0") and header(scope, b"transfer-encoding") is None
    if scope["method"] not in SAFE and not empty:
        raise Invalid(
            "BODY_NOT_TAKEN", "this method takes its fields in query and headers, not in a body", field="body"
        )


def _fill(message: Any, field: str, value: str | None) -> None:
    """Puts a header's value into its field; the body may say the same, but nothing else."""
    if value is None:
        return
    name = _FROM_HEADERS[field].decode()
    text = _etag(value) if field == "etag" else value
    if text is None:
        return
    if field == "request_id" and not REQUEST_ID.fullmatch(text):
        raise bad_field(name, "must be 1..128 characters of A-Z a-z 0-9 _ . : -")
    given = getattr(message, field)
    if given and (_etag(given) if field == "etag" else given) != text:
        raise bad_field(field, f"differs from the header {name}")
    setattr(message, field, text)


def _etag(value: str) -> str | None:
    """The etag in an If-Match header; None for `*`."""
    if value.strip() == "*":
        return None
    match = _ETAG.fullmatch(value.strip())
    if match is None:
        raise bad_field("if-match", "must be one etag")
    return match[1] or match[2]


def quoted_etag(etag: str) -> str:
    """A resource's etag as the header has it; some services quote theirs already."""
    return etag if etag.endswith('"') else f'"{etag}"'


def check_media_type(value: str | None) -> None:
    """Refuses a body that does not say that it is JSON in UTF-8."""
    kind = (value or "").partition(";")[0].strip()
    if not _MEDIA_TYPE.fullmatch(kind):
        raise WrongMediaType("NOT_JSON", "send the body as application/json", {"accept": "application/json"})
    charset = _CHARSET.search(value or "")
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        raise bad_field("content-type", "the charset must be utf-8")
