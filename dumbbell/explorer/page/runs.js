// The table: a row for each cell of a sweep, which opens to its runs; filter, sort, choice of columns, and what is ticked is drawn. Only
// the rows in sight are in the document.

import { axes, axisName, cellsOf, estimateOf, estimateText, keyName, separated, valueName, valueOf } from "./cells.js";
import { el, fill, framed, lastWord, say, shortNumber } from "./elements.js";
import { keysOf, parsed, quantity } from "./filter.js";
import { model, rowOf, shortKey } from "./lines.js";
import { explained } from "./meanings.js";
import { change, state } from "./state.js";

const ROW = 27;
const BEYOND = 6;
const MOST_SELECTED = 1000;
const MOST_OFFERED = 12;
const [ROOM, WIDEST, TICK] = [17, 320, 36];
const STATUS = { ok: "●", warn: "▲", invalid: "✕", open: "○", closed: "●" };
const BAD = ["invalid", "warn"];
const table = { rows: [], items: [], columns: [], at: 0 };

const number = (name) => ({
  id: name,
  title: model.index.titles[name] ?? name,
  hint: explained(name),
  value: (item) => item.estimate(name).centre,
  text: (item) => (item.rows.length > 1 ? estimateText(item.estimate(name)) : separated(shortNumber(item.rows[0].metrics[name] ?? NaN))),
  number: true,
});

const several = (values) => new Set(values.map(String)).size > 1;
const ofFirst = (id, title, value, hint) => ({ id, title, hint, value: (item) => value(item.rows[0]), text: (item) => String(value(item.rows[0]) ?? ""), plain: true });

/** Every column that the table can have. */
function everyColumn() {
  const { runs } = model.index;
  const coordinates = Object.keys(runs.coordinates);
  const repeats = coordinates.filter((key) => /(^|\.)(seed|repeat)$/.test(key));
  const status = { id: "status", title: "status", hint: explained("status"), value: (item) => item.status, text: (item) => `${STATUS[item.status] ?? ""} ${item.status}` };
  const isWell = model.rows.every((row) => row.status === "ok"); // then there is more to look at
  const ccs = model.rows.some((row) => row.ccs.length) && !coordinates.some((key) => lastWord(key) === "cc");
  return [
    ...(isWell ? [] : [status]),
    ofFirst("name", "name", (row) => row.name, "the name of the scenario"),
    ofFirst("engine", "engine", (row) => row.engine, "who made the run: the simulator, a kernel, a testbed or another tool"),
    ...coordinates.filter((key) => !repeats.includes(key)).map((key) => ofFirst(key, keyName(key), (row) => row.cell[key], key)),
    ...(ccs ? [{ ...ofFirst("cc", "cc", (row) => row.ccs.join(" "), "congestion control"), text: (item) => item.rows[0].ccs.join(", ") }] : []),
    ...Object.keys(runs.metrics).filter((name) => runs.metrics[name].some((value) => value !== null)).map(number),
    ...repeats.map((key) => ({ ...ofFirst(key, lastWord(key), (row) => row.cell[key], key), text: (item) => (item.isCell ? `${item.rows.length} seeds` : String(item.rows[0].cell[key] ?? "")) })),
    ...(isWell ? [status] : []),
    { id: "key", title: "key", hint: "the beginning of the run's key: a hash of all that decides its result", value: (item) => item.rows[0].key, text: (item) => (item.isCell ? "" : item.rows[0].key.slice(0, 10)), mono: true },
  ];
}

/** The columns that are shown unasked: what the traffic is judged by, and of the other metrics of runs those that differ. A key
 * with the values of another, as of a queue at both ends, has no column. */
function usualColumns(columns) {
  const { runs, measures } = model.index;
  const coordinates = Object.keys(runs.coordinates);
  const distinct = new Set(model.rows.map((row) => JSON.stringify(row.cell))).size === model.rows.length;
  const judged = measures.map(([column]) => column);
  const isOfRun = (name) => !name.includes(".") && !(judged.length > 1 && name === "goodput_mbit" && !judged.includes(name));
  const differs = (name) => model.index.kind === "capture" || (isOfRun(name) && new Set(runs.metrics[name].filter((value) => value !== null)).size > 1);
  const isTwin = (id) => coordinates.some((other) => coordinates.indexOf(other) < coordinates.indexOf(id) && several(runs.coordinates[id]) && runs.coordinates[id].every((value, i) => value === runs.coordinates[other][i]));
  return columns.map((column) => column.id).filter((id) => {
    if (id === "name") return (several(runs.facts.name) && !distinct) || !coordinates.length;
    if (id === "engine") return several(runs.facts.engine);
    if (id === "cc" && !(id in runs.coordinates)) return several(model.rows.map((row) => row.ccs.join(" ")));
    if (isTwin(id)) return false;
    if (id in runs.metrics) return judged.includes(id) || differs(id);
    return true;
  });
}

