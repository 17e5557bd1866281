"""The API reference: every public name is in it, with its docstring, tables read as the command line reads them."""

from __future__ import annotations

import inspect
import sys

import pytest

import poise
from poise.solvers.base import parameters
from tests.docs.pages import DOCS

sys.path.insert(0, str(DOCS / "_ext"))
from reference import docstrings, entries, members, pages, topics

PUBLIC = topics.public()


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_a_docstring_and_a_place(name):
    topic = topics.topic_of(PUBLIC[name])
    assert topic is not None, f"add the module {PUBLIC[name].__module__} to a topic in docs/_ext/reference/topics.py"
    assert inspect.getdoc(PUBLIC[name])
    text = pages()[f"{topic.file}.md"] if name == "solve" else entries.entry(f"poise.{name}", PUBLIC[name])
    assert f"({topics.label(f'poise.{name}')})=" in text


def test_the_index_lists_every_name_once():
    text = entries.index()
    for name in PUBLIC:
        assert text.count(f"[`poise.{name}`]") == 1, name


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if inspect.isclass(value)])
def test_every_member_has_a_docstring(name):
    assert [each.name for each in members.members(PUBLIC[name]) if not each.doc] == []


@pytest.mark.parametrize("name", poise.solvers.names())
def test_every_option_of_a_solver_has_its_sentence_type_and_default(name):
    kind = type(poise.solvers.named(name))
    text = entries.entry(f"poise.{kind.__name__}", kind)
    for option in parameters.parameters(kind):
        assert f"`{option.name}` <span" in text, option.name
        assert docstrings.escaped(" ".join(option.text.split())[:30]) in text


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if inspect.isclass(value)])
def test_tables_are_read_as_the_command_line_reads_them(name):
    said = parameters._sentences(inspect.getdoc(PUBLIC[name]))
    tables = [part for part in docstrings.parts(inspect.getdoc(PUBLIC[name])) if isinstance(part, docstrings.Table)]
    rows = {names[0]: text for table in tables for names, text in table.rows if len(names) == 1}
    for word, text in said.items():
        if word in rows:
            assert rows[word] == text


def test_parts_of_a_docstring():
    doc = """First sentence,
in two lines.

    code = 1

name     what it is
         and more
x, y     two at once
longname as long as its column
what follows without an empty line

Raises nothing."""
    assert docstrings.parts(doc) == [
        docstrings.Paragraph("First sentence, in two lines."),
        docstrings.Code("code = 1"),
        docstrings.Table(
            (
                (("name",), "what it is and more"),
                (("x", "y"), "two at once"),
                (("longname",), "as long as its column"),
            )
        ),
        docstrings.Paragraph("what follows without an empty line"),
        docstrings.Paragraph("Raises nothing."),
    ]


def test_text_is_not_read_as_markdown():
    assert docstrings.escaped("a * b_c <d> [e] $f$ `g_h`") == r"a \* b\_c \<d\> \[e\] \$f\$ `g_h`"
    assert docstrings.escaped("1. no list") == r"1\. no list"
    assert docstrings.escaped("- no list, 2. no item") == r"\- no list, 2. no item"


def test_codes_that_name_something_public_are_links():
    assert entries._link("poise.CCD()") == "#poise.CCD"
    assert entries._link("Result.message()") == "#poise.Result"
    assert entries._link("poise.View") == "#poise.View-class"
    assert entries._link("solve") is None


def test_every_module_of_a_topic_exports_something():
    used = {value.__module__ for value in PUBLIC.values()}
    for topic in topics.TOPICS:
        for module in topic.modules:
            assert any(each == module or each.startswith(module + ".") for each in used), module
