"""The notebooks run, and print what they show. `cargo xtask notebooks --write` executes them anew, in a fresh environment."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def code_cells(path: Path) -> list[dict[str, Any]]:
    """The cells with code of a notebook."""
    cells: list[dict[str, Any]] = json.loads(path.read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["admission-study", "aqm-study", "quick-start"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_as_it_was_executed(path: Path) -> None:
    cells = code_cells(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = [output["output_type"] for cell in cells for output in cell["outputs"]]
    assert "error" not in kinds
    images = [output for cell in cells for output in cell["outputs"] if "image/png" in output.get("data", {})]
    assert len(images) >= 2
    assert path.stat().st_size < 500_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    monkeypatch.chdir(path.parent)
    names: dict[str, Any] = {}
    for cell in code_cells(path):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), path.name, "exec"), names)
        shown = "".join(text for output in cell["outputs"] if output.get("name") == "stdout" for text in output["text"])
        assert printed.getvalue() == shown
    pyplot.close("all")
