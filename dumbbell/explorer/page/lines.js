// What is drawn of the runs that are ticked: a line for each flow, group, probe and port of each, with its colour and dash.

import { lastWord, luminance, mixed, token, visible } from "./elements.js";
import { median, rates, step } from "./numbers.js";
import { placeOf } from "./pyramid.js";
import { source } from "./source.js";
import { state } from "./state.js";

const DASHES = [[], [7, 4], [2, 3], [10, 4, 2, 4], [14, 5], [5, 2, 1, 2, 1, 2]];
const PORTS = ["#666666", "#999999", "#B5894A"];
const OTHER = "#4D4D4D";
const TITLES = { srtt_ms: "smoothed RTT", rtt_ms: "RTT, raw samples", cwnd: "congestion window", backlog_packets: "queue", rx_bytes: "goodput", new_bytes: "new payload" };
const KINDS = { flow: 0, group: 1 };

export const model = { index: null, rows: [], byKey: new Map(), details: new Map(), series: new Map() };

export const isRate = (name) => name === "rx_bytes" || name === "new_bytes" || name === "sent_bytes";
export const isOfPackets = (name) => model.index.series[name]?.kind === "packet";
export const SEQUENCE = "sequence";

/** What panels of a series are called, with what is done to its samples. */
export function panelTitle(name) {
  if (name === SEQUENCE) return "time-sequence (MB)";
  const { unit } = model.index.series[name] ?? { unit: "" };
  const words = TITLES[name] ?? lastWord(name).replace(/_(ms|s|packets|bytes)$/, "").replaceAll("_", " ");
  if (isRate(name)) return `${name === "sent_bytes" ? "sent" : words}, mean of the last ${windowText()} (Mbit/s)`;
  return unit && unit !== "state" ? `${words} (${unit})` : words;
}

/** What a series is, for those who point at its title. */
export const meaningOf = (name) => (name === SEQUENCE ? "sequence numbers of the segments over time, relative to the first" : `${panelTitle(name)}: ${model.index.series[name]?.meaning ?? name}`);

export function windowText() {
  const seconds = rateWindow();
  return seconds >= 1 ? `${Number(seconds.toPrecision(3))} s` : `${Number((seconds * 1000).toPrecision(3))} ms`;
}

let usualWindow = 1;

/** The window of rates: what was chosen, or ten samples or one RTT, whichever is longer. */
export const rateWindow = () => state.window || usualWindow;

export async function detailOf(key) {
  if (!model.details.has(key)) model.details.set(key, await source.detail(key));
  return model.details.get(key);
}

export async function seriesOf(key, entity, name) {
  const id = `${key}|${entity}|${name}`;
  if (!model.series.has(id)) {
    const entry = (await detailOf(key)).series.find((each) => each.entity === entity && each.name === name);
    if (!entry || entry.left_out) return null;
    model.series.set(id, Object.assign(await source.series(key, entry), { key, entry }));
  }
  return model.series.get(id);
}

const brought = new Set();

/** Fetches what is drawn of several runs by one request, if there is a server. `progress(done, of)` hears of each. */
export async function bring(rows, names, progress = () => {}) {
  const missing = rows.map((row) => row.key).filter((key) => names.some((name) => !brought.has(`${key}|${name}`)));
  if (!source.several || missing.length < 2) return;
  let done = 0;
  progress(0, missing.length);
  for await (const [detail, listed] of source.several(missing, names)) {
    if (!model.details.has(detail.key)) model.details.set(detail.key, detail);
    for (const [entity, name, series] of listed) {
      const id = `${detail.key}|${entity}|${name}`;
      if (!model.series.has(id)) model.series.set(id, Object.assign(series, { key: detail.key, entry: detail.series.find((each) => each.entity === entity && each.name === name) }));
    }
    names.forEach((name) => brought.add(`${detail.key}|${name}`));
    progress(++done, missing.length);
  }
}

/** As `seriesOf`, but every sample that there is, for what is counted and not drawn. */
export async function everySample(key, entity, name) {
  const found = await seriesOf(key, entity, name);
  if (!found?.partial) return found;
  found.every ??= await source.series(key, found.entry, undefined, undefined, true);
  return found.every;
}

/** As `seriesOf`, but where the server reduces all samples, those about a time alone. */
export async function samplesAbout(key, entity, name, at) {
  const found = await seriesOf(key, entity, name);
  return found?.partial ? { ...(await source.series(key, found.entry, at, at, true)), entry: found.entry } : found;
}

/** The runs that are ticked and known here. */
export const shownRows = () => state.runs.map((short) => rowOf(short)).filter(Boolean);

