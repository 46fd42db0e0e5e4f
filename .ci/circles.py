"""Fails if files of a crate import each other in a circle, or its modules do.

A module is one that the root of the crate declares, with all files below it. An edge from one file to another is a `crate::` or `super::` path outside of tests, followed through
`pub use` to the file that defines the item. Usage: circles.py CRATE/src…
"""

import re
import sys
from pathlib import Path

NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|r(\#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\\n])'""", re.S
)
DECLARATION = re.compile(r"\bmod\s+(\w+)\s*;")
PATH = re.compile(r"\b(?:crate|super)(?:\s*::\s*\w+)+")
USE = re.compile(r"\b(pub(?:\s*\([^)]*\))?\s+)?use\s+([^;]+);")
TEST_MODULE = re.compile(r"#\[cfg\((?:all\()?(?:test|loom)\b[^\]]*\]\s*(?:pub\s+)?mod\s+\w+\s*([{;])")


def without_tests(text):
    """Returns the source without comments, literals and test modules."""
    text = NOISE.sub(" ", text)
    while match := TEST_MODULE.search(text):
        end = match.end()
        if match.group(1) == "{":
            depth = 1
            while depth and end < len(text):
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
        text = text[: match.start()] + text[end:]
    return text


def split_list(text):
    """Splits at commas outside of braces."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [part for part in (*parts, text[start:]) if part.strip()]


def use_paths(tree, prefix=()):
    """Yields (path, name) of each leaf of a use tree."""
    tree = tree.strip()
    if "{" in tree:
        head, inner = tree[: tree.index("{")], tree[tree.index("{") + 1 : tree.rindex("}")]
        names = tuple(part.strip() for part in head.split("::") if part.strip())
        for part in split_list(inner):
            yield from use_paths(part, prefix + names)
        return
    path, _, name = tree.partition(" as ")
    names = prefix + tuple(part.strip() for part in path.split("::") if part.strip())
    if names and names[-1] == "self":
        names = names[:-1]
    if names:
        yield names, name.strip() or names[-1]


class Crate:
    """The modules of a crate: sources, declared submodules and re-exports."""

    def __init__(self, source):
        self.source = source
        self.files, self.text, self.exports = {}, {}, {}
        root = next(path for path in (source / "lib.rs", source / "main.rs") if path.exists())
        self.add((), root, source)

    def add(self, module, path, folder):
        text = without_tests(path.read_text(encoding="utf-8"))
        self.files[module], self.text[module] = path, text
        for name in DECLARATION.findall(text):
            for child in (folder / f"{name}.rs", folder / name / "mod.rs"):
                if child.exists():
                    self.add((*module, name), child, folder / name)
        self.exports[module] = [
            (self.absolute(module, names), name)
            for public, tree in USE.findall(text)
            if public
            for names, name in use_paths(tree)
        ]

    def absolute(self, module, names):
        """Makes a path absolute within the crate."""
        if names[0] == "crate":
            return names[1:]
        if names[0] == "self":
            return module + names[1:]
        while names and names[0] == "super":
            module, names = module[:-1], names[1:]
        return module + names

    def home(self, path, seen=frozenset()):
        """Returns the module that defines what `path` names."""
        depth = len(path)
        while path[:depth] not in self.files:
            depth -= 1
        module = path[:depth]
        if depth < len(path) and path not in seen:
            for target, name in self.exports[module]:
                if name == path[depth]:
                    return self.home(target + path[depth + 1 :], seen | {path})
        return module

    def edges(self, module):
        text = self.text[module]
        paths = [names for _, tree in USE.findall(text) for names, _ in use_paths(tree)]
        inline = USE.sub(" ", text)
        paths += [tuple(re.split(r"\s*::\s*", path)) for path in PATH.findall(inline)]
        relative = [names for names in paths if names[0] in ("crate", "super")]
        found = {self.home(self.absolute(module, names)) for names in relative}
        return found - {module}


def circles(edges):
    """Returns the strongly connected components of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges[node]:
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            component = [stack.pop()]
            while component[-1] != node:
                component.append(stack.pop())
            if len(component) > 1:
                found.append(component)

    for node in edges:
        if node not in index:
            visit(node)
    return found


def of_modules(edges):
    """Returns the edges between the modules that the root declares. The root itself has none."""
    found = {file[0]: set() for file in edges if file}
    for file, others in edges.items():
        for other in others:
            if file and other and file[0] != other[0]:
                found[file[0]].add(other[0])
    return found


def between(edges, modules):
    """Returns the edges between files of different modules."""
    pairs = [(file, other) for file, others in edges.items() for other in others]
    inside = [pair for pair in pairs if all(file and file[0] in modules for file in pair)]
    return sorted((file, other) for file, other in inside if file[0] != other[0])


def main(sources):
    sys.setrecursionlimit(10_000)
    failed = False
    for source in map(Path, sources):
        crate = Crate(source)
        edges = {module: crate.edges(module) for module in crate.files}
        for circle in circles(edges):
            failed = True
            print(f"{source}: {len(circle)} files import each other", file=sys.stderr)
            for module in sorted(circle):
                targets = sorted(str(crate.files[other]) for other in edges[module] if other in circle)
                print(f"  {crate.files[module]} -> {', '.join(targets)}", file=sys.stderr)
        for circle in circles(of_modules(edges)):
            failed = True
            print(f"{source}: {len(circle)} modules import each other", file=sys.stderr)
            for file, other in between(edges, circle):
                print(f"  {crate.files[file]} -> {crate.files[other]}", file=sys.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
