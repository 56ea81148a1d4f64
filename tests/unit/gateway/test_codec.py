"""JSON into messages and back: the rules of design/gateway.md 'REST', field by field."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, message_factory, timestamp_pb2
from google.protobuf.descriptor import Descriptor
from hypothesis import given
from hypothesis import strategies as st

from gateway.transcode.json_decode import MessageDecoder, decoder_of
from gateway.transcode.json_encode import MessageEncoder, encoder_of
from gateway.transcode.json_read import DEPTH_MOST, read_object
from gateway.transcode.query import read_query
from services.kernel.errors import Invalid
from treadle.threads.v1 import catalog_service_pb2 as catalog
from treadle.threads.v1 import thread_event_pb2 as event
from treadle.threads.v1 import thread_service_pb2 as threads


def decode(message: Any, value: dict[str, Any]) -> Any:
    return decoder_of(message.DESCRIPTOR).decode(value)


def encode(message: Any) -> dict[str, Any]:
    value: dict[str, Any] = orjson.loads(encoder_of(message.DESCRIPTOR).encode(message))
    return value


def refused(message: Any, value: dict[str, Any]) -> Invalid:
    with pytest.raises(Invalid) as caught:
        decode(message, value)
    return caught.value


def every_kind() -> Descriptor:
    """A message with what the services' own do not use yet."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="every.proto", package="every", syntax="proto3")
    file.dependency.append(duration_pb2.DESCRIPTOR.name)
    message = file.message_type.add(name="Every")
    message.field.add(name="small", number=1, type=field.TYPE_UINT32, label=field.LABEL_OPTIONAL)
    message.field.add(name="blob", number=2, type=field.TYPE_BYTES, label=field.LABEL_OPTIONAL)
    message.field.add(
        name="wait",
        number=3,
        type=field.TYPE_MESSAGE,
        type_name=".google.protobuf.Duration",
        label=field.LABEL_OPTIONAL,
    )
    message.field.add(
        name="self", number=4, type=field.TYPE_MESSAGE, type_name=".every.Every", label=field.LABEL_OPTIONAL
    )
    message.oneof_decl.add(name="choice")
    for number, name in ((5, "text"), (6, "number")):
        kind = field.TYPE_STRING if name == "text" else field.TYPE_DOUBLE
        message.field.add(name=name, number=number, type=kind, label=field.LABEL_OPTIONAL, oneof_index=0)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(duration_pb2.DESCRIPTOR.serialized_pb)
    return pool.AddSerializedFile(file.SerializeToString()) and pool.FindMessageTypeByName("every.Every")


EVERY = every_kind()


def test_defaults_are_present_and_what_is_not_set_is_absent() -> None:
    card = encode(threads.Thread(id="thr_1"))
    assert card["title"] == ""
    assert card["context_items"] == []
    assert card["sub_thread_state_counts"] == {}
    assert card["can_clean_up"] is False
    for name in ("create_time", "intent", "failure_context", "state", "autonomy"):
        assert name not in card


def test_enums_are_lower_case_without_prefix_both_ways() -> None:
    card = threads.Thread(
        state=threads.Thread.STATE_DONE_CLEANUP_UNSUCCESSFUL,
        card_kind=threads.Thread.CARD_KIND_CLEANUP_FAILURE,
        display_mode=threads.Thread.DISPLAY_MODE_MID_PROCESS,
    )
    value = encode(card)
    assert (value["state"], value["card_kind"], value["display_mode"]) == (
        "done_cleanup_unsuccessful",
        "cleanup_failure",
        "mid_process",
    )
    assert decode(threads.Thread, {"state": "awaiting_inference"}).state == threads.Thread.STATE_AWAITING_INFERENCE


@pytest.mark.parametrize("value", ["STATE_DONE", "Done", "unspecified", "", 18, "nowhere", ["done"]])
def test_other_spellings_of_a_state_are_refused(value: Any) -> None:
    assert refused(threads.Thread, {"state": value}).metadata["field"] == "state"


def test_a_number_that_these_protos_do_not_know_goes_out_as_it_is() -> None:
    newer = threads.Thread.FromString(bytes([4 << 3, 99]))
    assert encode(newer)["state"] == 99