export const filterKeys = () => [...Object.keys(model.index.runs.coordinates), ...Object.keys(model.index.runs.metrics), "cc", "status", "name", "engine", "seed", "key"];

export function valuesOf(row, key) {
  if (key === "cc") return row.ccs;
  const found = row.cell[key] ?? row.metrics[key] ?? row[key];
  return found === undefined || found === null ? [] : [found];
}

const words = (row) => (row.words ??= [row.name, row.key, row.status, row.engine, ...row.ccs, ...Object.values(row.cell), ...row.reasons].join(" ").toLowerCase());

/** The runs that the filter lets through. */
export function chosenRows() {
  const known = new Map();
  const valuesOfKey = (key) => known.get(key) ?? (known.set(key, new Set(model.rows.flatMap((row) => valuesOf(row, key).map((value) => String(value).toLowerCase())))), known.get(key));
  const isValue = (key, text) => key in model.index.runs.coordinates && valuesOfKey(key).has(text.toLowerCase());
  const { test, unknown } = parsed(state.filter, filterKeys(), valuesOf, words, isValue);
  return { rows: state.filter ? model.rows.filter(test) : [...model.rows], unknown };
}

const itemOf = (rows, isCell) => {
  const known = new Map();
  return { rows, isCell, status: BAD.find((status) => rows.some((row) => row.status === status)) ?? rows[0].status, estimate: (name) => known.get(name) ?? (known.set(name, estimateOf(rows, name)), known.get(name)) };
};

/** What the rows of the table are: cells with their runs below those that are open, or runs. */
function itemsOf(rows) {
  const items = cellsOf(rows).map((cell) => itemOf(cell.rows, cell.rows.length > 1));
  sortItems(items);
  return items.flatMap((item) => {
    if (!item.isCell) return [item];
    item.id = shortKey(item.rows[0]);
    item.open = state.open.includes(item.id);
    if (!item.open) return [item];
    const runs = item.rows.map((row) => Object.assign(itemOf([row], false), { inside: true }));
    sortItems(runs);
    return [item, ...runs];
  });
}

function sortItems(items) {
  const down = state.sort.startsWith("-");
  const column = table.every.find((each) => each.id === state.sort.replace(/^-/, ""));
  if (!column) return;
  const order = new Map(items.map((item) => [item, [quantity(column.value(item) ?? NaN), String(column.value(item) ?? "")]]));
  items.sort((a, b) => {
    const [[one, text], [other, words]] = [order.get(a), order.get(b)];
    const by = Number.isNaN(one) && Number.isNaN(other) ? text.localeCompare(words) : Number.isNaN(one) ? 1 : Number.isNaN(other) ? -1 : one - other;
    return down && !(Number.isNaN(one) !== Number.isNaN(other)) ? -by : by;
  });
}

export const isTicked = (row) => table.ticked.has(row);

/** Shows the series where the overview was. */
const seen = () => (state.tab === "overview" ? { tab: "series" } : {});

/** Adds runs to what is drawn, or takes them away; alone, they replace the others. */
export function tick(rows, alone = false) {
  const here = new Set(rows);
  const others = alone ? [] : state.runs.filter((short) => !here.has(rowOf(short)));
  const all = rows.every(isTicked) && !alone;
  const found = all ? others : [...others, ...rows.map(shortKey)];
  change({ runs: found, run: shortKey(rows[0]), alone: [], x: alone ? null : state.x, ...(found.length ? seen() : {}) }, "runs");
}