export function rowOf(short) {
  return model.byKey.get(short) ?? (short ? model.rows.find((row) => row.key.startsWith(short)) : undefined);
}

/** What stands for a key in addresses: of a run its beginning, of a connection all of it. */
export const shortKey = ({ key }) => (/^[0-9a-f]{32}$/.test(key) ? key.slice(0, 10) : key);

/** What distinguishes a run among some: its coordinates that differ. */
export function runLabel(row, among = shownRows()) {
  const differ = Object.keys(row.cell).filter((key) => among.some((other) => other.cell[key] !== row.cell[key]));
  const words = differ.map((key) => `${lastWord(key)} ${row.cell[key]}`);
  if (!words.length && among.some((other) => other.name !== row.name)) words.push(row.name);
  return words.join(", ") || (among.length > 1 ? row.key.slice(0, 8) : row.name);
}

/** The colour of a line: flows have that of their congestion control, or of their group where all of several groups have the same control. */
function colourOf(detail, entity, order) {
  const kind = entity.slice(0, entity.indexOf("/"));
  const facts = detail.entities[entity] ?? {};
  if (kind === "port" || kind === "share") {
    const ports = Object.keys(detail.entities).filter((each) => each.startsWith("port/") && busy(detail, each));
    return PORTS[Math.max(ports.indexOf(entity), 0) % PORTS.length];
  }
  if (!(kind in KINDS)) return model.index.others[order % model.index.others.length];
  if (!facts.cc) return model.index.palette[(order + (facts.direction === "reverse" ? 1 : 0)) % model.index.palette.length];
  const bearing = Object.keys(detail.entities).filter((each) => detail.entities[each].cc && each.slice(0, each.indexOf("/")) in KINDS);
  const groups = [...new Set(bearing.map((each) => detail.entities[each].group ?? each))];
  const byGroup = groups.length > 1 && new Set([...shownRows().flatMap((row) => row.ccs), ...bearing.map((each) => detail.entities[each].cc)]).size === 1;
  const alike = bearing.filter((each) => detail.entities[each].cc === facts.cc && each.startsWith(`${kind}/`) && (!byGroup || detail.entities[each].group === facts.group));
  const { palette, colours } = model.index;
  const hue = byGroup ? palette[groups.indexOf(facts.group ?? entity) % palette.length] : colours[facts.cc] ?? OTHER;
  const pale = (0.65 * alike.indexOf(entity)) / Math.max(alike.length - 1, 1);
  const towards = token(luminance(token("--paper")) < 0.2 ? "--ink" : "--paper");
  return mixed(visible(hue), towards, pale);
}

const busy = (detail, entity) => detail.series.some((each) => each.entity === entity && each.name === "backlog_packets" && !each.idle);

/** The panels that can be shown of the runs, in order: those that are drawn at first, then all others. */
export function panelNames(details) {
  const there = new Set(details.flatMap((detail) => detail.series.filter((each) => !each.left_out).map((each) => each.name)));
  const known = Object.keys(model.index.series);
  const first = FIRST();
  const names = [...first, ...known.filter((name) => !first.includes(name))].filter((name) => there.has(name) && !isOfPackets(name));
  return there.has("segment_start") ? [SEQUENCE, ...names] : names;
}

/** The series that are drawn without being asked for. */
export const FIRST = () => [...model.index.shown, "new_bytes", "outstanding_bytes", "window_bytes"];

export function usualPanels(details) {
  const first = [SEQUENCE, ...FIRST()];
  const probes = details.some((detail) => detail.series.some((each) => each.name === "cwnd"));
  return panelNames(details).filter((name) => first.includes(name) && name !== "window_bytes" && !(name === "owd_ms" && probes));
}