def test_json_bytes_are_the_json_value_under_the_short_name() -> None:
    item = decode(threads.ContextItem, {"id": "a", "payload": {"k": [1, None, "é"]}})
    assert orjson.loads(item.payload_json) == {"k": [1, None, "é"]}
    assert encode(item)["payload"] == {"k": [1, None, "é"]}
    assert "payload_json" not in encode(item)
    assert refused(threads.ContextItem, {"payload_json": "e30="}).reason == "UNKNOWN_FIELD"


def test_whole_numbers_are_numbers_and_may_come_as_text() -> None:
    assert encode(event.ThreadEvent(seq=2**53))["seq"] == 2**53
    assert decode(event.ThreadEvent, {"seq": str(2**62)}).seq == 2**62
    assert decode(event.ThreadEvent, {"seq": 3.0}).seq == 3


@pytest.mark.parametrize("value", [1.5, True, "1.0", " 5 ", "+5", "1_0", "٣", "", 2**63, "9" * 5000, [], {}])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    assert refused(event.ThreadEvent, {"seq": value}).metadata["field"] == "seq"


def test_bounds_are_those_of_the_type() -> None:
    decoder = MessageDecoder(EVERY)
    assert decoder.decode({"small": 2**32 - 1}).small == 2**32 - 1  # type: ignore[attr-defined]
    for value in (-1, 2**32):
        with pytest.raises(Invalid, match=r"0\.\.4294967295"):
            decoder.decode({"small": value})


def test_times_are_rfc_3339_in_utc() -> None:
    given_time = {"hours": None, "resurface_at": "2026-03-01T12:00:00.250+02:00"}
    request = decode(threads.DeferThreadRequest, given_time)
    assert request.resurface_at == timestamp_pb2.Timestamp(seconds=1772359200, nanos=250_000_000)
    assert encode(request)["resurface_at"] == "2026-03-01T10:00:00.250Z"


@pytest.mark.parametrize(
    "value", ["2026-03-01", "2026-02-30T00:00:00Z", "2026-03-01T12:00:00", "2026-03-01T12:00:00Z\n", "soon", 5, ""]
)
def test_what_is_no_time_is_refused(value: Any) -> None:
    assert refused(threads.DeferThreadRequest, {"resurface_at": value}).metadata["field"] == "resurface_at"


def test_durations_bytes_oneofs_and_messages_within_themselves() -> None:
    value = {"wait": "1.500s", "blob": "AAE=", "self": {"number": 2.5}}
    message: Any = MessageDecoder(EVERY).decode({**value, "text": None})
    assert (message.wait.seconds, message.wait.nanos) == (1, 500_000_000)
    assert message.blob == b"\0\1"
    written = orjson.loads(MessageEncoder(EVERY).encode(message))
    assert written == {"small": 0, "wait": "1.500s", "blob": "AAE=", "self": {"small": 0, "blob": "", "number": 2.5}}
    with pytest.raises(Invalid, match=r"self\.number: not together with text"):
        MessageDecoder(EVERY).decode({"self": {"text": "a", "number": 1}})
    for wrong in ("1.5", "1 s", "٣s", 5):
        with pytest.raises(Invalid, match="wait: "):
            MessageDecoder(EVERY).decode({"wait": wrong})


def test_null_is_absent_but_not_inside_a_list() -> None:
    request = decode(threads.SetActionProposalRequest, {"capability_name": None, "parameters": None})
    assert not request.HasField("capability_name")
    assert request.parameters_json == b""
    assert refused(catalog.ActionRegistration, {"available_in": ["a", None]}).metadata["field"] == "available_in[1]"


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"title": 5}, "title"),
        ({"title": ["x"]}, "title"),
        ({"context_items": {}}, "context_items"),
        ({"context_items": ["x"]}, "context_items[0]"),
        ({"context_items": [{}, {"label": 1}]}, "context_items[1].label"),
        ({"context_items": [{"nope": 1}]}, "context_items[0].nope"),
        ({"contextItems": []}, "contextItems"),
        ({"_from": "done"}, "_from"),
        ({"trigger": "accepted"}, "trigger"),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(value: dict[str, Any], field: str) -> None:
    assert refused(threads.CreateThreadRequest, value).metadata["field"] == field


