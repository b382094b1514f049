// The first view of several runs: what differs, and each measure of the traffic by cell with its interval.

import { axes, axisName, cellsOf, estimateOf, estimateText, valueName, valueOf } from "./cells.js";
import { copyButton, el, fill, shellWord, shortNumber, visible } from "./elements.js";
import { model, shortKey } from "./lines.js";
import { explained } from "./meanings.js";
import { chosenRows } from "./runs.js";
import { change } from "./state.js";
import { ellipse, graph, ticks } from "./statistics.js";

const MOST_ROWS = 24;
const MOST_VALUES = 8;
const WIDTH = 400;
const [ROW, TOP, BOTTOM, MARGIN] = [19, 6, 22, 14];
const FAR = 20;
const LETTER = 6.1;

export const hasOverview = () => model.index.kind === "runs" && model.rows.length > 1;

/** The axis that the sentence is about, or else the first one over names. */
function mainAxis(used) {
  const isNamed = (axis) => model.rows.some((row) => !/^-?\d/.test(String(valueOf(row, axis[0]))));
  return used.find((axis) => isNamed(axis) && axis.some((key) => /qdisc/.test(key))) ?? used.find(isNamed) ?? used[0] ?? null;
}

/** What makes a mark of a figure a button: the arrows move between the marks of its figure, of which one is in the order of tabs. */
const asMark = (label, rows) => ({ class: "mark", role: "button", tabindex: "-1", "aria-label": label, onclick: () => show(rows), onkeydown: (event) => keyOnMark(event, rows) });

function keyOnMark(event, rows) {
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    event.stopPropagation();
    return show(rows);
  }
  const marks = [...event.currentTarget.closest("svg").querySelectorAll(".mark")];
  const at = marks.indexOf(event.currentTarget);
  const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: marks.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  const next = marks[Math.min(Math.max(to, 0), marks.length - 1)];
  marks.forEach((mark) => mark.setAttribute("tabindex", mark === next ? "0" : "-1"));
  next.focus();
}

const show = (rows) => change({ runs: rows.map(shortKey), run: shortKey(rows[0]), tab: "series", x: null, alone: [] }, "all");

export function drawOverview(place) {
  const { rows } = chosenRows();
  if (!rows.length) return fill(place, el("p", { class: "empty" }, "No run fits the filter."));
  const { measures, sentence } = model.index;
  const cells = cellsOf(rows);
  const used = axes(rows);
  const main = mainAxis(used);
  const values = main ? [...new Set(model.rows.map((row) => String(valueOf(row, main[0]))))] : [];
  const colourOf = (row) => visible(model.index.palette[Math.max(main ? values.indexOf(String(valueOf(row, main[0]))) : 0, 0) % model.index.palette.length]);
  const told = measures.filter(([column]) => rows.some((row) => row.metrics[column] !== undefined));
  const repeats = Math.max(...cells.map((cell) => cell.rows.length));
  const silent = repeats > 1 ? "Nothing differs beyond chance in every condition." : "There is one run of each cell: with `repeat: 5` in the scenario this page says what differs beyond chance.";
  fill(
    place,
    used.length ? el("p", { class: sentence ? "sentence" : "note" }, sentence ?? silent) : null,
    el("p", { class: "note" }, `${described(used, rows, cells, repeats)} ${repeats > 1 ? "Dots are means over seeds, lines 95 % intervals (Student's t)." : ""} A click, or Enter, shows the series of a cell.`),
    graphs(told.map((measure) => dots(measure, cells, main, colourOf)), ellipses(told, cells, main, colourOf)),
    el("div", { class: "bar" }, copyButton("command of this figure", () => figureCommand(told, main))),
  );
}

/** Figures, each of which Tab reaches at its first mark. */
function graphs(...figures) {
  const place = el("div", { class: "graphs" }, figures);
  place.querySelectorAll("svg").forEach((svg) => svg.querySelector(".mark")?.setAttribute("tabindex", "0"));
  return place;
}

function described(used, rows, cells, repeats) {
  const each = used.map((axis) => {
    const names = [...new Map(rows.map((row) => [String(valueOf(row, axis[0])), valueName(row, axis).split(" ").at(-1)])).values()];
    return `${axisName(axis)} (${names.length > MOST_VALUES ? `${names.length} values` : names.join(", ")})`;
  });
  const seeds = repeats > 1 ? `, ${repeats} seeds each` : "";
  return each.length ? `${rows.length} runs: ${each.join(" × ")}, ${cells.length} cells${seeds}.` : `${rows.length} runs${seeds}.`;
}

/** The command that draws the same numbers as a figure of a paper. */
function figureCommand(told, main) {
  const names = told.map(([column]) => (column === "ping_median_ms" ? "rtt_median_ms" : column.slice(column.lastIndexOf(".") + 1)));
  const words = [...new Set(names)].slice(0, 4).map((name) => `--y ${name}`);
  return ["dumbbell plot", shellWord(`results/${model.index.folder}`), ...words, ...(main ? ["--x", shellWord(main[0])] : [])].join(" ");
}

