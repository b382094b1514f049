// The time-sequence graph of a connection of a capture: each segment from its first to its last number, those sent again in red, what is
// acknowledged as steps, SACK blocks, and marks.

import { visible } from "./elements.js";
import { detailOf, seriesOf } from "./lines.js";
import { placeAfter, placeOf } from "./pyramid.js";

/** Of the axis of sequence numbers: MB. */
export const SCALE = 1e6;

export async function readSequence(line) {
  const names = ["segment_start", "segment_end", "segment_again", "segment_ecn", "acknowledged", "ack_echo", "ack_sack", "sack_start", "sack_end"];
  const found = await Promise.all(names.map((name) => seriesOf(line.key, line.entity, name)));
  line.packets = Object.fromEntries(names.map((name, i) => [name, found[i]]));
  const { series } = await detailOf(line.key);
  line.packets.leftOut = (name) => series.some((entry) => entry.entity === line.entity && entry.name === name && entry.left_out);
  const { acknowledged: acks, ack_sack: sack, sack_start: blocks } = line.packets;
  // Which acknowledgment each SACK block is of: times may be equal.
  if (sack && blocks) line.packets.ofBlock = sack.value.reduce((places, there, i) => (there && places.push(i), places), []);
  if (acks && !acks.highest) {
    acks.highest = new Float64Array(acks.value.length);
    acks.value.forEach((value, i) => (acks.highest[i] = i ? Math.max(acks.highest[i - 1], value) : value));
  }
}

/** The least and greatest number of a range (MB), by which the axis is laid out. */
export function sequenceKey(line, from, to) {
  const { segment_start: start, segment_end: end } = line.packets;
  const [first, last] = [placeOf(start.time, from), placeAfter(start.time, to)];
  let [low, high] = [Infinity, -Infinity];
  for (let i = first; i < last; i++) {
    low = Math.min(low, start.value[i]);
    high = Math.max(high, end.value[i]);
  }
  return low > high ? [0, 0] : [low / SCALE, high / SCALE];
}

export function drawSequence(chart, line) {
  const { segment_start: start, segment_end: end, segment_again: again, segment_ecn: ecn, acknowledged: acks, ack_echo: echo, sack_start: from, sack_end: to } = line.packets;
  const { ctx } = chart;
  const { left, top, width, height } = chart.bbox;
  const x = (time) => chart.valToPos(time, "x", true);
  const y = (number) => chart.valToPos(number / SCALE, "y", true);
  const { min, max } = chart.scales.x;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.lineWidth = devicePixelRatio;

  const strokes = (series, colour, ends, wanted, wide = 1) => {
    if (!series) return;
    ctx.beginPath();
    ctx.strokeStyle = colour;
    ctx.lineWidth = wide * devicePixelRatio;
    const last = placeAfter(series.time, max);
    // Strokes that touch in one column of pixels are one, which looks the same.
    let [column, low, high] = [NaN, 0, 0];
    const flush = () => {
      if (Number.isNaN(column)) return;
      ctx.moveTo(column, low);
      ctx.lineTo(column, Math.min(high, low - 1));
    };
    for (let i = placeOf(series.time, min); i < last; i++) {
      if (wanted && !wanted(i)) continue;
      const [at, bottom, upper] = [Math.round(x(series.time[i])) + 0.5, y(series.value[i]), y(ends.value[i])];
      if (at === column && upper <= low + 1 && bottom >= high - 1) [low, high] = [Math.max(low, bottom), Math.min(high, upper)];
      else {
        flush();
        [column, low, high] = [at, bottom, upper];
      }
    }
    flush();
    ctx.stroke();
  };
  if (acks) {
    ctx.beginPath();
    ctx.strokeStyle = visible("#1B7837");
    let last = NaN;
    for (let i = Math.max(placeOf(acks.time, min) - 1, 0); i < placeAfter(acks.time, max); i++) {
      const [at, level] = [x(acks.time[i]), y(acks.highest[i])];
      if (Number.isNaN(last)) ctx.moveTo(at, level);
      else {
        ctx.lineTo(at, last);
        ctx.lineTo(at, level);
      }
      last = level;
    }
    ctx.stroke();
  }
  strokes(from, visible("#7B3FA0"), to);
  strokes(start, line.colour, end, (i) => !again.value[i]);
  strokes(start, visible("#D12B2B"), end, (i) => again.value[i] > 0, 2.5);
  ctx.fillStyle = visible("#E69F00");
  const size = 3 * devicePixelRatio;
  for (let i = placeOf(start.time, min); i < placeAfter(start.time, max); i++)
    if (ecn.value[i] === 3) ctx.fillRect(x(start.time[i]) - size / 2, y(end.value[i]) - size / 2, size, size);
  // Marks that are echoed, where the capture is before the queue.
  ctx.strokeStyle = visible("#E69F00");
  ctx.lineWidth = devicePixelRatio;
  if (acks && echo) for (let i = placeOf(acks.time, min); i < placeAfter(acks.time, max); i++) if (echo.value[i]) ctx.strokeRect(x(acks.time[i]) - size / 2, y(acks.highest[i]) - size / 2, size, size);
  ctx.restore();
}
