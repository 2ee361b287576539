"""Whatever a file holds, reading it ends soon, in a spec or in an error that names the file."""

from __future__ import annotations

import codecs
import json
import time

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from envsync.errors import InputError
from envsync.manifest import parse_manifest
from envsync.spec import KEYS

LIMIT = 1.0
"""Seconds of processor time for one file: other programs on the machine do not count."""

SPECS = st.sampled_from(
    ["python=3.11", "numpy>=1.20,<2", "numpy", "conda-forge::numpy=1.26.4=py311_0",
     "pytorch[version='>=2.1',build='*cuda*']", "x=1!2.0", "numpy 1.26.*", "'::x'", "x[", "=", "*",
     "https://h.test/linux-64/x-1-0.conda", "https://h.test/x.conda", "x-1-0.tar.bz2", "x==", "a|b"]
)  # fmt: skip
PIP = st.sampled_from(
    ["tqdm==4.66.1", "a[b]>=1 ; python_version < '3'", "--pre", "-i https://u:p@h.test", "-r x",
     "git+https://h.test/x@v1#egg=x", "x @ https://h.test/x-1-py3-none-any.whl", "-e .", "--hash=",
     "https://h.test/x-1-0-0-0-0.whl", "x @", "x --hash=sha256:00", "-", "--", "-f", "x;", "'x\\'",
     "https://[h/x", "x @ https://[h/x", "a===", "-i 'x"]
)  # fmt: skip
ODD = st.sampled_from(
    ["null", "~", "true", "on", "3.10", "1e400", ".inf", ".nan", "0x1F", "0o17", "12:30:45",
     "2024-05-01", "2024-13-99", "2001-12-14t21:59:43.10-05:00", "9" * 5000, "-0", "=", "<<", "?",
     "!!binary aGk=", "!!binary '%'", "!!set {a, b}", "!!omap [a: 1]", "!!timestamp x", "!!int x",
     "!!float x", "!!bool x", "!!python/object/apply:os.getcwd []", "!x y", "! y", "*a", "*b",
     "&a [*a]", "&a {b: *a}", "&b x", "{*a : x}", "{[a]: x}", "{? {a: b} : c}", '"\\ud800"',
     '"\\0"', '"\\x85"', '"a\\nb"', "'{{ x }}'", "{% x %}", "|", ">-", "%", "@x", "`x", "\u2028",
     "\u00e9", "\U0001f40d", "\ufeff", "# x", "''"]
)  # fmt: skip
LONG = st.builds(
    lambda head, piece, count, tail: json.dumps(head + piece * count + tail),
    st.sampled_from(["", "x", "x @ ", "x=", "https://", "--hash=", "x["]),
    st.sampled_from([" ", "\t", "a", "-", "=", ",", "[", "]", "'", "@", "/", ".", "1.", " #",
                     ">=1,", " --", " ;", "(", "a@", "://", "|", "*", "::", "\u00df", " -r x"]),
    st.sampled_from([1, 20, 500]),
    st.sampled_from(["", "x", "]", "=", "--"]),
)  # fmt: skip
SCALARS = SPECS | PIP | ODD | LONG | st.text(max_size=8).map(json.dumps)
WORDS = st.sampled_from([*KEYS, "pip", "<<", "version", "package", "packages", "environments",
                         "metadata", "content_hash", "1", "null", "'A B'", "A", "[a]"])  # fmt: skip
DEEP = st.sampled_from([3, 40]).flatmap(
    lambda depth: st.sampled_from(["[" * depth + "]" * depth, "{a: " * depth + "}" * depth])
)


def sequence(nodes: list[str]) -> str:
    return f"[{', '.join(nodes)}]"


def mapping(pairs: list[tuple[str, str]]) -> str:
    return f"{{{', '.join(f'{key}: {node}' for key, node in pairs)}}}"


NODES = st.recursive(
    SCALARS | DEEP,
    lambda inner: (
        st.lists(inner, max_size=4).map(sequence)
        | st.lists(st.tuples(WORDS, inner), max_size=4).map(mapping)
        | st.tuples(st.sampled_from(["&a ", "&b ", "!!set ", "!!str ", "!x "]), inner).map("".join)
    ),
    max_leaves=8,
)


def lines(entries: list[str], indent: str) -> str:
    return "".join(f"\n{indent}- {entry}" for entry in entries)


PIP_SECTION = st.lists(PIP | SCALARS, max_size=4).map(lambda found: "pip:" + lines(found, "    "))
DEPENDENCIES = st.lists(SPECS | PIP_SECTION | NODES, max_size=5).map(
    lambda entries: "dependencies:" + lines(entries, "")
)
ENTRIES = (
    st.sampled_from(["name: train", "version: 1", "version: 6", "---", "@EXPLICIT", "%YAML 1.1"])
    | DEPENDENCIES
    | st.tuples(WORDS, NODES).map(": ".join)
)  # fmt: skip
FILES = st.lists(ENTRIES, max_size=6).map("\n".join)
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r", "\u0085", "\u2028"])
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1"])
BOMS = st.sampled_from([b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])


def reads(raw: bytes, name: str | None = None) -> None:
    started = time.process_time()
    try:
        spec = parse_manifest(raw, "environment.yml", name).spec
    except InputError as error:
        assert error.file == "environment.yml"  # noqa: PT017 (either outcome is right)
        assert error.message  # noqa: PT017
    else:
        assert spec.raw == raw
        texts = (each.text for each in (*spec.conda, *spec.pip))
        # A tab is a blank for conda and for pip alike.
        assert all(text.replace("\t", " ").isprintable() for text in texts)
    assert time.process_time() - started < LIMIT


# No deadline and no health check: `reads` measures, and a slow machine is no failure.
thorough = settings(deadline=None, suppress_health_check=list(HealthCheck))


@settings(thorough, max_examples=200)
@given(FILES, LINE_ENDS, ENCODINGS, st.sampled_from([None, "given"]))
@example("x: " + "[" * 400 + "]" * 400, "\n", "utf-8", None)
@example("x: " + "{a: " * 400 + "}" * 400, "\n", "utf-8", None)
@example("x: &a [*a]\ndependencies: [python, &b {pip: [*b]}]", "\n", "utf-8", "given")
def test_any_structure(text: str, line_end: str, encoding: str, name: str | None) -> None:
    reads(text.replace("\n", line_end).encode(encoding, errors="replace"), name)


@settings(thorough, max_examples=150)
@given(st.lists(SPECS | LONG, max_size=3), st.lists(PIP | LONG, max_size=3))
def test_any_specs_and_pip_lines(specs: list[str], pip: list[str]) -> None:
    section = ["pip:" + lines(pip, "    ")]
    reads(("name: x\ndependencies:" + lines([*specs, *section], "")).encode())


@settings(thorough, max_examples=200)
@given(st.text())
@example("@EXPLICIT")
@example("# Made by envsync")
def test_any_text(text: str) -> None:
    reads(text.encode(errors="surrogatepass"))


@settings(thorough, max_examples=200)
@given(BOMS, st.binary())
def test_any_bytes(bom: bytes, raw: bytes) -> None:
    reads(bom + raw, "given")
