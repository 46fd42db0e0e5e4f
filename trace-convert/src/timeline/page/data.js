'use strict';

// What the page is given: see `encode.rs` for the order of the bytes.

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.at = 0;
  }

  // A number; beyond 2^53 it is rounded.
  number() {
    let number = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.at++];
      number += (byte & 127) * scale;
      if (byte < 128) return number;
    }
  }

  exact() {
    let number = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.at++];
      number |= BigInt(byte & 127) << shift;
      if (byte < 128) return number;
    }
  }

  signed() {
    const number = this.exact();
    return number & 1n ? -((number + 1n) >> 1n) : number >> 1n;
  }

  double() {
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }

  slice() {
    const length = this.number();
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  text() {
    return new TextDecoder().decode(this.slice());
  }

  list(read) {
    const list = new Array(this.number());
    for (let place = 0; place < list.length; place++) list[place] = read(place);
    return list;
  }
}

function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let place = 0; place < bytes.length; place++) bytes[place] = binary.charCodeAt(place);
  return bytes;
}

// Reads everything. Slices of a lane and points of a row are columns: arrays
// of numbers with the same places.
function readTimeline(bytes) {
  const reader = new Reader(bytes);
  const data = {first: reader.exact(), length: reader.number()};
  data.from = reader.number();
  data.to = reader.number();
  data.strings = reader.list(() => reader.text());
  data.labels = reader.list(() => [reader.number(), reader.number()]);
  data.notes = reader.list(() => reader.text());
  data.arguments = reader.slice();
  let last = 0;
  const place = () => {
    const number = reader.number();
    if (number === 0) return 0;
    last += (number - 1) % 2 ? -number / 2 : (number - 1) / 2;
    return last;
  };
  data.groups = reader.list(() => ({
    name: reader.text(),
    rows: reader.list(() => ({
      kind: reader.number(),
      name: reader.text(),
      lanes: reader.list(() => readLane(reader, place)),
      points: readPoints(reader, place),
      losses: reader.list(() => {
        const loss = {from: reader.number()};
        loss.to = loss.from + reader.number();
        return Object.assign(loss, {count: reader.number(), reason: data.strings[reader.number()]});
      }),
      series: reader.list(() => readSeries(reader, data.strings)),
    })),
  }));
  let at = 0;
  data.arrows = reader.list(() => {
    const from = {row: reader.number(), lane: reader.number(), at: at += reader.number()};
    const to = {row: reader.number(), lane: reader.number(), at: at + reader.number()};
    return {from, to, label: reader.number(), id: reader.exact()};
  });
  return data;
}

function readLane(reader, place) {
  const count = reader.number();
  const lane = {
    begin: new Float64Array(count),
    end: new Float64Array(count),
    label: new Uint32Array(count),
    arguments: new Uint32Array(count),
    open: new Uint8Array(count),
  };
  for (let slice = 0, at = 0; slice < count; slice++) {
    lane.begin[slice] = at += reader.number();
    const length = reader.number();
    lane.open[slice] = length % 2;
    lane.end[slice] = at += Math.floor(length / 2);
    lane.label[slice] = reader.number();
    lane.arguments[slice] = place();
  }
  return lane;
}

function readPoints(reader, place) {
  const count = reader.number();
  const points = {
    at: new Float64Array(count),
    kind: new Uint8Array(count),
    label: new Uint32Array(count),
    arguments: new Uint32Array(count),
  };
  for (let point = 0, at = 0; point < count; point++) {
    points.at[point] = at += reader.number();
    points.kind[point] = reader.number();
    points.label[point] = reader.number();
    points.arguments[point] = place();
  }
  return points;
}

function readSeries(reader, strings) {
  const series = {name: strings[reader.number()], least: 0, most: 0};
  const count = reader.number();
  series.at = new Float64Array(count);
  series.value = new Float64Array(count);
  for (let sample = 0, at = 0; sample < count; sample++) {
    series.at[sample] = at += reader.number();
    const value = series.value[sample] = reader.double();
    series.least = Math.min(series.least, value);
    series.most = Math.max(series.most, value);
  }
  return series;
}

// Returns pairs of name and value as text.
function readArguments(data, place) {
  if (place === 0) return [];
  const reader = new Reader(data.arguments);
  reader.at = place;
  const length = reader.number();
  const end = reader.at + length;
  const pairs = [];
  while (reader.at < end) pairs.push([data.strings[reader.number()], readValue(data, reader)]);
  return pairs;
}

function readValue(data, reader) {
  const kind = reader.bytes[reader.at++];
  switch (kind) {
    case 0: return 'null';
    case 1: return reader.signed().toString();
    case 2: return reader.exact().toString();
    case 3: return String(reader.double());
    case 4: return data.strings[reader.number()];
    case 5: return '0x' + reader.exact().toString(16);
    case 6: return '#' + reader.exact();
    case 7: return 'true';
    case 8: return 'false';
    default: return reader.exact() + ' bytes';
  }
}

// Returns the first place in a sorted column whose entry is not below `value`.
function lowerBound(column, value, from = 0) {
  let to = column.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (column[middle] < value) from = middle + 1; else to = middle;
  }
  return from;
}

// Returns the same for the first entry above `value`.
function upperBound(column, value) {
  let from = 0, to = column.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (column[middle] <= value) from = middle + 1; else to = middle;
  }
  return from;
}

