// Draws the charts of the report into their sections, as SVG, from the JSON in the page. Needs nothing else.
// Each section tells in `data-points` how many points it drew; the page tells in `data-drawn` that all are done.
(() => {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  const NBSP = "\u00a0";
  const DASHES = ["", "7 3", "2 3"];
  const data = JSON.parse(document.getElementById("report-data").textContent);

  // ---- Elements ----------------------------------------------------------------------------------------------

  function attach(parent, name, attributes, text) {
    const inSvg = name === "svg" || (parent && parent.namespaceURI === SVG);
    const made = inSvg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }

  const colour = (slot) => (slot < 0 ? "var(--soft)" : `var(--c${slot % 8})`);
  const dash = (slot) => (slot < 0 ? "4 2" : DASHES[Math.floor(slot / 8) % DASHES.length]);

  // ---- Numbers and units ---------------------------------------------------------------------------------------

  const RATE = [[1e12, "Tbit/s"], [1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]];
  const BYTES = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
  const TIME = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"], [1e-12, "ps"]];
  const COUNT = [[1e9, "×10⁹"], [1e6, "×10⁶"], [1, ""]];
  const SHARE = [[0.01, "%"]];
  const UNITS = { bps: RATE, s: TIME, bytes: BYTES, share: SHARE };
  const LONG_TIME = [[86400 * 365.25, "years"], [86400, "days"], [3600, "h"], ...TIME];
  // Charts of what share lies beyond: the name of the horizontal axis, and the words for a value under the pointer.
  const TAILS = { delay: ["delay", "longer than"], jitter: ["difference", "more than"] };

  // The largest unit that `size` reaches `least` times; the base unit for nothing at all.
  function unitFor(size, units, least = 1) {
    const fits = units.find(([factor]) => size >= factor * least * (1 - 1e-9));
    return fits || units.find(([factor]) => factor === 1) || units[units.length - 1];
  }

  function figure(value, units) {
    const rounded = Number(value.toPrecision(4));
    const [factor, unit] = unitFor(Math.abs(rounded), units);
    return `${Number((value / factor).toPrecision(4))}${NBSP}${unit}`;
  }

  const percent = (share) => `${Number((share * 100).toPrecision(3))}${NBSP}%`;
  const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, NBSP);

  // ---- Axes ----------------------------------------------------------------------------------------------------

  // A linear axis from `low` to at least `high` with round steps, in the unit that suits its end.
  function linearAxis(low, high, units, wanted, least) {
    const [factor, unit] = unitFor(high, units, least);
    const span = (high - low) / factor || 1;
    const power = 10 ** Math.floor(Math.log10(span / wanted));
    const step = [1, 2, 5, 10].map((multiple) => multiple * power).find((size) => span / size <= wanted) || span;
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const ticks = [];
    for (let index = Math.ceil(low / factor / step - 1e-9); index * step <= high / factor + step * 1e-9; index += 1) {
      ticks.push({ value: index * step * factor, label: (index * step).toFixed(decimals) });
    }
    return { low, high, unit, ticks, place: (value) => (value - low) / (high - low || 1), at: (part) => low + part * (high - low) };
  }

  // The end of a linear axis, moved up to a whole step so that the highest curve stays below the top line.
  function roundEnd(high, units, wanted) {
    const { ticks } = linearAxis(0, high, units, wanted);
    if (ticks.length < 2) return high;
    const step = ticks[1].value - ticks[0].value;
    return Math.ceil(high / step - 1e-9) * step;
  }

  // A logarithmic axis: labels at the powers of ten, and at twos and fives where there are few of those.
  function logAxis(low, high, format) {
    const [from, to] = [Math.log10(low), Math.log10(high)];
    const multiples = to - from < 1.2 ? [1, 2, 3, 5] : to - from < 2.2 ? [1, 2, 5] : [1];
    const every = Math.max(1, Math.ceil((to - from) / 7 - 1e-9));
    const ticks = [];
    for (let decade = Math.floor(from); decade <= Math.ceil(to); decade += 1) {
      if (((decade % every) + every) % every !== 0) continue;
      for (const multiple of multiples) {
        const value = Number(`${multiple}e${decade}`);
        const inside = value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9);
        if (inside) ticks.push({ value, label: format(value) });
      }
    }
    return {
      low, high, ticks, log: true,
      place: (value) => (Math.log10(Math.max(value, low)) - from) / (to - from || 1),
      at: (part) => 10 ** (from + part * (to - from)),
    };
  }

  function extent(curves, coordinate, accept) {
    let [low, high] = [Infinity, -Infinity];
    for (const curve of curves) {
      for (const value of curve[coordinate]) {
        if (!accept(value)) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    return low <= high ? [low, high] : null;
  }

  // Axes that the chart itself describes, linear or logarithmic: of plain numbers, or of those with a unit.
  function describedAxes({ x, y, steps }, all, shown, wanted) {
    const text = ({ unit }) => (value) => figure(value, UNITS[unit] || COUNT).trim();
    const axis = (described, curves, coordinate, ticks) => {
      const { title, logarithmic } = described;
      const units = UNITS[described.unit] || COUNT;
      const accept = (value) => !logarithmic || value > 0;
      const [least, most] = extent(curves, coordinate, accept) || [1, 1];
      const vertical = coordinate === "y";
      const ends = curves.filter((curve) => vertical && curve.half_widths).map((curve) => ({ y: intervals(curve).map(([, , end]) => end) }));
      const high = Math.max(most, (extent(ends, "y", accept) || [most, most])[1]) || 1;
      // A vertical axis begins at nothing, or at a power of ten if it has several; a horizontal one where that is far from its values begins at the first.
      const decade = vertical && high > 20 * least ? 10 ** Math.floor(Math.log10(least) + 1e-9) : least;
      const low = vertical || least < 0.2 * high ? Math.min(0, least) : least;
      const made = logarithmic ? logAxis(decade, high, text(described)) : linearAxis(low, vertical ? roundEnd(high, units, ticks) : high, units, ticks);
      made.title = !made.unit ? title : units === COUNT ? `${title}, ${made.unit}` : `${title} (${made.unit})`;
      return made;
    };
    const valueAt = steps ? (curve, place) => curve.y[upTo(curve.x, place) - 1] ?? 0 : nearestValue;
    return { x: axis(x, all, "x", wanted), y: axis(y, shown, "y", 5), valueAt, value: text(y), header: (place) => `${x.title} ${text(x)(place)}` };
  }

  // Axes that all panels of a chart share, from the curves that are not hidden.
  function axesOf(chart, hidden, width) {
    const all = chart.panels.flatMap((panel) => panel.curves);
    const shown = all.filter((curve) => !hidden.has(curve.entry));
    const wanted = Math.max(3, Math.min(10, Math.floor(width / 70)));
    if (chart.axes) return describedAxes(chart.axes, all, shown, wanted);
    if (chart.id in TAILS) {
      const [lowest, high] = extent(shown, "x", (value) => value > 0) || [1e-3, 1];
      // Differences go down to nothing: the very small ones stand at the edge.
      const low = chart.id === "jitter" ? Math.max(lowest, high / 1e4) : lowest;
      const least = (extent(shown, "y", (value) => value > 0) || [0.01, 1])[0];
      const floor = Math.min(0.1, 10 ** Math.floor(Math.log10(least) + 1e-9));
      const x = high / low > 20
        ? logAxis(low / (high / low) ** 0.02, high * (high / low) ** 0.02, (value) => figure(value, TIME))
        : linearAxis(low > high / 2 ? low - (high - low) * 0.05 : 0, (high + (high - low) * 0.05) || 1, TIME, wanted);
      const [name, beyond] = TAILS[chart.id];
      x.title = x.log ? name : `${name} (${x.unit})`;
      const y = logAxis(floor, 1, percent);
      y.title = chart.measure;
      return { x, y, valueAt: tailAt, value: percent, header: (time) => `${beyond} ${figure(time, TIME)}` };
    }
    const [start, end] = extent(all, "x", () => true) || [0, 1];
    const top = (extent(shown, "y", () => true) || [0, 1])[1] || 1;
    const units = chart.id === "throughput" ? RATE : BYTES;
    const x = linearAxis(Math.min(0, start), end || 1, LONG_TIME, wanted, 3);
    x.title = `time (${x.unit})`;
    const y = linearAxis(0, roundEnd(top, units, 5), units, 5);
    y.title = `${chart.measure} (${y.unit})`;
    return { x, y, valueAt: nearestValue, value: (value) => figure(value, units), header: (time) => `at ${figure(time, LONG_TIME)}` };
  }

  // ---- Values under the pointer ----------------------------------------------------------------------------------

  // How many values of a rising list are at most `limit`.
  function upTo(list, limit) {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] <= limit) low = middle + 1; else high = middle;
    }
    return low;
  }

  function nearest(curve, time) {
    const after = Math.min(upTo(curve.x, time), curve.x.length - 1);
    const before = Math.max(after - 1, 0);
    return time - curve.x[before] <= curve.x[after] - time ? before : after;
  }

  const nearestValue = (curve, time) => curve.y[nearest(curve, time)];

  // The intervals of a curve: place, start and end of each.
  function intervals({ x, y, half_widths }) {
    const all = (half_widths || []).map((width, index) => [x[index], y[index] - width, y[index] + width, width]);
    return all.filter(([, , , width]) => width !== null);
  }

  function tailAt(curve, delay) {
    const passed = upTo(curve.x, delay);
    return passed === 0 ? 1 : curve.y[passed - 1];
  }

  // ---- Line charts -----------------------------------------------------------------------------------------------

  function path(chart, curve, x, y) {
    const points = [];
    if (chart.id in TAILS) {
      let height = 1;
      curve.x.forEach((delay, index) => {
        points.push(`${index ? "L" : "M"}${x(delay)} ${y(height)}`);
        height = curve.y[index];
        points.push(`L${x(delay)} ${y(height)}`);
      });
    } else if (chart.axes?.steps) {
      curve.x.forEach((place, index) => points.push(index ? `H${x(place)}V${y(curve.y[index])}` : `M${x(place)} ${y(curve.y[index])}`));
    } else {
      curve.x.forEach((time, index) => points.push(`${index ? "L" : "M"}${x(time)} ${y(curve.y[index])}`));
    }
    return points.join("");
  }

  function drawPanel(chart, panel, axes, hidden, width) {
    const height = Math.round(Math.max(210, Math.min(320, width * 0.56)));
    const widest = Math.max(...axes.y.ticks.map((tick) => tick.label.length));
    const area = { left: Math.max(28, widest * 6.8 + 10), right: width - 14, top: 30, bottom: height - 42 };
    const round = (value) => Math.round(value * 10) / 10;
    const x = (value) => round(area.left + axes.x.place(value) * (area.right - area.left));
    const y = (value) => round(area.bottom - axes.y.place(value) * (area.bottom - area.top));
    const svg = panel.svg;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    attach(svg, "text", { x: 0, y: 14, class: "axis-title" }, axes.y.title);
    for (const [from, until] of panel.bands || []) {
      const [left, right] = [x(Math.max(from, axes.x.low)), x(Math.min(until ?? axes.x.high, axes.x.high))];
      if (right > left) attach(svg, "rect", { x: left, width: right - left, y: area.top, height: area.bottom - area.top, class: "band" });
    }
    for (const tick of axes.y.ticks) {
      attach(svg, "line", { x1: area.left, x2: area.right, y1: y(tick.value), y2: y(tick.value), class: "grid" });
      attach(svg, "text", { x: area.left - 8, y: y(tick.value) + 4, "text-anchor": "end" }, tick.label);
    }
    for (const tick of axes.x.ticks) {
      if (axes.x.log) attach(svg, "line", { x1: x(tick.value), x2: x(tick.value), y1: area.top, y2: area.bottom, class: "grid" });
      attach(svg, "line", { x1: x(tick.value), x2: x(tick.value), y1: area.bottom, y2: area.bottom + 4, class: "base" });
      attach(svg, "text", { x: x(tick.value), y: area.bottom + 18, "text-anchor": "middle" }, tick.label);
    }
    attach(svg, "text", { x: (area.left + area.right) / 2, y: height - 5, "text-anchor": "middle", class: "axis-title" }, axes.x.title);
    attach(svg, "line", { x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom, class: "base" });
    let points = 0;
    // The first of the list is drawn last, on top.
    for (const curve of [...panel.curves].reverse()) {
      if (hidden.has(curve.entry)) continue;
      const { slot } = chart.legend[curve.entry];
      attach(svg, "path", { d: path(chart, curve, x, y), class: "curve", stroke: colour(slot), "stroke-dasharray": dash(slot) });
      const bars = intervals(curve).map(([place, start, end]) => {
        // What lies below the axis is not drawn.
        const [left, low, high] = [round(x(place) - 3), y(Math.max(start, axes.y.low)), y(Math.max(end, axes.y.low))];
        return `M${left} ${low}h6M${x(place)} ${low}V${high}M${left} ${high}h6`;
      });
      if (bars.length) attach(svg, "path", { d: bars.join(""), class: "interval", stroke: colour(slot) });
      points += curve.x.length;
    }
    panel.cursor = attach(svg, "g", {});
    panel.frame = { area, x, y, width };
    return points;
  }

  // Shows what every panel of the chart holds at one place of the shared horizontal axis.
  function showValues(chart, panels, axes, hidden, part) {
    for (const panel of panels) {
      const { area, x, y, width } = panel.frame;
      panel.cursor.replaceChildren();
      panel.tip.hidden = part === null;
      if (part === null) continue;
      const at = axes.x.at(part);
      attach(panel.cursor, "line", { x1: x(at), x2: x(at), y1: area.top, y2: area.bottom, class: "cross" });
      const rows = panel.curves
        .filter((curve) => !hidden.has(curve.entry))
        .map((curve) => ({ ...chart.legend[curve.entry], value: axes.valueAt(curve, at), width: curve.half_widths?.[nearest(curve, at)] ?? null }));
      panel.tip.replaceChildren();
      attach(panel.tip, "div", {}, axes.header(at));
      const body = attach(attach(panel.tip, "table"), "tbody");
      for (const row of rows) {
        if (!axes.y.log || row.value >= axes.y.low) attach(panel.cursor, "circle", { cx: x(at), cy: y(row.value), r: 4, class: "dot", fill: colour(row.slot) });
        const line = attach(body, "tr");
        const name = attach(line, "th", { scope: "row" });
        attach(name, "span", { class: "swatch", style: `background:${colour(row.slot)}` });
        name.append(row.name);
        attach(line, "td", {}, row.width === null ? axes.value(row.value) : `${axes.value(row.value)} ± ${axes.value(row.width)}`);
      }
      const scale = panel.svg.clientWidth / width;
      const left = x(at) * scale + 12;
      const fits = left + panel.tip.offsetWidth <= panel.svg.clientWidth;
      panel.tip.style.left = `${fits ? left : Math.max(0, x(at) * scale - 12 - panel.tip.offsetWidth)}px`;
    }
  }

  function lineChart(chart) {
    const section = document.getElementById(chart.id);
    const hidden = new Set();
    let axes = null;
    let part = null;
    const legend = attach(section, "div", { class: "legend", role: "group", "aria-label": `Curves of “${chart.title}”: press to hide or show` });
    chart.legend.forEach((entry, index) => {
      const button = attach(legend, "button", { type: "button", "aria-pressed": "true" });
      const sample = attach(button, "svg", { viewBox: "0 0 22 10", "aria-hidden": "true" });
      attach(sample, "line", { x1: 0, x2: 22, y1: 5, y2: 5, stroke: colour(entry.slot), "stroke-width": 3, "stroke-dasharray": dash(entry.slot) });
      attach(button, "span", {}, entry.name);
      button.addEventListener("click", () => {
        if (!hidden.delete(index)) hidden.add(index);
        button.setAttribute("aria-pressed", String(!hidden.has(index)));
        draw(false);
      });
    });
    const grid = panelGrid(section, chart.panels.length);
    const panels = chart.panels.map(({ run, curves, bands }) => {
      const figure = panelFigure(grid, run, chart.panels.length);
      const plot = attach(figure, "div", { class: "plot" });
      const names = curves.map((curve) => chart.legend[curve.entry].name).join(", ");
      const svg = attach(plot, "svg", {
        role: "img", tabindex: "0",
        "aria-label": `${chart.title}, ${run}. Curves: ${names || "none"}. Arrow keys move through the values; the tables below hold the figures.`,
      });
      const tip = attach(plot, "div", { class: "tip", role: "status" });
      tip.hidden = true;
      return { curves, bands, svg, tip };
    });

    function point(next) {
      part = next === null ? null : Math.max(0, Math.min(1, next));
      showValues(chart, panels, axes, hidden, part);
    }

    function draw(paper) {
      const width = paper ? paperWidth(chart.panels.length) : Math.max(260, Math.round(grid.firstChild.clientWidth));
      axes = axesOf({ ...chart, panels }, hidden, width);
      let points = 0;
      for (const panel of panels) points += drawPanel(chart, panel, axes, hidden, width);
      section.dataset.points = String(points);
      point(null);
    }

    for (const panel of panels) {
      panel.svg.addEventListener("pointermove", (event) => {
        const { area, width } = panel.frame;
        const box = panel.svg.getBoundingClientRect();
        const place = ((event.clientX - box.left) * width) / box.width;
        point((place - area.left) / (area.right - area.left));
      });
      panel.svg.addEventListener("pointerleave", () => point(null));
      panel.svg.addEventListener("blur", () => point(null));
      panel.svg.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -0.01, ArrowRight: 0.01 }[event.key];
        if (step) point(part === null ? 0.5 : part + step);
        else if (event.key === "Escape") point(null);
        else return;
        event.preventDefault();
      });
    }
    draw(false);
    let drawn = grid.firstChild.clientWidth;
    new ResizeObserver(() => {
      const width = grid.firstChild.clientWidth;
      if (Math.abs(width - drawn) < 1 || matchMedia("print").matches) return;
      drawn = width;
      requestAnimationFrame(() => draw(false));
    }).observe(grid);
    // Paper is narrower than most screens: a drawing that was merely scaled down would have tiny letters.
    addEventListener("beforeprint", () => draw(true));
    addEventListener("afterprint", () => draw(false));
  }

  // Pixels of a panel on A4 or Letter between the margins, side by side as the style sheet for paper has it.
  function paperWidth(panels) {
    return panels > 1 ? 330 : 680;
  }

  function panelGrid(section, panels) {
    const grid = attach(section, "div", { class: "panels" });
    grid.style.setProperty("--panel-width", panels === 3 || panels > 4 ? "320px" : "420px");
    grid.style.setProperty("--print-columns", String(Math.min(panels, 2)));
    return grid;
  }

  function panelFigure(grid, run, panels) {
    const figure = attach(grid, "figure", { class: "panel" });
    attach(figure, "figcaption", panels > 1 ? {} : { class: "unseen" }, run);
    return figure;
  }

  // ---- Bars --------------------------------------------------------------------------------------------------------

  function barChart(chart) {
    const section = document.getElementById("drops");
    const grid = panelGrid(section, chart.panels.length);
    const longest = Math.max(...chart.panels.flatMap((panel) => panel.bars.map((bar) => bar.packets)));
    let drawn = 0;
    for (const { run, bars } of chart.panels) {
      const figure = panelFigure(grid, run, chart.panels.length);
      if (bars.length === 0) {
        attach(figure, "p", { class: "empty" }, "Nothing was dropped.");
        continue;
      }
      const list = attach(figure, "ul", { class: "bars", "aria-label": `Drops by reason, ${run}` });
      for (const bar of bars) {
        const item = attach(list, "li");
        const head = attach(item, "div", { class: "bar-head" });
        attach(head, "span", {}, bar.label);
        attach(head, "b", {}, `${count(bar.packets)} packet${bar.packets === 1 ? "" : "s"}`);
        const track = attach(item, "div", { class: "track", "aria-hidden": "true" });
        const below = attach(item, "div", { class: "bar-parts" });
        const named = bar.parts.reduce((sum, [, packets]) => sum + packets, 0);
        const parts = bar.parts.map(([entry, packets]) => ({ ...chart.legend[entry], packets }));
        if (named < bar.packets) parts.push({ name: parts.length ? "others" : "", slot: -1, packets: bar.packets - named });
        for (const part of parts) {
          const width = (part.packets / longest) * 100;
          const label = `${part.name} ${count(part.packets)}`.trim();
          attach(track, "span", { style: `width:${width}%;background:${colour(part.slot)}`, title: label });
          drawn += 1;
          if (!part.name) continue;
          const legend = attach(below, "span");
          attach(legend, "span", { class: "swatch", style: `background:${colour(part.slot)}` });
          legend.append(label);
        }
      }
    }
    section.dataset.points = String(drawn);
  }

  // Largest delays as parts of proven bounds. All bars share one scale: a bar that passes the line has exceeded its bound.
  function boundChart(chart) {
    const section = document.getElementById("bounds");
    const grid = panelGrid(section, chart.panels.length);
    const end = Math.max(1, ...chart.panels.flatMap((panel) => panel.bars.map((bar) => bar.ratio)));
    let drawn = 0;
    for (const { run, bars } of chart.panels) {
      const figure = panelFigure(grid, run, chart.panels.length);
      if (bars.length === 0) {
        attach(figure, "p", { class: "empty" }, "No flow has a bound; the table below says why.");
        continue;
      }
      const list = attach(figure, "ul", { class: "bars", "aria-label": `Largest delays and proven bounds, ${run}` });
      for (const bar of bars) {
        const item = attach(list, "li");
        const head = attach(item, "div", { class: "bar-head" });
        attach(head, "span", {}, bar.label);
        attach(head, "b", bar.held ? {} : { class: "exceeded" }, bar.held ? bar.figures : `EXCEEDED: ${bar.figures}`);
        const track = attach(item, "div", { class: "track bounded", "aria-hidden": "true" });
        const paint = bar.held ? colour(bar.slot) : "var(--broken)";
        attach(track, "span", { style: `width:${(bar.ratio / end) * 100}%;background:${paint}`, title: bar.figures });
        attach(track, "i", { style: `left:${100 / end}%` });
        drawn += 1;
      }
    }
    section.dataset.points = String(drawn);
  }

  if (data.bounds) boundChart(data.bounds);
  data.lines.forEach(lineChart);
  if (data.bars) barChart(data.bars);
  document.documentElement.dataset.drawn = "true";
})();
