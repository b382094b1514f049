// The metrics of a range, as dumbbell.metrics defines them.

import { placeAfter, placeOf } from "./pyramid.js";

/** The samples from one time to another, both included. */
export function within(series, from, to) {
  return series.value.subarray(placeOf(series.time, from), placeAfter(series.time, to)).filter((value) => Number.isFinite(value));
}

export function mean(values) {
  let sum = 0;
  for (const value of values) sum += value;
  return values.length ? sum / values.length : NaN;
}

/** Linear between order statistics; the values are sorted. */
export function quantile(sorted, share) {
  if (!sorted.length) return NaN;
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

export const sorted = (values) => Float64Array.from(values).sort();

export const median = (values) => quantile(sorted(values), 0.5);

/** Jain's index (sum x)² / (n sum x²). */
export function jain(shares) {
  const sum = shares.reduce((all, share) => all + share, 0);
  const squares = shares.reduce((all, share) => all + share * share, 0);
  return squares > 0 ? (sum * sum) / (shares.length * squares) : NaN;
}

/** The place of the last sample at or before a time; -1 if there is none. */
export const placeAt = (series, at) => placeAfter(series.time, at) - 1;

/** The mean rate (Mbit/s) of a count of bytes between the last samples at or before two times; before the first there were none. */
export function rate(series, from, to) {
  return rateOfAll([series], from, to);
}

/** The rate of several together over the time that any of them has there, as it is 0 before the first sample and after the last. */
export function rateOfAll(several, from, to) {
  const parts = several.map((series) => [series, Math.max(placeAt(series, from), 0), placeAt(series, to)]).filter(([, first, last]) => last > first);
  if (!parts.length) return NaN;
  const bytes = parts.reduce((sum, [{ value }, first, last]) => sum + value[last] - value[first], 0);
  const begin = Math.min(...parts.map(([{ time }, first]) => time[first]));
  return (bytes * 8) / (Math.max(...parts.map(([{ time }, , last]) => time[last])) - begin) / 1e6;
}

/** By how much a count grew. */
export function growth(series, from, to) {
  const [first, last] = [placeAt(series, from), placeAt(series, to)];
  return last < 0 ? 0 : series.value[last] - (first < 0 ? 0 : series.value[first]);
}

/** Mean rates (Mbit/s) over windows that end at each sample. */
export function rates(series, window) {
  const { time, value } = series;
  let first = 0;
  while (first < time.length && time[first] - time[0] < window - 5e-10) first++;
  const count = time.length - first;
  const found = { time: time.subarray(first), value: new Float64Array(count) };
  for (let i = 0, start = 0; i < count; i++) {
    const edge = time[first + i] - window + 5e-10;
    while (time[start + 1] <= edge) start++;
    found.value[i] = ((value[first + i] - value[start]) * 8) / (time[first + i] - time[start]) / 1e6;
  }
  return found;
}

/** The distance of samples that is met most often near the beginning. */
export function step(time) {
  const steps = [];
  for (let i = 1; i < Math.min(time.length, 200); i++) steps.push(time[i] - time[i - 1]);
  return steps.length ? median(steps) : 0;
}
