// One packet of the time-sequence graph: which is near a place, which comes next, what is known of it, and what became of it.

import { byId, el, fill, shortNumber, token } from "./elements.js";
import { samplesAbout } from "./lines.js";
import { placeAt } from "./numbers.js";
import { placeAfter, placeOf } from "./pyramid.js";
import { SCALE } from "./sequence.js";
import { change, state } from "./state.js";

const REACH = 12;
/** How many pixels nearer a packet is taken to be that was sent again or is marked, since it is what people click on. */
const PREFERRED = 4;
const ECN = ["not capable", "ECT(1)", "ECT(0)", "CE: marked on its way"];
const CE = 3;

const nameOf = (line, kind, i) => `${line.id}|${kind}|${i}`;
const timesOf = (line, kind) => line.packets[{ segment: "segment_start", ack: "acknowledged", sack: "sack_start" }[kind]]?.time;
const isNotable = ({ packets }, i) => packets.segment_again.value[i] > 0 || packets.segment_ecn.value[i] === CE;

/** The packet that the address names, if it is of one of these lines. Names of entities may hold anything, so that what follows them is looked for from the end. */
export function chosenOf(lines) {
  const [, id, kind, place] = state.packet.match(/^(.*)\|(segment|ack|sack)\|(0|[1-9]\d*)$/s) ?? [];
  const line = lines.find((each) => each.id === id);
  const i = Number(place);
  return line && i in (timesOf(line, kind) ?? []) ? { line, kind, i, time: timesOf(line, kind)[i] } : null;
}

/** When a packet was seen, and its numbers from the least to the greatest. */
export function placeOfPacket({ line, kind, i }) {
  const { segment_start: start, segment_end: end, acknowledged: acks, sack_start: blocks, sack_end: ends } = line.packets;
  const [low, high] = { segment: [start, end], ack: [acks && { value: acks.highest }, acks && { value: acks.highest }], sack: [blocks, ends] }[kind];
  return { time: timesOf(line, kind)[i], low: low.value[i], high: high.value[i] };
}

export const choose = (packet) => change({ packet: packet ? nameOf(packet.line, packet.kind, packet.i) : "" }, "packet");

/** The packet that is drawn nearest to a place of a chart, in pixels; null if none is near. */
export function nearest(chart, lines, left, top) {
  let [best, least] = [null, REACH];
  const [from, to] = [left - REACH, left + REACH].map((at) => chart.posToVal(at, "x"));
  for (const line of lines) {
    const { segment_start: start, segment_end: end, acknowledged: acks, ack_echo: echo, sack_start: blocks, sack_end: ends } = line.packets;
    const consider = (kind, time, low, high, preferred) => {
      for (let i = placeOf(time, from); i < placeAfter(time, to); i++) {
        const [upper, lower] = [chart.valToPos(high(i) / SCALE, "y"), chart.valToPos(low(i) / SCALE, "y")];
        const apart = Math.hypot(chart.valToPos(time[i], "x") - left, Math.max(upper - top, 0, top - lower)) - preferred(i);
        if (apart < least) [best, least] = [{ line, kind, i }, apart];
      }
    };
    consider("segment", start.time, (i) => start.value[i], (i) => end.value[i], (i) => (isNotable(line, i) ? PREFERRED : 0));
    if (blocks) consider("sack", blocks.time, (i) => blocks.value[i], (i) => ends.value[i], () => 0);
    if (acks) consider("ack", acks.time, (i) => acks.highest[Math.max(i - 1, 0)], (i) => acks.highest[i], (i) => (echo?.value[i] ? PREFERRED : -1));
  }
  return best;
}

/** What keys go through: all segments, or those that were sent again or are marked, and acknowledgments that begin to echo a mark. */
function sequencesOf(lines, all) {
  return lines.flatMap((line) => {
    const { segment_start: start, acknowledged: acks, ack_echo: echo } = line.packets;
    const found = [{ line, kind: "segment", time: start.time, wanted: (i) => all || isNotable(line, i) }];
    if (echo && !all) found.push({ line, kind: "ack", time: acks.time, wanted: (i) => echo.value[i] && !echo.value[i - 1] });
    return found;
  });
}

