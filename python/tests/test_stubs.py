"""Every name has a docstring, which says units and errors. Whether the stubs are those of the module is checked by stubtest of mypy."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidegate

PACKAGE = Path(tidegate.__file__).parent

#: What a docstring says of a name that ends in a unit.
UNITS = {"_s": "second", "_bps": "bit", "_bytes": "byte"}


def written() -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef, str]]:
    """Every public class, method and function of the package and its stubs: its name, itself, and what the docstrings around it say."""
    for path in [*sorted(PACKAGE.glob("*.py")), PACKAGE / "_tidegate.pyi"]:
        for item in ast.parse(path.read_text()).body:
            if not isinstance(item, (ast.ClassDef, ast.FunctionDef)) or item.name.startswith("_"):
                continue
            around = ast.get_docstring(item) or ""
            yield f"{path.name}: {item.name}", item, around
            for part in item.body if isinstance(item, ast.ClassDef) else []:
                is_public = isinstance(part, ast.FunctionDef) and (not part.name.startswith("_") or part.name in ("__init__", "__new__"))
                if isinstance(part, ast.FunctionDef) and is_public:
                    yield f"{path.name}: {item.name}.{part.name}", part, f"{around} {ast.get_docstring(part) or ''}"


def test_every_public_name_has_a_docstring_at_run_time() -> None:
    lacking = []
    for name in tidegate.__all__:
        item = getattr(tidegate, name)
        if name != "__version__" and not inspect.getdoc(item):
            lacking.append(name)
        if inspect.isclass(item) and not issubclass(item, Exception):
            members = {key: value for key, value in vars(item).items() if not key.startswith("_")}
            lacking += [f"{name}.{key}" for key, value in members.items() if not inspect.getdoc(value)]
    assert lacking == []


def test_every_docstring_is_written_and_says_its_units() -> None:
    lacking = []
    for name, item, around in written():
        if not ast.get_docstring(item):
            lacking.append(f"{name} has no docstring")
        names = [item.name] if isinstance(item, ast.FunctionDef) else []
        if isinstance(item, ast.FunctionDef):
            arguments = item.args
            names += [argument.arg for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
        for unit, word in ((unit, word) for unit, word in UNITS.items() for name_of in names if name_of.endswith(unit)):
            if word not in around.lower():
                lacking.append(f"{name} says nothing of {word}s, the unit of {unit}")
    assert lacking == []


def test_every_docstring_says_what_is_raised() -> None:
    lacking = []
    for name, item, around in written():
        if isinstance(item, ast.ClassDef):
            continue
        for part in ast.walk(item):
            if isinstance(part, ast.Raise) and isinstance(part.exc, ast.Call) and isinstance(part.exc.func, ast.Name):
                if part.exc.func.id not in around:
                    lacking.append(f"{name} does not say that it raises {part.exc.func.id}")
    assert lacking == []


@pytest.mark.parametrize("name", ["Departure", "Head", "Port", "Scheduler", "Table", "Wait"])
def test_every_member_of_a_class_is_documented_where_help_finds_it(name: str) -> None:
    for key, member in vars(getattr(tidegate, name)).items():
        assert key.startswith("_") or inspect.getdoc(member), key
