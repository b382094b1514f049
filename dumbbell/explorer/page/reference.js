// Our numbers compared with published ones, or those of two engines: both and the difference as maps, and the cells, those outside their
// tolerance first.

import { el, fill, framed, select, shortNumber } from "./elements.js";
import { APART, SCALE, legend, mapOf, ordered, spanOfMap } from "./heatmap.js";
import { model, rowOf, shortKey } from "./lines.js";
import { median } from "./numbers.js";
import { change, state } from "./state.js";
import { tableOf } from "./statistics.js";

const MOST_ROWS = 300;
const PUBLISHED = { ours: "dumbbell", reference: "published" };
const WITHIN = "are within their tolerance";
const capital = (text) => text[0].toUpperCase() + text.slice(1);

export const hasReference = () => Boolean(model.index.agreement?.formats.length);

export function drawReference(place) {
  const { formats } = model.index.agreement;
  const format = formats.find((each) => each.name === state.heat.format) ?? formats[0];
  const { ours, reference } = format.names ?? PUBLISHED;
  const metrics = Object.keys(format.metrics).filter((name) => format.cells.some((cell) => cell.metric === name));
  const metric = metrics.includes(state.heat.of) ? state.heat.of : metrics[0];
  const cells = format.cells.filter((cell) => cell.metric === metric);
  const keys = format.keys.filter((key) => new Set(cells.map((cell) => cell.key[key])).size > 1);
  const x = keys.includes(state.heat.rx) ? state.heat.rx : (format.names ? format.keys : keys).at(-1) ?? format.keys[0];
  const y = keys.includes(state.heat.ry) && state.heat.ry !== x ? state.heat.ry : keys.find((key) => key !== x) ?? x;
  const rest = keys.filter((key) => key !== x && key !== y);
  const set = (name) => (value) => change({ heat: { ...state.heat, [name]: value } }, "tab");
  const values = (key) => ordered(cells.map((cell) => cell.key[key]));
  const fixed = Object.fromEntries(rest.map((key) => [key, state.heat[`@${key}`] ?? String(values(key)[0])]));
  const inside = cells.filter((cell) => rest.every((key) => String(cell.key[key]) === fixed[key]));
  const at = new Map();
  for (const cell of inside) {
    const name = JSON.stringify([cell.key[x], cell.key[y]]);
    at.set(name, [...(at.get(name) ?? []), cell]);
  }
  const { title, unit } = format.metrics[metric];
  const axes = [ordered(inside.map((cell) => cell.key[x])), ordered(inside.map((cell) => cell.key[y]))];
  const one = (what) => (a, b) => {
    const found = at.get(JSON.stringify([a, b]));
    if (!found) return null;
    const runs = found.flatMap((cell) => cell.runs).map(rowOf).filter(Boolean);
    const [cell] = found;
    const hover = `${ours} ${shortNumber(cell.ours)} (${shortNumber(cell.low)} to ${shortNumber(cell.high)} over ${cell.repeats}), ${reference} ${shortNumber(cell.reference)}, tolerance ${shortNumber(cell.tolerance)}${cell.within ? "" : ": outside"}${cell.fault ? `; reference: ${cell.fault}` : ""}`;
    return { value: median(found.map((each) => each[what])), runs, hover, warning: found.some((each) => !each.within) };
  };
  const span = spanOfMap(inside.flatMap((cell) => [cell.ours, cell.reference]));
  const most = Math.max(...inside.map((cell) => Math.abs(cell.error)), 0);
  const outside = format.cells.filter((cell) => !cell.within);
  const rows = format.cells.slice(0, MOST_ROWS).map((cell) => {
    const runs = cell.runs.map(rowOf).filter(Boolean);
    const show = () => change({ runs: runs.slice(0, 12).map(shortKey), run: shortKey(runs[0]), tab: "series", x: null, alone: [] }, "all");
    const name = format.metrics[cell.metric].title;
    return [
      cell.within ? "within" : el("strong", { class: "outside" }, "outside"),
      runs.length ? el("button", { type: "button", class: "link", onclick: show }, name) : name,
      ...format.keys.map((key) => cell.key[key]),
      cell.ours,
      cell.reference,
      cell.error,
      cell.tolerance,
      cell.repeats > 1 ? `${shortNumber(cell.low)} to ${shortNumber(cell.high)}` : "",
      `${cell.informative ? "" : "not informative "}${cell.fault ?? ""}`,
    ];
  });
  fill(
    place,
    el(
      "div",
      { class: "bar" },
      formats.length > 1 ? select("Data", formats.map((each) => each.name), format.name, set("format")) : null,
      select("Metric", metrics.map((name) => [name, format.metrics[name].title]), metric, set("of")),
      keys.length > 1 ? select("Across", keys, x, set("rx")) : null,
      keys.length > 1 ? select("Down", keys.filter((key) => key !== x), y, set("ry")) : null,
      rest.map((key) => select(key, values(key).map(String), fixed[key], set(`@${key}`))),
    ),
    el("p", { class: "note" }, `${format.cells.length - outside.length} of ${format.cells.length} numbers ${format.verdict ?? WITHIN}. Cells with a frame are outside. A click shows the series${format.names ? "" : " of dumbbell"}.`),
    el(
      "div",
      { class: "maps" },
      mapOf(`${format.names ? ours : capital(ours)}: ${title}${unit ? ` (${unit})` : ""}`, ...axes, [x, y], one("ours"), span),
      mapOf(format.names ? reference : capital(reference), ...axes, [x, y], one("reference"), span),
      mapOf(`Difference (${ours} - ${reference})`, ...axes, [x, y], one("error"), [-most, most], true),
    ),
    legend(span, SCALE),
    legend([-most, most], APART),
    framed(el("div", { class: "scroll wide", tabindex: "0" }, tableOf(["", "metric", ...format.keys, ours, reference, "error", "tolerance", `range of ${ours}`, "note"], rows))),
    format.cells.length > MOST_ROWS ? el("p", { class: "note" }, `The ${MOST_ROWS} furthest of ${format.cells.length} are listed.`) : null,
  );
}
