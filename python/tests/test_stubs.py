"""The stubs say what the module has, and every name has a docstring."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import tidegate
from tidegate import _tidegate


def test_every_public_name_has_a_docstring() -> None:
    lacking = []
    for name in tidegate.__all__:
        item = getattr(tidegate, name)
        if name != "__version__" and not inspect.getdoc(item):
            lacking.append(name)
        if inspect.isclass(item) and not issubclass(item, Exception):
            members = {key: value for key, value in vars(item).items() if not key.startswith("_")}
            lacking += [f"{name}.{key}" for key, value in members.items() if not inspect.getdoc(value)]
    assert lacking == []


def test_the_stubs_name_all_of_the_module_and_nothing_else() -> None:
    stubs = ast.parse((Path(tidegate.__file__).parent / "_tidegate.pyi").read_text())
    told = {item.name: item for item in stubs.body if isinstance(item, (ast.ClassDef, ast.FunctionDef))}
    there = {name for name in vars(_tidegate) if not name.startswith("_")}
    assert set(told) == there
    for name, item in told.items():
        assert ast.get_docstring(item), name
        if isinstance(item, ast.ClassDef) and name != "ScenarioError":
            members = {part.name for part in item.body if isinstance(part, ast.FunctionDef)}
            public = {key for key in vars(getattr(_tidegate, name)) if not key.startswith("_") or key == "__arrow_c_stream__"}
            members.discard("__new__")
            assert members == public, name
