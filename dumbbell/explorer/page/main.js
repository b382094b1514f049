// Puts the page together: header, table, tabs, keys, and what of it is drawn again when the state changes.

import { byId, contrast, copy, copyButton, download, el, fill, keeping, lastWord, say, select, shellWord, shortNumber } from "./elements.js";
import { drawDetails, saveCsv } from "./details.js";
import { drawHeatmap, hasHeatmap } from "./heatmap.js";
import { model, panelNames, panelTitle, rateWindow, detailOf, everySample, shortKey, shownRows, usualPanels, windowText } from "./lines.js";
import { placeAt } from "./numbers.js";
import { drawOverview, hasOverview } from "./overview.js";
import { drawPanels, goBack, moveCursor, pan, pointAt, range, resizePanels, showPacket, showRange, stage, stepPacket, updatePanels, zoomBy } from "./panels.js";
import { drawReference, hasReference } from "./reference.js";
import { buildRuns, drawTable } from "./runs.js";
import { source } from "./source.js";
import { change, onChange, readState, state } from "./state.js";
import { drawStatistics, statisticsOf } from "./statistics.js";

const FIRST = 8;
const PAPER = 680;
const TABS = { overview: "Overview", series: "Series", statistics: "Statistics", sweep: "Sweep", reference: "Reference", details: "Run" };
const KEYS = [
  ["W S", "zoom in and out about the cross-hair"],
  ["A D", "to the left and to the right"],
  ["← →", "move the cross-hair"],
  ["Backspace", "back to the range before"],
  ["0", "the whole time"],
  ["drag", "zoom into a part of the time, in all panels"],
  ["shift + drag", "zoom into values, in one panel"],
  ["double click", "back"],
  ["wheel", "zoom about the pointer; with shift, move"],
  ["N P", "in a capture: next and previous packet that was retransmitted or marked, or echoes marks. With shift: next and previous segment"],
  ["click", "in the time-sequence graph: the facts of a packet; Escape closes them"],
  ["/", "to the filter"],
  ["↑ ↓, space, Enter", "in the table: move, tick, show alone"],
  ["?", "these keys"],
];

/** Takes in a table of runs, or of the connections of a capture. */
model.adopt = (index) => {
  model.index = model.index ? { ...model.index, ...index, series: { ...model.index.series, ...index.series } } : index;
  const { facts, coordinates, metrics } = index.runs;
  const row = (columns, i) => Object.fromEntries(Object.entries(columns).filter(([, values]) => values[i] !== null).map(([name, values]) => [name, values[i]]));
  model.rows = facts.key.map((key, i) => ({ key, name: facts.name[i], status: facts.status[i], reasons: facts.reasons[i], engine: facts.engine[i], seed: facts.seed[i], ccs: facts.ccs[i], cell: row(coordinates, i), metrics: row(metrics, i) }));
  model.rows.forEach((each) => model.byKey.has(each.key) || model.byKey.set(each.key, each));
};

function tabs() {
  const there = { overview: hasOverview(), series: true, statistics: true, sweep: hasHeatmap(), reference: hasReference(), details: true };
  const names = Object.keys(TABS).filter((name) => there[name]);
  if (!names.includes(state.tab)) state.tab = names.includes(model.index.tab) ? model.index.tab : names[0];
  const move = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    change({ tab: names[(names.indexOf(state.tab) + by + names.length) % names.length] }, "tab");
    byId(`tab-${state.tab}`).focus();
  };
  fill(
    byId("tabs"),
    names.map((name) =>
      el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-selected": String(name === state.tab), "aria-controls": "view", tabindex: name === state.tab ? "0" : "-1", onclick: () => change({ tab: name }, "tab"), onkeydown: move }, name === "details" && model.index.kind === "capture" ? "Connection" : TABS[name]),
    ),
  );
  byId("view").setAttribute("aria-labelledby", `tab-${state.tab}`);
}

