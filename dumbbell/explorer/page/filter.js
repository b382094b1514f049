// Filters of runs: `cc=cubic rtt>=80ms`, words that must all hold.

const UNITS = {
  ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600,
  bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9, b: 1, kib: 1024, mib: 1 << 20, gib: 2 ** 30, kb: 1e3, mb: 1e6, gb: 1e9, p: 1, "%": 0.01,
};

/** A number with or without a unit; NaN for other text. */
export function quantity(value) {
  if (typeof value === "number") return value;
  const found = /^\s*(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*([a-z%]*)\s*$/i.exec(String(value));
  if (!found) return NaN;
  const unit = found[2].toLowerCase();
  return unit === "" ? Number(found[1]) : unit in UNITS ? Number(found[1]) * UNITS[unit] : NaN;
}

const SIGNS = {
  "=": (order) => order === 0,
  "!=": (order) => order !== 0,
  ">=": (order) => order >= 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  "<": (order) => order < 0,
};

/** Whether a text is another, or its first words: `pfifo` of `pfifo limit=100p`. */
const begins = (text, sought) => text === sought || text.startsWith(`${sought} `);

function compared(value, wanted, whole) {
  const [one, other] = [quantity(value), quantity(wanted)];
  if (!Number.isNaN(one) && !Number.isNaN(other)) return one === other ? 0 : one < other ? -1 : 1;
  const [text, sought] = [String(value).toLowerCase(), wanted.toLowerCase()];
  return (whole ? text === sought : begins(text, sought)) ? 0 : text < sought ? -1 : 1;
}

/** The keys that a name means: itself, those that end with it after a point, or whose last part begins with it before its unit. */
export function keysOf(name, keys) {
  const found = keys.filter((key) => key === name || key.endsWith(`.${name}`));
  return found.length ? found : keys.filter((key) => key.slice(key.lastIndexOf(".") + 1).startsWith(`${name}_`));
}

/** A test of rows, and words about what it cannot understand. `values(row, key)` gives what a row has of a key, `keys` are all of them, and
 * `isValue(key, text)` is true for a text that is a whole value of a key: then it is not taken for the first word of others. */
export function parsed(text, keys, values, words, isValue = () => false) {
  const tests = [];
  const unknown = [];
  for (const word of text.match(/(?:[^\s"]|"[^"]*")+/g) ?? []) {
    const found = /^([^=<>!~]+)(!=|>=|<=|=|<|>|~)(.*)$/.exec(word.replaceAll('"', ""));
    if (!found) {
      const sought = word.replaceAll('"', "").toLowerCase();
      tests.push((row) => words(row).includes(sought));
      continue;
    }
    const [, name, sign, wanted] = found;
    const meant = keysOf(name, keys);
    if (!meant.length) unknown.push(name);
    else if (sign === "~") tests.push((row) => meant.some((key) => values(row, key).some((value) => String(value).includes(wanted))));
    else if (sign === "!=") tests.push((row) => meant.every((key) => values(row, key).every((value) => compared(value, wanted, isValue(key, wanted)) !== 0)));
    else tests.push((row) => meant.some((key) => values(row, key).some((value) => SIGNS[sign](compared(value, wanted, isValue(key, wanted))))));
  }
  return { test: (row) => tests.every((test) => test(row)), unknown };
}
