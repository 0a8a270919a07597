#!/usr/bin/env python3
"""Writes schema.txt, the field numbers of Kubernetes' built-in types, from the Go types of a k8s.io/api module.

    python3 schema.py MODULES VERSION > schema.txt      e.g. ~/go/pkg/mod/k8s.io v0.36.3

One line `= message` for each message, then its fields: number, JSON name, type, flags. Types: s string, b bool,
i integer, d double, y bytes, T time, M time with microseconds, D duration, Q quantity, I integer or string,
R raw JSON, L a message that wraps a list of strings, else a message. Flags: r repeated, m map from strings,
p pointer (a zero counts), n inlined into the parent.
"""
import pathlib
import re
import sys

PACKAGES = """core/v1 apps/v1 batch/v1 autoscaling/v1 autoscaling/v2 policy/v1 networking/v1 rbac/v1
scheduling/v1 node/v1 storage/v1 coordination/v1 discovery/v1 events/v1 authentication/v1
authorization/v1 certificates/v1 admissionregistration/v1""".split()
SPECIAL = {
    "meta.Time": "T", "meta.MicroTime": "M", "meta.Duration": "D", "resource.Quantity": "Q",
    "intstr.IntOrString": "I", "runtime.RawExtension": "R", "meta.FieldsV1": "R", "meta.Verbs": "L",
    "types.UID": "s", "types.NodeName": "s", "types.NamespacedName": "s",
}
SCALAR = {"string": "s", "bool": "b", "int32": "i", "int64": "i", "int": "i", "uint32": "i",
          "uint64": "i", "float64": "d", "byte": "i", "[]byte": "y"}
IMPORT = re.compile(r'^\t(?:(\w+) )?"k8s\.io/(api|apimachinery)/(?:pkg/)?([\w/.]+)"')
FIELD = re.compile(r'^\t(?:(\w+)\s+)?(\S+)\s+`json:"([^"]*)".* protobuf:"(\w+),(\d+),(\w+)')


def main(modules, version):
    structs, names = {}, {}
    sources = [("meta", pathlib.Path(modules) / f"apimachinery@{version}/pkg/apis/meta/v1")]
    sources += [(p, pathlib.Path(modules) / f"api@{version}" / p) for p in PACKAGES]
    for package, folder in sources:
        read(package, folder / "types.go", structs, names)
    with_metadata = [m for m in structs if any(f[1] == "metadata" for f in structs[m][0])]
    roots = [m for m in with_metadata if not m.endswith("List")]
    roots += [m for m in structs if m.endswith(("Review", "DeleteOptions"))]
    print(f"# Made by schema.py from k8s.io/api and k8s.io/apimachinery {version}.")
    for message in sorted(reachable(roots, structs, names)):
        print(f"= {message}")
        for number, name, kind, flags in structs[message][0]:
            kind, flags = resolve(kind, flags, structs[message][1], message, structs, names)
            print(f"{number} {name or '-'} {kind} {flags}".rstrip())


def read(package, path, structs, names):
    message, imports = None, {}
    for line in path.read_text().splitlines():
        if imported := IMPORT.match(line):
            alias, _, of = imported.groups()
            folder = "meta" if of == "apis/meta/v1" else of.removeprefix("api/").removeprefix("util/")
            imports[alias or of.rpartition("/")[2]] = folder
        elif opened := re.match(r"^type (\w+) struct {", line):
            message = f"{package}.{opened[1]}"
            structs[message] = ([], imports)
        elif alias := re.match(r"^type (\w+) (=\s*)?([\w.\[\]*]+)(?:\s*//.*)?$", line):
            names[f"{package}.{alias[1]}"] = (alias[3], imports)
        elif line == "}":
            message = None
        elif message and (field := FIELD.match(line)):
            _, kind, json, _, number, _ = field.groups()
            name, _, options = json.partition(",")
            flags = "n" if "inline" in options else ""
            structs[message][0].append((int(number), name, kind, flags))


def resolve(kind, flags, imports, message, structs, names, depth=0):
    package = message.rpartition(".")[0]
    if depth > 8:
        raise SystemExit(f"{kind} in {message} does not end")
    again = lambda k, f: resolve(k, f, imports, message, structs, names, depth + 1)
    if kind in SCALAR:
        return SCALAR[kind], flags
    if kind.startswith("*"):
        return again(kind[1:], flags + "p")
    if kind.startswith("[]"):
        return again(kind[2:], flags + "r")
    if mapped := re.match(r"map\[[\w.]+\](.*)", kind):
        return again(mapped[1], flags + "m")
    prefix, _, name = kind.rpartition(".")
    full = f"{imports[prefix] if prefix else package}.{name}"
    if full in SPECIAL:
        return SPECIAL[full], flags
    if full in structs:
        return full, flags
    if full in names:
        target, imports = names[full]
        if target == "[]string":
            return "L", flags
        return resolve(target, flags, imports, full, structs, names, depth + 1)
    raise SystemExit(f"unknown type {full} in {message}")


def reachable(roots, structs, names):
    seen, waiting = set(), list(roots)
    while waiting:
        message = waiting.pop()
        if message in seen:
            continue
        seen.add(message)
        for _, _, kind, flags in structs[message][0]:
            kind, _ = resolve(kind, flags, structs[message][1], message, structs, names)
            if kind in structs:
                waiting.append(kind)
    return seen


main(*sys.argv[1:])
