// What the part of the time that is shown comes to, for each line: metrics, distribution, and delay against throughput.

import { el, fill, framed, select, shortNumber } from "./elements.js";
import { detailOf, drawn, everySample, isRate, linesOf, panelNames, panelTitle, runLabel, shownRows } from "./lines.js";
import { growth, jain, mean, quantile, rate, rateOfAll, sorted, within } from "./numbers.js";
import { range } from "./panels.js";
import { change, state } from "./state.js";

const GAUGES = ["srtt_ms", "rtt_ms", "cwnd"];
const COUNTS = { retransmits: "retransmitted", delivered_ce: "marks echoed", drops: "drops", ce_marks: "CE marks" };
const STEPS = 400;
const [WIDTH, HEIGHT, LEFT, BOTTOM] = [460, 280, 56, 38];

/** The metrics of each flow and queue of the runs in a range, as dumbbell.metrics has them. */
export async function statisticsOf(from, to) {
  const found = [];
  for (const row of shownRows()) {
    const detail = await detailOf(row.key);
    const rows = [];
    const received = [];
    for (const [entity, facts] of Object.entries(detail.entities)) {
      const names = detail.series.filter((each) => each.entity === entity && !each.left_out).map((each) => each.name);
      if (!names.length || (entity.startsWith("port/") && !names.some((name) => COUNTS[name]))) continue;
      const made = { row, entity, label: facts.label ?? entity, cc: facts.cc ?? "" };
      const bytes = names.find((name) => name === "rx_bytes" || name === "new_bytes");
      if (bytes) {
        const series = await everySample(row.key, entity, bytes);
        made.goodput = rate(series, from, to);
        if (entity.startsWith("flow/")) received.push(series);
      }
      for (const name of GAUGES.filter((each) => names.includes(each))) {
        const values = sorted(within(await everySample(row.key, entity, name), from, to));
        made[name] = { mean: mean(values), p5: quantile(values, 0.05), p95: quantile(values, 0.95) };
      }
      for (const name of Object.keys(COUNTS).filter((each) => names.includes(each))) made[name] = growth(await everySample(row.key, entity, name), from, to);
      if (made.goodput !== undefined || GAUGES.some((name) => made[name]) || made.drops || made.ce_marks) rows.push(made);
    }
    const shares = rows.filter((each) => each.entity.startsWith("flow/") && Number.isFinite(each.goodput)).map((each) => each.goodput);
    found.push({ row, rows, jain: shares.length ? jain(shares) : NaN, total: rateOfAll(received, from, to) });
  }
  return found;
}

export async function drawStatistics(place) {
  const [from, to] = range();
  const runs = await statisticsOf(from, to);
  const gauges = GAUGES.filter((name) => runs.some(({ rows }) => rows.some((each) => each[name])));
  const counts = Object.keys(COUNTS).filter((name) => runs.some(({ rows }) => rows.some((each) => each[name] !== undefined)));
  const heads = ["run", "", "cc", "goodput (Mbit/s)", ...gauges.map((name) => [panelTitle(name), ["mean", "p5", "p95"]]), ...counts.map((name) => COUNTS[name])];
  const body = runs.flatMap(({ row, rows, jain: index, total }) => [
    ...rows.map((each) => [runLabel(row), each.label, each.cc, each.goodput, ...gauges.flatMap((name) => [each[name]?.mean, each[name]?.p5, each[name]?.p95]), ...counts.map((name) => each[name])]),
    [runLabel(row), `all flows, Jain ${Number.isNaN(index) ? "–" : index.toFixed(4)}`, "", total],
  ]);
  const details = await Promise.all(shownRows().map((row) => detailOf(row.key)));
  const names = panelNames(details).filter((name) => name !== "sequence");
  const chosen = names.includes(state.cdf) ? state.cdf : names[0];
  const { lines } = chosen ? await linesOf(chosen, details) : { lines: [] };
  for (const line of lines) line.every = await everySample(line.key, line.entity, line.name);
  const reduced = details.some((detail) => detail.series.some((each) => each.reduced));
  const graphs = [chosen ? distribution(lines, chosen, from, to) : null, await ellipses(details, from, to)];
  fill(
    place,
    el("p", { class: "note" }, `From ${shortNumber(from)} s to ${shortNumber(to)} s: zoom in the series to choose another part. Percentiles are linear between samples; all samples weigh the same. Goodput is between the last samples at or before both ends, of a flow over the time that it has there; of all flows it is what they received together over the time of all of them.${reduced ? " Some series of this page are reduced to minimum and maximum values: theirs are numbers of those." : ""}`),
    framed(el("div", { class: "scroll wide", tabindex: "0" }, tableOf(heads, body))),
    chosen ? el("div", { class: "bar" }, select("Distribution of", names.map((name) => [name, panelTitle(name)]), chosen, (cdf) => change({ cdf }, "tab"))) : null,
    el("div", { class: "graphs" }, graphs),
  );
}

