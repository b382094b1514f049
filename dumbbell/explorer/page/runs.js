// The table of runs: filter, sort, tick what is drawn. Only the rows in sight are in the document.

import { el, fill, framed, lastWord, say, shortNumber } from "./elements.js";
import { parsed, quantity } from "./filter.js";
import { model, rowOf, shortKey } from "./lines.js";
import { change, state } from "./state.js";

const ROW = 27;
const BEYOND = 6;
const MOST_SELECTED = 1000;
const [ROOM, WIDEST, TICK] = [17, 320, 36];
const STATUS = { ok: "●", warn: "▲", invalid: "✕", open: "○", closed: "●" };
const table = { rows: [], columns: [], at: 0 };

function columnsOf({ runs, titles }) {
  const several = (name) => new Set(runs.facts[name].map(String)).size > 1;
  const distinct = new Set(model.rows.map((row) => JSON.stringify(row.cell))).size === model.rows.length;
  const number = (name) => ({ id: name, title: titles[name] ?? name, value: (row) => row.metrics[name], text: (row) => shortNumber(row.metrics[name]), number: true });
  return [
    { id: "status", title: "status", value: (row) => row.status, text: (row) => `${STATUS[row.status] ?? ""} ${row.status}` },
    ...((several("name") && !distinct) || !Object.keys(runs.coordinates).length ? [{ id: "name", title: "name", value: (row) => row.name, text: (row) => row.name }] : []),
    ...(several("engine") ? [{ id: "engine", title: "engine", value: (row) => row.engine, text: (row) => row.engine }] : []),
    ...Object.keys(runs.coordinates).map((id) => ({ id, title: lastWord(id), hint: id, value: (row) => row.cell[id], text: (row) => String(row.cell[id] ?? "") })),
    ...(model.rows.some((row) => row.ccs.length) && !Object.keys(runs.coordinates).some((key) => lastWord(key) === "cc") ? [{ id: "cc", title: "cc", value: (row) => row.ccs.join(" "), text: (row) => row.ccs.join(", ") }] : []),
    ...Object.keys(runs.metrics).filter((name) => runs.metrics[name].some((value) => value !== null)).map(number),
    { id: "key", title: "key", value: (row) => row.key, text: (row) => row.key.slice(0, 10), mono: true },
  ];
}

export const filterKeys = () => [...Object.keys(model.index.runs.coordinates), ...Object.keys(model.index.runs.metrics), "cc", "status", "name", "engine", "seed", "key"];

export function valuesOf(row, key) {
  if (key === "cc") return row.ccs;
  const found = row.cell[key] ?? row.metrics[key] ?? row[key];
  return found === undefined || found === null ? [] : [found];
}

const words = (row) => (row.words ??= [row.name, row.key, row.status, row.engine, ...row.ccs, ...Object.values(row.cell), ...row.reasons].join(" ").toLowerCase());

/** The rows that the filter lets through, sorted. */
export function chosenRows() {
  const { test, unknown } = parsed(state.filter, filterKeys(), valuesOf, words);
  const found = state.filter ? model.rows.filter(test) : [...model.rows];
  const down = state.sort.startsWith("-");
  const column = table.columns.find((each) => each.id === state.sort.replace(/^-/, ""));
  if (column) {
    const order = new Map(found.map((row) => [row, [quantity(column.value(row) ?? NaN), String(column.value(row) ?? "")]]));
    found.sort((a, b) => {
      const [[one, text], [other, words]] = [order.get(a), order.get(b)];
      const by = Number.isNaN(one) && Number.isNaN(other) ? text.localeCompare(words) : Number.isNaN(one) ? 1 : Number.isNaN(other) ? -1 : one - other;
      return down ? -by : by;
    });
  }
  return { rows: found, unknown };
}

export const isTicked = (row) => state.runs.some((short) => rowOf(short) === row);

/** Adds a run to what is drawn, or takes it away; alone, it replaces the others. */
export function tick(row, alone = false) {
  const others = alone ? [] : state.runs.filter((short) => rowOf(short) !== row);
  change({ runs: isTicked(row) && !alone ? others : [...others, shortKey(row)], run: shortKey(row), alone: [], x: alone ? null : state.x }, "runs");
}

export function buildRuns(place) {
  table.columns = columnsOf(model.index);
  table.count = el("span", { class: "note", role: "status" });
  const filter = el("input", {
    type: "search",
    id: "filter",
    value: state.filter,
    spellcheck: "false",
    placeholder: "cc=cubic rtt>=80ms status!=ok",
    oninput: (event) => change({ filter: event.target.value }, "filter"),
  });
  table.filter = filter;
  table.body = el("tbody", {});
  table.head = el("tr", {});
  const widths = table.columns.map(widthOf);
  const grid = el(
    "table",
    { "aria-rowcount": model.rows.length, css: { width: `${widths.reduce((sum, width) => sum + width, TICK)}px` } },
    el("colgroup", {}, el("col", { css: { width: `${TICK}px` } }), widths.map((width) => el("col", { css: { width: `${width}px` } }))),
    el("thead", {}, table.head),
    table.body,
  );
  table.scroll = el("div", { class: "scroll", tabindex: "-1", onscroll: () => drawRows() }, grid);
  table.scroll.addEventListener("keydown", keys);
  const all = (rows) => {
    change({ runs: rows.slice(0, MOST_SELECTED).map(shortKey), alone: [] }, "runs");
    if (rows.length > MOST_SELECTED) say(`The first ${MOST_SELECTED} of ${rows.length} runs are selected: a filter leaves fewer.`);
  };
  fill(
    place,
    el(
      "div",
      { class: "bar" },
      el("label", { class: "field grow" }, el("span", {}, "Filter"), filter),
      el("button", { type: "button", onclick: () => all(table.rows) }, "Select all"),
      el("button", { type: "button", onclick: () => all([]) }, "Clear"),
      table.count,
    ),
    framed(table.scroll),
  );
  drawTable();
}

