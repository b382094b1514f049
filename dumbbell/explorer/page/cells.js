// Cells of a sweep: the runs that differ only in their seed, and the mean of a metric over them with its interval.

import { lastWord, shortNumber } from "./elements.js";
import { quantity } from "./filter.js";
import { model } from "./lines.js";

export const isRepeat = (key) => /(^|\.)(seed|repeat)$/.test(key);

export const valueOf = (row, key) => (key === "engine" || key === "name" ? row[key] : row.cell[key]) ?? "";

let kept = { of: null };

/** Something that is made only once for the rows of the page. */
function once(name, make) {
  if (kept.of !== model.rows) kept = { of: model.rows };
  return (kept[name] ??= make());
}

/** The keys that tell cells apart: coordinates with several values, and engine and name where they have. */
export const cellKeys = () => once("keys", keysOfCells);

function keysOfCells() {
  const keys = Object.keys(model.index.runs.coordinates).filter((key) => !isRepeat(key));
  return [...keys, ...["engine", "name"].filter((key) => new Set(model.rows.map((row) => row[key])).size > 1)].filter((key) => new Set(model.rows.map((row) => String(valueOf(row, key)))).size > 1);
}

/** The axes of a sweep: keys with several values; keys that follow from each other, as zipped ones do, are one. */
export const axes = (rows = model.rows) => (rows === model.rows ? once("axes", () => axesOf(rows)) : axesOf(rows));

function axesOf(rows) {
  const found = [];
  for (const key of cellKeys()) {
    const values = new Set(rows.map((row) => String(valueOf(row, key))));
    if (values.size < 2) continue;
    const alike = found.find(([first]) => {
      const others = new Set(rows.map((row) => String(valueOf(row, first))));
      return others.size === values.size && new Set(rows.map((row) => `${valueOf(row, first)}\n${valueOf(row, key)}`)).size === values.size;
    });
    if (alike) alike.push(key);
    else found.push([key]);
  }
  return found;
}

/** What a key is called: its last word, or more words of it where several keys end alike. */
export function keyName(key, keys = Object.keys(model.index.runs.coordinates)) {
  const parts = key.split(".");
  for (let count = 1; count < parts.length; count++) {
    const name = parts.slice(-count).join(".");
    if (!keys.some((other) => other !== key && (other === name || other.endsWith(`.${name}`)))) return name;
  }
  return key;
}

/** What an axis is called: of keys that end alike that word, of others all of them. */
export function axisName(axis) {
  const words = [...new Set(axis.map(lastWord))];
  const all = axes().flat().filter((key) => !axis.includes(key));
  return words.length === 1 && !all.some((key) => lastWord(key) === words[0]) ? words[0] : axis.map((key) => keyName(key)).join(", ");
}

/** A value without its settings, where its first word tells it from the others. */
export function valueName(row, [key], rows = model.rows) {
  const value = String(valueOf(row, key));
  const [first] = value.split(" ");
  const all = rows === model.rows ? once(`values of ${key}`, () => [...new Set(rows.map((each) => String(valueOf(each, key))))]) : rows.map((each) => String(valueOf(each, key)));
  const alike = new Set(all.filter((each) => each.split(" ")[0] === first));
  if (alike.size > 1 || first === value) return Number.isNaN(quantity(value)) || !/^\d+(\.\d+)?$/.test(value) ? value : `${keyName(key)} ${value}`;
  return first;
}

/** The runs by cell, in the order of the runs: [{ id, rows, label }]. */
export function cellsOf(rows) {
  const keys = cellKeys();
  const found = new Map();
  for (const row of rows) {
    const id = JSON.stringify(keys.map((key) => valueOf(row, key)));
    if (!found.has(id)) found.set(id, { id, rows: [] });
    found.get(id).rows.push(row);
  }
  const used = axes();
  const cells = [...found.values()];
  const values = new Map(used.map((axis) => [axis, new Map()]));
  for (const cell of cells) {
    cell.parts = used.map((axis) => {
      const named = values.get(axis);
      const value = valueOf(cell.rows[0], axis[0]);
      if (!named.has(value)) named.set(value, valueName(cell.rows[0], axis));
      return named.get(value);
    });
    cell.label = cell.parts.join(" · ") || cell.rows[0].name;
  }
  return cells;
}

/** Mean and 95 % interval (Student's t), as `dumbbell table --statistic mean` has them; equal repeats have no interval. */
export function estimateOf(rows, metric) {
  const values = rows.map((row) => row.metrics[metric]).filter((value) => value !== undefined && value !== null);
  const count = values.length;
  if (!count) return { centre: NaN, half: 0, count };
  const centre = values.reduce((sum, value) => sum + value, 0) / count;
  if (count === 1 || values.every((value) => value === values[0])) return { centre: values.length ? (count === 1 ? values[0] : centre) : NaN, half: 0, count };
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (count - 1));
  return { centre, half: (model.index.student[count - 2] * deviation) / Math.sqrt(count), count };
}

/** `31.2 ±0.4`, as the summary of `dumbbell run` has it: three digits, all before the point, and one more if the interval would read as 0. */
export function estimateText({ centre, half }) {
  if (!Number.isFinite(centre)) return shortNumber(centre);
  const places = Math.min(Math.max(2 - (centre ? Math.floor(Math.log10(Math.abs(centre))) : 0), 0), 3);
  if (!(half > 0)) return separated(Number.isInteger(centre) ? String(centre) : centre.toFixed(places));
  const seen = [places, places + 1].find((digits) => Number(half.toFixed(digits)) > 0);
  return seen === undefined ? separated(centre.toFixed(places)) : `${separated(centre.toFixed(seen))} ±${half.toFixed(seen)}`;
}

/** Digits before the point in threes, from five on. */
export const separated = (text) => (/^-?\d{5,}/.test(text) ? text.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, "\u202f")) : text);


