// Elements, text and colours. Text only ever enters the page as text: names are the users' and may hold anything.

export function el(name, attributes = {}, ...children) {
  const made = ["svg", "path", "circle", "ellipse", "line", "text", "g", "rect", "title"].includes(name)
    ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "css") Object.entries(value).forEach(([property, setting]) => made.style.setProperty(property, setting));
    else if (key === "value" || key === "checked" || key === "indeterminate") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const byId = (id) => document.getElementById(id);

export function fill(place, ...children) {
  place.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

const nameOf = (each) => [each.tagName, each.closest("[data-panel]")?.dataset.panel, each.title || (each.closest("label")?.querySelector("span") ?? each.closest("label") ?? each).textContent].join("|");
const named = (place, { tagName }, name) => [...place.querySelectorAll(tagName)].filter((each) => nameOf(each) === name);

/** Draws something in a place anew; the focus and open menus stay where they were. */
export async function keeping(place, draw) {
  const focused = document.activeElement;
  const name = place.contains(focused) && nameOf(focused);
  const order = name ? named(place, focused, name).indexOf(focused) : -1;
  const open = [...place.querySelectorAll("details.menu[open] > summary")].map((each) => each.textContent);
  await draw();
  place.querySelectorAll("details.menu > summary").forEach((each) => open.includes(each.textContent) && (each.parentElement.open = true));
  if (!name || focused.isConnected || document.activeElement !== document.body) return;
  const found = named(place, focused, name);
  (found[order] ?? found[0])?.focus({ preventScroll: true });
}

/** Tells those who look and those who listen what has happened. */
export function say(text) {
  byId("says").textContent = text;
}

export function select(label, options, chosen, change) {
  const listed = options.map((option) => {
    const [value, text] = Array.isArray(option) ? option : [option, option];
    return el("option", { value, selected: value === chosen }, text);
  });
  return el("label", { class: "field" }, el("span", {}, label), el("select", { onchange: (event) => change(event.target.value) }, listed));
}

/** Something wide that scrolls in a frame, whose right edge fades as long as there is more behind it. */
export function framed(scroll) {
  const frame = el("div", { class: "frame" }, scroll);
  const look = () => frame.classList.toggle("beyond", scroll.scrollLeft + scroll.clientWidth < scroll.scrollWidth - 1);
  scroll.addEventListener("scroll", look);
  new ResizeObserver(look).observe(scroll);
  return frame;
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages from files may have no clipboard; the old way works there.
    const area = el("textarea", { class: "off-screen" }, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`${what} copied`);
}

export const copyButton = (what, text) =>
  el("button", { type: "button", class: "copy", onclick: () => copy(typeof text === "function" ? text() : text, what) }, `Copy ${what}`);

export function download(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A text as one word of a command, whatever it holds. */
export const shellWord = (text) => (/^[\w./:@%+,][\w./:@%+,-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** A whole number as it is, another with up to four significant digits, or more where they are before the point. */
export function shortNumber(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (Number.isSafeInteger(value)) return String(value);
  if (size >= 1e9 || (size > 0 && size < 1e-3)) return value.toExponential(2);
  return String(Number(value.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3)));
}

export const lastWord = (key) => key.slice(key.lastIndexOf(".") + 1);

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const hexOf = (rgb) => `#${rgb.map((value) => Math.round(value).toString(16).padStart(2, "0")).join("")}`;

/** A colour with some of another in it: 0 none, 1 all. */
export function mixed(hex, other, share) {
  const to = channels(other);
  return hexOf(channels(hex).map((value, i) => value + (to[i] - value) * share));
}

export function luminance(hex) {
  const [r, g, b] = channels(hex).map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** The colour, with as much of the page's ink as it takes to be seen on the page (3:1, WCAG 1.4.11; more on dark paper, where thin lines fade). */
export function visible(hex) {
  const style = getComputedStyle(document.documentElement);
  const [paper, ink] = ["--paper", "--ink"].map((name) => style.getPropertyValue(name).trim());
  const least = luminance(paper) < 0.2 ? 4.5 : 3;
  let found = hex;
  for (let share = 0.1; contrast(found, paper) < least && share <= 1; share += 0.1) found = mixed(hex, ink, share);
  return found;
}

export const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
