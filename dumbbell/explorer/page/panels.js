// Panels over one axis of time with one cross-hair: drag to zoom all of them, shift and drag for one's values, wheel and W A S D.

import { bandsOf, grouping } from "./bands.js";
import { el, fill, say, shortNumber, token } from "./elements.js";
import { drawEvents, eventsLegend, eventsOf } from "./events.js";
import { FIRST, SEQUENCE, bring, detailOf, drawn, extent, forgetParts, isRate, isReduced, linesOf, meaningOf, measureWindow, panelNames, panelTitle, refine, shownRows, usualPanels } from "./lines.js";
import { placeAt } from "./numbers.js";
import { choose, drawChosen, following, nearest, packetBox, placeOfPacket, showFacts } from "./packet.js";
import { joined, shownOf } from "./pyramid.js";
import { SCALE, drawSequence, readSequence, sequenceKey } from "./sequence.js";
import { change, state } from "./state.js";

const HEIGHT = 165;
const CHIPS = 14;
/** Maximum number of lines whose values are beside the title. */
const VALUES = 12;
/** Columns of all lines of a panel: with many lines, each has fewer, and each column still has its least and greatest value. */
const MOST_POINTS = 30_000;
const NEAR = 3;
const history = [];
export const stage = { panels: [], whole: [0, 1], at: null, place: null };

export const range = () => state.x ?? stage.whole;

/** Shows another part of the time; `back` is false if going back should not come here. */
export function showRange(from, to, back = true) {
  const [first, last] = stage.whole;
  const least = Math.max((last - first) * 1e-7, 1e-9);
  if (!(to - from > least)) return;
  if (back) history.push(state.x);
  const margin = 0.5 * (last - first);
  const next = from <= first && to >= last ? null : [Math.max(from, first - margin), Math.min(to, last + margin)];
  change({ x: next }, "range");
}

export function goBack() {
  change({ x: history.length ? history.pop() : null, y: {} }, "range");
}

/** Zooms about a time: a factor below 1 shows less. */
export function zoomBy(factor, about) {
  const [from, to] = range();
  const middle = about ?? stage.at ?? (from + to) / 2;
  showRange(middle - (middle - from) * factor, middle + (to - middle) * factor, false);
}

export function pan(share) {
  const [from, to] = range();
  const by = (to - from) * share;
  showRange(from + by, to + by, false);
}

class Panel {
  constructor(name) {
    this.name = name;
    this.values = [];
    this.head = el("div", { class: "panel-head" });
    this.plot = el("div", { class: "plot" });
    this.packet = name === SEQUENCE ? packetBox((to, all) => (typeof to === "number" ? stepPacket(to, all) : goTo(to))) : null;
    this.root = el("figure", { class: "panel", "aria-label": panelTitle(name), "data-panel": name }, [this.head, this.plot, this.packet?.root]);
  }

  async load(details) {
    const { all, lines } = await linesOf(this.name, details);
    this.all = all;
    this.lines = lines;
    if (this.name === SEQUENCE) await Promise.all(lines.map(readSequence));
    return this;
  }

  get isLog() {
    return Boolean(state.log) && this.name !== SEQUENCE;
  }

  /** One column of numbers a line, three of a band. */
  parts(from, to, columns) {
    if (this.name === SEQUENCE) return this.lines.map((line) => ({ x: [from, to], y: sequenceKey(line, from, to) }));
    if (grouping()) return this.bands.flatMap((band) => band.parts(from, to, columns));
    return this.lines.map((line) => shownOf(drawn(line), from, to, columns));
  }

