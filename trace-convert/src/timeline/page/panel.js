// What is told about an item, and search.

// Returns a heading and pairs of a name and a text.
function describe(scene, item) {
  const {data} = scene;
  const [from, to] = scene.times(item);
  const pairs = [];
  const where = (row) => pairs.push(['on', row.name], ['in', row.group.name]);
  const labelled = (label) => {
    const [category, name] = data.labels[label];
    pairs.push(['category', data.strings[category]]);
    return data.strings[name] || data.strings[category];
  };
  let heading;
  if (item.arrow) {
    heading = 'flow ' + labelled(item.arrow.label);
    pairs.push(['id', '0x' + item.arrow.id.toString(16)]);
    pairs.push(['from', scene.rows[item.arrow.from.row].name], ['to', scene.rows[item.arrow.to.row].name]);
  } else if (item.loss) {
    heading = `${count(item.loss.count, 'record')} lost`;
    pairs.push(['reason', item.loss.reason || 'not told']);
    where(item.row);
  } else if (item.series) {
    heading = `${item.row.name}: ${item.series.name} = ${item.series.value[item.sample]}`;
    for (const series of item.row.series) {
      const sample = upperBound(series.at, from) - 1;
      if (series !== item.series && sample >= 0) pairs.push([series.name, String(series.value[sample])]);
    }
    where(item.row);
  } else if (item.point !== undefined) {
    heading = labelled(item.row.points.label[item.point]);
    pairs.push(['kind', POINT_KINDS[item.row.points.kind[item.point]]]);
    where(item.row);
  } else {
    heading = labelled(item.row.lanes[item.lane].label[item.place]);
    where(item.row);
  }
  pairs.push(['begin', exactly(from - data.from)]);
  if (to !== from || item.place !== undefined) pairs.push(['end', exactly(to - data.from)], ['duration', `${exactly(to - from)} (${duration(to - from)})`]);
  if (item.place !== undefined && item.row.lanes[item.lane].open[item.place]) pairs.push(['end', 'is not in the trace']);
  const at = data.first + BigInt(Math.round(from));
  pairs.push(['clock', `@${at / 1000000000n}.${(at % 1000000000n).toString().padStart(9, '0')}s`]);
  return {heading, pairs, arguments: argumentsOf(scene, item)};
}

function argumentsOf(scene, item) {
  if (item.point !== undefined) return readArguments(scene.data, item.row.points.arguments[item.point]);
  if (item.place !== undefined) return readArguments(scene.data, item.row.lanes[item.lane].arguments[item.place]);
  return [];
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

// Shows all about an item below the canvas.
function showDetails(section, scene, item) {
  if (!item) {
    section.replaceChildren(element('p', 'Click an event, or search, to see all about it.'));
    return;
  }
  const {heading, pairs, arguments: given} = describe(scene, item);
  const list = document.createElement('dl');
  for (const [name, text] of pairs) list.append(element('dt', name), element('dd', text));
  for (const [name, text] of given) {
    const term = element('dt', name), value = element('dd', text);
    term.className = value.className = 'argument';
    list.append(term, value);
  }
  section.replaceChildren(element('h2', heading), list);
}

// Returns what to show beside the pointer.
function tipText(scene, item) {
  const {heading, pairs, arguments: given} = describe(scene, item);
  const shown = pairs.filter(([name]) => ['duration', 'reason', 'begin', 'id'].includes(name));
  return [heading, ...[...shown, ...given].map(([name, text]) => `${name}: ${text}`)].join('\n');
}

// Search.

const MAX_MATCHES = 100000;

// Finds events whose name, category or arguments have `query` in them, in the
// order of rows and times; `hits` are the places of all by their lanes and
// points.
function search(scene, query) {
  const {data} = scene;
  const wanted = query.toLowerCase();
  const strings = data.strings.map((string) => string.toLowerCase().includes(wanted));
  const labels = data.labels.map(([category, name]) => strings[category] || strings[name]);
  const argued = (place) =>
    readArguments(data, place).some(([name, text]) => `${name}: ${text}`.toLowerCase().includes(wanted));
  const found = [], hits = new Map();
  let total = 0;
  const add = (item, of, place) => {
    total++;
    if (of && !hits.has(of)) hits.set(of, []);
    if (of) hits.get(of).push(place);
    if (found.length < MAX_MATCHES) found.push(item);
  };
  for (const row of scene.rows) {
    row.lanes.forEach((lane, number) => {
      for (let place = 0; place < lane.label.length; place++) {
        if (labels[lane.label[place]] || argued(lane.arguments[place])) add({row, lane: number, place}, lane, place);
      }
    });
    const {points} = row;
    for (let point = 0; point < points.label.length; point++) {
      if (labels[points.label[point]] || argued(points.arguments[point])) add({row, point}, points, point);
    }
    for (const loss of row.losses) {
      if (`${count(loss.count, 'record')} lost: ${loss.reason}`.toLowerCase().includes(wanted)) add({row, loss});
    }
    if (row.series.length && row.name.toLowerCase().includes(wanted)) add({row, series: row.series[0], sample: 0});
  }
  found.sort((a, b) => scene.times(a)[0] - scene.times(b)[0]);
  return {found, hits, count: total};
}