async function drawSeries(place) {
  const clock = el("output", { class: "note clock" });
  const panels = el("div", { class: "panels" });
  const bar = el("div", { class: "bar" });
  fill(place, bar, panels);
  const details = await drawPanels(panels, clock);
  if (!details) return;
  const names = panelNames(details);
  const shown = state.panels ?? usualPanels(details);
  const toggle = (name, there) => change({ panels: names.filter((each) => (each === name ? there : shown.includes(each))) }, "lines");
  const keys = Object.keys(model.index.runs.coordinates).filter((key) => new Set(shownRows().map((row) => row.cell[key])).size >= 1);
  const groups = [["", "automatic"], ["each", "each run"], ["cell", "by cell"], ["all", "all runs"], ...keys.map((key) => [key, `by ${lastWord(key)}`]), ["engine", "by engine"]];
  const windows = [["0", `automatic (${windowText()})`], ...[0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30].map((each) => [String(each), each < 1 ? `${each * 1000} ms` : `${each} s`])];
  fill(
    bar,
    el("details", { class: "menu" }, el("summary", {}, "Panels"), el("div", { class: "menu-list" }, names.map((name) => el("label", {}, el("input", { type: "checkbox", checked: shown.includes(name), onchange: (event) => toggle(name, event.target.checked) }), panelTitle(name))))),
    select("Averaging window", windows, String(state.window), (value) => change({ window: Number(value) }, "lines")),
    shownRows().length > 1 ? select("Draw", groups, state.group, (group) => change({ group }, "lines")) : null,
    el("label", { class: "field" }, el("input", { type: "checkbox", checked: Boolean(state.log), onchange: (event) => change({ log: event.target.checked ? "1" : "" }, "lines") }), "log axis"),
    el("span", { class: "buttons" }, button("−", "Zoom out", () => zoomBy(1.5)), button("+", "Zoom in", () => zoomBy(1 / 1.5)), button("◂", "To the left", () => pan(-0.25)), button("▸", "To the right", () => pan(0.25)), button("Whole", "The whole time", whole)),
    el("details", { class: "menu" }, el("summary", {}, "Save"), el("div", { class: "menu-list" }, button("PNG of the view", "", savePng), button("SVG of the view", "", saveSvg), button("CSV of the samples shown", "", () => saveCsv(stage.panels, range())), source.address || model.index.kind === "runs" ? copyButton("command of this figure", figureCommand) : null)),
    clock,
  );
}

/** The command that draws these series of these runs as a figure of a paper. */
function figureCommand() {
  const rows = shownRows();
  const names = stage.panels.map((panel) => (panel.name === "rx_bytes" ? "goodput" : panel.name)).slice(0, 4);
  const differing = Object.keys(model.index.runs.coordinates).filter((key) => new Set(model.rows.map((row) => row.cell[key])).size > 1);
  const where = differing.flatMap((key) => [...new Set(rows.map((row) => row.cell[key]))].filter((value) => value !== undefined).map((value) => `--where ${shellWord(`${key}=${value}`)}`));
  const part = state.x ? [`--from ${Number(state.x[0].toPrecision(6))}`, `--to ${Number(state.x[1].toPrecision(6))}`] : [];
  return ["dumbbell plot", shellWord(`results/${model.index.folder}`), "--x time", ...names.map((name) => `--y ${name}`), ...(rows.length === model.rows.length ? [] : where), ...part].join(" ");
}

const button = (text, label, onclick) => el("button", { type: "button", "aria-label": label && !/[a-z]/i.test(text) ? label : null, title: label || null, onclick }, text);
const whole = () => change({ x: null, y: {} }, "range");

