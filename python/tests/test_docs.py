"""What docs/tasks/python.md shows runs, in its order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: What names a bridge that runs; `test_control.py` has one.
BRIDGE = "/run/tidegate/control"


def test_every_example_of_the_page_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    page = (ROOT / "docs" / "tasks" / "python.md").read_text()
    examples = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(examples) >= 4
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in examples:
        if BRIDGE not in example:
            exec(compile(example, "docs/tasks/python.md", "exec"), names)
    assert (tmp_path / "out" / "report.html").exists()
