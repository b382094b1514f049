// Heat maps of a sweep: two keys as axes, the others chosen, repeats as their median. A click shows the series of the cell's runs.

import { axes, axisName } from "./cells.js";
import { contrast, el, fill, framed, mixed, select, shortNumber, token } from "./elements.js";
import { quantity } from "./filter.js";
import { model, shortKey } from "./lines.js";
import { median } from "./numbers.js";
import { chosenRows } from "./runs.js";
import { change, state } from "./state.js";

// Equal steps from dark to light, legible for colour-blind readers (viridis, by Smith and van der Walt, CC0); and two hues that meet in white.
export const SCALE = ["#440154", "#3B528B", "#21918C", "#5EC962", "#FDE725"];
export const APART = ["#2166AC", "#F7F7F7", "#B2182B"];
const EVERY = "\u0000every";
const FOLDER = "folder";

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
  const [xName, yName] = names;
  const cell = (x, y) => {
    const found = cellOf(x, y);
    if (!found || !Number.isFinite(found.value)) return el("td", { class: "missing" }, "–");
    const colour = tint(apart ? APART : SCALE, scaled(found.value));
    const ink = contrast(colour, "#ffffff") >= contrast(colour, "#000000") ? "#ffffff" : "#000000";
    const show = () => found.runs.length && change({ runs: found.runs.slice(0, 12).map(shortKey), run: shortKey(found.runs[0]), tab: "series", x: null, alone: [] }, "all");
    return el(
      "td",
      {},
      el("button", { type: "button", class: found.warning ? "cell outside" : "cell", css: { background: colour, color: ink }, title: found.hover, "aria-label": `${keyTitle(xName)} ${x}${yName ? `, ${keyTitle(yName)} ${y}` : ""}: ${shortNumber(found.value)}`, "data-value": found.value, "data-key": found.runs[0]?.key, onclick: show }, shortNumber(found.value)),
    );
  };
  return el(
    "figure",
    { class: "map", onkeydown: keyOnMap },
    el("figcaption", {}, title),
    framed(
      el(
        "div",
        { class: "across" },
        el(
          "table",
          {},
          el("thead", {}, el("tr", {}, el("th", { class: "corner" }, yName ? `${keyTitle(yName)} ↓  ${keyTitle(xName)} →` : `${keyTitle(xName)} →`), xs.map((x) => el("th", { scope: "col" }, String(x))))),
          el("tbody", {}, ys.map((y) => el("tr", {}, el("th", { scope: "row" }, String(y)), xs.map((x) => cell(x, y))))),
        ),
      ),
    ),
  );
}

/** The arrows move from cell to cell, over those without a value. */
function keyOnMap(event) {
  const [right, down] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key] ?? [0, 0];
  const here = event.target.closest("td");
  if (!here || !(right || down)) return;
  event.preventDefault();
  event.stopPropagation();
  const rows = [...here.closest("tbody").rows].map((row) => [...row.cells]);
  let y = rows.findIndex((row) => row.includes(here));
  let x = rows[y].indexOf(here);
  do [x, y] = [x + right, y + down];
  while (rows[y]?.[x] && !rows[y][x].querySelector("button"));
  rows[y]?.[x]?.querySelector("button")?.focus();
}

export const spanOfMap = (values) => {
  const known = values.filter(Number.isFinite);
  return known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
};

const isSweep = () => Object.values(model.index.runs.coordinates).some((column) => new Set(column.map(String)).size > 1);
export const hasHeatmap = () => model.index.kind === "runs" && isSweep();

/** A key that goes with another, as of zipped ones, has no axis of its own. */
const isFollower = (key) => key !== FOLDER && axes().some((axis) => axis.indexOf(key) > 0);

const keyTitle = (key) => axisName(axes().find((axis) => axis[0] === key) ?? [key]);

