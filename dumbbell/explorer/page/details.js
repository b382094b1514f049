// Everything about one run: how to run it again, what it was, what was counted; and how it differs from another.

import { copyButton, download, el, fill, framed, say, select, shellWord, shortNumber } from "./elements.js";
import { detailOf, everySample, model, rowOf, runLabel, shortKey, shownRows } from "./lines.js";
import { source } from "./source.js";
import { change, state } from "./state.js";
import { tableOf } from "./statistics.js";

const PLAIN = /^[A-Za-z_][\w.*/-]*$/;
const RESERVED = /^(true|false|null|yes|no|on|off|~|y|n)$/i;

const scalar = (value) => (typeof value === "string" && !(PLAIN.test(value) && !RESERVED.test(value)) ? JSON.stringify(value) : String(value));
const empty = (value) => (Array.isArray(value) ? !value.length : !Object.keys(value).length);

/** Plain data as YAML. */
export function yaml(value, indent = "") {
  if (value === null || typeof value !== "object") return `${indent}${scalar(value)}\n`;
  if (empty(value)) return `${indent}${Array.isArray(value) ? "[]" : "{}"}\n`;
  if (Array.isArray(value) && value.every((each) => each === null || typeof each !== "object")) return `${indent}[${value.map(scalar).join(", ")}]\n`;
  if (Array.isArray(value)) return value.map((each) => `${indent}- ${yaml(each, `${indent}  `).trimStart()}`).join("");
  return Object.entries(value)
    .map(([key, each]) => {
      const inline = each === null || typeof each !== "object" || empty(each) || (Array.isArray(each) && each.every((one) => one === null || typeof one !== "object"));
      return `${indent}${scalar(key)}: ${inline ? yaml(each).trimStart() : `\n${yaml(each, `${indent}  `)}`}`;
    })
    .join("");
}

/** The commands that run exactly this again, and print its key. */
export function again(detail) {
  const name = `run-${detail.key.slice(0, 10)}`;
  return `cat > ${name}.yaml <<'END_OF_SCENARIO'\n${yaml(detail.scenario)}END_OF_SCENARIO\ndumbbell run ${name}.yaml --out results/${name}\n`;
}

const block = (title, content, ...buttons) => el("section", { class: "block" }, el("h2", {}, title), el("div", { class: "buttons" }, buttons), content);
const pre = (text) => el("pre", { tabindex: "0" }, text);
const wide = (heads, rows) => framed(el("div", { class: "across", tabindex: "0" }, tableOf(heads, rows)));
const pairs = (values) => el("div", { class: "pairs" }, tableOf(["", ""], Object.entries(values).filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : String(value)])));

export async function drawDetails(place) {
  const row = rowOf(state.run) ?? shownRows()[0] ?? model.rows[0];
  if (!row) return fill(place, el("p", { class: "empty" }, "There are no runs."));
  const detail = await detailOf(row.key);
  const shown = shownRows();
  const others = [...new Set([...shown, ...model.rows.slice(0, 200)])].filter((other) => other !== row);
  const named = (other) => [shortKey(other), `${runLabel(other, model.rows)} · ${other.key.slice(0, 10)}`];
  const bar = el(
    "div",
    { class: "bar" },
    select("Run", [row, ...others].map(named), shortKey(row), (run) => change({ run }, "tab")),
    model.index.kind === "runs" ? select("Differences from", [["", "none"], ...others.map(named)], state.other, (other) => change({ other }, "tab")) : null,
  );
  if (detail.absent) return fill(place, bar, el("p", { class: "empty" }, "The facts of this run are not in this file; `dumbbell view` serves them."));
  const other = rowOf(state.other);
  fill(place, bar, el("div", { class: "blocks" }, other && other !== row ? await differences(detail, other) : null, detail.facts ? connection(detail) : run(detail, row)));
}

function connection(detail) {
  return [
    block("Connection", [pairs({ ...detail.cell, state: detail.status }), ...detail.reasons.map((reason) => el("p", {}, reason))], detail.command ? copyButton("command", detail.command) : null),
    block("Facts", wide(["", "forward", "back", "meaning"], detail.facts.map(([label, meaning, forward, back]) => [label, forward ?? "–", back ?? "–", meaning]))),
  ];
}

