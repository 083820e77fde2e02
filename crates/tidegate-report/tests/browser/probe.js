// Runs after the page's own script: uses the charts as a reader would and writes what it finds into attributes.

(() => {
  const found = {};
  found.drawn = document.documentElement.dataset.drawn;
  for (const section of document.querySelectorAll("section.chart")) {
    found[`points-${section.id}`] = section.dataset.points;
    const paths = [...section.querySelectorAll("path.curve")];
    found[`curves-${section.id}`] = paths.length;
    const bars = [...section.querySelectorAll("path.interval")].map((path) => path.getAttribute("d").split("V").length - 1);
    found[`intervals-${section.id}`] = bars.reduce((sum, number) => sum + number, 0);
    const within = (path) => {
      const [box, lines] = [path.getBBox(), [...path.ownerSVGElement.querySelectorAll(".base")].pop().getBBox()];
      return box.y >= 25 && box.y + box.height <= lines.y + 1;
    };
    found[`outside-${section.id}`] = [...section.querySelectorAll("path.interval")].filter((path) => !within(path)).length;
    found[`flat-${section.id}`] = paths.filter((path) => { const box = path.getBBox(); return !(box.width > 1); }).length;
    found[`bad-${section.id}`] = [...section.querySelectorAll("*")]
      .filter((element) => [...element.attributes].some((attribute) => /NaN|Infinity|undefined/.test(attribute.value))).length;
    found[`titles-${section.id}`] = section.querySelectorAll(".axis-title").length;
  }
  const panel = document.querySelectorAll("#throughput svg[role=img]")[1] || document.querySelector("#throughput svg[role=img]");
  if (panel) {
    const box = panel.getBoundingClientRect();
    panel.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + 50 }));
    found.tips = [...document.querySelectorAll("#throughput .tip")].filter((tip) => !tip.hidden).map((tip) => tip.innerText.replace(/\s+/g, " ")).join(" | ");
    panel.dispatchEvent(new PointerEvent("pointerleave"));
    const before = document.querySelectorAll("#throughput path.curve").length;
    document.querySelector("#throughput .legend button").click();
    found.hidden = before - document.querySelectorAll("#throughput path.curve").length;
    for (const button of document.querySelectorAll("#throughput .legend button")) if (button.ariaPressed !== "false") button.click();
    found.none = document.querySelectorAll("#throughput path.curve").length;
  }
  found.overflow = document.documentElement.scrollWidth - innerWidth;
  found.unnamed = [...document.querySelectorAll("svg[role=img]")].filter((svg) => !svg.getAttribute("aria-label")).length;
  found.seen = seen.join("; ");
  for (const [key, value] of Object.entries(found)) document.body.setAttribute(`probe-${key}`, String(value));
})();
