// The timeline in columns: arrays of numbers with the same places. Lanes and arrows are decoded at
// their first use.

const KIND = {thread: 0, operation: 1, counter: 2, cpu: 3};

function readTimeline(bytes) {
  const reader = new Reader(bytes);
  const data = {first: reader.exact(), length: reader.number()};
  data.from = reader.number();
  data.to = reader.number();
  data.strings = new Strings(reader);
  data.labels = reader.list(() => [reader.number(), reader.number()]);
  data.notes = reader.list(() => reader.text());
  data.arguments = reader.slice();
  data.groups = reader.list(() => ({name: reader.text(), rows: reader.list(() => readRow(reader, data.strings))}));
  data.arrows = new Arrows(reader);
  return data;
}

function readRow(reader, strings) {
  const row = {kind: reader.number(), name: reader.text()};
  row.lanes = reader.list(() => new Lane(reader.slice(), row.kind === KIND.operation));
  row.points = readPoints(reader);
  row.losses = new Losses(reader.list(() => {
    const from = reader.number(), to = from + reader.number();
    return {from, to, count: reader.number(), reason: strings.get(reader.number())};
  }));
  row.series = reader.list(() => readSeries(reader, strings));
  return row;
}

// Texts, decoded when they are used.
class Strings {
  constructor(reader) {
    this.slices = reader.list(() => reader.slice());
    this.texts = new Array(this.slices.length);
  }

  get count() { return this.slices.length; }

  get(number) { return this.texts[number] ??= DECODER.decode(this.slices[number] ?? new Uint8Array()); }
}

// Returns a function that reads the place of an event's arguments.
function argumentPlaces(reader) {
  let last = 0;
  return () => {
    const number = reader.number();
    if (number === 0) return 0;
    last += (number - 1) % 2 ? -number / 2 : (number - 1) / 2;
    return last;
  };
}

// Slices that do not overlap, ordered by time.
class Lane {
  constructor(bytes, isOperation) {
    this.bytes = bytes;
    this.isOperation = isOperation;
    this.count = new Reader(bytes).number();
  }

  get columns() { return this.decoded ??= this.decode(); }

  decode() {
    const reader = new Reader(this.bytes), count = reader.number();
    const begin = new Float64Array(count), end = new Float64Array(count), open = new Uint8Array(count);
    const label = new Uint32Array(count), places = new Uint32Array(count);
    const argumentPlace = argumentPlaces(reader);
    for (let slice = 0, at = 0; slice < count; slice++) {
      begin[slice] = at += reader.number();
      const length = reader.number();
      open[slice] = length % 2;
      end[slice] = at += Math.floor(length / 2);
      label[slice] = reader.number();
      places[slice] = argumentPlace();
    }
    const identities = this.isOperation ? readIdentities(reader, count) : {};
    this.bytes = null;
    return {begin, end, open, label, arguments: places, ...identities};
  }
}

// The ids of operations, the distances to the lanes of their parents (0: no parent), and whether
// their depths are odd.
function readIdentities(reader, count) {
  const id = new BigUint64Array(count), above = new Uint32Array(count), odd = new Uint8Array(count);
  for (let slice = 0, last = 0n; slice < count; slice++) {
    id[slice] = last = BigInt.asUintN(64, last + reader.signed());
    const number = reader.number();
    odd[slice] = number % 2;
    above[slice] = Math.floor(number / 2);
  }
  return {id, above, odd};
}

function readPoints(reader) {
  const count = reader.number();
  const at = new Float64Array(count), kind = new Uint8Array(count);
  const label = new Uint32Array(count), places = new Uint32Array(count);
  const argumentPlace = argumentPlaces(reader);
  for (let point = 0, time = 0; point < count; point++) {
    at[point] = time += reader.number();
    kind[point] = reader.number();
    label[point] = reader.number();
    places[point] = argumentPlace();
  }
  return {at, kind, label, arguments: places};
}

function readSeries(reader, strings) {
  const series = {name: strings.get(reader.number()), least: 0, most: 0};
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

// Arrows of flows. A tip is a row, a lane and a time.
class Arrows {
  constructor(reader) {
    this.count = reader.number();
    this.reader = reader;
  }

  get columns() { return this.decoded ??= this.decode(); }

  decode() {
    const {reader, count} = this;
    const tips = () => ({row: new Uint32Array(count), lane: new Uint32Array(count), at: new Float64Array(count)});
    const columns = {from: tips(), to: tips(), label: new Uint32Array(count), id: new BigUint64Array(count)};
    const read = (tip, arrow, time) => {
      tip.row[arrow] = reader.number();
      tip.lane[arrow] = reader.number();
      return tip.at[arrow] = time + reader.number();
    };
    for (let arrow = 0, time = 0; arrow < count; arrow++) {
      time = read(columns.from, arrow, time);
      read(columns.to, arrow, time);
      columns.label[arrow] = reader.number();
      columns.id[arrow] = reader.exact();
    }
    return columns;
  }

  // Returns the arrows with their tail (`from`) or head (`to`) in a row, ordered by its time.
  inRow(row, side) {
    this.rows ??= {from: this.byRow('from'), to: this.byRow('to')};
    return this.rows[side].get(row) ?? [];
  }

  byRow(side) {
    const {row, at} = this.columns[side], rows = new Map();
    const order = Uint32Array.from({length: this.count}, (_, arrow) => arrow).sort((a, b) => at[a] - at[b]);
    for (const arrow of order) {
      if (!rows.has(row[arrow])) rows.set(row[arrow], []);
      rows.get(row[arrow]).push(arrow);
    }
    return rows;
  }

  // Returns the tail (`from`) or the head (`to`) of an arrow.
  tip(arrow, side) {
    const {row, lane, at} = this.columns[side];
    return {row: row[arrow], lane: lane[arrow], at: at[arrow]};
  }
}