export function buildRuns(place) {
  table.every = everyColumn();
  table.usual = usualColumns(table.every);
  table.count = el("span", { class: "note", role: "status" });
  table.offers = el("ul", { id: "offers", role: "listbox", "aria-label": "Suggestions", hidden: true });
  table.filter = el("input", {
    type: "search",
    id: "filter",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": "offers",
    "aria-autocomplete": "list",
    autocomplete: "off",
    value: state.filter,
    spellcheck: "false",
    placeholder: example(),
    oninput: (event) => (change({ filter: event.target.value }, "filter"), offer()),
    onfocus: () => offer(),
    onblur: () => setTimeout(closeOffers, 150),
    onkeydown: offerKeys,
  });
  table.body = el("tbody", {});
  table.head = el("tr", {});
  table.group = el("colgroup", {});
  table.grid = el("table", { "aria-rowcount": model.rows.length }, table.group, el("thead", {}, table.head), table.body);
  table.scroll = el("div", { class: "scroll", tabindex: "-1", onscroll: () => drawRows() }, table.grid);
  table.scroll.addEventListener("keydown", keys);
  table.values = el("div", { class: "facets" });
  table.picker = el("div", { class: "menu-list" });
  const all = (rows) => {
    change({ runs: rows.slice(0, MOST_SELECTED).map(shortKey), alone: [], ...(rows.length ? seen() : {}) }, "runs");
    if (rows.length > MOST_SELECTED) say(`The first ${MOST_SELECTED} of ${rows.length} runs are selected: a filter leaves fewer.`);
  };
  table.all = el("button", { type: "button", onclick: () => all(table.rows) }, "Select all");
  fill(
    place,
    el(
      "div",
      { class: "bar" },
      el("label", { class: "field grow combo" }, el("span", {}, "Filter"), table.filter, table.offers),
      table.all,
      el("button", { type: "button", onclick: () => all([]) }, "Clear"),
      el("details", { class: "menu left" }, el("summary", {}, "Columns"), table.picker),
      table.count,
    ),
    table.values,
    framed(table.scroll),
  );
  drawTable();
}

const quoted = (word) => (/\s/.test(word) ? `"${word}"` : word);
const wordsOf = (text) => text.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? [];

function example() {
  const [axis] = axes();
  return axis ? quoted(`${axisName(axis).split(", ")[0]}=${valueName(model.rows[0], axis).split(" ").at(-1)}`) : "status!=ok";
}

/** The words that may stand in the place of the one that is being written. */
function offers() {
  const written = wordsOf(state.filter);
  const last = /\s$/.test(state.filter) || !written.length ? "" : written.at(-1).replaceAll('"', "");
  const found = /^([^=<>!~]+)(=|!=)(.*)$/.exec(last);
  const coordinates = [...Object.keys(model.index.runs.coordinates), ...["cc", "status", "engine"].filter((key) => several(model.rows.map((row) => valuesOf(row, key))))];
  if (found) {
    const [, name, sign, wanted] = found;
    const values = [...new Set(keysOf(name, filterKeys()).filter((key) => coordinates.includes(key)).flatMap((key) => model.rows.flatMap((row) => valuesOf(row, key).map(String))))];
    return values.filter((value) => value.toLowerCase().includes(wanted.toLowerCase()) && value !== wanted).map((value) => quoted(`${name}${sign}${value}`));
  }
  const names = [...new Set([...coordinates.map((key) => (key in model.index.runs.coordinates ? keyName(key) : key)), ...model.index.measures.map(([column]) => column.replace(/_(mbit|ms|s)$/, ""))])];
  const pairs = last ? coordinates.flatMap((key) => [...new Set(model.rows.flatMap((row) => valuesOf(row, key).map(String)))].filter((value) => value.toLowerCase().includes(last.toLowerCase())).map((value) => quoted(`${keyName(key)}=${value}`))) : [];
  return [...names.filter((name) => name.toLowerCase().includes(last.toLowerCase())).map((name) => `${name}${coordinates.some((key) => key === name || key.endsWith(`.${name}`)) ? "=" : "<="}`), ...pairs];
}

function offer() {
  const found = offers().slice(0, MOST_OFFERED);
  table.offered = -1;
  fill(table.offers, found.map((text, i) => el("li", { role: "option", id: `offer-${i}`, "aria-selected": "false", onpointerdown: (event) => (event.preventDefault(), take(text)) }, text)));
  showOffers(found.length > 0 && document.activeElement === table.filter);
}

function showOffers(open) {
  table.offers.hidden = !open;
  table.filter.setAttribute("aria-expanded", String(open));
  if (!open) table.filter.removeAttribute("aria-activedescendant");
}

const closeOffers = () => showOffers(false);

/** Puts a word in the place of the one that is being written. */
function take(text) {
  const written = wordsOf(state.filter);
  if (written.length && !/\s$/.test(state.filter)) written.pop();
  const isWhole = !/[=<>]$/.test(text);
  change({ filter: [...written, text].join(" ") + (isWhole ? " " : "") }, "filter");
  table.filter.focus();
  if (isWhole) closeOffers();
  else offer();
}