export function drawHeatmap(place) {
  const { rows } = chosenRows();
  const keys = [...Object.keys(model.index.runs.coordinates), "engine"].filter((key) => !isFollower(key) && new Set(model.rows.map((row) => String(coordinate(row, key)))).size > 1);
  const metrics = Object.keys(model.index.runs.metrics).filter((name) => model.rows.some((row) => row.metrics[name] !== null));
  const repeats = (key) => /seed|repeat/.test(key);
  const home = keys.includes(FOLDER) ? state.heat[`=${FOLDER}`] ?? largestFolder(rows) : undefined;
  const own = rows.filter((row) => matches(row, FOLDER, home));
  const varies = (key) => new Set(own.map((row) => String(coordinate(row, key)))).size > 1;
  const plain = (key) => !repeats(key) && key !== FOLDER;
  const usual = [...keys.filter((key) => plain(key) && varies(key)), ...keys.filter((key) => key === FOLDER), ...keys.filter((key) => repeats(key) || (plain(key) && !varies(key)))];
  const { x, y, metric } = state.heat;
  const chosen = { x: keys.includes(x) ? x : usual[0], metric: metrics.includes(metric) ? metric : metrics[0] };
  chosen.y = y === "" || (keys.includes(y) && y !== chosen.x) ? y : usual.find((key) => key !== chosen.x && !follows(own, key, chosen.x));
  const rest = keys.filter((key) => key !== chosen.x && key !== chosen.y);
  const set = (name) => (value) => change({ heat: { ...state.heat, [name]: value } }, "tab");
  const asked = Object.fromEntries(rest.map((key) => [key, state.heat[`=${key}`] ?? (repeats(key) ? EVERY : key === FOLDER ? home : undefined)]));
  const fixed = withRuns(rows, chosen, asked);
  const move = (key) => (value) => {
    const heat = { ...state.heat, [`=${key}`]: value };
    // What was chosen before and goes with no run of the new value is chosen anew.
    const fits = rows.some((row) => rest.every((each) => matches(row, each, heat[`=${each}`])));
    change({ heat: fits ? heat : Object.fromEntries(Object.entries(heat).filter(([name]) => !name.startsWith("=") || name === `=${key}`)) }, "tab");
  };
  const isChoice = (key) => key === FOLDER || varies(key);
  const inside = rows.filter((row) => rest.every((key) => matches(row, key, fixed[key])));
  const cells = new Map();
  for (const row of inside) {
    const name = placeOf(row, chosen);
    if (!cells.has(name)) cells.set(name, []);
    cells.get(name).push(row);
  }
  const title = model.index.titles[chosen.metric] ?? chosen.metric;
  const found = new Map([...cells].map(([name, runs]) => [name, cellOf(runs, chosen.metric)]));
  const wanted = state.heat.beside ?? (rest.includes(FOLDER) && inOthers(rows, FOLDER, fixed, chosen, inside) ? FOLDER : "");
  const beside = rest.includes(wanted) && fixed[wanted] !== EVERY ? wanted : "";
  const others = beside ? ordered(rows.map((row) => coordinate(row, beside))).map(String).filter((value) => value !== fixed[beside]) : [];
  const theirs = others.includes(state.heat.theirs) ? state.heat.theirs : others[0];
  const second = new Map();
  if (theirs !== undefined) {
    const those = rows.filter((row) => matches(row, beside, theirs));
    // A key that goes with the other, as an engine with its folder, cannot stay as it is.
    const kept = rest.filter((key) => key !== beside && those.some((row) => matches(row, key, fixed[key])));
    for (const row of those.filter((each) => kept.every((key) => matches(each, key, fixed[key])))) {
      const name = placeOf(row, chosen);
      second.set(name, [...(second.get(name) ?? []), row]);
    }
  }
  const third = new Map([...second].map(([name, runs]) => [name, cellOf(runs, chosen.metric)]));
  const apart = new Map([...found].filter(([name]) => third.has(name)).map(([name, cell]) => [name, less(cell, third.get(name))]));
  const most = Math.max(...[...apart.values()].map((cell) => Math.abs(cell.value)).filter(Number.isFinite), 0);
  const drawn = [...inside, ...[...second.values()].flat()];
  const xs = ordered(drawn.map((row) => coordinate(row, chosen.x)));
  const ys = chosen.y ? ordered(drawn.map((row) => coordinate(row, chosen.y))) : [""];
  const span = spanOfMap([...found.values(), ...third.values()].map((cell) => cell.value));
  const map = (words, cells, range, two) => mapOf(words, xs, ys, [chosen.x, chosen.y ?? ""], (x, y) => cells.get(JSON.stringify([x, y])), range, two);
  const name = (value) => `${keyTitle(beside)} ${value}`;
  fill(
    place,
    el(
      "div",
      { class: "bar" },
      select("Metric", metrics.map((name) => [name, model.index.titles[name] ?? name]), chosen.metric, set("metric")),
      select("Across", keys.map((key) => [key, keyTitle(key)]), chosen.x, set("x")),
      keys.length > 1 ? select("Down", [["", "nothing"], ...keys.filter((key) => key !== chosen.x).map((key) => [key, keyTitle(key)])], chosen.y ?? "", set("y")) : null,
      rest.filter(isChoice).map((key) => slider(key, ordered(rows.map((row) => coordinate(row, key))).map(String), fixed[key], move(key))),
      rest.length ? select("Compare with", [["", "nothing"], ...rest.filter((key) => fixed[key] !== EVERY).map((key) => [key, `another ${keyTitle(key)}`])], beside, set("beside")) : null,
      others.length > 1 ? select("which", others, theirs, set("theirs")) : null,
    ),
    el("p", { class: "note" }, `${inside.length} ${inside.length === 1 ? "run" : "runs"}. A cell with several shows their median, and their range when pointed at. A click shows its series.`),
    theirs === undefined
      ? map(title, found, span)
      : el("div", { class: "maps" }, map(`${title}, ${name(fixed[beside])}`, found, span), map(name(theirs), third, span), map(`Difference: ${name(fixed[beside])} minus ${name(theirs)}`, apart, [-most, most], true)),
    legend(span, SCALE),
    theirs === undefined ? null : legend([-most, most], APART),
  );
}