function run(detail, row) {
  const counters = detail.flows.length || detail.ports.length ? [...new Set([...detail.flows, ...detail.groups].flatMap(Object.keys))] : [];
  const ports = [...new Set(detail.ports.flatMap(Object.keys))];
  const kept = detail.conservation.filter(([, , came, , went]) => came === went).length;
  const { name, sources, ...more } = detail.engine;
  const rows = (columns, listed) => wide(columns, listed.map((each) => columns.map((column) => each[column] ?? "")));
  return [
    block(
      "Run",
      pairs({ key: detail.key, name: detail.name, status: detail.status, reasons: detail.reasons.join("; ") || null, ...detail.cell, seed: row.seed, digest: detail.digest }),
      copyButton("key", detail.key),
    ),
    commands(detail),
    block("Engine", pairs({ engine: name, "source hash": sources, ...more }), copyButton("source hash", String(sources ?? ""))),
    block(
      "Conservation",
      [
        el("p", {}, `${kept} of ${detail.conservation.length} sums are equal.`),
        wide(["", "came", "", "went", "", ""], detail.conservation.map(([entity, came, whole, went, found]) => [entity, came, whole, went, found, whole === found ? "equal" : "DIFFERENT"])),
      ],
      copyButton("sums", () => detail.conservation.map((sum) => sum.join("\t")).join("\n")),
    ),
    block("Flows", rows(counters, [...detail.flows, ...detail.groups]), copyButton("flows", () => JSON.stringify(detail.flows, null, 1))),
    block("Ports", rows(ports, detail.ports), copyButton("ports", () => JSON.stringify(detail.ports, null, 1))),
    detail.captures.length ? block("Captures", detail.captures.map((file) => capture(detail, file))) : null,
    block("Scenario", pre(yaml(detail.scenario)), copyButton("scenario", () => yaml(detail.scenario))),
  ];
}

function commands(detail) {
  const alone = [pre(again(detail)), copyButton("command of this run", again(detail))];
  if (!detail.command) return block("Command", [el("p", { class: "note" }, "This command makes this run alone again: it prints the same key. Which one made the folder is not known."), alone[0]], alone[1]);
  const told = el("p", { class: "note" }, "The command that made the folder, and below it the one that makes this run alone again: it prints the same key.");
  return block("Command", [told, pre(detail.command), alone[0]], copyButton("command of the folder", detail.command), alone[1]);
}

/** A capture: its connections beside the runs, where there is a server; else the command that shows it. */
function capture(detail, file) {
  const command = `dumbbell view ${shellWord(`./${model.index.folder}/${detail.key}/${file}`)}`;
  if (!source.address) return el("p", {}, `${file}: `, /\p{C}/u.test(command) ? null : [el("code", {}, command), " ", copyButton("command", command)]);
  const add = async () => {
    const found = await source.json("capture", detail.key, file);
    model.adopt(found);
    change({ runs: found.runs.facts.key.slice(0, 1), tab: "series", panels: null, alone: [], x: null, filter: "", sort: "" }, "index");
    say(`${found.runs.facts.key.length} connections of ${file} are in the table`);
  };
  return el("p", {}, `${file} `, el("button", { type: "button", onclick: add }, "Show its connections"), " ", el("a", { href: source.address(["pcap", detail.key, file]), download: file }, "Download"));
}

/** The lines that two texts share, by the longest common subsequence. */
export function compareLines(one, other) {
  const [a, b] = [one.split("\n"), other.split("\n")];
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const found = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) found.push([" ", a[i++]]), j++;
    else if (j >= b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) found.push(["-", a[i++]]);
    else found.push(["+", b[j++]]);
  }
  return found;
}

async function differences(detail, row) {
  const second = await detailOf(row.key);
  if (second.absent) return el("p", { class: "empty" }, "The facts of the other run are not in this file.");
  const lines = compareLines(yaml(second.scenario), yaml(detail.scenario));
  const near = lines.map((_, i) => lines.slice(Math.max(i - 3, 0), i + 4).some(([sign]) => sign !== " "));
  const shown = lines.flatMap(([sign, text], i) => (near[i] ? [el("span", { class: sign === " " ? null : sign === "+" ? "added" : "removed" }, `${sign} ${text}\n`)] : near[i - 1] ? ["  ⋯\n"] : []));
  const mine = model.byKey.get(detail.key).metrics;
  const metrics = Object.keys(mine).map((name) => [model.index.titles[name] ?? name, row.metrics[name], mine[name], mine[name] - row.metrics[name]]);
  return block(
    `Differences from ${row.key.slice(0, 10)}`,
    [
      lines.some(([sign]) => sign !== " ") ? el("pre", { tabindex: "0" }, shown) : el("p", {}, "The scenarios are the same."),
      wide(["metric", row.key.slice(0, 10), detail.key.slice(0, 10), "difference"], metrics),
    ],
    copyButton("differences", () => lines.filter(([sign]) => sign !== " ").map((line) => line.join(" ")).join("\n")),
  );
}

/** Where a spreadsheet takes a cell for a formula, as in `dumbbell/escaping.py`; some countries separate cells by semicolons. */
const FORMULA = /(^|;)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/** The samples of all lines that are drawn, as long CSV. */
export async function saveCsv(panels, [from, to]) {
  const rows = ["run,entity,series,t_s,value"];
  const escaped = (text) => text.replace(/[\p{Cc}\p{Cs}]/gu, (each) => JSON.stringify(each).slice(1, -1)).replace(FORMULA, "$1'");
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  for (const panel of panels)
    for (const line of panel.lines) {
      const series = await everySample(line.key, line.entity, line.name);
      for (let i = 0; i < series.time.length; i++)
        if (series.time[i] >= from && series.time[i] <= to) rows.push(`${line.key},${quoted(escaped(line.entity))},${line.name},${series.time[i]},${series.value[i]}`);
    }
  download("dumbbell-view.csv", `${rows.join("\n")}\n`, "text/csv");
  say(`${shortNumber(rows.length - 1)} samples saved as they are stored`);
}