/** A table. A head is a text, or a text above several of them. */
export function tableOf(heads, rows) {
  const several = heads.some(Array.isArray);
  const isNumber = (place) => rows.some((row) => typeof row[place] === "number");
  const places = heads.map((_, i) => heads.slice(0, i).reduce((sum, head) => sum + (Array.isArray(head) ? head[1].length : 1), 0));
  const over = (head, i) => (head === "" ? el("td", { rowspan: several ? "2" : null }) : Array.isArray(head) ? el("th", { scope: "colgroup", colspan: head[1].length, class: "over" }, head[0]) : el("th", { scope: "col", rowspan: several ? "2" : null, class: isNumber(places[i]) ? "number" : null }, head));
  const under = heads.filter(Array.isArray).flatMap(([, parts]) => parts.map((part) => el("th", { scope: "col", class: "number" }, part)));
  const cell = (value) => (typeof value === "number" ? el("td", { class: "number" }, shortNumber(value)) : el("td", {}, value instanceof Node ? value : String(value ?? "")));
  return el("table", {}, heads.some(Boolean) ? el("thead", {}, el("tr", {}, heads.map(over)), several ? el("tr", {}, under) : null) : null, el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell)))));
}

/** Round numbers in a range, four to ten of them: multiples of 1, 2 or 5 times a power of ten. */
export function ticks(one, other) {
  const [low, high] = [Math.min(one, other), Math.max(one, other)];
  const rough = (high - low) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** Axes of a small graph, and what is drawn in it: `x` and `y` turn values into places. `hasMarks`: true if there are buttons in it. */
export function graph(title, [x0, x1], [y0, y1], xTitle, yTitle, content, hasMarks = false) {
  const x = (value) => LEFT + ((value - x0) / (x1 - x0 || 1)) * (WIDTH - LEFT - 12);
  const y = (value) => HEIGHT - BOTTOM - ((value - y0) / (y1 - y0 || 1)) * (HEIGHT - BOTTOM - 14);
  return el(
    "figure",
    { class: "graph" },
    el("figcaption", {}, title),
    el(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: hasMarks ? "group" : "img", "aria-label": title },
      ticks(x0, x1).map((tick) => [el("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 14, y2: HEIGHT - BOTTOM }), el("text", { x: x(tick), y: HEIGHT - BOTTOM + 14, "text-anchor": "middle" }, shortNumber(tick))]),
      ticks(y0, y1).map((tick) => [el("line", { class: "grid", x1: LEFT, x2: WIDTH - 12, y1: y(tick), y2: y(tick) }), el("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, shortNumber(tick))]),
      content(x, y),
      el("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, xTitle),
      el("text", { x: 12, y: HEIGHT / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${HEIGHT / 2})` }, yTitle),
    ),
  );
}

function distribution(lines, name, from, to) {
  const curves = lines.map((line) => [line, sorted(within(drawn(line, line.every), from, to))]).filter(([, values]) => values.length);
  if (!curves.length) return null;
  const [low, high] = [Math.min(...curves.map(([, values]) => values[0])), Math.max(...curves.map(([, values]) => values[values.length - 1]))];
  const title = `CDF${curves.some(([, values]) => values.length > STEPS) ? ` (${STEPS} quantiles)` : ""}`;
  return graph(title, [low, high], [0, 1], panelTitle(name), "share", (x, y) =>
    curves.map(([line, values]) => {
      const count = Math.min(values.length, STEPS);
      const points = Array.from({ length: count }, (_, i) => [quantile(values, count > 1 ? i / (count - 1) : 0.5), (i + 1) / count]);
      const path = points.map(([value, share], i) => `${i ? "L" : "M"}${x(value).toFixed(1)} ${y(share).toFixed(1)}`).join("");
      return el("path", { d: path, fill: "none", stroke: line.colour, "stroke-width": 1.8, "stroke-dasharray": line.dash.join(" ") || null }, el("title", {}, line.label));
    }),
  );
}

/** Mean and one-sigma ellipse of delay and throughput of each flow, delay growing to the left as Winstein draws it. */
async function ellipses(details, from, to) {
  const measured = details.some((detail) => detail.series.some((each) => each.name === "srtt_ms" && !each.left_out)) ? "srtt_ms" : "rtt_ms";
  const bytes = details.flatMap((detail) => detail.series).find((each) => isRate(each.name) && /^flow/.test(each.entity))?.name;
  if (!bytes) return null;
  const { lines } = await linesOf(bytes, details);
  const flows = [];
  for (const line of lines.filter((each) => /^flow/.test(each.entity))) {
    const delays = await everySample(line.key, line.entity, measured);
    const rates = drawn(line, await everySample(line.key, line.entity, line.name));
    const points = [];
    if (delays)
      for (let i = 0, j = 0; i < rates.time.length; i++) {
        while (j + 1 < delays.time.length && delays.time[j + 1] <= rates.time[i]) j++;
        if (rates.time[i] >= from && rates.time[i] <= to && delays.time[j] <= rates.time[i]) points.push([delays.value[j], rates.value[i]]);
      }
    if (points.length > 2) flows.push({ line, ...ellipse(points) });
  }
  if (!flows.length) return null;
  const slow = Math.max(...flows.map((flow) => flow.x + flow.sx)) * 1.05;
  const fast = Math.max(...flows.map((flow) => flow.y + flow.sy)) * 1.05;
  const quick = Math.max(Math.min(...flows.map((flow) => flow.x - flow.sx)) * 0.95, 0);
  return graph("Delay against throughput: means and one-sigma ellipses", [slow, quick], [0, fast], panelTitle(measured), "goodput (Mbit/s)", (x, y) =>
    flows.map(({ line, points, ...flow }) => [
      el("path", { d: `${points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("")}Z`, fill: `${line.colour}22`, stroke: line.colour, "stroke-dasharray": line.dash.join(" ") || null }),
      el("circle", { cx: x(flow.x), cy: y(flow.y), r: 4, fill: line.colour }, el("title", {}, `${line.label}: ${shortNumber(flow.x)} ms, ${shortNumber(flow.y)} Mbit/s`)),
    ]),
  );
}

/** Centre, deviations, and the outline from the Cholesky factor of the covariance. */
export function ellipse(points) {
  const [x, y] = [0, 1].map((axis) => mean(points.map((point) => point[axis])));
  const moment = (a, b) => mean(points.map((point) => (point[a] - (a ? y : x)) * (point[b] - (b ? y : x))));
  const [xx, xy, yy] = [moment(0, 0), moment(0, 1), moment(1, 1)];
  const a = Math.sqrt(xx);
  const b = a ? xy / a : 0;
  const c = Math.sqrt(Math.max(yy - b * b, 0));
  const outline = Array.from({ length: 48 }, (_, i) => [Math.cos((i * Math.PI) / 24), Math.sin((i * Math.PI) / 24)]).map(([u, v]) => [x + a * u, y + b * u + c * v]);
  return { x, y, sx: a, sy: Math.sqrt(yy), points: outline };
}

