"""Requests over HTTP: bodies, headers, methods and paths that a service never gets to see."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import httpx
import pytest

from gateway.contexts import MODULES
from services.kernel.errors import Conflict, EtagMismatch, Invalid, TooLarge
from tests.fakes.running_gateway import Gateway, Start
from treadle.threads.v1 import thread_service_pb2 as threads

JSON = {"content-type": "application/json"}


def problem(response: httpx.Response, status: int, reason: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = response.json()
    assert document["status"] == status
    assert document["reason"] == reason
    assert document["request_id"] == response.headers["x-request-id"]
    assert document["type"] == f"urn:treadle:problem:{reason.lower()}"
    return document


async def test_a_thread_is_created_and_answered_with_its_etag(gateway: Gateway) -> None:
    gateway.script.answers["CreateThread"] = threads.Thread(name="threads/thr_1", id="thr_1", etag="7", state=2)
    body = {"title": "Buy milk", "context_items": [{"id": "a", "payload": {"x": 1}}], "autonomy": "end_to_end"}
    response = await gateway.http.post("/api/threads", json=body, headers={"idempotency-key": "k-1"})
    assert response.status_code == 200
    assert response.headers["etag"] == '"7"'
    assert response.headers["cache-control"] == "no-store"
    assert response.json()["state"] == "awaiting_inference"
    [(_, asked)] = gateway.script.asked
    assert (asked.title, asked.request_id, asked.autonomy_json) == ("Buy milk", "k-1", b'"end_to_end"')
    assert asked.context_items[0].payload_json == b'{"x":1}'


async def test_path_query_and_headers_reach_the_request(gateway: Gateway) -> None:
    await gateway.http.get("/api/threads/thr_1/events", params={"page_size": 5})
    await gateway.http.post("/api/threads/thr%5F1/accept", headers={"if-match": 'W/"3"', "idempotency-key": "k"})
    await gateway.http.post("/api/threads/thr_1/dismiss", json={"reason": "no"}, headers={"if-match": "*"})
    (_, listed), (_, accepted), (_, dismissed) = gateway.script.asked
    assert (listed.name, listed.page_size) == ("threads/thr_1", 5)
    assert (accepted.name, accepted.etag, accepted.request_id) == ("threads/thr_1", "3", "k")
    assert (dismissed.etag, dismissed.reason) == ("", "no")


@pytest.mark.parametrize(
    ("content", "headers", "status", "reason", "field"),
    [
        (b"{", JSON, 400, "INVALID_JSON", "body"),
        (b'"x"', JSON, 400, "INVALID_JSON", "body"),
        (b'{"title":"x\\ud83dy"}', JSON, 400, "INVALID_FIELD", "title"),
        (b'{"title":"x\\u0000y"}', JSON, 400, "INVALID_FIELD", "title"),
        (b'{"context_items":[{"payload":{"a":"\\udc00"}}]}', JSON, 400, "INVALID_FIELD", "context_items[0].payload.a"),
        ('{"title":"é"}'.encode("latin-1"), JSON, 400, "INVALID_JSON", "body"),
        (b'{"title":"x"}', {"content-type": "application/json; charset=latin-1"}, 400, "INVALID_FIELD", "content-type"),
        (b'{"title":"x","title":"y"}', JSON, 400, "DUPLICATE_FIELD", "title"),
        (b'{"title":"x","create_time":"2026-01-01T00:00:00Z"}', JSON, 400, "UNKNOWN_FIELD", "create_time"),
        (b'{"title":"x","_actor":"me"}', JSON, 400, "UNKNOWN_FIELD", "_actor"),
        (b'{"autonomy":' + b"[" * 30 + b"]" * 30 + b"}", JSON, 400, "TOO_DEEP", None),
        (b"[" * 500_000, JSON, 400, "TOO_DEEP", "body"),
        (b'{"title":"x"}', {"content-type": "text/plain"}, 415, "NOT_JSON", None),
        (b"title=x", {"content-type": "application/x-www-form-urlencoded"}, 415, "NOT_JSON", None),
        (b'{"title":"x"}', {}, 415, "NOT_JSON", None),
    ],
)
async def test_pub22_malformed_bodies_are_refused_before_any_service_sees_them(
    gateway: Gateway, content: bytes, headers: dict[str, str], status: int, reason: str, field: str | None
) -> None:
    response = await gateway.http.post("/api/threads", content=content, headers=headers)
    document = problem(response, status, reason)
    if field is not None:
        assert document["metadata"]["field"] == field
    assert gateway.script.asked == []
    assert (await gateway.http.get("/api/threads")).status_code == 200


async def test_a_body_where_none_is_looked_at_is_refused_instead_of_ignored(gateway: Gateway) -> None:
    path = "/api/sessions/ses_1/documents/doc"

    async def unannounced() -> Any:
        yield b'{"etag": "7"}'

    for content in (b'{"etag": "7"}', b"{}", unannounced()):
        refused = await gateway.http.request("DELETE", path, content=content, headers=JSON)
        assert problem(refused, 400, "BODY_NOT_TAKEN")["metadata"] == {"field": "body"}
    assert gateway.script.asked == []
    assert (await gateway.http.delete(path, headers={**JSON, "if-match": '"7"'})).status_code == 200
    assert (await gateway.http.request("DELETE", f"{path}?request_id=k", content=b"")).status_code == 200
    assert [(request.etag, request.request_id) for _, request in gateway.script.asked] == [("7", ""), ("", "k")]


async def test_an_empty_body_is_the_empty_object(gateway: Gateway) -> None:
    assert (await gateway.http.post("/api/threads/thr_1/accept")).status_code == 200
    response = await gateway.http.post("/api/threads/thr_1/accept", content=b"{}", headers=JSON)
    assert response.status_code == 200


async def test_pub23_large_bodies_are_413_whether_announced_or_not(gateway: Gateway) -> None:
    most = 10 * 1024 * 1024
    text = "ж" * (3 * 1024 * 1024 // 2)
    for fits in (json.dumps({"description": text}), json.dumps({"description": text}, ensure_ascii=False)):
        response = await gateway.http.post("/api/threads", content=fits.encode(), headers=JSON)
        assert response.status_code == 200, response.text
        assert gateway.script.asked[-1][1].description == text

    async def unannounced() -> Any:
        for _ in range(161):
            yield b" " * 65536

    for content in (b"x" * (most + 1), unannounced()):
        response = await gateway.http.post("/api/threads", content=content, headers=JSON)
        assert problem(response, 413, "BODY_TOO_LARGE")["metadata"] == {"field": "body", "limit": str(most)}


@pytest.mark.parametrize("value", ['""', "[]", "1", '{"a":"b"}', '"\\""'])
async def test_pub23_a_body_of_many_small_values_is_refused_before_it_is_read(gateway: Gateway, value: str) -> None:
    most = 1024 * 1024
    many = most // (len(value) + 1)
    body = f'{{"title": [{",".join([value] * (many * 2))}]}}'
    refused = problem(await gateway.http.post("/api/threads", content=body, headers=JSON), 413, "BODY_TOO_LARGE")
    assert refused["metadata"] == {"field": "body", "limit": str(most)}
    fewer = f'{{"title": [{",".join([value] * (many // 8))}]}}'
    response = await gateway.http.post("/api/threads", content=fewer, headers=JSON)
    assert problem(response, 400, "INVALID_FIELD")["metadata"]["field"] == "title"


@pytest.mark.parametrize("text", ['"', '"' * 99, "\\", '\\"', "[{,:", '[\\"', "\u2028", "a\nb"])
async def test_pub23_what_a_long_text_holds_is_not_taken_for_structure(gateway: Gateway, text: str) -> None:
    long = text * (2 * 1024 * 1024 // len(text.encode()))
    response = await gateway.http.post("/api/threads", json={"description": long})
    assert response.status_code == 200, response.text
    assert gateway.script.asked[-1][1].description == long
    unclosed = b'{"description": "' + json.dumps(long).encode()[1:-1]
    problem(await gateway.http.post("/api/threads", content=unclosed, headers=JSON), 400, "INVALID_JSON")


async def test_pub23_a_request_over_the_message_limit_is_413_and_says_so(gateway: Gateway) -> None:
    response = await gateway.http.post("/api/threads", json={"description": "x" * (5 * 1024 * 1024)})
    assert problem(response, 413, "REQUEST_TOO_LARGE")["metadata"] == {"field": "body", "limit": "4194304"}
    assert gateway.script.asked == []


async def test_pub23_answers_over_the_message_limit_are_413_and_sizes_refused_by_services_too(gateway: Gateway) -> None:
    gateway.script.answers["GetThread"] = threads.Thread(description="x" * (4 * 1024 * 1024))
    problem(await gateway.http.get("/api/threads/thr_1"), 413, "RESOURCE_EXHAUSTED")
    gateway.script.answers["CreateThread"] = TooLarge("PAYLOAD_TOO_LARGE", "over 64 KiB", limit=65536)
    problem(await gateway.http.post("/api/threads", json={"title": "x"}), 413, "PAYLOAD_TOO_LARGE")


async def test_pub24_page_sizes_and_tokens_go_to_the_service_or_are_refused(gateway: Gateway) -> None:
    refusal = Invalid("INVALID_PAGE_TOKEN", "not of this list", field="page_token")
    gateway.script.answers["ListThreads"] = refusal
    problem(await gateway.http.get("/api/threads?page_token=forged"), 400, "INVALID_PAGE_TOKEN")
    problem(await gateway.http.get("/api/threads?page_size=1000000000000"), 400, "INVALID_FIELD")
    problem(await gateway.http.get("/api/threads?page_size=x"), 400, "INVALID_FIELD")
    problem(await gateway.http.get("/api/threads?pagesize=1"), 400, "UNKNOWN_PARAMETER")
    problem(await gateway.http.post("/api/threads?title=x", json={"title": "x"}), 400, "UNKNOWN_PARAMETER")


async def test_paths_and_methods_that_are_not_served(gateway: Gateway) -> None:
    problem(await gateway.http.get("/api/nope"), 404, "ROUTE_NOT_FOUND")
    problem(await gateway.http.get("/api/threads/a/b/c"), 404, "ROUTE_NOT_FOUND")
    problem(await gateway.http.get("/api/threads/a%2Fb"), 400, "INVALID_PATH")
    problem(await gateway.http.get("/api/threads/a%00"), 400, "INVALID_PATH")
    problem(await gateway.http.get("/api/threads/%ff"), 400, "INVALID_PATH")
    refused = await gateway.http.delete("/api/threads")
    problem(refused, 405, "METHOD_NOT_ALLOWED")
    assert refused.headers["allow"] == "GET, POST"
    assert (await gateway.http.head("/api/threads/thr_1")).status_code == 200
    problem(await gateway.http.get("/api/threads/thr_1/accept"), 405, "METHOD_NOT_ALLOWED")


async def test_header_and_body_must_not_differ(gateway: Gateway) -> None:
    path = "/api/threads/thr_1/accept"
    same = await gateway.http.post(path, json={"etag": "3"}, headers={"if-match": '"3"'})
    assert same.status_code == 200
    other = await gateway.http.post(path, json={"etag": "3"}, headers={"if-match": '"4"'})
    assert problem(other, 400, "INVALID_FIELD")["metadata"]["field"] == "etag"
    key = await gateway.http.post(path, json={"request_id": "a"}, headers={"idempotency-key": "b"})
    assert problem(key, 400, "INVALID_FIELD")["metadata"]["field"] == "request_id"
    long = await gateway.http.post(path, headers={"idempotency-key": "x" * 129})
    problem(long, 400, "INVALID_FIELD")
    named = await gateway.http.post(path, json={"name": "threads/thr_2"})
    problem(named, 400, "UNKNOWN_FIELD")


async def test_a_packed_body_is_refused_before_it_is_read(gateway: Gateway) -> None:
    for encoding in ("gzip", "br", "deflate, gzip"):
        headers = {**JSON, "content-encoding": encoding}
        refused = await gateway.http.post("/api/threads", content=gzip.compress(b'{"title":"x"}'), headers=headers)
        problem(refused, 415, "BODY_ENCODED")
        assert refused.headers["accept-encoding"] == ""
    assert gateway.script.asked == []
    plain = await gateway.http.post("/api/threads", json={"title": "x"}, headers={"content-encoding": "identity"})
    assert plain.status_code == 200


@pytest.mark.parametrize("key", ["", "a b", "a!", "x" * 129, "\u00e9"])
async def test_pub08_a_key_that_no_service_takes_is_refused_with_what_it_may_be(gateway: Gateway, key: str) -> None:
    headers = {"idempotency-key": key.encode("latin-1")}
    refused = problem(
        await gateway.http.post("/api/threads", json={"title": "x"}, headers=headers), 400, "INVALID_FIELD"
    )
    assert refused["metadata"] == {"field": "idempotency-key"}
    assert "A-Z a-z 0-9 _ . : -" in refused["detail"]
    assert gateway.script.asked == []


@pytest.mark.parametrize("etag", ["7", '"7"', 'W/"7"'])
async def test_the_etag_that_was_answered_can_be_sent_back_as_it_is(gateway: Gateway, etag: str) -> None:
    gateway.script.answers["AcceptThread"] = threads.Decision(etag=etag)
    path = "/api/threads/thr_1/accept"
    response = await gateway.http.post(path)
    header = response.headers["etag"]
    assert header == (etag if etag.endswith('"') else f'"{etag}"')
    for body in ({}, {"etag": response.json()["etag"]}):
        again = await gateway.http.post(path, json=body, headers={"if-match": header})
        assert again.status_code == 200, again.text
        assert gateway.script.asked[-1][1].etag == "7"


async def test_a_stale_etag_is_412_when_it_came_as_if_match_and_409_in_the_body(gateway: Gateway) -> None:
    gateway.script.answers["AcceptThread"] = EtagMismatch("ETAG_MISMATCH", "changed", etag="9", state="done")
    path = "/api/threads/thr_1/accept"
    document = problem(await gateway.http.post(path, headers={"if-match": '"8"'}), 412, "ETAG_MISMATCH")
    assert (document["state"], document["metadata"]) == ("done", {"etag": "9", "state": "done"})
    problem(await gateway.http.post(path, json={"etag": "8"}), 409, "ETAG_MISMATCH")


async def test_a_loser_is_told_who_decided(gateway: Gateway) -> None:
    told = {"decided_by": "user:ann", "decision": "execute", "state": "executing"}
    gateway.script.answers["AcceptThread"] = Conflict("ALREADY_DECIDED", "somebody was first", **told)
    document = problem(await gateway.http.post("/api/threads/thr_1/accept"), 409, "ALREADY_DECIDED")
    assert document["metadata"] == told
    assert document["state"] == "executing"


async def test_pub22_an_error_that_quotes_bad_input_is_safe(gateway: Gateway) -> None:
    gateway.script.answers["AcceptThread"] = Invalid("BAD", "quoted: \ud83d", field="x\udc00", text="é\ud83d")
    document = problem(await gateway.http.post("/api/threads/thr_1/accept"), 400, "BAD")
    assert document["detail"] == "quoted: \N{REPLACEMENT CHARACTER}"


async def test_a_bug_is_masked(gateway: Gateway) -> None:
    gateway.script.answers["GetThread"] = RuntimeError("ZX-SECRET-7 postgres://u:p@host/db")
    response = await gateway.http.get("/api/threads/thr_1")
    problem(response, 500, "INTERNAL")
    assert "ZX-SECRET-7" not in response.text
    assert response.json()["detail"] == "internal error"


async def test_a_call_that_takes_too_long_is_504(start: Start) -> None:
    gateway = await start(gateway_deadline_seconds=0.1)
    never = asyncio.Event()
    gateway.script.answers["GetThread"] = lambda _: never.wait()
    problem(await gateway.http.get("/api/threads/thr_1"), 504, "DEADLINE_EXCEEDED")


async def test_a_service_that_is_gone_is_503_and_readyz_says_which(start: Start) -> None:
    gateway = await start(threads_target="127.0.0.1:1")
    response = await gateway.http.get("/api/threads/thr_1")
    problem(response, 503, "UNAVAILABLE")
    assert response.headers["retry-after"] == "1"
    assert "127.0.0.1" not in response.text
    ready = await gateway.http.get("/readyz")
    assert ready.status_code == 503
    assert ready.json()["services"] == {
        context: "unreachable" if context == "threads" else "serving" for context in MODULES
    }
    assert (await gateway.http.get("/healthz")).status_code == 200


async def test_a_body_that_never_ends_is_408(start: Start) -> None:
    gateway = await start(gateway_deadline_seconds=0.1)
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    head = (
        "POST /api/threads HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"
    )
    writer.write(head.encode())
    assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
    writer.close()


async def test_connections_that_never_say_what_they_want_are_closed(start: Start) -> None:
    gateway = await start(gateway_head_seconds=0.1)
    for said in (b"", b"GET /healthz HTTP/1.1\r\nhost: loc"):
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(said)
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
    assert (await gateway.http.get("/healthz")).status_code == 200
    await asyncio.sleep(0.15)  # longer than the limit: an idle connection that has spoken before is kept
    assert (await gateway.http.get("/healthz")).status_code == 200


async def test_request_ids_are_taken_when_they_are_well_formed_and_reach_the_service(gateway: Gateway) -> None:
    response = await gateway.http.get("/api/threads", headers={"x-request-id": "abc-1"})
    assert response.headers["x-request-id"] == "abc-1"
    response = await gateway.http.get("/api/threads", headers={"x-request-id": "a b"})
    assert response.headers["x-request-id"].startswith("req_")
    assert gateway.script.request_ids[0] == "abc-1"


async def test_bytes_that_are_no_http_do_not_hurt_others(gateway: Gateway) -> None:
    for line in (
        b"GET /\xff\xfe HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"\x16\x03\x01\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\n\r\n",
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(line)
        writer.write_eof()
        answered = await reader.read()
        assert not answered or answered.startswith(b"HTTP/1.1 4")
        writer.close()
    assert (await gateway.http.get("/healthz")).status_code == 200


async def test_a_path_with_a_line_end_in_it_is_a_problem_document_too(gateway: Gateway) -> None:
    for path in ("/api/sessions/%0Ax", "/api/sessions/a%0D%0Ab/documents/x", "/x%0Ay", "/.well-known/%0A"):
        refused = await gateway.http.put(path, json={})
        assert refused.status_code in (400, 404, 405)
        assert refused.headers["content-type"] == "application/problem+json"
