// The texts about an item.

// Returns a heading, pairs of a name and a text, and the arguments.
function describe(scene, item) {
  const {data} = scene, [from, to] = times(scene, item);
  const pairs = [];
  const heading = describers(scene, item, pairs);
  pairs.push(['begin', fully(from - data.from)]);
  if (to !== from || isSlice(item)) pairs.push(['end', fully(to - data.from)]);
  if (isSlice(item) && columnsOf(item).open[item.place]) pairs.push(['end', 'is not in the trace']);
  if (item.row) pairs.push(['on', item.row.name], ['in', item.row.group.name]);
  const at = data.first + BigInt(Math.round(from));
  pairs.push(['clock', `@${at / 1000000000n}.${(at % 1000000000n).toString().padStart(9, '0')}s`]);
  return {heading, pairs, arguments: argumentsOf(scene, item)};
}

// Adds what distinguishes the types of items; returns the heading. The duration is first.
function describers(scene, item, pairs) {
  const [from, to] = times(scene, item);
  if (to !== from || isSlice(item)) pairs.push(['duration', fully(to - from)]);
  if (item.arrow !== undefined) return describeArrow(scene, item.arrow, pairs);
  if (item.loss) {
    pairs.push(['reason', item.loss.reason || 'unknown']);
    return `${count(item.loss.count, 'record')} lost`;
  }
  if (item.series) return describeSample(item, from, pairs);
  if (item.point !== undefined) {
    pairs.push(['kind', POINT_KINDS[item.row.points.kind[item.point]]]);
    return labelled(scene, item.row.points.label[item.point], pairs);
  }
  const {id, label} = columnsOf(item);
  if (item.row.kind === KIND.thread) pairs.push(['self', fully(selfTime(item))]);
  if (id) pairs.push(['id', idText(id[item.place]).slice(4)]);
  return labelled(scene, label[item.place], pairs);
}

function describeArrow(scene, arrow, pairs) {
  const {label, id, from, to} = scene.data.arrows.columns;
  pairs.push(['id', '0x' + id[arrow].toString(16)]);
  pairs.push(['from', scene.rows[from.row[arrow]].name], ['to', scene.rows[to.row[arrow]].name]);
  return 'flow ' + labelled(scene, label[arrow], pairs);
}

function describeSample({row, series, sample}, time, pairs) {
  for (const other of row.series) {
    const place = upperBound(other.at, time) - 1;
    if (other !== series && place >= 0) pairs.push([other.name, String(other.value[place])]);
  }
  return `${row.name}: ${series.name} = ${series.value[sample]}`;
}

function labelled({data}, label, pairs) {
  const [category, name] = data.labels[label];
  pairs.push(['category', data.strings.get(category)]);
  return data.strings.get(name) || data.strings.get(category);
}

// Returns the text beside the pointer.
function tipText(scene, item) {
  const {heading, pairs, arguments: entries} = describe(scene, item);
  const shown = pairs.filter(([name]) => ['duration', 'self', 'reason', 'begin', 'id'].includes(name));
  return [heading, ...[...shown, ...entries].map(([name, text]) => `${name}: ${text}`)].join('\n');
}

// Returns the text for screen readers.
function spoken(scene, item) {
  const {heading, pairs, arguments: entries} = describe(scene, item);
  const value = Object.fromEntries(pairs), row = item.row ? `, on ${item.row.name}` : '';
  const [from, to] = times(scene, item);
  const length = to !== from || isSlice(item) ? `, ${duration(to - from)}` : '';
  const more = [...entries.map(([name, text]) => `, ${name} ${text}`), value.id ? `, id ${value.id}` : ''].join('');
  return `${heading}${length}${row}, at ${duration(from - scene.data.from)}${more}`;
}
