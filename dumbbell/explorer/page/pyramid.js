// Least and greatest values of every block of 16, 32, 64 ... samples, by which any part of a series is reduced to the columns of a plot
// without losing an extreme. Nothing is averaged or interpolated.

const LOWEST = 4;

export class Pyramid {
  constructor(value) {
    this.value = value;
    this.levels = [];
    for (let size = 1 << LOWEST, below = null; size <= value.length; size *= 2, below = this.levels.at(-1)) {
      const count = Math.floor(value.length / size);
      const low = new Float64Array(count);
      const high = new Float64Array(count);
      for (let i = 0; i < count; i++) {
        if (below) {
          low[i] = Math.min(below.low[2 * i], below.low[2 * i + 1]);
          high[i] = Math.max(below.high[2 * i], below.high[2 * i + 1]);
        } else [low[i], high[i]] = this.scan(i * size, (i + 1) * size, Infinity, -Infinity);
      }
      this.levels.push({ low, high });
    }
  }

  scan(first, last, low, high) {
    for (let i = first; i < last; i++) {
      const value = this.value[i];
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return [low, high];
  }

  /** The least and the greatest value from one place to before another. */
  extremes(first, last) {
    let [low, high] = [Infinity, -Infinity];
    while (first < last) {
      let level = -1;
      for (let size = 1 << LOWEST; first % size === 0 && first + size <= last && level + 1 < this.levels.length; size *= 2) level++;
      if (level < 0) {
        const next = Math.min(last, (Math.floor(first / (1 << LOWEST)) + 1) * (1 << LOWEST));
        [low, high] = this.scan(first, next, low, high);
        first = next;
      } else {
        const size = 1 << (LOWEST + level);
        low = Math.min(low, this.levels[level].low[first / size]);
        high = Math.max(high, this.levels[level].high[first / size]);
        first += size;
      }
    }
    return [low, high];
  }
}

/** The first place whose time is not before another. */
export function placeOf(time, at) {
  let [low, high] = [0, time.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[middle] < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first place whose time is after another. */
export function placeAfter(time, at) {
  let [low, high] = [0, time.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What a plot of so many columns shows of a series: its samples, or of more than four a column their extremes. */
export function shownOf(series, from, to, columns) {
  const first = Math.max(placeOf(series.time, from) - 1, 0);
  const last = Math.min(placeAfter(series.time, to) + 1, series.time.length);
  if (last - first <= 4 * columns) return { x: series.time.subarray(first, last), y: series.value.subarray(first, last), reduced: false };
  series.pyramid ??= new Pyramid(series.value);
  const [x, y] = [[], []];
  const width = (to - from) / columns;
  let place = placeOf(series.time, from);
  for (let column = 0; column < columns && place < last; column++) {
    const next = column + 1 === columns ? placeAfter(series.time, to) : placeOf(series.time, from + (column + 1) * width);
    if (next > place) {
      const [low, high] = series.pyramid.extremes(place, next);
      const rising = series.value[place] <= series.value[next - 1];
      x.push(from + (column + 0.25) * width, from + (column + 0.75) * width);
      y.push(rising ? low : high, rising ? high : low);
    }
    place = next;
  }
  return { x, y, reduced: true };
}

/** Several parts of series over one list of times, as the chart library takes them: undefined where one has no sample. */
export function joined(parts) {
  if (!parts.length) return [[]];
  if (parts.every((part) => part.x.length === parts[0].x.length && part.x.every((at, i) => at === parts[0].x[i])))
    return [parts[0].x, ...parts.map((part) => part.y)];
  const all = new Float64Array(parts.reduce((sum, part) => sum + part.x.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part.x, at);
    at += part.x.length;
  }
  all.sort();
  const times = all.filter((time, i) => i === 0 || time !== all[i - 1]);
  return [
    times,
    ...parts.map((part) => {
      const column = new Array(times.length);
      for (let i = 0, place = 0; i < part.x.length; i++) {
        while (times[place] < part.x[i]) place++;
        column[place] = part.y[i];
      }
      return column;
    }),
  ];
}
