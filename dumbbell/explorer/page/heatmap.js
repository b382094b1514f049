// Heat maps of a sweep: two keys as axes, the others chosen, repeats as their median. A click shows the series of the cell's runs.

import { contrast, el, fill, lastWord, mixed, select, shortNumber, token } from "./elements.js";
import { quantity } from "./filter.js";
import { model } from "./lines.js";
import { median } from "./numbers.js";
import { chosenRows, shortKey } from "./runs.js";
import { change, state } from "./state.js";

// Equal steps from dark to light, legible for colour-blind readers (viridis, by Smith and van der Walt, CC0); and two hues that meet in white.
export const SCALE = ["#440154", "#3B528B", "#21918C", "#5EC962", "#FDE725"];
export const APART = ["#2166AC", "#F7F7F7", "#B2182B"];
const EVERY = "\u0000every";

function tint(colours, share) {
  const at = Math.min(Math.max(share, 0), 1) * (colours.length - 1);
  const low = Math.min(Math.floor(at), colours.length - 2);
  return mixed(colours[low], colours[low + 1], at - low);
}

export function ordered(values) {
  const numbers = new Map(values.map((value) => [value, quantity(value)]));
  return [...new Set(values)].sort((a, b) => {
    const [one, other] = [numbers.get(a), numbers.get(b)];
    return Number.isNaN(one) || Number.isNaN(other) ? String(a).localeCompare(String(b)) : one - other;
  });
}

/** A map as a table of buttons. `cellOf(x, y)` gives { value, hover, runs, warning } or nothing. */
export function mapOf(title, xs, ys, names, cellOf, [low, high], apart = false) {
  const scaled = (value) => (high > low ? (value - low) / (high - low) : 0.5);
  const cell = (x, y) => {
    const found = cellOf(x, y);
    if (!found || !Number.isFinite(found.value)) return el("td", { class: "missing" }, "–");
    const colour = tint(apart ? APART : SCALE, scaled(found.value));
    const ink = contrast(colour, "#ffffff") >= contrast(colour, "#000000") ? "#ffffff" : "#000000";
    const show = () => found.runs.length && change({ runs: found.runs.slice(0, 12).map(shortKey), run: shortKey(found.runs[0]), tab: "series", x: null, alone: [] }, "all");
    return el(
      "td",
      {},
      el("button", { type: "button", class: found.warning ? "cell outside" : "cell", css: { background: colour, color: ink }, title: found.hover, "data-value": found.value, "data-key": found.runs[0]?.key, onclick: show }, shortNumber(found.value)),
    );
  };
  const [xName, yName] = names;
  return el(
    "figure",
    { class: "map" },
    el("figcaption", {}, title),
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, el("th", { class: "corner" }, `${lastWord(yName)} ↓  ${lastWord(xName)} →`), xs.map((x) => el("th", { scope: "col" }, String(x))))),
      el("tbody", {}, ys.map((y) => el("tr", {}, el("th", { scope: "row" }, String(y)), xs.map((x) => cell(x, y))))),
    ),
  );
}

export const spanOfMap = (values) => {
  const known = values.filter(Number.isFinite);
  return known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
};

const isSweep = () => Object.values(model.index.runs.coordinates).some((column) => new Set(column.map(String)).size > 1);
export const hasHeatmap = () => model.index.kind === "runs" && isSweep();

