"""The shape of the code, read from its imports: a rule that no test holds is broken within a month.

Each rule is a function from a module to its faults, `file:line: what is wrong`. It is run over the
project, where it must find none, and over a line that breaks it, where it must find one.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.support.source import Module, modules

Rule = Callable[[Module], Iterator[str]]

PRODUCT = modules("proxy", "analysis")
ALL = PRODUCT + modules("demo", "clients", "bench", "soak", "tests")

# Layer -> which of our own modules it may know. The longest prefix of a module's name is its layer.
# The hot path is two files, one for each side of a connection.
HOT_PATH = ("proxy.relay", "proxy.caller", "proxy.wire")
OURS: Mapping[str, tuple[str, ...]] = {
    "proxy": ("proxy",),
    "proxy.relay": HOT_PATH,
    "proxy.caller": HOT_PATH,
    "proxy.wire": ("proxy.wire",),
    "proxy.dialects": ("proxy.dialects", "proxy.wire"),
    "proxy.journal": ("proxy.journal", "proxy.dialects", "proxy.wire"),
    "proxy.gauges": ("proxy.gauges", "proxy.journal"),
    "analysis": ("analysis",),
    "analysis.store": ("analysis.store", "proxy.journal"),
    "analysis.stats": ("analysis.stats",),
    "analysis.explain": ("analysis.explain", "analysis.stats", "analysis.store"),
    "analysis.render": ("analysis.render", "analysis.explain", "analysis.stats", "analysis.store"),
    "demo": ("demo",),
    "clients": ("clients", "demo", "proxy.journal"),
    "bench": ("bench", "demo", "proxy.journal"),
    "soak": ("soak", "demo", "analysis.store"),
    "tests": ("tests", "soak", "bench", "clients", "demo", "proxy", "analysis"),
}
# Pure folders -> which libraries of others they may know; all other folders may know any.
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "proxy.relay": (),
    "proxy.caller": (),
    "proxy.wire": ("brotli", "zstandard"),
    "proxy.dialects": ("msgspec", "orjson"),
    "proxy.journal": ("msgspec", "orjson", "tiktoken"),
    "proxy.gauges": ("prometheus_client",),
    "analysis.stats": ("numpy", "scipy"),
    "analysis.explain": (),
    "analysis.render": ("orjson", "rich"),
}
PURE = tuple(name for name in LIBRARIES if name not in HOT_PATH[:2])
IMPURE_MODULES = frozenset(
    {"_thread", "asyncio", "concurrent", "fcntl", "glob", "http", "io", "logging", "mmap"}
    | {"multiprocessing", "os", "pathlib", "queue", "random", "sched", "select", "selectors"}
    | {"shutil", "signal", "socket", "socketserver", "ssl", "subprocess", "sys", "tempfile"}
    | {"threading", "time", "urllib"}
)
IMPURE_CALLS = frozenset({"open", "input", "print", "exec", "eval"})
CLOCK_CALLS = frozenset({"now", "utcnow", "today"})
"""Called as an attribute, of `datetime` or `date` under whatever name."""

# What a module may call while it is imported: makers of constants, and nothing that acts. A class is
# one by its capital letter.
AT_IMPORT = frozenset(
    {
        "re.compile",
        "struct.pack",
        "frozenset",
        "tuple",
        "range",
        "bytes",
        "str",
        "int",
        "len",
        "max",
    }
    | {"field", "cast", "msgspec.structs.fields"}
)
GROWS = frozenset({"Counter", "Event", "Lock", "OrderedDict", "Queue", "RLock", "SimpleQueue"})
MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
READ_ONLY = ("Final", "Mapping", "Sequence", "tuple", "frozenset", "Callable")
BANNED_WORDS = frozenset(
    {"manager", "managers", "helper", "helpers", "util", "utils", "common", "misc", "shared"}
)


def layer(name: str, table: Mapping[str, object]) -> str:
    """The longest key of the table that the module is or lies in; empty if there is none."""
    parts = name.split(".")
    prefixes = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((p for p in prefixes if p in table), "")


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    """Whether a module is one of these or lies in one."""
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def knows_only_its_layers(module: Module) -> Iterator[str]:
    """Imports of our own modules follow the direction that is drawn above, types included."""
    own = layer(module.name, OURS)
    for used in module.imports:
        if layer(used.name, OURS) and not within(used.name, OURS[own]):
            yield f"{module.path}:{used.line}: {own} must not import {used.name}"


def imports_neighbours_relatively(module: Module) -> Iterator[str]:
    """A module of the same folder is imported with a dot."""
    for used in module.imports:
        if used.name.rpartition(".")[0] == module.package and not used.relative:
            yield f"{module.path}:{used.line}: write `from .` for {used.name}, in the same package"


def knows_only_its_libraries(module: Module) -> Iterator[str]:
    """A pure folder knows no library beyond its list: no JSON and no tokenizer in the relay."""
    own = layer(module.name, LIBRARIES)
    for used in module.imports if own else ():
        top = used.name.partition(".")[0]
        foreign = top not in sys.stdlib_module_names and not layer(used.name, OURS)
        if foreign and top not in LIBRARIES[own]:
            yield f"{module.path}:{used.line}: {own} must not import {top}"


def touches_nothing(module: Module) -> Iterator[str]:
    """A pure folder has no clock, no socket, no file, no event loop and no output."""
    if not within(module.name, PURE):
        return
    for used in module.imports:
        if used.name.partition(".")[0] in IMPURE_MODULES and not used.typing_only:
            yield f"{module.path}:{used.line}: a pure folder must not import {used.name}"
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        of, _, name = called(node).rpartition(".")
        if name in (CLOCK_CALLS if of else IMPURE_CALLS):
            yield f"{module.path}:{node.lineno}: a pure folder must not call {called(node)}"


def called(node: ast.Call) -> str:
    """The dotted name of what is called; empty when it is no name."""
    dotted = ast.unparse(node.func)
    return dotted if dotted.replace(".", "").isidentifier() else ""


def keeps_no_state(module: Module) -> Iterator[str]:
    """What a module binds is constant, and no function rebinds it."""
    for node in module.tree.body:
        value = getattr(node, "value", None)
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(value, MUTABLE):
            continue
        note = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else ""
        if not note.startswith(READ_ONLY) and "__all__" not in ast.unparse(node):
            yield f"{module.path}:{node.lineno}: mutable module state: annotate it as Final"
    for inner in ast.walk(module.tree):
        if isinstance(inner, ast.Global):
            yield f"{module.path}:{inner.lineno}: mutable module state: `global`"


def does_nothing_at_import(module: Module) -> Iterator[str]:
    """An import defines; it runs nothing."""
    for node in module.tree.body:
        acts: list[ast.expr | ast.stmt] = [] if defines(node) else [node]
        if isinstance(node, ast.Assign | ast.AnnAssign):
            calls = (n for n in ast.walk(node) if isinstance(n, ast.Call))
            lazy = {id(n) for f in ast.walk(node) if isinstance(f, ast.Lambda) for n in ast.walk(f)}
            acts = [n for n in calls if id(n) not in lazy and not constructs(n)]
        for act in acts:
            yield f"{module.path}:{act.lineno}: runs at import: {ast.unparse(act)[:60]}"


def constructs(call: ast.Call) -> bool:
    """Whether a call only makes a constant."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in {"items", "join"}:
        return True  # of a table or a text, to build another one
    last = called(call).rpartition(".")[2]
    return called(call) in AT_IMPORT or (last[:1].isupper() and last not in GROWS)