const ruler = document.createElement("canvas").getContext("2d");

/** Pixels that a column takes: its title may have three lines, and sorting adds a sign to it. */
function widthOf(column) {
  const measured = (text, font) => ((ruler.font = font), ruler.measureText(text).width);
  const title = (text) => measured(text, "600 13px system-ui, sans-serif");
  const text = (row) => measured(column.text(row), column.mono ? "12.5px ui-monospace, monospace" : "13px system-ui, sans-serif");
  return Math.ceil(Math.min(Math.max(...column.title.split(" ").map(title), title(`${column.title} ▲`) / 2.5, ...model.rows.slice(0, 200).map(text)), WIDEST)) + ROOM;
}

export function drawTable() {
  const { rows, unknown } = chosenRows();
  table.rows = rows;
  if (table.filter.value !== state.filter) table.filter.value = state.filter;
  table.count.textContent = `${rows.length === model.rows.length ? "" : `${rows.length} of `}${model.rows.length} ${model.index.kind === "capture" ? "connection" : "run"}${model.rows.length === 1 ? "" : "s"}${unknown.length ? `; unknown: ${unknown.join(", ")}` : ""}`;
  fill(
    table.head,
    el("th", { scope: "col" }, el("span", { class: "off-screen" }, "shown")),
    table.columns.map((column) => {
      const sorted = state.sort === column.id ? "ascending" : state.sort === `-${column.id}` ? "descending" : null;
      const next = sorted === "ascending" ? `-${column.id}` : sorted ? "" : column.id;
      const sign = sorted ? (sorted === "ascending" ? " ▲" : " ▼") : "";
      const button = el("button", { type: "button", title: column.hint ?? column.title, onclick: () => change({ sort: next }, "filter") }, column.title + sign);
      return el("th", { scope: "col", "aria-sort": sorted, class: column.number ? "number" : null }, button);
    }),
  );
  table.at = Math.min(table.at, Math.max(rows.length - 1, 0));
  drawRows();
}

export function drawRows(focus = false) {
  const { rows, scroll, body, columns } = table;
  const height = scroll.clientHeight || 260;
  const first = Math.max(Math.floor(scroll.scrollTop / ROW) - BEYOND, 0);
  const last = Math.min(first + Math.ceil(height / ROW) + 2 * BEYOND, rows.length);
  const space = (count) => el("tr", { class: "space", "aria-hidden": "true" }, el("td", { colspan: columns.length + 1, css: { height: `${count * ROW}px` } }));
  const held = focus || body.contains(document.activeElement);
  fill(body, first ? space(first) : null, rows.slice(first, last).map((row, i) => rowElement(row, first + i)), last < rows.length ? space(rows.length - last) : null);
  if (held) body.querySelector('input[tabindex="0"]')?.focus({ preventScroll: true });
}

function rowElement(row, place) {
  const ticked = isTicked(row);
  const box = el("input", { type: "checkbox", checked: ticked, tabindex: place === table.at ? "0" : "-1", "aria-label": `Show ${row.name} ${row.key.slice(0, 10)}`, onchange: () => ((table.at = place), tick(row)) });
  const cells = table.columns.map((column) =>
    el("td", { class: [column.number ? "number" : "", column.mono ? "mono" : "", column.id === "status" ? `status-${row.status}` : ""].join(" ").trim() || null, title: column.id === "status" ? row.reasons.join("\n") || null : column.text(row) }, column.text(row)),
  );
  const choose = (event) => {
    if (event.target.tagName === "INPUT") return;
    table.at = place;
    tick(row, !(event.ctrlKey || event.metaKey || event.shiftKey));
  };
  return el("tr", { class: ticked ? "ticked" : null, "aria-rowindex": place + 1, "data-key": row.key, onclick: choose }, el("td", {}, box), cells);
}

function keys(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -Infinity, End: Infinity };
  const by = steps[event.key];
  if (by === undefined && event.key !== "Enter") return;
  if (event.target.tagName !== "INPUT") return;
  event.preventDefault();
  if (event.key === "Enter") {
    tick(table.rows[table.at], true);
    return;
  }
  table.at = Math.min(Math.max(table.at + by, 0), table.rows.length - 1);
  const top = table.at * ROW;
  const { scroll } = table;
  if (top < scroll.scrollTop) scroll.scrollTop = top;
  else if (top + 3 * ROW > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + 3 * ROW - scroll.clientHeight;
  drawRows(true);
}