  draw(width) {
    this.chart?.destroy();
    this.bands = grouping() && this.name !== SEQUENCE ? bandsOf(this.lines, grouping()) : [];
    const looks = grouping() && this.bands.length ? this.bands.flatMap((band) => band.looks()) : this.lines.map((line) => this.look(line));
    const [ink, grid] = [token("--soft"), token("--grid")];
    const axis = { stroke: ink, font: "11px system-ui, sans-serif", grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1, size: 4 } };
    const options = {
      width,
      height: this.name === SEQUENCE ? 2 * HEIGHT : HEIGHT,
      padding: [6, 10, 0, 0],
      legend: { show: false },
      focus: { alpha: 0.2 },
      scales: { x: { time: false, range: () => range() }, y: { range: () => this.span, distr: this.isLog ? 3 : 1 } },
      axes: [
        { ...axis, size: 24, gap: 3, values: (_, ticks) => ticks.map((tick, i) => `${shortNumber(tick)}${i ? "" : " s"}`) },
        { ...axis, size: 58, gap: 4, values: (_, ticks) => ticks.map((tick) => (Math.abs(tick) >= 1e5 ? `${shortNumber(tick / 1e6)} M` : shortNumber(tick))) },
      ],
      series: [{}, ...looks],
      bands: this.bands.map((_, i) => ({ series: [3 * i + 3, 3 * i + 2], fill: `${this.bands[i].colour}33` })),
      cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, bind: { dblclick: () => (event) => (event.preventDefault(), goBack()) } },
      hooks: {
        setSelect: [(chart) => this.selected(chart)],
        setCursor: [(chart) => this.pointed(chart)],
        draw: this.name === SEQUENCE ? [(chart) => this.lines.forEach((line) => drawSequence(chart, line)), (chart) => drawChosen(chart, this.lines)] : [(chart) => drawEvents(chart, stage.events)],
      },
    };
    this.data = this.read(width);
    this.chart = new uPlot(options, this.data, this.plot);
    this.listen(this.chart.over);
    this.showHead();
    if (this.packet) this.showPacket();
  }

  /** The packet that was chosen: its facts, and a ring about it. */
  showPacket() {
    this.chart.redraw(false, false);
    return showFacts(this.packet, this.lines);
  }

  look(line) {
    return { stroke: line.colour, width: 1.4, dash: line.dash, spanGaps: false, points: { size: 4, space: 6, fill: line.colour }, show: this.name !== SEQUENCE };
  }

  read(width) {
    const [from, to] = range();
    const columns = Math.max(Math.min(Math.floor(width - 68), Math.floor(MOST_POINTS / Math.max(this.lines.length, 1))), 50);
    forgetParts(this.lines, from, to);
    const parts = this.isLog ? this.parts(from, to, columns).map(({ x, y }) => ({ x, y: Array.from(y, (value) => (value > 0 ? value : null)) })) : this.parts(from, to, columns);
    this.span = state.y[this.name] ?? (this.isLog ? logSpanOf(parts) : spanOf(parts, isRate(this.name)));
    if (this.isLog && !(this.span[0] > 0)) this.span = [this.span[1] / 1000, this.span[1]];
    return joined(parts);
  }

  /** Another range of the same lines. */
  update() {
    this.data = this.read(this.chart.width);
    this.chart.setData(this.data);
  }

  selected(chart) {
    const { left, top, width, height } = chart.select;
    if (width > NEAR || height > NEAR) {
      chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      if (this.upright) change({ y: { ...state.y, [this.name]: [chart.posToVal(top + height, "y"), chart.posToVal(top, "y")] } }, "range");
      else if (width > NEAR) showRange(chart.posToVal(left, "x"), chart.posToVal(left + width, "x"));
    }
  }

  pointed(chart) {
    const { left } = chart.cursor;
    if (stage.moving || left === undefined) return;
    stage.moving = true;
    for (const { chart: other } of stage.panels) if (other !== chart) other?.setCursor({ left, top: -10 }, false);
    stage.moving = false;
    pointAt(left < 0 ? null : chart.posToVal(left, "x"));
  }

  listen(over) {
    over.addEventListener(
      "mousedown",
      (event) => {
        this.upright = event.shiftKey;
        Object.assign(this.chart.cursor.drag, { x: !event.shiftKey, y: event.shiftKey });
      },
      true,
    );
    if (this.packet) {
      let [x, y, before] = [0, 0, ""];
      over.addEventListener("mousedown", (event) => ([x, y] = [event.clientX, event.clientY]));
      over.addEventListener("click", (event) => {
        if (event.button || Math.hypot(event.clientX - x, event.clientY - y) > NEAR) return;
        // A double click goes back, and leaves the packet that was chosen before it.
        if (event.detail > 1) return void change({ packet: before }, "packet");
        before = state.packet;
        const { left, top } = over.getBoundingClientRect();
        choose(nearest(this.chart, this.lines, event.clientX - left, event.clientY - top));
      });
    }
    over.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const by = event.deltaY || event.deltaX;
        if (event.shiftKey) pan(Math.sign(by) * 0.1);
        else zoomBy(by > 0 ? 1.25 : 0.8, this.chart.posToVal(event.clientX - over.getBoundingClientRect().left, "x"));
      },
      { passive: false },
    );
  }

  /** What the panel has of lines: the bands of groups, or each line, with the place of its curve. */
  get entries() {
    return this.bands?.length ? this.bands.map((band, i) => [band, 3 * i + 1]) : this.all.map((line) => [line, this.lines.indexOf(line) + 1]);
  }

  showHead() {
    this.values = this.lines.length > VALUES || this.bands.length ? [] : this.lines.map((line) => [line, el("output", { title: line.label, css: { color: line.colour } })]);
    const notes = this.lines.filter(isReduced);
    const note = notes.length ? `${notes.length === 1 ? "a series" : `${notes.length} series`} reduced to minimum and maximum values` : null;
    const key = this.name === SEQUENCE ? "sent · red: retransmitted · green: acknowledged · purple: SACK · orange: marked CE, hollow: echoed" : null;
    fill(this.head, el("figcaption", { title: meaningOf(this.name) }, panelTitle(this.name)), el("div", { class: "values" }, this.values.map(([, value]) => value)), note || key ? el("span", { class: "note" }, note ?? key) : null);
  }

  showValues(at) {
    for (const [line, place] of this.values) {
      const series = line.raw && (this.lines.includes(line) ? drawn(line) : null);
      const i = series && at !== null ? placeAt(series, at) : -1;
      place.textContent = i >= 0 && at <= series.time[series.time.length - 1] + 1 ? shortNumber(series.value[i]) : "";
    }
  }
}

