// Drops and marks of the queues as events below every panel: a line of ticks for each kind.

import { visible } from "./elements.js";
import { everySample } from "./lines.js";

const KINDS = { dropped: ["#D55E00", "dropped"], ce: ["#E69F00", "marked CE"] };
const MOST_RUNS = 4;
const HEIGHT = 5;

const kindOf = (name) => (/^(dropped_|drops$)/.test(name) ? "dropped" : name === "ce_marks" ? "ce" : null);

/** The times at which queues dropped or marked packets, of few runs: by kind, in order. */
export async function eventsOf(details) {
  const found = { dropped: [], ce: [] };
  if (details.length > MOST_RUNS) return found;
  for (const detail of details)
    for (const entry of detail.series) {
      const kind = entry.entity.startsWith("port/") && !entry.left_out && !entry.idle ? kindOf(entry.name) : null;
      if (!kind) continue;
      const { time, value } = await everySample(detail.key, entry.entity, entry.name);
      for (let i = 0; i < time.length; i++) if (value[i] > (i ? value[i - 1] : 0)) found[kind].push(time[i]);
    }
  return found;
}

/** What the ticks are; empty if there are none. */
export const eventsLegend = (events) => Object.keys(KINDS).filter((kind) => events[kind].length).map((kind) => `${kind === "dropped" ? "red" : "orange"} ticks below the curves: samples in which a queue ${KINDS[kind][1]} packets`).join("; ");

/** Draws the ticks at the lower edge of a plot, at most one for each pixel. */
export function drawEvents(chart, events) {
  const { ctx, bbox } = chart;
  const scale = devicePixelRatio;
  ctx.save();
  Object.keys(KINDS).forEach((kind, row) => {
    ctx.fillStyle = visible(KINDS[kind][0]);
    let last = -1;
    for (const at of events?.[kind] ?? []) {
      const x = Math.round(chart.valToPos(at, "x", true));
      if (x === last || x < bbox.left || x > bbox.left + bbox.width) continue;
      last = x;
      ctx.fillRect(x, bbox.top + bbox.height - (row + 1) * HEIGHT * scale, Math.max(scale, 1), (HEIGHT - 1) * scale);
    }
  });
  ctx.restore();
}
