"""The line of an error that tells most."""

from __future__ import annotations

import pytest

from bundler.report.error_text import told

TRITON = "CompilationError: at 11:18:\ndef _mm(x):\n    acc = tl.dot(x, y, acc)\n          ^"
NVRTC = 'NVRTC: candidate.cu(16): error: identifier "uint32_t" is undefined [const uint32_t n = 1;]'
CHAIN = (
    r"InterpreterError: InterpreterError('TypeError(\"cannot convert None of type <class \'N\'>\")') ← "
    "InterpreterError: TypeError(\"cannot convert None of type <class 'N'>\") ← "
    "TypeError: cannot convert None of type <class 'N'>"
)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        ("ValueError: no", "ValueError: no"),
        ("Traceback\nValueError: no\n", "ValueError: no"),
        ("NotImplementedError: ", "NotImplementedError"),
        ("RuntimeError: x ← NotImplementedError: ", "RuntimeError: x ← NotImplementedError"),
        ("", ""),
        (
            f"{TRITON} ← AssertionError: ",
            "CompilationError at line 11 of the kernel, `acc = tl.dot(x, y, acc)`: AssertionError",
        ),
        (
            f"{TRITON}\nunsupported AST node type: Break",
            "CompilationError at line 11 of the kernel, `acc = tl.dot(x, y, acc)`: "
            "unsupported AST node type: Break",
        ),
        (TRITON, "CompilationError at line 11 of the kernel, `acc = tl.dot(x, y, acc)`"),
        (NVRTC, NVRTC),
        (f"{NVRTC}\n{NVRTC}\n{NVRTC}", f"{NVRTC} (and 2 errors more)"),
        (CHAIN, "TypeError: cannot convert None of type <class 'N'>"),
        ("ValueError: grid ← KeyError: 'x'", "ValueError: grid ← KeyError: 'x'"),
    ],
)
def test_told(error: str, line: str) -> None:
    assert told(error) == line


def test_a_caret_of_anything_else_is_no_place() -> None:
    assert told("SyntaxError: x\n  y = (\n      ^\nSyntaxError: never closed") == "SyntaxError: never closed"