/** The legend of all panels: pointing at a name brings its lines forward in every panel, a click shows them alone. */
function drawLegend() {
  const found = new Map();
  for (const panel of stage.panels)
    for (const [line, at] of panel.entries) {
      const id = line.id ?? line.label;
      if (!found.has(id)) found.set(id, { line, places: [] });
      if (at) found.get(id).places.push([panel, at]);
    }
  const chip = ({ line, places }) => {
    const alone = state.alone.includes(line.id);
    const focus = (on) => stage.panels.forEach((panel) => {
      const place = places.find(([its]) => its === panel);
      panel.chart?.setSeries(on ? place?.[1] ?? 0 : null, { focus: true });
    });
    return el(
      "button",
      {
        type: "button",
        class: state.alone.length && !alone && line.id ? "chip off" : "chip",
        "aria-pressed": alone ? "true" : "false",
        title: line.title ?? `${line.label}: click shows it alone, shift-click adds it`,
        onclick: (event) => line.id && isolate(line.id, event.shiftKey),
        onmouseenter: () => focus(true),
        onmouseleave: () => focus(false),
        onfocus: () => focus(true),
        onblur: () => focus(false),
      },
      swatch(line),
      el("span", {}, line.label),
    );
  };
  const chips = [...found.values()].map(chip);
  const rest = chips.slice(CHIPS);
  fill(stage.legend, chips.slice(0, CHIPS), rest.length ? el("details", { class: "menu" }, el("summary", {}, `${rest.length} more`), el("div", { class: "menu-list" }, rest)) : null);
}

function swatch(line) {
  return el(
    "svg",
    { width: 22, height: 8, "aria-hidden": "true" },
    el("line", { x1: 1, x2: 21, y1: 4, y2: 4, stroke: line.colour, "stroke-width": 2.5, "stroke-dasharray": line.dash?.join(" ") || null }),
  );
}

/** The range of values: from 0, unless they are all far from it and may be. */
function spanOf(parts, always) {
  let [low, high] = [Infinity, -Infinity];
  for (const { y } of parts) {
    for (let i = 0; i < y.length; i++) {
      if (y[i] === null) continue;
      if (y[i] < low) low = y[i];
      if (y[i] > high) high = y[i];
    }
  }
  if (low > high) return [0, 1];
  if (low >= 0 && (always || low < 0.6 * high)) low = 0;
  const room = (high - low || Math.abs(high) || 1) * 0.05;
  return [low === 0 ? 0 : low - room, high + room];
}

/** The range of values above 0 on a logarithmic axis. */
function logSpanOf(parts) {
  let [low, high] = [Infinity, 0];
  for (const { y } of parts)
    for (const value of y) {
      if (value > 0 && value < low) low = value;
      if (value > high) high = value;
    }
  if (!(high > 0)) return [0.1, 1];
  const power = 10 ** Math.floor(Math.log10(low));
  return [Math.floor(low / power + 1e-9) * power, high * 1.15];
}

/** Shows one line alone, or with those that are alone already; once more, all. */
export function isolate(id, add) {
  const others = state.alone.filter((each) => each !== id);
  const there = others.length < state.alone.length;
  change({ alone: there ? (add ? others : []) : add ? [...others, id] : [id] }, "lines");
}

/** Moves the cross-hair. */
export function pointAt(at) {
  stage.at = at;
  if (stage.asked) return;
  stage.asked = requestAnimationFrame(() => {
    stage.asked = 0;
    stage.panels.forEach((panel) => panel.showValues(stage.at));
    if (stage.clock) stage.clock.textContent = stage.at === null ? "" : `t = ${stage.at.toFixed(6)} s`;
  });
}

export function moveCursor(pixels) {
  const chart = stage.panels[0]?.chart;
  if (!chart) return;
  const width = chart.over.clientWidth;
  const left = Math.min(Math.max((chart.cursor.left >= 0 ? chart.cursor.left : width / 2) + pixels, 0), width);
  chart.setCursor({ left, top: 0 });
}

