"""The wire: whatever bytes come, a message or a WireError, and nothing allocated on a stranger's word."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundler.worker import wire

LIMITS = wire.Limits(header_bytes=1000, payload_bytes=1000)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    for fd in (read, write):
        try:
            os.close(fd)
        except OSError:
            continue


def _receive(data: bytes, limits: wire.Limits = LIMITS) -> wire.Message:
    """What a receiver makes of ``data`` and the end of the pipe."""
    read, write = os.pipe()
    try:
        sender = threading.Thread(target=lambda: (os.write(write, data), os.close(write)))
        sender.start()
        return wire.receive(read, limits, deadline=time.monotonic() + 5)
    finally:
        sender.join()
        os.close(read)


def _frame(header: bytes, payload: bytes = b"", *, magic: bytes = b"BNDL") -> bytes:
    return struct.pack("<4sIQ", magic, len(header), len(payload)) + header + payload


def test_round_trip(pipe: tuple[int, int]) -> None:
    read, write = pipe
    header = {"op": "call", "text": "ü \ud800"[:1], "deep": [[1], {"a": None}], "number": 2**60}
    wire.send(write, header, [b"abc", memoryview(b"de"), bytearray(b"f")])
    message = wire.receive(read, LIMITS)
    assert message.header == header
    assert bytes(message.payload) == b"abcdef"


def test_two_messages_do_not_mix(pipe: tuple[int, int]) -> None:
    read, write = pipe
    wire.send(write, {"n": 1}, [b"x"])
    wire.send(write, {"n": 2})
    assert wire.receive(read, LIMITS) == wire.Message({"n": 1}, bytearray(b"x"))
    assert wire.receive(read, LIMITS) == wire.Message({"n": 2}, bytearray())


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (_frame(b"{}", magic=b"HTTP"), "starts with b'HTTP'"),
        (struct.pack("<4sIQ", b"BNDL", 1001, 0), "header of 1001 bytes"),
        (struct.pack("<4sIQ", b"BNDL", 2, 1 << 63), "payload of 9223372036854775808 bytes"),
        (_frame(b"[]"), "of type list, not an object"),
        (_frame(b"3"), "of type int, not an object"),
        (_frame(b'{"a":NaN}'), "NaN is no JSON number"),
        (_frame(b'{"a":-Infinity}'), "-Infinity is no JSON number"),
        (_frame(b'{"a":1e999}'), "no finite number"),
        (_frame(b"\xff\xfe"), "no JSON"),
        (_frame(b'{"a":' + b"9" * 900 + b"}")[:-3], "ended after"),
        (b"", "ended after 0 of 16 bytes"),
        (b"BNDL", "ended after 4 of 16 bytes"),
    ],
)
def test_what_is_no_message_is_a_wire_error(data: bytes, says: str) -> None:
    with pytest.raises(wire.WireError, match="(?s)" + says.replace("(", r"\(")):
        _receive(data)


def test_deep_json_is_a_wire_error() -> None:
    limits = wire.Limits(header_bytes=1 << 20)
    with pytest.raises(wire.WireError):
        _receive(_frame(b'{"a":' + b"[" * 50_000), limits)


def test_a_huge_integer_is_a_wire_error() -> None:
    limits = wire.Limits(header_bytes=1 << 20)
    with pytest.raises(wire.WireError):
        _receive(_frame(b'{"a":' + b"9" * 50_000 + b"}"), limits)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"a":[' + b"{}," * 60_000 + b"0]}", "values is over the limit of 100000"),
        (b"{" + b",".join(b'"%x":0' % n for n in range(300)) + b"}", "300 keys"),
        (b'{"a":0,"a":1}', "one key twice"),
    ],
)
def test_what_would_cost_much_as_objects_is_a_wire_error(text: bytes, says: str) -> None:
    with pytest.raises(wire.WireError, match=says):
        _receive(_frame(text), wire.Limits(header_bytes=1 << 20))


@given(st.binary(max_size=300))
def test_any_bytes_are_a_message_or_a_wire_error(data: bytes) -> None:
    try:
        message = _receive(data)
    except wire.WireError:
        return
    assert isinstance(message.header, dict)


@given(st.binary(max_size=200), st.binary(max_size=64), st.integers(0, 300), st.integers(0, 100))
def test_a_frame_cut_or_changed_anywhere(header: bytes, payload: bytes, at: int, change: int) -> None:
    frame = bytearray(_frame(header, payload))
    frame[at % len(frame)] ^= change
    with contextlib.suppress(wire.WireError):
        assert isinstance(_receive(bytes(frame)).header, dict)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=10), json_values, max_size=5))
def test_any_header_survives(header: dict[str, object]) -> None:
    assert wire.decode_header(wire.encode(header, 0)[16:]) == json.loads(json.dumps(header))


def test_nan_is_not_sent(pipe: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        wire.send(pipe[1], {"error": float("nan")})


def test_no_answer_in_time(pipe: tuple[int, int]) -> None:
    started = time.monotonic()
    with pytest.raises(wire.DeadlinePassed):
        wire.receive(pipe[0], LIMITS, deadline=started + 0.05)
    assert time.monotonic() - started < 2


def test_a_trickle_does_not_move_the_deadline(pipe: tuple[int, int]) -> None:
    read, write = pipe
    stop = threading.Event()

    def trickle() -> None:
        while not stop.wait(0.01):
            os.write(write, b"B")

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        with pytest.raises(wire.WireError):
            wire.receive(read, wire.Limits(1 << 30, 1 << 30), deadline=time.monotonic() + 0.3)
    finally:
        stop.set()
        thread.join()


def test_a_lying_length_allocates_nothing(pipe: tuple[int, int]) -> None:
    read, write = pipe
    os.write(write, struct.pack("<4sIQ", b"BNDL", 2, 1 << 40) + b"{}")
    os.close(write)
    with pytest.raises(wire.PeerGone, match="ended after 0 of 1099511627776 bytes"):
        wire.receive(read, wire.Limits(payload_bytes=1 << 40))


def test_an_ended_process_is_noticed_though_a_grandchild_holds_the_pipe(pipe: tuple[int, int]) -> None:
    read, _ = pipe  # the write end stays open, as a grandchild would keep it
    child = os.fork()
    if child == 0:
        os._exit(0)
    watch = os.pidfd_open(child)
    try:
        with pytest.raises(wire.PeerGone, match="without an answer"):
            wire.receive(read, LIMITS, deadline=time.monotonic() + 5, watch=watch)
    finally:
        os.close(watch)
        os.waitpid(child, 0)


def test_sending_to_nobody(pipe: tuple[int, int]) -> None:
    read, write = pipe
    os.close(read)
    with pytest.raises(wire.PeerGone):
        wire.send(write, {"op": "call"})