function savePng() {
  const charts = stage.panels.map((panel) => [panel, panel.chart.ctx.canvas]);
  const scale = devicePixelRatio;
  const canvas = el("canvas", { width: Math.max(...charts.map(([, each]) => each.width)), height: charts.reduce((sum, [, each]) => sum + each.height + 22 * scale, 0) });
  const ctx = canvas.getContext("2d");
  const style = getComputedStyle(document.body);
  Object.assign(ctx, { fillStyle: style.backgroundColor, font: `${12 * scale}px system-ui, sans-serif` });
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  let top = 0;
  for (const [panel, each] of charts) {
    ctx.fillStyle = style.color;
    ctx.fillText(`${panelTitle(panel.name)}   ${panel.lines.slice(0, 8).map((line) => line.label).join(" · ")}`, 8 * scale, top + 15 * scale);
    ctx.drawImage(each, 0, top + 22 * scale);
    top += each.height + 22 * scale;
  }
  canvas.toBlob((blob) => download("dumbbell-view.png", blob));
}

function saveSvg() {
  const [left, height, gap] = [60, 150, 40];
  const width = Math.max(...stage.panels.map((panel) => panel.chart.width));
  const [from, to] = range();
  const svg = el("svg", { xmlns: "http://www.w3.org/2000/svg", width, height: stage.panels.length * (height + gap) + 10, "font-family": "sans-serif", "font-size": 11 });
  svg.append(el("rect", { width: "100%", height: "100%", fill: "#ffffff" }));
  stage.panels.forEach((panel, i) => {
    const top = i * (height + gap) + 22;
    const [low, high] = panel.span;
    const x = (time) => left + ((time - from) / (to - from)) * (width - left - 10);
    const scaled = panel.isLog ? Math.log10 : (value) => value;
    const y = (value) => top + height - ((scaled(value) - scaled(low)) / (scaled(high) - scaled(low))) * height;
    const labels = panel.lines.slice(0, 8).map((line) => line.label).join(" · ");
    svg.append(el("text", { x: left, y: top - 8 }, `${panelTitle(panel.name)}   ${labels}`), el("rect", { x: left, y: top, width: width - left - 10, height, fill: "none", stroke: "#999999" }));
    for (const share of [0, 0.5, 1]) {
      svg.append(el("text", { x: left - 5, y: y(low + share * (high - low)) + 4, "text-anchor": "end" }, String(Number((low + share * (high - low)).toPrecision(4)))));
      svg.append(el("text", { x: x(from + share * (to - from)), y: top + height + 13, "text-anchor": share === 0.5 ? "middle" : share ? "end" : "start" }, String(Number((from + share * (to - from)).toPrecision(6)))));
    }
    panel.data.slice(1).forEach((column, j) => {
      const look = panel.chart.series[j + 1];
      const points = [];
      for (let k = 0; k < column.length; k++) if (Number.isFinite(column[k])) points.push(`${x(panel.data[0][k]).toFixed(2)},${Math.min(Math.max(y(column[k]), top), top + height).toFixed(2)}`);
      if (look.show && points.length) svg.append(el("path", { d: `M${points.join("L")}`, fill: "none", stroke: typeof look._stroke === "string" ? look._stroke : panel.lines[j]?.colour ?? "#666666", "stroke-width": 1.2, "stroke-dasharray": panel.lines[j]?.dash.join(" ") || null }));
    });
  });
  download("dumbbell-view.svg", new XMLSerializer().serializeToString(svg), "image/svg+xml");
}

const DRAW = { overview: drawOverview, series: drawSeries, statistics: drawStatistics, sweep: drawHeatmap, reference: drawReference, details: drawDetails };

async function drawTab() {
  keeping(byId("tabs"), tabs);
  const place = byId("view");
  place.dataset.tab = state.tab;
  place.setAttribute("aria-busy", "true");
  try {
    await keeping(place, async () => {
      if (state.tab === "statistics" && !stage.panels.length && state.runs.length) await drawSeries(place);
      await DRAW[state.tab](place);
    });
  } catch (error) {
    fill(place, el("p", { class: "empty", role: "alert" }, `Cannot be shown: ${error.message}`));
    console.error(error);
  }
  place.removeAttribute("aria-busy");
}