/** The next of these packets (`by` 1) or the one before (-1) in the order of time; of one time, in the order of the lines. */
export function following(lines, by, all, at) {
  const chosen = chosenOf(lines);
  const now = chosen?.time ?? at;
  const sequences = sequencesOf(lines, all);
  const own = sequences.findIndex(({ line, kind }) => line === chosen?.line && kind === chosen.kind);
  let best = null;
  for (const [order, { line, kind, time, wanted }] of sequences.entries()) {
    // Without a chosen packet those at the very place are still to come, whichever way it goes.
    const isBefore = chosen ? order <= own : by < 0;
    const after = isBefore ? placeAfter(time, now) : placeOf(time, now);
    let i = order === own ? chosen.i + by : by > 0 ? after : after - 1;
    while (i >= 0 && i < time.length && !wanted(i)) i += by;
    if (time[i] !== undefined && (!best || by * (time[i] - best.time) < 0 || (by < 0 && time[i] === best.time))) best = { line, kind, i, time: time[i] };
  }
  return best;
}

/** Segments that have bytes of another: the last before it, and the first after it. */
function sendings({ segment_start: start, segment_end: end }, i) {
  const shares = (other) => start.value[other] < end.value[i] && end.value[other] > start.value[i];
  let [before, after] = [i - 1, i + 1];
  while (before >= 0 && !shares(before)) before--;
  while (after < start.time.length && !shares(after)) after++;
  return [before, after < start.time.length ? after : -1];
}

/** Whether a SACK block is of what had been acknowledged: of bytes that came twice (RFC 2883). */
const isOfTwice = ({ acknowledged: acks, sack_end: ends, ofBlock }, i) => acks?.highest[ofBlock?.[i]] >= ends.value[i];

/** The first packet that acknowledges up to a number, the first whose SACK block has all from one number to another, and the first that says that these came twice.
 * Of a segment that was sent again without need they are before it. */
function answers(packets, low, high) {
  const { acknowledged: acks, sack_start: blocks, sack_end: ends } = packets;
  const ack = acks ? placeOf(acks.highest, high) : -1;
  const block = (twice) => (blocks ? blocks.value.findIndex((start, i) => start <= low && ends.value[i] >= high && isOfTwice(packets, i) === twice) : -1);
  return [ack < acks?.time.length ? ack : -1, block(false), block(true)];
}

const LEFT_OUT = "left out of this page";
const seconds = (time) => `${time.toFixed(9)} s`;
const apart = (from, to) => `${shortNumber(Math.abs(to - from) * 1000)} ms ${to < from ? "before" : "later"}`;
const numbers = (low, high) => `${low} to ${high} (${high - low} bytes)`;

function factsOfSegment(line, i) {
  const { segment_start: start, segment_end: end, segment_again: again, segment_ecn: ecn } = line.packets;
  const [time, low, high] = [start.time[i], start.value[i], end.value[i]];
  const [before, after] = sendings(line.packets, i);
  const [ack, sack, twice] = answers(line.packets, low, high);
  const missing = (name, text) => [line.packets.leftOut(name) ? LEFT_OUT : text];
  const of = (kind, place, text) => [text, place < 0 ? null : { line, kind, i: place }];
  const at = (kind, place) => of(kind, place, place < 0 ? "" : `at ${seconds(timesOf(line, kind)[place])}, ${apart(time, timesOf(line, kind)[place])}`);
  const found = [
    ["what", again.value[i] ? "a retransmitted segment" : after < 0 ? "a segment" : "a segment that was lost, or taken for lost"],
    ["sequence", numbers(low, high)],
    ["ECN", ECN[ecn.value[i]] ?? "–"],
  ];
  if (again.value[i]) found.push(["sent before", ...(before < 0 ? [`${again.value[i]} of its bytes, before the capture`] : at("segment", before))]);
  if (after >= 0) found.push(["retransmitted", ...at("segment", after)]);
  found.push(["SACK", ...(sack < 0 ? missing("sack_start", "in no first block") : at("sack", sack))]);
  if (twice >= 0) found.push(["came twice (DSACK)", ...at("sack", twice)]);
  found.push(["acknowledged", ...(ack < 0 ? missing("acknowledged", "not in this capture") : at("ack", ack))]);
  return found;
}

/** Of a packet of the other end: what it acknowledges, its first SACK block, and whether it echoes a mark. */
function factsOfAnswer(line, kind, i) {
  const { acknowledged: acks, ack_echo: echo, sack_start: blocks, sack_end: ends, ack_sack: has, ofBlock } = line.packets;
  const ack = kind === "ack" ? i : ofBlock?.[i] ?? -1;
  const sack = kind === "sack" ? i : ofBlock?.indexOf(i) ?? -1;
  const found = [["what", "an acknowledgment"]];
  found.push(["acknowledges", ack >= 0 && acks ? `up to ${acks.value[ack]}` : LEFT_OUT]);
  found.push(["SACK", sack >= 0 ? `${numbers(blocks.value[sack], ends.value[sack])}${isOfTwice(line.packets, sack) ? ", which came twice (DSACK)" : ""}` : has?.value[ack] === 0 || !line.packets.leftOut("sack_start") ? "none" : LEFT_OUT]);
  if (ack >= 0 && echo) found.push(["ECN", echo.value[ack] ? "echoes a mark (ECE)" : "echoes no mark"]);
  return found;
}

