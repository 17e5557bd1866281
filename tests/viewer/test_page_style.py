"""How the JavaScript of the page reads: the measures of scripts/measure_style.py, on its comments, names and files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from poise.viewer.offline_page import WEB_FOLDER
from tests.test_code_rules import load_script

style = load_script("measure_style")
MODULES = WEB_FOLDER / "js"
MAX_LINES = 900  # of a module
MAX_FUNCTION_LINES = 110

COMMENT = re.compile(r"/\*\*(.*?)\*/", re.DOTALL)
TAG = re.compile(r"(?:^|\s)@(?:param|returns?|type|typedef|import|property|template)\b")
FUNCTION = re.compile(
    r"^(?:export )?(?:async )?function\*? (\w+)|^  (?:static |async )*([#_]?\w+)\([^\n]*\) \{$"
    r"|^ *(?:export )?const (\w+) = (?:async )?(?:\([^()\n]*\)|\w+) =>",
    re.MULTILINE,
)
BLOCK = re.compile(
    r"^( *)(?:export |static |async )*(?:function\*? )?([#_]?\w+)\([^\n]*\{\n.*?^\1\}", re.MULTILINE | re.DOTALL
)
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
KEYWORDS = {"if", "for", "while", "switch", "catch", "constructor"}
#: First words of functions: verbs in the imperative, predicates, and products of vectors.
VERBS = set(
    """
    abort act activate add adopt advance apply ask attach back begin build call can carry change check choose clamp
    clear click close collect compare complain compute convert copy count cross describe displace dispose dot double
    drag draw drop enable end fill filter find finish fit flip flush fold follow forget format frame get give go
    grab has hide hold hover interpolate introduce invalidate invert is keep land lay leave let list listen load
    locate look lose make mark measure meet move multiply need normalize nudge on open orbit pack paint pan parse
    pause pick pin place play point prepare press project pull put raise rank read rebuild receive redraw refresh
    refuse regain release remove rename repaint reserve reset resize restart retitle return reveal rotate round run
    sample save say see seek select send set settle shine shorten show shut snapshot solve speak spin stand start
    step stop straighten submit sum take tell tick to toggle track transform turn unpack update use view wait walk
    watch widen write zoom
    """.split()  # noqa: SIM905  (one word a line would be 130 lines)
)
PREPOSITIONS = {"of", "in", "by", "with"}  # at the end of a name of what is looked up


def find_long_sentences(text: str) -> list[str]:
    """First sentences of comments with more than twelve words."""
    comments = (
        "\n".join(re.sub(r"^\s*\*\s?", "", line) for line in each.split("\n")) for each in COMMENT.findall(text)
    )
    sentences = (style.SENTENCE_END.split(TAG.split(comment)[0].strip())[0] for comment in comments)
    return [" ".join(each.split()) for each in sentences if len(each.split()) > style.MAX_WORDS]


def find_odd_names(text: str) -> list[str]:
    """Functions named by a participle, a word without a meaning in the field, or a noun with a preposition."""
    return [name for name in find_functions(text) if is_odd(name)]


def find_nouns(text: str) -> list[str]:
    """Functions whose names do not begin with a verb."""
    return [name for name in find_functions(text) if WORDS.findall(name)[0].lower() not in VERBS]


def find_functions(text: str) -> list[str]:
    names = ("".join(parts) for parts in FUNCTION.findall(text))
    return [name for name in names if name not in KEYWORDS]


def is_odd(name: str) -> bool:
    words = [word.lower() for word in WORDS.findall(name)]
    (only,) = words if len(words) == 1 else ("",)
    is_participle = only in style.IRREGULAR or (only.endswith("ed") and len(only) > 3 and only not in style.IMPERATIVES)
    ends_open = len(words) > 1 and words[-1] in PREPOSITIONS and not name.startswith(("_", "#"))
    return is_participle or ends_open or bool(style.FORBIDDEN_WORDS.intersection(words))


def find_long_functions(text: str) -> list[str]:
    blocks = ((each[2], each[0].count("\n") + 1) for each in BLOCK.finditer(text))
    return [f"{name}: {lines} lines" for name, lines in blocks if lines > MAX_FUNCTION_LINES and name not in KEYWORDS]


def find_long_file(text: str) -> list[str]:
    lines = text.count("\n")
    return [f"{lines} lines"] if lines > MAX_LINES else []


RULES = [find_long_sentences, find_odd_names, find_nouns, find_long_functions, find_long_file]
BREACHES = [
    (find_long_sentences, f"/** {'word ' * 13}. More. @param {{number}} a */", "word"),
    (find_odd_names, "export function moved(a) {\n}\n", "moved"),
    (find_odd_names, "class A {\n  lengthOf(a) {\n  }\n}\n", "lengthOf"),
    (find_odd_names, "function pullTold() {\n}\n", "pullTold"),
    (find_nouns, "export function distance(a, b) {\n}\n", "distance"),
    (find_nouns, "  const state = () => store.get('state');\n", "state"),
    (find_nouns, "class A {\n  _rootMatrix(a) {\n  }\n}\n", "_rootMatrix"),
    (find_long_functions, "function make() {\n" + "  a();\n" * 110 + "}\n", "make"),
    (find_long_file, "a();\n" * 901, "901"),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_page_keeps_the_rules(rule):
    found = {path.relative_to(MODULES).as_posix(): rule(read(path)) for path in MODULES.rglob("*.js")}
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize(("rule", "text", "message"), BREACHES)
def test_each_rule_finds_a_breach(rule, text, message):
    (fault,) = rule(text)
    assert fault.startswith(message)


def test_functions_of_all_modules_are_found():
    assert sum(len(find_functions(read(path))) for path in MODULES.rglob("*.js")) > 900


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