function theme() {
  if (state.theme) document.documentElement.dataset.theme = state.theme;
  else delete document.documentElement.dataset.theme;
}

let following = 0;
const EVERY_MS = 3000;

/** Asks every few seconds for runs that were added, as those of a sweep that is running; once more ends it. */
function follow() {
  clearInterval(following);
  const ask = async () => {
    const [found, before] = [await source.index(), model.rows.length];
    if (!following || found.runs.facts.key.length === before) return;
    model.adopt(found);
    change({}, "index");
    say(`${shortNumber(model.rows.length - before)} more runs`);
  };
  following = following ? 0 : setInterval(() => document.hidden || ask().catch((error) => (follow(), say(`No longer followed: ${error.message}`))), EVERY_MS);
  header();
}

function header() {
  const { title, kind } = model.index;
  byId("note").textContent = state.note;
  document.title = `${title} · dumbbell`;
  byId("title").textContent = title;
  const bad = ["warn", "invalid"].map((status) => [model.rows.filter((row) => row.status === status).length, status]).filter(([count]) => count);
  const { study, abstract, agreement } = model.index;
  const numbers = (agreement?.formats ?? []).flatMap((format) => format.cells);
  const agreed = numbers.length ? ` ${numbers.filter((cell) => cell.within).length} of ${numbers.length} published numbers are met within their tolerance.` : "";
  fill(byId("about"), study ? el("p", {}, el("strong", {}, study.title), `. Published in: ${study.source}.${agreed}`) : null, abstract ? el("p", {}, abstract) : null);
  byId("summary").textContent = `${model.rows.length} ${kind === "capture" ? "TCP connection" : "run"}${model.rows.length === 1 ? "" : "s"}${bad.map(([count, status]) => `, ${count} ${status}`).join("")}`;
  const dark = () => (state.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  fill(
    byId("actions"),
    button("Copy link", "Copy the address of this view", () => copy(location.href, "link")),
    source.address && kind === "runs" ? el("button", { type: "button", "aria-pressed": String(following !== 0), title: "Show runs as they are stored", onclick: follow }, "Follow") : null,
    el("details", { class: "menu left" }, el("summary", {}, "Note"), el("div", { class: "menu-list" }, el("textarea", { rows: 4, "aria-label": "Note, kept in the address of this view", value: state.note, oninput: (event) => change({ note: event.target.value }, "note") }))),
    button("◐", "Dark or light", () => change({ theme: dark() ? "light" : "dark" }, "all")),
    button("?", "Keys", () => byId("help").showModal()),
  );
  fill(byId("help"), el("h2", {}, "Keys"), el("dl", {}, KEYS.flatMap(([key, text]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)])), el("form", { method: "dialog" }, el("button", {}, "Close")));
}

/** Closes open menus but the one that holds an element; true if there was one to close. */
function closeMenus(within = null) {
  const open = [...document.querySelectorAll("details.menu[open]")].filter((each) => !each.contains(within));
  open.forEach((each) => {
    const holds = each.contains(document.activeElement);
    each.open = false;
    if (holds) each.querySelector("summary").focus();
  });
  return open.length > 0;
}

function keys(event) {
  if (event.key === "Escape" && closeMenus()) return;

  const { tagName, type } = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || tagName === "SELECT" || tagName === "TEXTAREA" || (tagName === "INPUT" && type !== "checkbox") || byId("help").open) return;
  const inTable = byId("runs").contains(event.target);
  const acts = { w: () => zoomBy(0.75), s: () => zoomBy(1 / 0.75), a: () => pan(-0.2), d: () => pan(0.2), 0: whole, Backspace: goBack, n: () => stepPacket(1, event.shiftKey), p: () => stepPacket(-1, event.shiftKey), Escape: () => change({ packet: "" }, "packet"), "/": () => byId("filter").focus(), "?": () => byId("help").showModal() };
  if (!inTable) Object.assign(acts, { ArrowLeft: () => moveCursor(-4), ArrowRight: () => moveCursor(4) });
  const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (act && (state.tab === "series" || "/?".includes(event.key))) {
    event.preventDefault();
    act();
  }
}

