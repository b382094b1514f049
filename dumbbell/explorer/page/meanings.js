// Explanations of metrics, which the page shows where you point at their names.

import { model } from "./lines.js";

const MEANINGS = {
  goodput: "payload that arrived in order, for the first time, over the time of the run's flows",
  flow_goodput: "payload of one flow over its own time",
  jain_index: "Jain's fairness index of the flows' goodput: 1 if all are equal, 1/n if one has everything",
  srtt_mean: "mean of the smoothed RTT as the senders know it",
  srtt_p95: "95th percentile of the smoothed RTT",
  retransmits: "segments that were sent more than once",
  drops: "packets that queues dropped",
  ce_marks: "packets that queues marked with Congestion Experienced",
  flows: "TCP connections",
  ping_median: "median round-trip time of small packets during the traffic: what a game or a click feels",
  mos: "Mean Opinion Score of a call, 1 (unusable) to 4.5 (excellent), by the E-model from delay and loss; of several calls the worst",
  r_factor: "rating of a call by the E-model, 0 to 100",
  latency_median: "median time from a request to the last byte of its answer; of a page, until all its objects are there",
  completion_median: "median time of a transfer, from its start until its last byte is read",
  completion: "time of a transfer, from its start until its last byte is read",
  owd_median: "median one-way delay",
  owd_p95: "95th percentile of the one-way delay",
  lost_share: "share of the packets that did not arrive",
  jitter: "mean change of the delay from packet to packet, smoothed (RFC 3550)",
  late_packets: "packets that came too late for the buffer of the player",
  stalls: "times that the video stopped because its buffer was empty",
  slowdown_median: "time of a transfer over the time that it would take alone",
  status: "ok, warn (something to know, told where the pointer is) or invalid (not to be used)",
};

/** The meaning of a column, under its full name; the name alone where there is no more to say. */
export function explained(name) {
  const column = name.slice(name.lastIndexOf(".") + 1);
  const bare = column.replace(/_(mbit|ms|s|packets|bytes)$/, "");
  const meaning = MEANINGS[bare] ?? MEANINGS[column] ?? model.index.series[column]?.meaning;
  const title = model.index.titles[name] ?? name;
  return meaning ? `${title}: ${meaning}` : title;
}
