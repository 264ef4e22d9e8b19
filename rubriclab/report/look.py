"""How a report looks and moves: its style sheet, and the script that draws its figures.

Both stand in the file itself. The script is small on purpose: it draws each figure from the data
beside it, in the colours of the reader's light or dark setting, and again when that changes, when
the window does, and for paper.
"""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --paper: #fbfaf7; --card: #ffffff; --ink: #1d232b; --quiet: #57606c;
  --line: #dcd7cb; --accent: #00639c; --act: #a23b00; --watch: #7a5600; --fine: #00694c; --mark: #f1eee7; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --card: #1b2027; --ink: #e8e6e1;
  --quiet: #a9b1bb; --line: #363d47; --accent: #74bdf0; --act: #ff9d68; --watch: #e9bd4b; --fine: #56cfa5;
  --mark: #222831; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100%; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: anywhere;
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", sans-serif; }
a { color: var(--accent); } :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; background: var(--card); padding: .6rem 1rem; z-index: 9; }
.skip:focus { left: 0; }
.sheet { max-width: 78rem; margin: 0 auto; padding: 2.5rem 1.5rem 5rem; display: grid; gap: 0 3.5rem;
  grid-template-columns: 13rem minmax(0, 1fr); grid-template-areas: "head head" "toc main"; }
header { grid-area: head; } main { grid-area: main; } nav { grid-area: toc; }
nav > div { position: sticky; top: 1.5rem; max-height: calc(100vh - 3rem); overflow-y: auto; padding-top: 2rem; }
nav p { margin: 0 0 .5rem; font-size: .78rem; letter-spacing: .06em; text-transform: uppercase; color: var(--quiet); }
nav ol { list-style: none; margin: 0; padding: 0; font-size: .9rem; line-height: 1.35; }
nav li { margin: .1rem 0; } nav ol ol { padding-left: .9rem; }
nav a { color: var(--quiet); text-decoration: none; display: block; padding: .22rem 0; }
nav a:hover { color: var(--accent); text-decoration: underline; }
h1, h2, h3, h4, h5 { line-height: 1.25; text-wrap: balance; }
h1 { font-size: clamp(1.6rem, 1.2rem + 1.6vw, 2.3rem); margin: 0 0 .5rem; letter-spacing: -.01em; }
h2 { font-size: 1.45rem; margin: 3.2rem 0 .8rem; padding-top: 1rem; border-top: 1px solid var(--line); }
main > section:first-child h2 { margin-top: 1rem; }
h3 { font-size: 1.14rem; margin: 2.2rem 0 .6rem; } h4 { font-size: 1rem; margin: 1.4rem 0 .4rem; } h5 { font-size: .95rem; margin: 1.2rem 0 .3rem; }
section.part > h2 { font-size: 1.7rem; } section.part h3 { font-size: 1.3rem; margin-top: 2.6rem; }
p, ul, dl { margin: .5rem 0 1rem; max-width: 46rem; }
ul { padding-left: 1.2rem; } li { margin: .35rem 0; }
.small, caption, figcaption, .about { color: var(--quiet); font-size: .88rem; line-height: 1.5; }
.answer { font-size: clamp(1.12rem, 1rem + .7vw, 1.4rem); line-height: 1.45; font-weight: 550; margin: .4rem 0 1rem; }
.simulated { border: 1px solid var(--watch); border-left-width: 5px; border-radius: 4px; padding: .7rem 1rem; background: var(--card); max-width: none; }
.facts { display: flex; flex-wrap: wrap; gap: .15rem 1.4rem; padding: 0; list-style: none; max-width: none; }
.facts li { margin: 0; color: var(--quiet); font-size: .9rem; }
.steps { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: .9rem; padding: 0; max-width: none; list-style: none; }
.steps li { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .9rem 1.1rem; }
ul + h3, ul + h4 { margin-top: 1.6rem; }
.steps strong { display: block; margin-bottom: .3rem; line-height: 1.35; }
.level { display: inline-block; font-size: .78rem; font-weight: 650; border: 1.5px solid currentColor; border-radius: 99px; padding: 0 .6rem; margin-bottom: .45rem; }
.Act { color: var(--act); } .Watch { color: var(--watch); } .Fine { color: var(--fine); } .Cannot { color: var(--quiet); }
.wide { overflow-x: auto; margin: .6rem 0 1.4rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; line-height: 1.45; }
caption { text-align: left; padding: .7rem .8rem .2rem; }
th, td { text-align: left; padding: .5rem .8rem; border-top: 1px solid var(--line); vertical-align: top; min-width: 5.5rem; overflow-wrap: break-word; }
thead th { border-top: 0; color: var(--quiet); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 600; min-width: 10rem; max-width: 24rem; overflow-wrap: anywhere; } td { font-variant-numeric: tabular-nums; max-width: 26rem; }
td bdi { white-space: pre-line; } .number { text-align: right; } td.number bdi { white-space: pre; } td:not(.number) { min-width: 8.5rem; }
figure { margin: 1rem 0 2rem; } figure.chart { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1rem .8rem; }
figure.chart h3, figure.chart h4 { margin: 0 0 .3rem; font-size: 1rem; } .plot { width: 100%; }
figcaption { margin-top: .4rem; }
pre { background: var(--mark); border-radius: 6px; padding: .9rem 1rem; overflow: auto; max-height: 34rem; font: .82rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; white-space: pre-wrap; margin: .4rem 0 1rem; }
figure.words { margin: 1rem 0; } details { margin: .6rem 0 1.2rem; } summary { cursor: pointer; padding: .3rem 0; font-weight: 600; }
dt { font-weight: 650; margin-top: 1.2rem; } dd { margin: .2rem 0 0; } dd.about { margin-top: .25rem; }
.formula { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .86rem; background: var(--mark); border-radius: 4px; padding: .4rem .7rem; margin: .35rem 0; }
@media (max-width: 62rem) { .sheet { display: block; padding: 1.4rem 1.1rem 4rem; } nav > div { position: static; max-height: none; padding: 1rem 0 0; } nav > div > ol { columns: 2 10rem; } nav > div > ol > li { break-inside: avoid; } main { max-width: none; } }
@media (max-width: 30rem) { figure.chart { padding: .8rem .4rem .6rem; } figure.chart h3, figure.chart h4, figure.chart figcaption { padding: 0 .5rem; } th, td { padding: .45rem .7rem; } }
@media print { :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #111; --quiet: #444; --line: #bbb; --accent: #004b78; --act: #8a3200; --watch: #5d4200; --fine: #00543d; --mark: #f3f3f3; }
  nav, .skip, .modebar { display: none !important; } .sheet { display: block; padding: 0; max-width: none; } body { font-size: 11pt; }
  figure, tr, .steps li, dt { break-inside: avoid; } h2, h3, h4, dt { break-after: avoid; } pre { max-height: none; } .wide { overflow: visible; } table { font-size: 8.5pt; } th, td { padding: .25rem .4rem; min-width: 0; } tbody th { min-width: 0; } td.number bdi { white-space: pre-line; } td:not(.number) { min-width: 0; } }
