// Runs of a group as one: at each column the median of what the runs had there last, and the range from the least to the greatest.

import { cellsOf } from "./cells.js";
import { lastWord } from "./elements.js";
import { drawn, shownRows } from "./lines.js";
import { median, placeAt } from "./numbers.js";
import { state } from "./state.js";

const MOST_COLUMNS = 400;

const MANY = 12;

/** How the runs that are ticked are drawn: as was chosen, or many runs of cells with repeats by cell. Empty for each run alone. */
export function grouping() {
  if (state.group) return state.group === "each" ? "" : state.group;
  const rows = shownRows();
  return rows.length > MANY && cellsOf(rows).length < rows.length ? "cell" : "";
}

export const groupOf = (row, key) => (key === "cell" ? cellsOf([row])[0].label : key === "all" ? "all runs" : key === "engine" ? String(row.engine) : `${lastWord(key)} ${row.cell[key]}`);

/** A band for each group and what is called alike in its runs. */
export function bandsOf(lines, key) {
  const found = new Map();
  for (const line of lines) {
    const name = `${groupOf(line.row, key)}: ${line.own}`;
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(line);
  }
  const groups = [...new Set(lines.map((line) => groupOf(line.row, key)))];
  return [...found].map(([name, members]) => new Band(name, members, groups.indexOf(groupOf(members[0].row, key))));
}

class Band {
  constructor(name, members, place) {
    this.members = members;
    this.label = `${name}, median and range of ${members.length}`;
    this.title = `${this.label}: ${members.map((line) => line.key.slice(0, 10)).join(", ")}`;
    this.colour = members[0].colour;
    this.dash = [[], [7, 4], [2, 3], [10, 4, 2, 4]][place % 4];
  }

  looks() {
    const edge = { stroke: `${this.colour}00`, width: 0, points: { show: false } };
    return [{ stroke: this.colour, width: 1.8, dash: this.dash, points: { show: false } }, edge, edge];
  }

  parts(from, to, columns) {
    const count = Math.min(columns, MOST_COLUMNS);
    const x = Array.from({ length: count }, (_, i) => from + ((i + 0.5) / count) * (to - from));
    const [middle, low, high] = [[], [], []];
    const series = this.members.map((line) => drawn(line));
    for (const at of x) {
      const values = [];
      for (const each of series) {
        const place = placeAt(each, at);
        if (place >= 0 && at <= each.time[each.time.length - 1]) values.push(each.value[place]);
      }
      middle.push(values.length ? median(values) : null);
      low.push(values.length ? Math.min(...values) : null);
      high.push(values.length ? Math.max(...values) : null);
    }
    return [middle, low, high].map((y) => ({ x, y }));
  }
}