function offerKeys(event) {
  const listed = [...table.offers.children];
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape" && !table.offers.hidden) {
    event.preventDefault();
    return closeOffers();
  }
  if (table.offers.hidden) return by ? offer() : undefined;
  if (by && listed.length) {
    event.preventDefault();
    table.offered = (table.offered + by + listed.length) % listed.length;
    listed.forEach((each, i) => each.setAttribute("aria-selected", String(i === table.offered)));
    table.filter.setAttribute("aria-activedescendant", `offer-${table.offered}`);
  } else if (event.key === "Enter" && listed[table.offered]) {
    event.preventDefault();
    take(listed[table.offered].textContent);
  }
}

/** The values of the axes: a click lets only them through, once more all. */
function drawFacets() {
  const used = model.index.kind === "capture" ? [] : axes();
  const written = wordsOf(state.filter);
  const shown = used.filter((axis) => new Set(model.rows.map((row) => valueOf(row, axis[0]))).size <= MOST_OFFERED);
  fill(
    table.values,
    shown.map((axis) => {
      const key = axis[0];
      const values = [...new Map(model.rows.map((row) => [String(valueOf(row, key)), row]))];
      const word = (value) => quoted(`${keyName(key)}=${value}`);
      return el(
        "span",
        { class: "facet", role: "group", "aria-label": axisName(axis) },
        el("span", {}, axisName(axis)),
        values.map(([value, row]) => {
          const there = written.includes(word(value));
          const mine = values.map(([other]) => word(other));
          const next = [...written.filter((each) => !mine.includes(each)), ...(there ? [] : [word(value)])].join(" ");
          return el("button", { type: "button", class: "value", "aria-pressed": String(there), title: `${axis.map((each) => keyName(each)).join(", ")}: ${value}`, onclick: () => change({ filter: next }, "filter") }, valueName(row, axis).replace(`${keyName(key)} `, ""));
        }),
      );
    }),
  );
}

function drawPicker() {
  const shown = table.columns.map((column) => column.id);
  const set = (id, there) => change({ columns: table.every.map((column) => column.id).filter((each) => (each === id ? there : shown.includes(each))) }, "columns");
  fill(
    table.picker,
    el("button", { type: "button", onclick: () => change({ columns: null }, "columns") }, "The usual ones"),
    table.every.map((column) => el("label", { title: column.hint ?? null }, el("input", { type: "checkbox", checked: shown.includes(column.id), onchange: (event) => set(column.id, event.target.checked) }), column.title)),
  );
}

const ruler = document.createElement("canvas").getContext("2d");

/** Pixels that a column takes: its title may have three lines, and sorting adds a sign to it. */
function widthOf(column) {
  const measured = (text, font) => ((ruler.font = font), ruler.measureText(text).width);
  const title = (text) => measured(text, "600 13px system-ui, sans-serif");
  const text = (item) => measured(column.text(item), column.mono ? "12.5px ui-monospace, monospace" : "13px system-ui, sans-serif");
  return Math.ceil(Math.min(Math.max(...column.title.split(" ").map(title), title(`${column.title} ▲`) / 2.5, ...table.items.slice(0, 200).map(text)), WIDEST)) + ROOM;
}

const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

export function drawTable() {
  const { rows, unknown } = chosenRows();
  const wanted = state.columns ?? table.usual;
  table.ticked = new Set(state.runs.map((short) => rowOf(short)).filter(Boolean));
  table.columns = table.every.filter((column) => wanted.includes(column.id));
  table.rows = rows;
  table.items = itemsOf(rows);
  table.all.disabled = !rows.length;
  const what = model.index.kind === "capture" ? "connection" : "run";
  const cells = table.items.filter((item) => !item.inside).length;
  if (table.filter.value !== state.filter) table.filter.value = state.filter;
  table.count.textContent = `${rows.length === model.rows.length ? "" : `${rows.length} of `}${counted(model.rows.length, what)}${cells < rows.length ? ` in ${counted(cells, "cell")}` : ""}${table.ticked.size > 1 ? `, ${table.ticked.size} selected` : ""}${unknown.length ? `; unknown: ${unknown.join(", ")}` : ""}`;
  const widths = table.columns.map(widthOf);
  table.grid.style.setProperty("width", `${widths.reduce((sum, width) => sum + width, TICK)}px`);
  fill(table.group, el("col", { css: { width: `${TICK}px` } }), widths.map((width) => el("col", { css: { width: `${width}px` } })));
  fill(
    table.head,
    el("th", { scope: "col" }, el("span", { class: "off-screen" }, "shown")),
    table.columns.map((column) => {
      const sorted = state.sort === column.id ? "ascending" : state.sort === `-${column.id}` ? "descending" : null;
      const next = sorted === "ascending" ? `-${column.id}` : sorted ? "" : column.id;
      const sign = sorted ? (sorted === "ascending" ? " ▲" : " ▼") : "";
      const button = el("button", { type: "button", title: column.hint ?? column.title, onclick: () => change({ sort: next }, "filter") }, column.title + sign);
      column.most = column.number ? Math.max(...table.items.map((item) => Math.abs(column.value(item))).filter(Number.isFinite), 0) : 0;
      return el("th", { scope: "col", "aria-sort": sorted, class: column.number ? "number" : null }, button);
    }),
  );
  table.at = Math.min(table.at, Math.max(table.items.length - 1, 0));
  drawFacets();
  drawPicker();
  drawRows();
}