def defines(node: ast.stmt) -> bool:
    """Whether a statement at the top of a module only defines, documents or guards."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in {"TYPE_CHECKING", "__name__ == '__main__'"}
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return isinstance(node, kinds)


def stays_small(module: Module) -> Iterator[str]:
    """At most 300 lines a file, 50 a function, 5 arguments; self does not count."""
    lines = module.text.count("\n")
    if lines > 300:
        yield f"{module.path}:301: {lines} lines, 300 are allowed"
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        length = (node.end_lineno or 0) - node.lineno + 1
        if length > 50:
            yield f"{module.path}:{node.lineno}: {node.name} has {length} lines, 50 are allowed"
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        count = sum(argument.arg not in {"self", "cls"} for argument in given)
        if count > 5 and not within(module.name, ("tests",)):
            yield f"{module.path}:{node.lineno}: {node.name} takes {count} arguments, 5 are allowed"


def is_named_for_what_it_is(module: Module) -> Iterator[str]:
    """No manager, helper or utils, and nothing that hides a module of the standard library."""
    last = module.name.rpartition(".")[2]
    if BANNED_WORDS & set(last.split("_")):
        yield f"{module.path}:1: {last} does not say what is in it"
    if last in sys.stdlib_module_names:
        yield f"{module.path}:1: {last} is the name of a standard module"


def says_what_it_is_for(module: Module) -> Iterator[str]:
    """A file begins with its docstring."""
    if not ast.get_docstring(module.tree):
        yield f"{module.path}:1: no docstring"


# rule, where it holds, and a module that breaks it: name, text.
RULES: list[tuple[Rule, list[Module], str, str]] = [
    (knows_only_its_layers, ALL, "proxy.relay", "from .journal.record import Record"),
    (knows_only_its_layers, ALL, "proxy.log", "import analysis.cli"),
    (knows_only_its_layers, ALL, "analysis.explain.budget", "from proxy.journal import record"),
    (
        imports_neighbours_relatively,
        PRODUCT,
        "proxy.wire.tape",
        "from proxy.wire.frame import Frame",
    ),
    (knows_only_its_libraries, PRODUCT, "proxy.relay", "import orjson"),
    (touches_nothing, PRODUCT, "proxy.journal.derive", "from time import monotonic_ns"),
    (touches_nothing, PRODUCT, "proxy.wire.tape", "def f(path):\n    return open(path)"),
    (touches_nothing, PRODUCT, "analysis.render.units", "def f():\n    return datetime.now()"),
    (keeps_no_state, PRODUCT, "proxy.log", "seen = []"),
    (keeps_no_state, PRODUCT, "proxy.log", "def f():\n    global seen\n    seen = 1"),
    (does_nothing_at_import, PRODUCT, "proxy.log", "configure()"),
    (does_nothing_at_import, PRODUCT, "proxy.log", "LOG = get_logger()"),
    (does_nothing_at_import, PRODUCT, "proxy.log", "SEEN = OrderedDict()"),
    (stays_small, ALL, "proxy.log", "#\n" * 301),
    (stays_small, ALL, "proxy.log", "def f():\n" + "    f()\n" * 50),
    (stays_small, ALL, "proxy.log", "def f(self, a, b, c, *, d, e, f): ..."),
    (is_named_for_what_it_is, ALL, "proxy.wire.frame_utils", ""),
    (is_named_for_what_it_is, ALL, "proxy.select", ""),
    (says_what_it_is_for, ALL, "proxy.log", "import re"),
]


@pytest.mark.parametrize(("rule", "where"), {r[0]: r[1] for r in RULES}.items())
def test_the_project_obeys_the_rule(rule, where):
    """Each module of the project obeys each rule of its layer."""
    faults = [fault for module in where for fault in rule(module)]

    assert not faults, "\n".join(["", *faults])


@pytest.mark.parametrize(("rule", "where", "name", "text"), RULES)
def test_a_rule_finds_what_breaks_it(rule, where, name, text):
    """Each rule finds the fault that it is there for, and says file and line."""
    path = name.replace(".", "/") + ".py"
    broken = Module(name, path, text, frozenset(module.name for module in where))

    assert [fault.startswith(f"{path}:") for fault in rule(broken)] == [True]


def test_the_relay_reaches_no_parser_of_content():
    """Nothing that the relay imports, however far away, reads JSON, SSE or tokens."""
    named = {module.name: module for module in PRODUCT}
    reached, waiting = set(), ["proxy.relay", "proxy.caller"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [i.name for i in named[name].imports if i.name in named]
    foreign = {i.name.partition(".")[0] for name in reached for i in named[name].imports}

    assert {"proxy.wire.sse", "proxy.wire.ndjson"}.isdisjoint(reached)
    assert foreign <= sys.stdlib_module_names | {"proxy"}
