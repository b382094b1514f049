// What is shown, kept in the fragment of the address: reloading, and a link, show the same again.

const EMPTY = { runs: [], panels: null, x: null, y: {}, alone: [], columns: null, open: [], log: "", tab: "", filter: "", sort: "", window: 0, group: "", heat: {}, run: "", other: "", cdf: "", theme: "", note: "", packet: "" };
const LISTS = ["runs", "panels", "alone", "columns", "open"];

export const state = { ...EMPTY };
const listeners = [];

export function readState() {
  Object.assign(state, structuredClone(EMPTY));
  for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
    if (name === "x") {
      const range = text.split(",").map(Number);
      if (range.length === 2 && range.every(Number.isFinite) && range[0] < range[1]) state.x = range;
    } else if (LISTS.includes(name)) state[name] = text ? text.split(" ") : [];
    else if (name === "window") state.window = Math.max(Number(text) || 0, 0);
    else if (name === "heat" || name === "y") {
      try {
        const found = JSON.parse(text);
        const fits = (value) => (name === "y" ? Array.isArray(value) && value.length === 2 && value.every(Number.isFinite) && value[0] < value[1] : typeof value === "string");
        if (found && typeof found === "object") state[name] = Object.fromEntries(Object.entries(found).filter(([, value]) => fits(value)));
      } catch {
        state[name] = {};
      }
    } else if (name in EMPTY) state[name] = text;
  }
}

function written() {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (name === "x" && value) found.set(name, value.map((edge) => Number(edge.toPrecision(12))).join(","));
    else if (LISTS.includes(name) && value && (value.length || name === "panels" || name === "columns")) found.set(name, value.join(" "));
    else if ((name === "heat" || name === "y") && Object.keys(value).length) found.set(name, JSON.stringify(value));
    else if (typeof value === "string" && value && value !== EMPTY[name]) found.set(name, value);
    else if (name === "window" && value) found.set(name, String(value));
  }
  return `#${found}`;
}

let expected = null;

/** Changes the state; `what` is told to those who draw it. */
export function change(values, what = "all") {
  Object.assign(state, values);
  expected = written();
  try {
    history.replaceState(null, "", expected);
  } catch {
    location.replace(expected);
  }
  listeners.forEach((listener) => listener(what));
}

export function onChange(listener) {
  listeners.push(listener);
}

addEventListener("hashchange", () => {
  if (location.hash === expected) return;
  readState();
  listeners.forEach((listener) => listener("all"));
});