export function drawRows(focus = false) {
  const { items, scroll, body, columns } = table;
  const height = scroll.clientHeight || 260;
  const first = Math.max(Math.floor(scroll.scrollTop / ROW) - BEYOND, 0);
  const last = Math.min(first + Math.ceil(height / ROW) + 2 * BEYOND, items.length);
  const space = (count) => el("tr", { class: "space", "aria-hidden": "true" }, el("td", { colspan: columns.length + 1, css: { height: `${count * ROW}px` } }));
  const held = focus || body.contains(document.activeElement);
  const none = items.length ? null : el("tr", { class: "space" }, el("td", { colspan: columns.length + 1, class: "empty" }, `No run fits “${state.filter.trim()}”. `, el("button", { type: "button", onclick: () => change({ filter: "" }, "filter") }, "Clear the filter")));
  fill(body, none, first ? space(first) : null, items.slice(first, last).map((item, i) => rowElement(item, first + i)), last < items.length ? space(items.length - last) : null);
  if (held) body.querySelector('input[tabindex="0"]')?.focus({ preventScroll: true });
}

function toggle(item) {
  change({ open: item.open ? state.open.filter((id) => id !== item.id) : [...state.open, item.id] }, "open");
}

function rowElement(item, place) {
  const count = item.rows.filter(isTicked).length;
  const [row] = item.rows;
  const named = item.isCell ? cellsOf([row])[0].label : `${row.name} ${row.key.slice(0, 10)}`;
  const box = el("input", { type: "checkbox", checked: count === item.rows.length, indeterminate: count > 0 && count < item.rows.length, tabindex: place === table.at ? "0" : "-1", "aria-label": `Show ${named}`, onchange: () => ((table.at = place), tick(item.rows)) });
  const opener = item.isCell ? el("button", { type: "button", class: "opener", tabindex: "-1", "aria-expanded": String(item.open), "aria-label": `Runs of ${named}`, onclick: (event) => (event.stopPropagation(), toggle(item)) }, item.open ? "▾" : "▸") : null;
  const cells = table.columns.map((column) => {
    const share = column.most ? Math.min(Math.abs(column.value(item)) / column.most, 1) : 0;
    const classes = [column.number ? "number" : "", share ? "barred" : "", column.mono ? "mono" : "", column.id === "status" ? `status-${item.status}` : "", column.plain && item.inside ? "again" : ""].join(" ").trim();
    return el("td", { class: classes || null, css: share ? { "--share": `${(100 * share).toFixed(1)}%` } : null, title: column.id === "status" ? item.rows.flatMap((each) => each.reasons).join("\n") || null : column.text(item) }, column.text(item));
  });
  const choose = (event) => {
    if (event.target.tagName === "INPUT") return;
    table.at = place;
    tick(item.rows, !(event.ctrlKey || event.metaKey || event.shiftKey));
  };
  const classes = [count ? "ticked" : "", item.inside ? "inside" : "", item.isCell ? "of-cell" : ""].join(" ").trim();
  return el("tr", { class: classes || null, "aria-rowindex": place + 1, "data-key": row.key, onclick: choose }, el("td", { class: "tick" }, box, opener), cells);
}

function keys(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -Infinity, End: Infinity };
  const by = steps[event.key];
  const item = table.items[table.at];
  const opens = { ArrowRight: false, ArrowLeft: true }[event.key] === item?.open && item?.isCell;
  if (event.target.tagName !== "INPUT" || (by === undefined && event.key !== "Enter" && !opens)) return;
  event.preventDefault();
  if (opens) return toggle(item);
  if (event.key === "Enter") return tick(item.rows, true);
  table.at = Math.min(Math.max(table.at + by, 0), table.items.length - 1);
  const top = table.at * ROW;
  const { scroll } = table;
  if (top < scroll.scrollTop) scroll.scrollTop = top;
  else if (top + 3 * ROW > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + 3 * ROW - scroll.clientHeight;
  drawRows(true);
}
