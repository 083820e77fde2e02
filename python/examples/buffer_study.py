"""Loss at a buffer when bursts have heavy tails: 500 points of three axes on Ray, and a figure for a paper as SVG and PDF.

    python python/examples/buffer_study.py --on ray --out buffer-study

It needs `pip install '.[ray,matplotlib]'`; with `--on local` it runs on this machine's cores without Ray.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402

import tidegate  # noqa: E402

BUFFER = "policy.line.buffer.limit"
RATE = "policy.line.rate"
SHAPE = "flow.source.source.pareto_shape"

PANELS = [1.2, 1.6, 2.5]
RATES = ["11 Mbit/s", "13 Mbit/s", "15 Mbit/s", "17 Mbit/s"]


def figure(results: tidegate.SweepResults) -> pyplot.Figure:
    """Loss of the link over its buffer: a panel per tail, a curve per rate."""
    pyplot.rcParams.update({"font.size": 8, "font.family": "serif", "svg.fonttype": "none", "pdf.fonttype": 42})
    drawing, panels = pyplot.subplots(1, len(PANELS), figsize=(7.0, 2.4), sharex=True, sharey=True, layout="constrained")
    for panel, shape in zip(panels, PANELS):
        for rate in RATES:
            results.plot("line.loss", x=BUFFER, where={SHAPE: shape, RATE: rate}, axes=panel)
            panel.containers[-1].set_label(f"{rate}: load {10 / float(rate.split()[0]):.2f}")
        panel.set(xscale="log", yscale="log", xlabel="buffer (kB)", ylabel="", title=f"tail exponent {shape}", ylim=(1e-4, 0.3))
        panel.grid(which="major", linewidth=0.3)
    panels[0].set_ylabel("lost packets (share)")
    panels[-1].legend(title="10 Mbit/s offered to", fontsize=6, title_fontsize=6, loc="upper right")
    return drawing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", default="ray", choices=["local", "ray", "dask"], help="where points run")
    parser.add_argument("--out", type=Path, default=Path("buffer-study"), help="the folder of the sweep")
    parser.add_argument("--duration", help="simulated time of a point, instead of the file's, such as '10 s'")
    options = parser.parse_args()
    scenario = Path(__file__).resolve().parents[2] / "scenarios/buffer-study.toml"
    changes = {"simulation.duration": options.duration} if options.duration else {}
    results = tidegate.sweep(scenario, out=options.out, on=options.on, changes=changes)
    drawing = figure(results)
    for name in ["figure.svg", "figure.pdf"]:
        drawing.savefig(options.out / name)
        print(f"wrote {options.out / name}")


if __name__ == "__main__":
    main()
