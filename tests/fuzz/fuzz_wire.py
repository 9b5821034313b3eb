"""Coverage-guided fuzzing of the wire: whatever comes, a message or a WireError.

``python tests/fuzz/fuzz_wire.py [CORPUS] -atheris_runs=1000000`` (or ``-max_total_time=60``); without a
corpus it starts from one honest claim. atheris is not among the development dependencies: ``pip install
atheris``.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports():
    from bundler.judge.claims import CellClaim
    from bundler.worker import wire

from pydantic import ValidationError

LIMITS = wire.Limits(header_bytes=1 << 16, payload_bytes=1 << 10)
_PIPE_BYTES = 60_000


def test_one_input(data: bytes) -> None:
    """A frame out of ``data``, both as it is and as the header of a frame whose lengths are right."""
    _one(data)
    _one(wire._PREFIX.pack(wire.MAGIC, len(data), 0) + data)


def _one(data: bytes) -> None:
    read, write = os.pipe()
    try:
        os.write(write, data[:_PIPE_BYTES])
        os.close(write)
        header = wire.receive(read, LIMITS).header
        assert type(header) is dict
        CellClaim.model_validate(header)
    except (wire.WireError, ValidationError):
        return
    finally:
        os.close(read)


_CLAIM = (
    b'{"calls":[{"raised":null,"outputs":[{"type":"torch.Tensor","dtype":"float32","shape":[2],"strides":[1],'
    b'"device":"cuda","bytes":8}],"sent":true,"launches":1,"inputs_changed":false},{"raised":{"phase":"run",'
    b'"errors":[["E","x"]],"resource":null}}],"tuned":{"k":"BLOCK: 64"},"unusable":false,"number":"00"}'
)


def seed() -> Path:
    """A folder with one claim to start from."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-seed-"))
    (folder / "claim").write_bytes(_CLAIM)
    return folder


if __name__ == "__main__":
    arguments = sys.argv if any(not a.startswith("-") for a in sys.argv[1:]) else [*sys.argv, str(seed())]
    atheris.Setup(arguments, test_one_input)
    atheris.Fuzz()