@pytest.mark.parametrize(
    ("body", "reason", "field"),
    [
        (b"[]", "INVALID_JSON", "body"),
        (b"null", "INVALID_JSON", "body"),
        (b"{", "INVALID_JSON", "body"),
        (b'{"a": NaN}', "INVALID_JSON", "body"),
        (b'{"a": -Infinity}', "INVALID_JSON", "body"),
        (b'{"a": 1e999}', "INVALID_FIELD", "a"),
        (b'{"a": {"b": [0, 1e999]}}', "INVALID_FIELD", "a.b[1]"),
        (b'{"a": 18446744073709551616}', "INVALID_FIELD", "a"),
        (b'{"a": ' + b"9" * 5000 + b"}", "INVALID_JSON", "body"),
        (b'{"a": 1, "a": 2}', "DUPLICATE_FIELD", "a"),
        (b'{"x": {"a": 1, "a": 1}}', "DUPLICATE_FIELD", "a"),
        (b'{"a": "x\\u0000y"}', "INVALID_FIELD", "a"),
        (b'{"a": {"k\\u0000": 1}}', "INVALID_FIELD", "a.k\N{REPLACEMENT CHARACTER}"),
        (b'{"a": "x\x00y"}', "INVALID_JSON", "body"),
        (b'{"a": "\xff"}', "INVALID_JSON", "body"),
        ('{"a": "é"}'.encode("latin-1"), "INVALID_JSON", "body"),
        ('{"a": "é"}'.encode("utf-16"), "INVALID_JSON", "body"),
        (b'\xef\xbb\xbf{"a": 1}', "INVALID_JSON", "body"),
        (b'{"a": "' + b"x" * 10 + b'\\ud83dy"}', "INVALID_FIELD", "a"),
        (b'{"\\ud83d": 1}', "INVALID_FIELD", "\N{REPLACEMENT CHARACTER}"),
        (b"[" * 100_000, "TOO_DEEP", "body"),
        (b'{"a":' * 100_000, "TOO_DEEP", "body"),
    ],
)
def test_pub22_bodies_that_are_no_json_or_no_text_are_refused_naming_the_field(
    body: bytes, reason: str, field: str
) -> None:
    with pytest.raises(Invalid) as caught:
        read_object(body)
    assert (caught.value.reason, caught.value.metadata["field"]) == (reason, field)
    caught.value.message.encode("utf-8")


def test_the_deepest_body_that_is_taken() -> None:
    def nested(levels: int) -> bytes:
        return b'{"a":' * levels + b"1" + b"}" * levels

    read_object(nested(DEPTH_MOST))
    with pytest.raises(Invalid) as caught:
        read_object(nested(DEPTH_MOST + 1))
    assert caught.value.reason == "TOO_DEEP"
    assert caught.value.metadata["field"] == ".".join("a" * DEPTH_MOST)


def test_an_empty_body_is_the_empty_object() -> None:
    assert read_object(b"") == read_object(b" \r\n") == {}


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_value_goes_through_as_it_is(value: Any) -> None:
    item = decode(threads.ContextItem, read_object(orjson.dumps({"payload": value})))
    if value is None:
        assert item.payload_json == b""
    else:
        assert encode(item)["payload"] == value


def test_queries_are_read_by_the_same_rules() -> None:
    query = b"state=done&state=awaiting_review&page_size=20&page_token=a%2Bb%26c+d"
    request: Any = read_query(query, threads.ListThreadsRequest.DESCRIPTOR)
    assert list(request.state) == [threads.Thread.STATE_DONE, threads.Thread.STATE_AWAITING_REVIEW]
    assert (request.page_size, request.page_token) == (20, "a+b&c d")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (b"nope=1", "nope"),
        (b"state=DONE", "state[0]"),
        (b"page_size=x", "page_size"),
        (b"page_size=1&page_size=2", "page_size"),
        (b"page_token=%00", "page_token"),
        (b"page_token=%ff", "page_token"),
        (b"state.x=1", "state.x"),
        (b"page_size=%D9%A3", "page_size"),
        (b"&".join([b"state=done"] * 501), "query"),
    ],
)
def test_queries_that_do_not_fit_are_named(query: bytes, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_query(query, threads.ListThreadsRequest.DESCRIPTOR)
    assert caught.value.metadata["field"] == field


def test_queries_reach_into_messages_by_dots() -> None:
    message: Any = read_query(b"self.self.number=1.5&wait=2s", EVERY)
    assert message.self.self.number == 1.5
    assert message.wait.seconds == 2


def test_every_request_and_answer_of_the_protos_has_a_codec() -> None:
    for file in (threads, catalog, event):
        for message in file.DESCRIPTOR.message_types_by_name.values():
            empty = message_factory.GetMessageClass(message)()
            encoder_of(message).encode(empty)
            decoder_of(message).decode({})