const graph = () => stage.panels.find((panel) => panel.packet);

export const showPacket = () => graph()?.showPacket();

/** Chooses a packet, moves the time and the values so far that it is seen, and the cross-hair to it. */
function goTo(packet) {
  choose(packet);
  const { time, low, high } = placeOfPacket(packet);
  const [from, to] = range();
  if (time < from || time > to) showRange(time - (to - from) / 2, time + (to - from) / 2, false);
  const [bottom, top] = state.y[SEQUENCE] ?? [-Infinity, Infinity];
  const middle = (low + high) / 2 / SCALE;
  if (middle < bottom || middle > top) change({ y: { ...state.y, [SEQUENCE]: [middle - (top - bottom) / 2, middle + (top - bottom) / 2] } }, "range");
  // The charts have their new scales only when they are drawn, which is asked for by now.
  queueMicrotask(() => {
    stage.moving = true;
    for (const { chart } of stage.panels) chart?.setCursor({ left: chart.valToPos(time, "x"), top: -10 }, false);
    stage.moving = false;
    pointAt(time);
  });
}

/** The next packet of the time-sequence graph or the one before, of all or of those that were lost or marked. False without such a graph. */
export function stepPacket(by, all) {
  const lines = graph()?.lines;
  if (!lines?.length) return false;
  const found = following(lines, by, all, stage.at ?? range()[by > 0 ? 0 : 1]);
  if (found) goTo(found);
  else say(all ? "There is no further segment." : "There is no further packet that was lost or marked.");
  return true;
}

let turn = 0;

/** Draws all panels of the runs that are ticked into a place. */
export async function drawPanels(place, clock) {
  const mine = ++turn;
  await bring(shownRows(), state.panels ?? FIRST(), (done, of) => {
    if (mine === turn && done === 0) fill(place, el("p", { class: "empty" }, el("progress", { max: of, value: 0 }), el("span", {})));
    if (mine !== turn || !place.querySelector("progress")) return;
    place.querySelector("progress").value = done;
    place.querySelector("progress + span").textContent = ` ${done} of ${of} runs`;
  });
  if (mine !== turn) return null;
  const details = (await Promise.all(shownRows().map((row) => detailOf(row.key)))).filter((detail) => !detail.absent);
  await measureWindow(details);
  const names = (state.panels ?? usualPanels(details)).filter((name) => panelNames(details).includes(name));
  const panels = await Promise.all(names.map((name) => new Panel(name).load(details)));
  if (mine !== turn) return null;
  const used = panels.filter((panel) => panel.all.length);
  stage.events = await eventsOf(details);
  if (mine !== turn) return null;
  stage.panels.forEach((panel) => panel.chart?.destroy());
  Object.assign(stage, { panels: used, clock, place });
  stage.whole = extent(used.flatMap((panel) => panel.lines));
  stage.legend = el("div", { class: "chips", role: "group", "aria-label": "Lines" });
  const told = eventsLegend(stage.events);
  fill(place, used.length ? [stage.legend, told ? el("p", { class: "note" }, told) : null, used.map((panel) => panel.root)] : el("p", { class: "empty" }, emptyText(details)));
  const width = Math.max(place.clientWidth, 280);
  used.forEach((panel) => panel.draw(width));
  drawLegend();
  await refineSoon();
  return details;
}

function emptyText(details) {
  if (!state.runs.length) return "Tick a run in the table to see its series.";
  const left = details.some((detail) => detail.series.length);
  return details.length && !left ? "These runs have no series." : "The series of these runs are not in this file: `dumbbell view` serves all, `--export PAGE.html --all` keeps all.";
}

/** Shows another range in all panels. */
export function updatePanels() {
  stage.panels.forEach((panel) => panel.update());
  refineSoon();
}

let waiting = 0;

function refineSoon() {
  clearTimeout(waiting);
  const [from, to] = range();
  const lines = stage.panels.flatMap((panel) => panel.lines);
  if (!lines.some((line) => line.raw.partial)) return;
  waiting = setTimeout(async () => {
    if (await refine(lines, from, to)) stage.panels.forEach((panel) => (panel.update(), panel.showHead()));
  }, 200);
}

/** Draws the panels as wide as there is room, or as wide as is asked for: a sheet of paper. */
export function resizePanels(asked) {
  const width = stage.place?.isConnected ? asked ?? Math.max(stage.place.clientWidth, 280) : 0;
  if (width) stage.panels.filter((panel) => panel.chart && panel.chart.width !== width).forEach((panel) => panel.draw(width));
}