export function drawHeatmap(place) {
  const { rows } = chosenRows();
  const keys = [...Object.keys(model.index.runs.coordinates), "engine"].filter((key) => new Set(model.rows.map((row) => String(coordinate(row, key)))).size > 1);
  const metrics = Object.keys(model.index.runs.metrics).filter((name) => model.rows.some((row) => row.metrics[name] !== null));
  const repeats = (key) => /seed|repeat/.test(key);
  const usual = [...keys.filter((key) => !repeats(key)), ...keys.filter(repeats)];
  const chosen = { x: keys.includes(state.heat.x) ? state.heat.x : usual[0], metric: metrics.includes(state.heat.metric) ? state.heat.metric : metrics[1] ?? metrics[0] };
  chosen.y = keys.includes(state.heat.y) && state.heat.y !== chosen.x ? state.heat.y : usual.find((key) => key !== chosen.x);
  const rest = keys.filter((key) => key !== chosen.x && key !== chosen.y);
  const set = (name) => (value) => change({ heat: { ...state.heat, [name]: value } }, "tab");
  const fixed = Object.fromEntries(rest.map((key) => [key, state.heat[`=${key}`] ?? (repeats(key) ? EVERY : String(ordered(rows.map((row) => coordinate(row, key)))[0]))]));
  const inside = rows.filter((row) => rest.every((key) => fixed[key] === EVERY || String(coordinate(row, key)) === fixed[key]));
  const cells = new Map();
  for (const row of inside) {
    const name = JSON.stringify([coordinate(row, chosen.x), chosen.y ? coordinate(row, chosen.y) : ""]);
    if (!cells.has(name)) cells.set(name, []);
    cells.get(name).push(row);
  }
  const title = model.index.titles[chosen.metric] ?? chosen.metric;
  const found = new Map([...cells].map(([name, runs]) => [name, cellOf(runs, chosen.metric)]));
  const beside = rest.includes(state.heat.beside) && fixed[state.heat.beside] !== EVERY ? state.heat.beside : "";
  const others = beside ? ordered(rows.map((row) => coordinate(row, beside))).map(String).filter((value) => value !== fixed[beside]) : [];
  const theirs = others.includes(state.heat.theirs) ? state.heat.theirs : others[0];
  const second = new Map();
  if (theirs !== undefined) {
    const kept = { ...fixed, [beside]: theirs };
    for (const row of rows.filter((each) => rest.every((key) => kept[key] === EVERY || String(coordinate(each, key)) === kept[key]))) {
      const name = JSON.stringify([coordinate(row, chosen.x), chosen.y ? coordinate(row, chosen.y) : ""]);
      second.set(name, [...(second.get(name) ?? []), row]);
    }
  }
  const third = new Map([...second].map(([name, runs]) => [name, cellOf(runs, chosen.metric)]));
  const apart = new Map([...found].filter(([name]) => third.has(name)).map(([name, cell]) => [name, less(cell, third.get(name))]));
  const most = Math.max(...[...apart.values()].map((cell) => Math.abs(cell.value)).filter(Number.isFinite), 0);
  const xs = ordered(inside.map((row) => coordinate(row, chosen.x)));
  const ys = chosen.y ? ordered(inside.map((row) => coordinate(row, chosen.y))) : [""];
  const span = spanOfMap([...found.values(), ...third.values()].map((cell) => cell.value));
  const map = (words, cells, range, two) => mapOf(words, xs, ys, [chosen.x, chosen.y ?? ""], (x, y) => cells.get(JSON.stringify([x, y])), range, two);
  const name = (value) => `${lastWord(beside)} ${value}`;
  fill(
    place,
    el(
      "div",
      { class: "bar" },
      select("Metric", metrics.map((name) => [name, model.index.titles[name] ?? name]), chosen.metric, set("metric")),
      select("Across", keys.map((key) => [key, lastWord(key)]), chosen.x, set("x")),
      chosen.y ? select("Down", keys.filter((key) => key !== chosen.x).map((key) => [key, lastWord(key)]), chosen.y, set("y")) : null,
      rest.map((key) => slider(key, ordered(rows.map((row) => coordinate(row, key))).map(String), fixed[key], set(`=${key}`))),
      rest.length ? select("Beside", [["", "nothing"], ...rest.filter((key) => fixed[key] !== EVERY).map((key) => [key, `another ${lastWord(key)}`])], beside, set("beside")) : null,
      others.length > 1 ? select("which", others, theirs, set("theirs")) : null,
    ),
    el("p", { class: "note" }, `${inside.length} runs. A cell with several shows their median, and their range when pointed at. A click shows its series.`),
    theirs === undefined
      ? map(title, found, span)
      : el("div", { class: "maps" }, map(`${title}, ${name(fixed[beside])}`, found, span), map(name(theirs), third, span), map(`${name(fixed[beside])} less ${name(theirs)}`, apart, [-most, most], true)),
    legend(span, SCALE),
    theirs === undefined ? null : legend([-most, most], APART),
  );
}

const coordinate = (row, key) => (key === "engine" ? row.engine : row.cell[key] ?? "");

/** A key that is no axis: a slider over its values, and all of them together. */
function slider(key, values, chosen, set) {
  const at = values.indexOf(chosen);
  const every = chosen === EVERY;
  return el(
    "span",
    { class: "field" },
    el("label", {}, `${lastWord(key)}: ${every ? "all, median" : chosen} `, el("input", { type: "range", min: 0, max: values.length - 1, value: Math.max(at, 0), disabled: every, onchange: (event) => set(values[event.target.value]) })),
    el("label", {}, el("input", { type: "checkbox", checked: every, onchange: () => set(every ? values[0] : EVERY) }), "all"),
  );
}

function cellOf(runs, metric) {
  const values = runs.map((row) => row.metrics[metric]).filter((value) => value !== null);
  const range = values.length > 1 ? `median of ${values.length}: ${shortNumber(Math.min(...values))} to ${shortNumber(Math.max(...values))}` : String(values[0]);
  const bad = runs.filter((row) => row.status !== "ok");
  return { value: median(values), runs, hover: bad.length ? `${range}; ${bad.length} of status ${bad[0].status}` : range, warning: bad.some((row) => row.status === "invalid") };
}

/** The difference of two cells; a click shows the runs of both. */
function less(one, other) {
  return { value: one.value - other.value, runs: [...one.runs, ...other.runs], hover: `${shortNumber(one.value)} less ${shortNumber(other.value)}`, warning: one.warning || other.warning };
}

export function legend([low, high], colours) {
  const steps = Array.from({ length: 40 }, (_, i) => el("span", { css: { background: tint(colours, i / 39) } }));
  return el("div", { class: "legend", css: { color: token("--ink") } }, el("span", {}, shortNumber(low)), el("span", { class: "ramp", "aria-hidden": "true" }, steps), el("span", {}, shortNumber(high)));
}

