"""Quick builds, for `informant dev`.

componentize-py compiles CPython at each build, because it runs the top of app.py once and keeps the memory. Here app.py is
a text in that memory, and its top runs in the plugin, before the first call. So a saved app.py needs no CPython: the text is
written into a component that was built before. That component is built again when app.py's imports or exports change, or
another file of the project.
"""

import ast
import hashlib
import os
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
MARK = b"here informant dev puts app.py\n\xfe"
COPIES = 4096
# The largest text of app.py, in bytes.
TEXT_MAX = len(MARK) * COPIES

# A plugin has no files. So a project that reads some, which it can do only at the top of app.py, is not built quickly.
READS = {"open", "read_text", "read_bytes", "iterdir", "glob", "listdir", "resources", "pkgutil", "importlib", "__import__"}

# A line of app.py that turns quick builds off.
WHOLE = b"# whole build"

# What stands in place of app.py. A failure at the top is the answer to describe and start.
BOOT = '''
import logging, sys
from types import ModuleType
from informant import _failure, _plugin
{imports}
TEXT = bytearray({mark!r} * {copies})
MADE = {{}}

def made(name):
    if not MADE:
        app = sys.modules["app"] = ModuleType("app")
        app.__file__ = "app.py"
        try:
            exec(compile(bytes(TEXT).rstrip(b"\\0"), "app.py", "exec"), app.__dict__)
            MADE.update({{name: getattr(app, name)() for name in {names!r}}})
        except (Exception, SystemExit) as error:
            logging.exception(_failure.text(error))
            raise _plugin.Err(f"app.py: {{_failure.text(error)}}{hint}") from None
    return MADE[name]

def export(name):
    class Export:
        def __getattr__(self, method):
            return getattr(made(name), method)
    return Export
'''

HINT = (
    "; informant dev runs the top of app.py in the plugin, where there are no files: import there what it needs, "
    f"or have app.py built as for a host, by the line {WHOLE.decode()}"
)


def top(node):
    """The nodes that run when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            parts = [child.args, *getattr(child, "decorator_list", [])]
            yield from parts
            child = ast.Tuple(parts)
        else:
            yield child
        yield from top(child)


def imported(tree):
    """The modules that app.py imports at its top. A name that is imported from a module may be a module itself."""
    found = set()
    for node in top(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*")])
    return sorted(found - {"app"})


def reads(tree):
    """Whether the source names something that reads files or finds modules."""
    nodes = list(ast.walk(tree))
    names = {getattr(node, "id", None) or getattr(node, "attr", None) for node in nodes}
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
            names.update(part for module in modules for part in module.split("."))
    return bool(names & READS)


def files(folder, apart=None):
    """The files of a folder that a build may depend on: without app.py, tests, builds, and the folder apart."""
    for place, folders, names in os.walk(folder):
        at_top = Path(place) == folder
        folders[:] = sorted(
            it for it in folders
            if it[0] != "." and it != "__pycache__" and Path(place, it) != apart and not (at_top and it in ("build", "tests"))
        )
        for name in sorted(names):
            if not name.startswith(("test_", ".")) and not (at_top and name == "app.py"):
                yield Path(place, name)


def state(path):
    found = path.stat()
    return f"{path} {found.st_size} {found.st_mtime_ns}"


def boot(tree, names):
    """The source of the module in place of app.py."""
    imports = "".join(f"try: import {module}\nexcept ImportError: pass\n" for module in imported(tree))
    text = BOOT.format(imports=imports, mark=MARK, copies=COPIES, names=names, hint=HINT)
    return text + "".join(f"{name} = export({name!r})\n" for name in names)


def filled(component, text):
    """The component with this text of app.py; None if it has no place for it."""
    place = MARK * COPIES
    at = component.find(place)
    if at < 0 or component.find(place, at + 1) >= 0 or len(text) > TEXT_MAX:
        return None
    return component[:at] + text.ljust(TEXT_MAX, b"\0") + component[at + TEXT_MAX :]


def build(text, names, kept, componentize):
    """The plugin, or None if only a whole build can make it. `componentize(module, source, out)` builds a component of one
    module in place of app.py; `kept` is the folder for it."""
    tree, sdk = ast.parse(text, "app.py"), HERE.parent
    own = list(files(Path.cwd(), apart=sdk))
    others = (ast.parse(path.read_bytes(), path) for path in own if path.suffix == ".py")
    if len(text) > TEXT_MAX or WHOLE in text.splitlines() or any(map(reads, [tree, *others])):
        return None
    source = boot(tree, names)
    states = [source, version("componentize-py"), *map(state, own), *map(state, [*files(HERE), *files(sdk / "wit")])]
    base = kept / hashlib.sha256("\n".join(states).encode()).hexdigest()
    if not base.exists():
        kept.mkdir(parents=True, exist_ok=True)
        for old in kept.iterdir():
            old.unlink()
        componentize("informant_quick", source, base)
    return filled(base.read_bytes(), text)
