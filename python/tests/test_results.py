"""Results: tables that other packages read, pages, plots."""

from __future__ import annotations

from pathlib import Path

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import tidegate
from test_scenario import short


@pytest.fixture(scope="module")
def results() -> tidegate.Results:
    """Quickstart, simulated once for all tests here."""
    return short().run(seed=3)


def test_every_table_is_that_of_its_parquet_file(results: tidegate.Results, tmp_path: Path) -> None:
    results.save(tmp_path / "out")
    for name in results.tables:
        written = pyarrow.parquet.read_table(tmp_path / "out" / f"{name}.parquet")
        given = pyarrow.table(results.table(name))
        assert given.equals(written), name
        assert given.shape == results.table(name).shape


def test_polars_reads_a_table(results: tidegate.Results) -> None:
    frame = polars.DataFrame(results.flows)
    assert frame.columns == results.flows.columns
    assert frame["flow"].to_list() == results.flows.values("flow")
    assert frame["throughput_bps"].to_list() == results.flows.values("throughput_bps")


def test_pandas_reads_a_table(results: tidegate.Results) -> None:
    frame = pandas.DataFrame.from_arrow(results.flows)
    assert list(frame.columns) == results.flows.columns
    assert frame["flow"].tolist() == results.flows.values("flow")
    assert frame["throughput_bps"].tolist() == results.flows.values("throughput_bps")


def test_a_stream_outlives_its_results() -> None:
    table = pyarrow.table(short().run(seed=4).ports)
    assert table.num_rows == 2 and table.column("port").to_pylist() == ["uplink", "uplink"]


def test_a_capsule_without_a_reader_is_freed(results: tidegate.Results) -> None:
    for _ in range(1000):
        results.flows.__arrow_c_stream__()


def test_an_unknown_table_or_column_names_those_there_are(results: tidegate.Results) -> None:
    with pytest.raises(KeyError, match="flows, ports"):
        results.table("flow")
    with pytest.raises(KeyError, match="throughput_bps"):
        results.flows.values("throughput")
    with pytest.raises(KeyError, match="throughput_bps"):
        results.plot("throughput")


def test_jupyter_gets_the_page_in_a_frame(results: tidegate.Results) -> None:
    shown = results._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "&lt;title&gt;" in shown
    assert "Voice, video and bulk" in results.html()
    assert "uplink" in str(results)
    assert results.promises_kept


def test_matplotlib_draws_a_bar_per_flow(results: tidegate.Results) -> None:
    import matplotlib

    matplotlib.use("Agg")
    axes = results.plot("delay_p99_s")
    assert axes.get_xlabel() == "delay_p99_s"
    assert len(axes.patches) == results.flows.shape[0]


def test_altair_draws_the_same_figures(results: tidegate.Results) -> None:
    chart = results.plot("throughput_bps", backend="altair").to_dict()
    values = [row["value"] for data in chart["datasets"].values() for row in data] if "datasets" in chart else []
    values = values or [row["value"] for row in chart["data"]["values"]]
    assert values == results.flows.values("throughput_bps")


def test_another_backend_is_refused(results: tidegate.Results) -> None:
    with pytest.raises(ValueError, match="altair"):
        results.plot(backend="excel")
