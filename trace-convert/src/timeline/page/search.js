// Search in names, categories, arguments and ids.

const MAX_MATCHES = 100000;
// Events between two checks of the time.
const BATCH = 4096;
// Texts of values that are not strings consist of these.
const VALUE = /^[-+.:#\w\s]*$/;
const WORD_OF_VALUE = ['null', 'true', 'false', 'nan', 'infinity', 'bytes'];

// Finds the events whose texts contain `query`, ordered by time. `hits` has the places of all by
// their columns. Yields now and then, so that the page can draw.
function* searchSteps(scene, query) {
  const matcher = new Matcher(scene.data, query.toLowerCase());
  const found = [], hits = new Map();
  let total = 0;
  const add = (item, of, place) => {
    total++;
    if (of && !hits.has(of)) hits.set(of, []);
    if (of) hits.get(of).push(place);
    if (found.length < MAX_MATCHES) found.push(item);
  };
  function* events(columns, item) {
    for (let place = 0; place < columns.label.length; place++) {
      if (matcher.event(columns, place)) add(item(place), columns, place);
      if (place % BATCH === BATCH - 1) yield;
    }
  }
  for (const row of scene.rows) {
    for (let lane = 0; lane < row.lanes.length; lane++) yield* events(row.lanes[lane].columns, (place) => ({row, lane, place}));
    yield* events(row.points, (point) => ({row, point}));
    for (const loss of row.losses.list) if (matcher.text(`${count(loss.count, 'record')} lost: ${loss.reason}`)) add({row, loss});
    if (row.series.length && matcher.text(row.name)) add({row, series: row.series[0], sample: 0});
    yield;
  }
  found.sort((a, b) => times(scene, a)[0] - times(scene, b)[0]);
  return {query, found, hits, count: total};
}

// Runs a search to its end.
function search(scene, query) {
  const steps = searchSteps(scene, query);
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
}

class Matcher {
  constructor(data, query) {
    this.data = data;
    this.query = query;
    this.strings = Array.from({length: data.strings.count}, (_, number) => this.text(data.strings.get(number)));
    this.labels = data.labels.map(([category, name]) => this.strings[category] || this.strings[name]);
    // Whether the texts of values other than strings can match.
    this.hasValues = query.includes(':') || (VALUE.test(query) && (/\d/.test(query) || WORD_OF_VALUE.some((word) => word.includes(query))));
  }

  text(text) { return text.toLowerCase().includes(this.query); }

  event({label, arguments: places, id}, place) {
    return this.labels[label[place]] || (id && this.hasValues && this.text(idText(id[place]))) || this.hasArgument(places[place]);
  }

  hasArgument(place) {
    let found = false;
    eachArgument(this.data, place, (name, kind, reader) => {
      if (kind === TEXT && !this.hasValues) {
        found = this.strings[reader.number()] || this.strings[name] || found;
      } else {
        const value = readValue(this.data, kind, reader);
        found ||= this.strings[name] || (this.hasValues && this.text(`${this.data.strings.get(name)}: ${value}`));
      }
    });
    return found;
  }
}

function idText(id) { return `id: ${id} (0x${id.toString(16)})`; }
