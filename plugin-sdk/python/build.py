"""Builds the plugin of app.py in the present folder: python build.py OUT.wasm. What app.py names as exports is exported.

INFORMANT_DEV=1 builds quickly where that is possible (quick.py)."""

import ast
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Their names in app.py and in the contract.
INTERFACES = {
    "Lifecycle": "lifecycle", "Handler": "handler", "Reconciler": "reconciler", "Timer": "timer", "SyncAware": "sync-aware",
    "Stateful": "stateful",
}


def exported(source):
    """The names of exports that stand at the top of a file."""
    named = set()
    for statement in ast.parse(source, "app.py").body:
        if isinstance(statement, ast.ClassDef):
            named.add(statement.name)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        named.update(node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
    return [name for name in INTERFACES if name in named]


def contract(text, names):
    """The contract with a world of these exports, which is called made."""
    if "Lifecycle" not in names:
        raise SystemExit("error: app.py exports no Lifecycle; write: Lifecycle, Handler, *_ = exports(MyPlugin)")
    lines = "".join(f"    export {INTERFACES[name]};\n" for name in names)
    return f"{text}\nworld made {{\n    include imports;\n{lines}}}\n"


def main(out):
    try:
        names = exported(Path("app.py").read_text("utf-8"))
    except SyntaxError as error:
        raise SystemExit(f"app.py:{error.lineno}: SyntaxError: {error.msg}") from None
    world = contract((HERE.parent / "wit" / "plugin.wit").read_text("utf-8"), names)

    def componentize(module, source, out):
        from componentize_py import script

        with tempfile.TemporaryDirectory(prefix="informant-") as folder:
            (Path(folder) / "plugin.wit").write_text(world, "utf-8")
            if source is not None:
                Path(folder, f"{module}.py").write_text(source, "utf-8")
            paths = [part for path in (folder, ".", HERE) for part in ("-p", str(path))]
            command = ["-d", folder, "-w", "made", "componentize", *paths, module, "-o", str(out)]
            sys.argv = ["componentize-py", *command]
            return script()

    if os.environ.get("INFORMANT_DEV") == "1":
        import quick

        made = quick.build(Path("app.py").read_bytes(), names, Path("build/quick"), componentize)
        if made is not None:
            Path(out).write_bytes(made)
            return 0
    return componentize("app", None, out)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: build.py OUT.wasm")
    sys.exit(main(sys.argv[1]))