const coordinate = (row, key) => (key === "engine" ? row.engine : row.cell[key] ?? "");
const matches = (row, key, value) => value === undefined || value === EVERY || String(coordinate(row, key)) === value;
const placeOf = (row, { x, y }) => JSON.stringify([coordinate(row, x), y ? coordinate(row, y) : ""]);

function largestFolder(rows) {
  const counts = new Map();
  for (const row of rows) counts.set(row.cell[FOLDER], (counts.get(row.cell[FOLDER]) ?? 0) + 1);
  return [...counts].reduce((best, each) => (best && best[1] >= each[1] ? best : each), null)?.[0];
}

/** Whether one key has one value for each value of another. */
function follows(rows, key, other) {
  const found = new Map();
  return rows.every((row) => {
    const [value, of] = [coordinate(row, key), coordinate(row, other)];
    if (!found.has(of)) found.set(of, value);
    return found.get(of) === value;
  });
}

/** Values for the keys that are no axes: what was asked for, and of all others those with which most cells of the map have runs. */
function withRuns(rows, axes, asked) {
  const keys = Object.keys(asked);
  const groups = new Map();
  for (const row of rows.filter((each) => keys.every((key) => matches(each, key, asked[key])))) {
    const values = keys.map((key) => asked[key] ?? String(coordinate(row, key)));
    const name = JSON.stringify(values);
    if (!groups.has(name)) groups.set(name, { values, cells: new Set() });
    groups.get(name).cells.add(placeOf(row, axes));
  }
  const most = [...groups.values()].reduce((best, group) => (best && best.cells.size >= group.cells.size ? best : group), null);
  return Object.fromEntries(keys.map((key, i) => [key, most ? most.values[i] : asked[key] ?? ""]));
}

/** Whether runs of other values of a key lie in the same cells. */
function inOthers(rows, key, fixed, axes, inside) {
  const cells = new Set(inside.map((row) => placeOf(row, axes)));
  return rows.some((row) => !matches(row, key, fixed[key]) && cells.has(placeOf(row, axes)));
}

/** A key that is no axis: a slider over its values, and all of them together. */
function slider(key, values, chosen, set) {
  const at = values.indexOf(chosen);
  const every = chosen === EVERY;
  return el(
    "span",
    { class: "field" },
    el("label", {}, `${keyTitle(key)}: ${every ? "all, median" : chosen || "without"} `, el("input", { type: "range", min: 0, max: values.length - 1, value: Math.max(at, 0), disabled: every, onchange: (event) => set(values[event.target.value]) })),
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
  return { value: one.value - other.value, runs: [...one.runs, ...other.runs], hover: `${shortNumber(one.value)} minus ${shortNumber(other.value)}`, warning: one.warning || other.warning };
}

export function legend([low, high], colours) {
  const steps = Array.from({ length: 40 }, (_, i) => el("span", { css: { background: tint(colours, i / 39) } }));
  return el("div", { class: "legend", css: { color: token("--ink") } }, el("span", {}, shortNumber(low)), el("span", { class: "ramp", "aria-hidden": "true" }, steps), el("span", {}, shortNumber(high)));
}