/** One measure: a row for each cell, or of many cells for each value of the main axis. */
function dots([column, noun, unit], cells, main, colourOf) {
  const known = cells.map((cell) => ({ cell, found: estimateOf(cell.rows, column) })).filter(({ found }) => found.count);
  if (!known.length) return null;
  const label = ({ cell }) => (known.length > MOST_ROWS && main ? valueName(cell.rows[0], main) : cell.label);
  const listed = new Map();
  for (const each of known) listed.set(label(each), [...(listed.get(label(each)) ?? []), each]);
  const edges = known.flatMap(({ found }) => [found.centre - found.half, found.centre + found.half]);
  const centres = known.map(({ found }) => found.centre);
  const far = Math.min(...centres) > 0 && Math.max(...centres) > FAR * Math.min(...centres);
  const low = far ? Math.min(...centres) / 1.4 : Math.min(0, ...edges);
  const high = Math.max(...edges, far ? Math.max(...centres) * 1.1 : 0) || 1;
  const left = Math.min(Math.max(...[...listed.keys()].map((text) => text.length)) * LETTER + 12, 190);
  const most = Math.floor((left - 12) / LETTER);
  const scale = far ? Math.log10 : (value) => value;
  const x = (value) => left + ((scale(Math.max(value, far ? low : -Infinity)) - scale(low)) / (scale(high) - scale(low))) * (WIDTH - left - MARGIN);
  const height = TOP + listed.size * ROW + BOTTOM;
  const marks = far ? powers(low, high) : ticks(low, high);
  return el(
    "figure",
    { class: "graph dots" },
    el("figcaption", { title: explained(column) }, `${noun}${unit ? ` (${unit})` : ""}${far ? ", log axis" : ""}`),
    el(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${height}`, role: "group", "aria-label": unit ? `${noun} (${unit}) by cell` : `${noun} by cell` },
      marks.map((tick) => [el("line", { class: "grid", x1: x(tick), x2: x(tick), y1: TOP, y2: height - BOTTOM }), el("text", { x: x(tick), y: height - 7, "text-anchor": "middle" }, shortNumber(tick))]),
      [...listed].map(([name, several], row) => {
        const y = TOP + (row + 0.5) * ROW;
        return [
          el("text", { class: "label", x: left - 6, y: y + 4, "text-anchor": "end" }, name.length > most ? `${name.slice(0, most - 1)}…` : name, el("title", {}, name)),
          several.map(({ cell, found }, i) => {
            const at = y + (several.length > 1 ? ((i % 5) - 2) * 2.6 : 0);
            const colour = colourOf(cell.rows[0]);
            return el(
              "g",
              { ...asMark(`${cell.label}: ${estimateText(found)} ${unit}`.trim(), cell.rows), "data-value": found.centre },
              el("title", {}, `${cell.label}: ${estimateText(found)} ${unit} (${found.count} ${found.count === 1 ? "run" : "runs"})`),
              el("rect", { x: left, y: y - ROW / 2, width: several.length > 1 ? 0 : WIDTH - left - MARGIN, height: ROW, fill: "transparent" }),
              found.half ? el("line", { x1: x(found.centre - found.half), x2: x(found.centre + found.half), y1: at, y2: at, stroke: colour, "stroke-width": 2 }) : null,
              el("circle", { cx: x(found.centre), cy: at, r: several.length > 1 ? 3.2 : 4.5, fill: colour }),
            );
          }),
        ];
      }),
    ),
  );
}

function powers(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) for (const step of [1, 3]) if (step * 10 ** power >= low && step * 10 ** power <= high) found.push(step * 10 ** power);
  return found;
}

/** Delay against goodput: the runs of each cell, or of many cells those of each value of the main axis, as an ellipse with its name. */
function ellipses(told, cells, main, colourOf) {
  const goodput = told.find(([, , unit]) => unit === "Mbit/s");
  const delay = told.find(([, , unit]) => unit === "ms");
  if (!goodput || !delay) return null;
  const groups = new Map();
  for (const cell of cells) {
    const name = cells.length > MOST_VALUES && main ? valueName(cell.rows[0], main) : cell.label;
    groups.set(name, [...(groups.get(name) ?? []), ...cell.rows]);
  }
  const found = [...groups].map(([name, rows]) => ({ name, rows, points: rows.map((row) => [row.metrics[delay[0]], row.metrics[goodput[0]]]).filter((pair) => pair.every(Number.isFinite)) })).filter(({ points }) => points.length);
  if (!found.length || found.length > MOST_ROWS) return null;
  const shapes = found.map(({ points, ...group }) => ({ ...group, ...ellipse(points), count: points.length }));
  const slow = Math.max(...shapes.map((each) => each.x + each.sx)) * 1.08;
  const quick = Math.max(Math.min(...shapes.map((each) => each.x - each.sx)) * 0.9, 0);
  const [top, bottom] = [Math.max(...shapes.map((each) => each.y + each.sy)), Math.min(...shapes.map((each) => each.y - each.sy))];
  const room = (top - bottom || top) * 0.15;
  const taken = [];
  const free = (x, y) => {
    while (taken.some(([a, b]) => Math.abs(a - x) < 90 && Math.abs(b - y) < 12)) y += 13;
    taken.push([x, y]);
    return y;
  };
  return graph(`${goodput[1]} against ${delay[1]}: better is up and right`, [slow, quick], [Math.max(bottom - room, 0), top + room], `${delay[1]} (ms)`, `${goodput[1]} (Mbit/s)`, (x, y) =>
    shapes.map((each) => {
      const colour = colourOf(each.rows[0]);
      const right = x(each.x) > 300;
      return el(
        "g",
        asMark(`${each.name}: ${shortNumber(each.x)} ms, ${shortNumber(each.y)} Mbit/s`, each.rows),
        el("title", {}, `${each.name}: ${shortNumber(each.x)} ms, ${shortNumber(each.y)} Mbit/s, means of ${each.count}; the ellipse is one deviation`),
        el("path", { d: `${each.points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("")}Z`, fill: `${colour}22`, stroke: colour }),
        el("circle", { cx: x(each.x), cy: y(each.y), r: 4, fill: colour }),
        el("text", { class: "label", x: x(each.x) + (right ? -8 : 8), y: free(x(each.x), y(each.y) - 5), "text-anchor": right ? "end" : "start" }, each.name),
      );
    }),
    true,
  );
}
