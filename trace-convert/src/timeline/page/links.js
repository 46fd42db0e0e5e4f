// Relations between events: parents, children, and the partners of flows.

const MAX_CHILDREN = 1000;
// Arrows of more neighbours cannot be distinguished.
const MAX_OWN_ARROWS = 64;
// Of more arrows, a part is drawn.
const MAX_DRAWN_ARROWS = 1000;

// Returns the parent of a slice, or null.
function parentOf(item) {
  const {row, lane, place} = item;
  if (!isSlice(item)) return null;
  const {begin, above} = columnsOf(item);
  const isNested = above ? above[place] > 0 : lane > 0 && row.kind === KIND.thread;
  if (!isNested) return null;
  const of = lane - (above ? above[place] : 1);
  const parent = upperBound(row.lanes[of].columns.begin, begin[place]) - 1;
  return parent >= 0 ? {row, lane: of, place: parent} : null;
}

// Returns the children of a slice, ordered by lane and time.
function childrenOf(item) {
  const {row, lane, place} = item, children = [];
  if (!isSlice(item) || row.kind === KIND.cpu) return children;
  const {begin, end, above} = columnsOf(item);
  // The descendants of an operation may outlast it, and precede the next slice of its lane.
  const last = !above ? end[place] : begin[place + 1] ?? Infinity;
  const lanes = above ? row.lanes.length : Math.min(lane + 2, row.lanes.length);
  for (let below = lane + 1; below < lanes; below++) {
    const columns = row.lanes[below].columns;
    for (let child = lowerBound(columns.begin, begin[place]); child < columns.begin.length && columns.begin[child] <= last; child++) {
      const isOwn = above ? columns.above[child] === below - lane : columns.begin[child] < last;
      if (isOwn && isSame(parentOf({row, lane: below, place: child}), item)) children.push({row, lane: below, place: child});
      if (children.length === MAX_CHILDREN) return children;
    }
  }
  return children;
}

// Returns the time of a thread's slice without its children.
function selfTime(item) {
  const {begin, end} = columnsOf(item), next = item.row.lanes[item.lane + 1]?.columns;
  let self = end[item.place] - begin[item.place];
  for (let child = next ? lowerBound(next.begin, begin[item.place]) : 0; next && next.begin[child] < end[item.place]; child++) {
    self -= Math.min(next.end[child], end[item.place]) - next.begin[child];
  }
  return self;
}

// Returns the slice at a tip of an arrow, or null.
function sliceAtTip(scene, arrow, side) {
  const {row, lane, at} = scene.data.arrows.tip(arrow, side);
  return sliceAt(scene.rows[row], lane, at);
}

const NO_ARROWS = {own: [], near: [], count: 0};

// Returns the drawn arrows of an item, those of the durations at their other tips, and the number of
// arrows of the item.
function arrowsOf(scene, item) {
  if (!item || !scene.data.arrows.count) return NO_ARROWS;
  const own = item.arrow !== undefined ? [item.arrow] : isSlice(item) ? ownArrows(scene, item) : [];
  if (own.length > MAX_OWN_ARROWS) return {own: evenly(own, MAX_DRAWN_ARROWS), near: [], count: own.length};
  const others = own.flatMap((arrow) => ['from', 'to'].map((side) => sliceAtTip(scene, arrow, side))).filter(Boolean);
  const near = new Set(others.length ? arrowsAt(scene, others) : []);
  own.forEach((arrow) => near.delete(arrow));
  return {own, near: [...near], count: own.length};
}

// Returns up to `most` entries of a list, from all of its parts.
function evenly(list, most) {
  return list.length <= most ? list : Array.from({length: most}, (_, place) => list[Math.floor(place * list.length / most)]);
}

// Returns the arrows that touch a slice, or that have an operation's label and id.
function ownArrows(scene, item) {
  const {id, label} = columnsOf(item);
  if (!id) return arrowsAt(scene, [item]);
  const columns = scene.data.arrows.columns, own = id[item.place], found = [];
  for (let arrow = columns.id.indexOf(own); arrow >= 0; arrow = columns.id.indexOf(own, arrow + 1)) {
    if (columns.label[arrow] === label[item.place]) found.push(arrow);
  }
  return found;
}

// Returns the arrows that touch one of some slices.
function arrowsAt(scene, slices) {
  const {arrows} = scene.data, found = new Set();
  for (const item of slices) {
    const [begin, end] = times(scene, item);
    for (const side of ['from', 'to']) {
      const {at, lane} = arrows.columns[side], list = arrows.inRow(item.row.number, side);
      for (let place = firstAt(list, at, begin); place < list.length && at[list[place]] <= end; place++) {
        const isOwn = lane[list[place]] === item.lane && isSame(sliceAtTip(scene, list[place], side), item);
        if (isOwn) found.add(list[place]);
      }
    }
  }
  return [...found];
}

// Returns the first place in a list of arrows whose time is not before `time`.
function firstAt(list, at, time) {
  let from = 0, to = list.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (at[list[middle]] < time) from = middle + 1; else to = middle;
  }
  return from;
}

// Returns the operation that a slice with the argument `task` is a poll of, or null.
function taskOf(scene, item) {
  if (!isSlice(item) || columnsOf(item).id) return null;
  const task = argumentNamed(scene.data, columnsOf(item).arguments[item.place], 'task');
  return task && /^\d+$/.test(task) ? operationWithId(scene, BigInt(task), times(scene, item)[0]) : null;
}

// Returns the operation with an id at a time, or null.
function operationWithId(scene, id, time) {
  for (const row of scene.rows) {
    if (row.kind !== KIND.operation) continue;
    for (let lane = 0; lane < row.lanes.length; lane++) {
      const columns = row.lanes[lane].columns;
      for (let place = columns.id.indexOf(id); place >= 0; place = columns.id.indexOf(id, place + 1)) {
        if (columns.begin[place] <= time && columns.end[place] >= time) return {row, lane, place};
      }
    }
  }
  return null;
}

// Returns the related events of an item as {name, item}: the nearest first, of children the longest.
function linksOf(scene, item) {
  const links = [];
  const add = (name, to) => to && !isSame(to, item) && links.push({name, item: to});
  if (item.arrow !== undefined) {
    add('From', sliceAtTip(scene, item.arrow, 'from'));
    add('To', sliceAtTip(scene, item.arrow, 'to'));
    return links;
  }
  add('Parent', parentOf(item));
  add('Operation', taskOf(scene, item));
  for (const {side, slice} of isSlice(item) ? partners(scene, item) : []) add(side, slice);
  const length = (child) => times(scene, child)[1] - times(scene, child)[0];
  for (const child of childrenOf(item).sort((a, b) => length(b) - length(a))) add('Child', child);
  return links;
}

function keyOf({row, lane, place}) { return `${row.number} ${lane} ${place}`; }

// Returns the slices at the other tips of an item's arrows. The arrows of an operation connect its
// polls.
function partners(scene, item) {
  const isOperation = columnsOf(item).id !== undefined, found = [], keys = new Set([keyOf(item)]);
  for (const arrow of ownArrows(scene, item)) {
    for (const [side, name] of [['from', 'Flow from'], ['to', 'Flow to']]) {
      const slice = sliceAtTip(scene, arrow, side);
      if (!slice || keys.has(keyOf(slice))) continue;
      keys.add(keyOf(slice));
      found.push({side: isOperation ? 'Poll' : name, slice});
    }
  }
  return found;
}
