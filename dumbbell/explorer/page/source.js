// Where the page gets its data: from script elements of its own document, or from the server that it came from.

import { byId } from "./elements.js";

async function unpacked(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

function kept(make) {
  const found = new Map();
  return (name, ...more) => {
    if (!found.has(name)) found.set(name, make(name, ...more).catch((error) => (found.delete(name), Promise.reject(error))));
    return found.get(name);
  };
}

class Embedded {
  constructor() {
    this.blob = kept((name) => unpacked(byId(`data-${name}`).textContent));
    this.json = kept(async (name) => JSON.parse(new TextDecoder().decode(await this.blob(name))));
  }

  async index() {
    this.known = await this.json("index");
    this.places = new Map(this.known.details.map((key, i) => [key, i]));
    return this.known;
  }

  async detail(key) {
    const place = this.places.get(key);
    if (place === undefined) return { key, absent: true, series: [], entities: {} };
    return (await this.json(`details-${Math.floor(place / this.known.chunks)}`))[place % this.known.chunks];
  }

  async series(key, entry) {
    const content = await this.blob(entry.values);
    if (!entry.scale) return this.timed(entry, new Float64Array(content));
    const steps = new { 8: Int8Array, 16: Int16Array, 32: Int32Array, 64: BigInt64Array }[entry.bits](content);
    const value = new Float64Array(steps.length);
    for (let i = 0, now = 0; i < steps.length; i++) value[i] = (now += Number(steps[i])) / entry.scale;
    return this.timed(entry, value);
  }

  async timed(entry, value) {
    return { time: await this.time(entry.time, value.length), value };
  }

  async time(time, count) {
    const found = new Float64Array(count);
    if (time.blob === undefined) {
      for (let i = 0; i < count; i++) found[i] = (time.start + i * time.step) / 1e9;
    } else {
      const steps = new BigInt64Array(await this.blob(time.blob));
      // Whole nanoseconds are exact as numbers for a hundred days.
      for (let i = 0, now = 0; i < count; i++) found[i] = (now += Number(steps[i])) / 1e9;
    }
    return found;
  }
}

class Served {
  constructor() {
    this.token = new URLSearchParams(location.search).get("token") ?? "";
    this.detail = kept((key) => this.json("run", key));
  }

  address(parts, more = {}) {
    return `/${["api", ...parts].map(encodeURIComponent).join("/")}?${new URLSearchParams([...(Array.isArray(more) ? more : Object.entries(more)), ["token", this.token]])}`;
  }

  async get(parts, more) {
    const answer = await fetch(this.address(parts, more));
    if (!answer.ok) throw new Error((await answer.text()).trim());
    return answer;
  }

  async json(...parts) {
    return (await this.get(parts)).json();
  }

  index() {
    return this.json("runs");
  }

  /** Facts and series of several runs by one request: of each run, as it comes, its detail and [entity, name, series] of these names. */
  async *several(keys, names, from, to) {
    const columns = Math.min(COLUMNS, Math.max(LEAST, Math.floor(TOGETHER / keys.length)));
    const answer = await this.get(["drawn"], [...keys.map((key) => ["key", key]), ...names.map((name) => ["name", name]), ["px", columns], ...(from === undefined ? [] : [["from", from], ["to", to]])]);
    const whole = reader(answer.body);
    for (let head = await whole(8); head; head = await whole(8)) {
      const [facts, content] = new Uint32Array(head);
      const { detail, series, error } = JSON.parse(new TextDecoder().decode(await whole(facts)));
      if (error) throw new Error(error);
      const all = new Float64Array(await whole(content));
      let at = 0;
      const listed = series.map(([entity, name, count, partial]) => {
        const found = { time: all.subarray(at, at + count), value: all.subarray(at + count, at + 2 * count), partial };
        at += 2 * count;
        return [entity, name, found];
      });
      yield [detail, listed];
    }
  }

  /** All samples, or of very many the least and greatest values of equal parts of the time, until a part of it is asked for. */
  async series(key, entry, from, to, whole = false) {
    const more = from === undefined ? {} : { from, to };
    if (!whole && entry.samples > 2 * COLUMNS && !entry.name.match(/^(segment|sack|ack)/)) more.px = COLUMNS;
    const answer = await this.get(["series", key, entry.entity, entry.name], more);
    const all = new Float64Array(await answer.arrayBuffer());
    return { time: all.slice(0, all.length / 2), value: all.slice(all.length / 2), partial: answer.headers.get("Content-Type").includes("reduced") };
  }
}

/** The numbers of a stream's bytes, as they come: `whole(count)` waits for so many bytes; null at the end. */
function reader(stream) {
  const from = stream.getReader();
  let [parts, size] = [[], 0];
  return async (count) => {
    while (size < count) {
      const { done, value } = await from.read();
      if (done) return null;
      parts.push(value);
      size += value.length;
    }
    const all = new Uint8Array(size);
    parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
    parts = [all.subarray(count)];
    size -= count;
    return all.slice(0, count).buffer;
  };
}

/** Samples that come over at once are twice as many. */
const COLUMNS = 250_000;
/** Parts of the time of a series when several runs come together: fewer of each, the more runs there are. */
const [LEAST, TOGETHER] = [1000, 500_000];

export const source = document.body.dataset.source === "served" ? new Served() : new Embedded();