/** The lines of a panel. */
export async function linesOf(name, details) {
  const found = [];
  const wanted = name === "outstanding_bytes" ? [name, "window_bytes"] : name === SEQUENCE ? ["segment_start"] : [name];
  for (const [place, detail] of details.entries()) {
    const row = model.byKey.get(detail.key);
    const entries = detail.series.filter((each) => wanted.includes(each.name) && !each.left_out);
    for (const entry of entries) {
      if (/^(port|share)\//.test(entry.entity) && (entry.idle || (name === "backlog_packets" && !busy(detail, entry.entity)))) continue;
      const facts = detail.entities[entry.entity] ?? {};
      const order = Object.keys(detail.entities).indexOf(entry.entity);
      const own = facts.label ?? entry.entity.slice(entry.entity.indexOf("/") + 1);
      const noted = facts.cc && !String(own).includes(facts.cc) ? `${own} (${facts.cc})` : own;
      const second = entry.name === "window_bytes";
      found.push({
        id: `${shortKey(row)}|${entry.entity}`,
        key: detail.key,
        row,
        entity: entry.entity,
        name: entry.name,
        own: second ? `${noted}, window` : String(noted),
        label: `${details.length > 1 ? `${runLabel(row)}: ` : ""}${noted}${second ? ", window" : ""}`,
        colour: second ? visible("#E69F00") : colourOf(detail, entry.entity, order),
        dash: second ? [3, 3] : DASHES[place % DASHES.length],
        reduced: entry.reduced,
        samples: entry.samples,
      });
    }
  }
  const chosen = state.alone.length ? found.filter((line) => state.alone.includes(line.id)) : found;
  await Promise.all(chosen.map(async (line) => (line.raw = await seriesOf(line.key, line.entity, line.name))));
  return { all: found, lines: chosen.filter((line) => line.raw) };
}

/** Fixes the usual window of rates for the runs that are shown. */
export async function measureWindow(details) {
  let [sample, rtt, lasts] = [0, 0, 0];
  for (const detail of details) {
    const entry = detail.series.find((each) => isRate(each.name) && each.entity.startsWith("flow/") && !each.left_out && each.samples > 1);
    if (entry) {
      const { time } = await seriesOf(detail.key, entry.entity, entry.name);
      lasts = Math.max(lasts, time[time.length - 1] - time[0]);
      sample = Math.max(sample, entry.name === "rx_bytes" ? step(time) : 0.01);
    }
    for (const flow of detail.flows ?? []) rtt = Math.max(rtt, (flow.srtt_ms ?? 0) / 1000);
    if (detail.facts) {
      const times = (detail.facts.find(([label]) => label === "RTT median" || label === "RTT avg") ?? []).slice(2);
      rtt = Math.max(rtt, ...times.map((value) => (value ?? 0) / 1000));
    }
  }
  // Where samples are few, ten of them are all that there is.
  usualWindow = Math.min(Math.max(10 * sample, rtt), Math.max(lasts / 4, sample) || Infinity) || 1;
}

/** Whether a line is of fewer samples than there are. */
export const isReduced = (line) => Boolean(line.reduced || (line.raw.part ?? line.raw).partial);

/** The samples that are drawn: those stored, or rates made from a count of bytes. */
export function drawn(line, of = null) {
  const raw = of ?? line.raw.part ?? line.raw;
  if (!isRate(line.name)) return raw;
  const window = rateWindow();
  if (raw.rates?.window !== window) raw.rates = { window, series: rates(raw, window) };
  return raw.rates.series;
}

let refining = 0;

/** Asks the server for all samples of a range, where too many were there to come at once. True if something is better than before. */
export async function refine(lines, from, to) {
  const mine = ++refining;
  const rough = lines.filter((line) => line.raw.partial);
  const wanted = new Map(rough.filter(({ raw }) => !(raw.covers && raw.covers[0] <= from && raw.covers[1] >= to && !raw.part.partial)).map(({ raw }) => [`${raw.key}|${raw.entry.entity}|${raw.entry.name}`, raw]));
  if (!wanted.size) return false;
  const covers = [from - 0.1 * (to - from), to + 0.1 * (to - from)];
  const distinct = (of) => [...new Set([...wanted.values()].map(of))];
  for await (const [detail, listed] of source.several(distinct((raw) => raw.key), distinct((raw) => raw.entry.name), ...covers)) {
    if (mine !== refining) return false; // another range was asked for since
    for (const [entity, name, part] of listed) {
      const raw = wanted.get(`${detail.key}|${entity}|${name}`);
      if (raw) Object.assign(raw, { part, covers });
    }
  }
  return true;
}

/** Forgets the parts where the whole is shown again. */
export function forgetParts(lines, from, to) {
  for (const { raw } of lines) if (raw.covers && (from < raw.covers[0] || to > raw.covers[1])) delete raw.part, delete raw.covers;
}

/** The first and last time of all lines. */
export function extent(lines) {
  let [from, to] = [Infinity, -Infinity];
  for (const { raw } of lines) {
    if (!raw.time.length) continue;
    from = Math.min(from, raw.time[0]);
    to = Math.max(to, raw.time[raw.time.length - 1]);
  }
  return from < to ? [from, to] : from === to ? [from - 0.5, from + 0.5] : [0, 1];
}

export const samplesIn = (series, from, to) => placeOf(series.time, to) - placeOf(series.time, from);