"""

SCRIPT = """
(() => {
  "use strict";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const plots = [...document.querySelectorAll(".plot")], waiting = new Set(plots);
  const config = {displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud"]};
  const look = paper => {
    const night = dark.matches && !paper, ink = night ? "#e8e6e1" : "#1d232b";
    const axis = {gridcolor: "rgba(128,128,128,.22)", linecolor: "rgba(128,128,128,.5)", zerolinecolor: "rgba(128,128,128,.4)"};
    return {layout: {font: {color: ink, family: "system-ui, -apple-system, 'Segoe UI', sans-serif"},
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", xaxis: axis, yaxis: axis,
      polar: {bgcolor: "rgba(0,0,0,0)", angularaxis: axis, radialaxis: axis},
      hoverlabel: {bgcolor: night ? "#2b323c" : "#ffffff", bordercolor: "#8a8f98", font: {color: ink}}}};
  };
  // On a narrow screen a title longer than its axis would be cut off, and a legend of many lines
  // would take the chart's room: both get room of their own.
  const fit = plot => {
    const change = {}, legend = plot._fullLayout.legend, tall = plot._fullLayout.height;
    let more = legend && legend._height > 60 ? legend._height - 40 : 0;
    for (const name of Object.keys(plot.layout).filter(key => /^xaxis\\d*$/.test(key))) {
      const title = plot.layout[name].title && plot.layout[name].title.text, axis = plot._fullLayout[name];
      if (!title || !axis || title.includes("<")) continue;
      const fits = Math.max(8, Math.floor(axis._length / 7.5));
      if (title.length <= fits) continue;
      const lines = [""];
      for (const word of title.split(" ")) {
        if ((lines.at(-1) + " " + word).length > fits && lines.at(-1)) lines.push(word);
        else lines[lines.length - 1] += (lines.at(-1) ? " " : "") + word;
      }
      change[name + ".title.text"] = lines.join("<br>");
      more += 18 * (lines.length - 1);
      change["margin.b"] = (plot.layout.margin && plot.layout.margin.b || 48) + 18 * (lines.length - 1);
    }
    if (more) Plotly.relayout(plot, {...change, height: tall + more, autosize: true});
  };
  const draw = plot => {
    if (!waiting.has(plot) || !plot.offsetWidth) return;
    waiting.delete(plot);
    const figure = JSON.parse(document.getElementById(plot.dataset.figure).textContent);
    const layout = {...figure.layout, template: look(false), autosize: true};
    Plotly.newPlot(plot, figure.data, layout, config).then(() => {
      // The words of the chart are its label and the line below it; its ticks are not read out.
      plot.querySelectorAll(".main-svg").forEach(part => part.setAttribute("aria-hidden", "true"));
      fit(plot);
    });
  };
  const again = paper => plots.forEach(plot => {
    if (waiting.has(plot)) return;
    Plotly.relayout(plot, {template: look(paper), width: paper ? Math.min(plot.offsetWidth, 640) : undefined, autosize: !paper});
  });
  const near = new IntersectionObserver(seen => seen.forEach(one => { if (one.isIntersecting) draw(one.target); }), {rootMargin: "600px"});
  plots.forEach(plot => near.observe(plot));
  const rest = () => { const next = [...waiting].find(plot => plot.offsetWidth); if (next) { draw(next); setTimeout(rest, 30); } };
  setTimeout(rest, 400);
  dark.addEventListener("change", () => again(false));
  addEventListener("beforeprint", () => { plots.forEach(draw); again(true); });
  addEventListener("afterprint", () => again(false));
})();
"""