const BESIDE = [["outstanding_bytes", "outstanding", "bytes"], ["window_bytes", "window", "bytes"], ["rtt_ms", "last RTT", "ms"]];

/** What is known of a packet: words, and for some the packet that they are of. */
async function factsOf({ line, kind, i, time }) {
  const facts = [["time", seconds(time)], ["flow", line.label], ...(kind === "segment" ? factsOfSegment(line, i) : factsOfAnswer(line, kind, i))];
  const { segment_start: start, acknowledged: acks, leftOut } = line.packets;
  const together = [start, acks].reduce((sum, series) => sum + (series ? placeAfter(series.time, time) - placeOf(series.time, time) : 0), 0);
  const when = together > 1 ? `, after ${together} packets of this time` : "";
  for (const [name, label, unit] of BESIDE) {
    const series = await samplesAbout(line.key, line.entity, name, time);
    const place = series ? placeAt(series, time) : -1;
    if (leftOut(name)) facts.push([label, LEFT_OUT]);
    else if (series?.entry.reduced) facts.push([label, "this page has only minimum and maximum values"]);
    else if (place >= 0) facts.push([label, `${shortNumber(series.value[place])} ${unit}${when}`]);
  }
  return facts;
}

const button = (text, key, onclick) => el("button", { type: "button", "aria-keyshortcuts": key, title: key, onclick }, text);

/** Where the facts of the chosen packet are shown; `step(by, all)` goes to the next one, `step(packet)` to another. */
export function packetBox(step) {
  const facts = el("div", { role: "status", "aria-label": "The chosen packet", tabindex: "-1" });
  const buttons = [button("◂ lost or marked", "P", () => step(-1, false)), button("lost or marked ▸", "N", () => step(1, false)), button("◂ segment", "Shift+P", () => step(-1, true)), button("segment ▸", "Shift+N", () => step(1, true)), button("Close", "Escape", () => choose(null))];
  return { root: el("div", { class: "packet", hidden: true }, facts, el("p", { class: "buttons" }, buttons)), facts, step };
}

/** Shows the chosen packet, if there is one; the focus stays where it was, or near. */
export async function showFacts({ root, facts, step }, lines) {
  const chosen = chosenOf(lines);
  const found = chosen ? await factsOf(chosen) : [];
  if (chosen && state.packet !== nameOf(chosen.line, chosen.kind, chosen.i)) return; // another was chosen since
  const focused = root.contains(document.activeElement);
  const label = document.activeElement.closest("dl > div")?.firstChild.textContent;
  root.hidden = !chosen;
  const link = (text, packet) => el("button", { type: "button", class: "link", onclick: () => step(packet) }, text);
  fill(facts, chosen ? el("dl", {}, found.map(([name, text, packet]) => el("div", { "data-fact": name }, el("dt", {}, name), el("dd", {}, packet ? link(text, packet) : text)))) : null);
  if (focused && !chosen) byId("view").focus({ preventScroll: true });
  else if (focused && label) (facts.querySelector(`[data-fact="${label}"] button`) ?? facts).focus({ preventScroll: true });
}

/** A ring about the chosen packet, and a line to the sending before or after it. */
export function drawChosen(chart, lines) {
  const chosen = chosenOf(lines);
  if (!chosen) return;
  const { line, kind, i } = chosen;
  const { segment_start: start, segment_end: end } = line.packets;
  const { low, high } = placeOfPacket(chosen);
  const { ctx } = chart;
  const { left, top, width, height } = chart.bbox;
  const place = (time, number) => [chart.valToPos(time, "x", true), chart.valToPos(number / SCALE, "y", true)];
  const [[x, bottom], [, upper]] = [place(chosen.time, low), place(chosen.time, high)];
  const room = 5 * devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.strokeStyle = token("--ink");
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.strokeRect(x - room, upper - room, 2 * room, bottom - upper + 2 * room);
  if (kind === "segment") {
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    for (const other of sendings(line.packets, i).filter((each) => each >= 0)) {
      ctx.moveTo(...place(chosen.time, (low + high) / 2));
      ctx.lineTo(...place(start.time[other], (start.value[other] + end.value[other]) / 2));
    }
    ctx.stroke();
  }
  ctx.restore();
}