/** What a page shows of itself: the first good run that has series, with the same runs of other folders; of a capture what carried most. */
async function firstRuns() {
  const good = model.rows.filter((row) => row.status !== "invalid");
  const bytes = ({ metrics }) => (metrics.bytes ?? 0) + (metrics.bytes_back ?? 0);
  if (model.index.kind === "capture") good.sort((one, other) => bytes(other) - bytes(one));
  const hasSeries = async (row) => (await detailOf(row.key)).series.some((each) => !each.left_out);
  const firstOf = async (rows) => {
    for (const row of rows.slice(0, FIRST)) if (await hasSeries(row)) return row;
    return null;
  };
  const folders = [...new Set(good.map((row) => row.cell.folder))];
  let first = null;
  for (const folder of folders) first ??= await firstOf(good.filter((row) => row.cell.folder === folder));
  if (!first) return model.rows.slice(0, 1);
  const alike = (row) => Object.keys({ ...row.cell, ...first.cell }).every((key) => key === "folder" || row.cell[key] === first.cell[key]);
  const others = folders.filter((folder) => folder !== first.cell.folder).map((folder) => good.find((row) => row.cell.folder === folder && alike(row)));
  const shown = [];
  for (const row of others.filter(Boolean).slice(0, 3)) if (await hasSeries(row)) shown.push(row);
  return [first, ...shown];
}

async function start() {
  readState();
  theme();
  model.adopt(await source.index());
  header();
  if (!state.runs.length && model.rows.length) state.runs = (await firstRuns()).map(shortKey);
  buildRuns(byId("runs"));
  onChange((what) => {
    byId("note").textContent = state.note;
    if (what === "note") return;
    if (what === "packet") return void showPacket();
    if (what === "all") theme();
    if (what === "index") {
      header();
      buildRuns(byId("runs"));
    } else if (what !== "range" && what !== "lines" && what !== "tab") drawTable();
    if (what === "range" && state.tab === "series") updatePanels();
    else if (what === "filter") ["overview", "sweep"].includes(state.tab) && drawTab();
    else if (what !== "columns" && what !== "open") drawTab();
  });
  addEventListener("keydown", keys);
  addEventListener("pointerdown", (event) => closeMenus(event.target));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    resizePanels();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawTab);
  addEventListener("beforeprint", () => resizePanels(PAPER));
  addEventListener("afterprint", () => resizePanels());
  byId("skip").addEventListener("click", (event) => (event.preventDefault(), byId("view").focus()));
  await drawTab();
  document.body.dataset.ready = "true";
}

/** For whoever asks from the console: the last sample at or before a time, what a range comes to, and the range itself. */
window.dumbbell = {
  async value(run, entity, name, at) {
    const series = await everySample((model.rows.find((row) => row.key.startsWith(run)) ?? {}).key ?? run, entity, name);
    const place = series ? placeAt(series, at) : -1;
    return place < 0 ? null : { t: series.time[place], value: series.value[place] };
  },
  samples: async (run, entity, name) => (await everySample(run, entity, name))?.value.length ?? 0,
  statistics: async (from, to) => (await statisticsOf(from, to)).map(({ row, ...found }) => ({ key: row.key, ...found, rows: found.rows.map((each) => ({ ...each, row: each.row.key })) })),
  detail: detailOf,
  range,
  panels: () => stage.panels.map(({ name, chart }) => [name, chart.scales.x.min, chart.scales.x.max]),
  drawn: (name) => stage.panels.find((panel) => panel.name === name)?.lines.length ?? 0,
  show: (from, to) => showRange(from, to),
  point: pointAt,
  events: () => stage.events,
  window: rateWindow,
  contrast,
};

start().catch((error) => {
  say(`The page cannot be shown: ${error.message}`);
  console.error(error);
});
