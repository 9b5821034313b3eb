"""Bytes in, the same bytes out, or a reason."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bundler.errors import BadExperiment
from bundler.experiment.extraction import MAX_BYTES, MAX_LINES, ExtractionRule, extract

PROOF = Path(__file__).parents[2] / "proof"
PYTHON = ExtractionRule.ONLY_BLOCK_PYTHON
CUDA = ExtractionRule.ONLY_BLOCK_CUDA


def test_the_block_alone_without_its_fences() -> None:
    assert extract(b"Hello\n\n```python\nx = 1\n```\n\nBye ```\n", PYTHON) == b"x = 1\n"


@pytest.mark.parametrize(
    "source",
    [
        b"x = 1\r\ny = 2\r\n",
        b"if x:\n\ty = 2  \n",
        b"a\x00b\n",
        b"\n\nx\n\n\n",
        b"    indented = 1\n",
        "x = '\u2028\x0c\x85é'\n".encode(),
        b"x = '''\n~~~\n`` `\n```python\n'''\n",
        b"a\rb\r",
    ],
)
@pytest.mark.parametrize("before", [b"", b"# Title\n\n- a list\n\n", b"one\rtwo\r\nthree\n"])
def test_bytes_are_kept(source: bytes, before: bytes) -> None:
    assert extract(before + b"````python\n" + source + b"````\nafter\n", PYTHON) == source


@pytest.mark.parametrize(
    "output",
    [
        b"~~~ python title=a.py\nx\n~~~\n",
        b"```python\nx\n```",
        b"```python\nx\n   `````  \n",
        b"```python\nx\n```\n\n    ```python\n    indented code is no fence\n",
        b"<pre>\n```python\nHTML is no fence\n```\n</pre>\n\n```python\nx\n```\n",
    ],
)
def test_fences_are_those_of_commonmark(output: bytes) -> None:
    assert extract(output, PYTHON) == b"x\n"


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (b"no code\n", "0 fenced code blocks, not 1: none"),
        (b"", "the output is empty"),
        (b" \r\n", "the output is empty"),
        (b"None.\n", "has 0 fenced code blocks, not 1: none"),
        (b"```python\nx\n```\n\n~~~sh\ny\n~~~\n", r"2 .*'python' in lines 1 to 3; 'sh' in lines 5 to 7"),
        (b"```python\nx\n```\n- a\n\n  ```\n  y\n  ```\n", "2 fenced code blocks"),
        (b"```\nx\n```\n" * 11, r"11 .* lines 28 to 30; \.\.\.\n"),
        (b"```\nx\n```\n", "info string .* '' in lines 1 to 3"),
        (b"```pythonic\nx\n```\n", "info string begins with none of py, python, python3: 'pythonic'"),
        (b"```x python\nx\n```\n", "info string .*'x python'"),
        (b"```cuda\nx\n```\n", "info string .*'cuda'"),
        (b" ```python\n x\n ```\n", "indented"),
        (b"- a\n\n  ```python\n  x\n  ```\n", "within a list"),
        (b"> ```python\n> x\n> ```\n", "quotation"),
        (b"```python\nx = 1\n", "never closed"),
        (b"```python\nx = 1\n~~~\n", "never closed"),
        (b"````python\nx = 1\n```\n", "never closed"),
        (b"```python", "never closed"),
        (b"```python\n```\n", "empty"),
        (b"```python\n \n\n```\n", "empty"),
        (b"a\n```python\n\xff\n```\n", "not UTF-8: byte 0xff in line 3"),
    ],
)
def test_what_the_rule_does_not_fit_is_refused_with_what_was_found(output: bytes, said: str) -> None:
    with pytest.raises(BadExperiment, match=said) as caught:
        extract(output, PYTHON)
    assert caught.value.hint


@pytest.mark.parametrize(
    "filler",
    [b">" * 90 + b" a\n" + b"b\n" * MAX_LINES, b"a" * MAX_BYTES, b">" * 90 + b" a\r" + b"b\r" * MAX_LINES],
)
def test_what_is_too_large_for_an_answer_is_not_parsed(
    filler: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that twenty quotations go on over cost the parser a minute where there are a million."""
    monkeypatch.setattr(MarkdownIt, "parse", None)
    with pytest.raises(BadExperiment, match="too large for an answer"):
        extract(filler + b"\n\n```python\nx = 1\n```\n", PYTHON)


def test_a_large_answer_is_taken() -> None:
    large = b"a line of an answer\n" * (MAX_LINES - 10)
    assert extract(large + b"```python\nx = 1\n```\n", PYTHON) == b"x = 1\n"


def test_the_language_is_the_rules() -> None:
    assert extract(b"```cuda\nx\n```\n", CUDA) == b"x\n"
    with pytest.raises(BadExperiment, match=r"only-block:cuda.*c\+\+, cpp, cu, cuda"):
        extract(b"```python\nx\n```\n", CUDA)


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        (PYTHON, "Python"),
        (PYTHON, "python3"),
        (PYTHON, "py"),
        (CUDA, "cpp"),
        (CUDA, "c++"),
        (CUDA, "CUDA"),
        (CUDA, "cu"),
    ],
)
def test_names_that_models_give_the_language(rule: ExtractionRule, word: str) -> None:
    assert extract(f"```{word}\nx\n```\n".encode(), rule) == b"x\n"


@given(
    st.lists(
        st.sampled_from(["`", "```", "~~~", "python", " ", "\n", "\r", "\t", "> ", "- ", "x", "\0", "<pre>"])
    )
)
def test_what_comes_out_stands_in_the_output(parts: list[str]) -> None:
    output = ("".join(parts) + "\n```python\nx\n```\n").encode()
    try:
        source = extract(output, PYTHON)
    except BadExperiment:
        return
    assert re.search(
        rb"[`~]{3,}[ \t]*python[^\r\n]*(\r\n|\r|\n)" + re.escape(source) + rb" {0,3}[`~]{3,}", output
    )


@pytest.mark.parametrize(
    "output", sorted(PROOF.glob("*/*/outputs/**/*.md")), ids=lambda path: str(path.relative_to(PROOF))
)
def test_stored_outputs_extract_to_a_module(output: Path) -> None:
    data = output.read_bytes()
    rule = PYTHON if b"```python" in data else CUDA
    source = extract(data, rule)
    assert source in data
    if rule is PYTHON:
        ast.parse(source)
