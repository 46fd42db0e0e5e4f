// Arguments of events. `arguments.rs` defines the types.

const TEXT = 4;

// Calls `each` with the string number of the name, the type and the reader for each argument.
// `each` reads the value.
function eachArgument(data, place, each) {
  if (place === 0) return;
  const reader = data.argumentReader ??= new Reader(data.arguments);
  reader.at = place;
  const length = reader.number(), end = reader.at + length;
  while (reader.at < end) {
    const name = reader.number();
    each(name, reader.bytes[reader.at++], reader);
  }
}

// Returns pairs of name and value as text.
function readArguments(data, place) {
  const pairs = [];
  eachArgument(data, place, (name, kind, reader) => pairs.push([data.strings.get(name), readValue(data, kind, reader)]));
  return pairs;
}

function readValue(data, kind, reader) {
  switch (kind) {
    case 0: return 'null';
    case 1: return reader.signed().toString();
    case 2: return reader.exact().toString();
    case 3: return String(reader.double());
    case TEXT: return data.strings.get(reader.number());
    case 5: return '0x' + reader.exact().toString(16);
    case 6: return '#' + reader.exact();
    case 7: return 'true';
    case 8: return 'false';
    default: return reader.exact() + ' bytes';
  }
}

// Returns the text of the argument with a name, or undefined.
function argumentNamed(data, place, name) {
  return readArguments(data, place).find(([other]) => other === name)?.[1];
}

// The most blocks of arguments that are read for the list of names.
const MAX_BLOCKS = 100000;

// Returns the names of arguments, the most frequent first.
function argumentNames(data) {
  const counts = new Map();
  const reader = new Reader(data.arguments);
  for (let place = 1, block = 0; place < data.arguments.length && block < MAX_BLOCKS; block++) {
    eachArgument(data, place, (name, kind, values) => {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      readValue(data, kind, values);
    });
    reader.at = place;
    const length = reader.number();
    place = reader.at + length;
  }
  return [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => data.strings.get(name));
}

// Returns the arguments of an item as pairs of name and text.
function argumentsOf(scene, item) {
  const of = item.point !== undefined ? item.row.points : item.place !== undefined ? item.row.lanes[item.lane].columns : null;
  return of ? readArguments(scene.data, of.arguments[item.point ?? item.place]) : [];
}
