// The items at positions and times.

// Returns the item at a position of the canvas, or null.
function itemAt(scene, arrows, x, y) {
  if (x < scene.gutter || y < RULER_HEIGHT || scene.namedAt(x, y)) return null;
  const row = scene.rowAt(y);
  // The lowest pixels of a row with a loss belong to the loss.
  const isEdge = row && y >= scene.rowY(row) + row.height - 4;
  return (row && ((isEdge ? lossAt(scene, row, x) : null) ?? pointAt(scene, row, x, y) ?? sliceAtPosition(scene, row, x, y) ?? lossAt(scene, row, x))) ??
    arrowAt(scene, arrows, x, y) ?? (row && sampleAt(row, scene.time(x))) ?? null;
}

function pointAt(scene, row, x, y) {
  const {at} = row.points;
  if (!at.length || y >= scene.rowY(row) + row.pointsY + POINT_HEIGHT) return null;
  const place = lowerBound(at, scene.time(x));
  const distance = (point) => point in at ? Math.abs(scene.x(at[point]) - x) : Infinity;
  const point = distance(place - 1) < distance(place) ? place - 1 : place;
  return distance(point) <= 6 ? {row, point} : null;
}

function sliceAtPosition(scene, row, x, y) {
  const number = Math.floor((y - scene.laneY(row, 0)) / row.laneHeight);
  const lane = row.lanes[number];
  if (!lane) return null;
  const {begin, end} = lane.columns;
  const place = lowerBound(end, scene.time(x - 1));
  if (place === end.length || scene.x(begin[place]) > x + 1) return null;
  return {row, lane: number, place};
}

function lossAt(scene, row, x) {
  const loss = row.losses.at(scene.time(x - 2), scene.time(x + 2));
  return loss ? {row, loss} : null;
}

function sampleAt(row, time) {
  for (const series of row.series) {
    const sample = upperBound(series.at, time) - 1;
    if (sample >= 0) return {row, series, sample};
  }
  return null;
}

function arrowAt(scene, arrows, x, y) {
  for (const arrow of [...arrows.own, ...arrows.near]) {
    const from = tipAt(scene, arrow, 'from'), to = tipAt(scene, arrow, 'to');
    if (x < Math.min(from[0], to[0]) - 4 || x > Math.max(from[0], to[0]) + 4) continue;
    for (let part = 0; part <= 1; part += 0.125) {
      const [atX, atY] = pointOfCurve(from, to, part);
      if (Math.hypot(atX - x, atY - y) < 6) return {arrow};
    }
  }
  return null;
}

// Returns the slice of a lane at a time, or the next one if `orNext`, or null.
function sliceAt(row, lane, time, orNext) {
  const columns = row.lanes[lane]?.columns;
  if (!columns) return null;
  const place = upperBound(columns.begin, time) - 1;
  if (place >= 0 && columns.end[place] >= time) return {row, lane, place};
  return orNext && place + 1 < columns.begin.length ? {row, lane, place: place + 1} : null;
}

// Neighbours, for the keyboard.

// Returns the event before (-1) or after (1) an item in its lane, or the item.
function neighbour(item, step) {
  const moved = (length, place) => place + step >= 0 && place + step < length ? place + step : place;
  if (item.point !== undefined) return {row: item.row, point: moved(item.row.points.at.length, item.point)};
  if (item.series) return {...item, sample: moved(item.series.at.length, item.sample)};
  if (!isSlice(item)) return item;
  return {...item, place: moved(item.row.lanes[item.lane].count, item.place)};
}

// Returns the event in the next lane or row above (-1) or below (1) an item, near its begin, or
// the item.
function vertical(scene, item, step) {
  const [time] = times(scene, item), row = rowOf(scene, item);
  for (let lane = (item.lane ?? (step > 0 ? -1 : 0)) + step; lane >= 0 && lane < row.lanes.length; lane += step) {
    const found = sliceInView(scene, row, lane, time);
    if (found) return found;
  }
  for (let number = row.number + step; scene.rows[number]; number += step) {
    const found = scene.rows[number].height && eventOfRow(scene, scene.rows[number], time, step);
    if (found) return found;
  }
  return item;
}

function eventOfRow(scene, row, time, step) {
  const lanes = row.lanes.map((_, lane) => lane);
  for (const lane of step > 0 ? lanes : lanes.reverse()) {
    const found = sliceInView(scene, row, lane, time);
    if (found) return found;
  }
  if (row.points.at.length) return {row, point: Math.min(lowerBound(row.points.at, time), row.points.at.length - 1)};
  return sampleAt(row, time) ?? (row.losses.list[0] ? {row, loss: row.losses.list[0]} : null);
}

// Returns the slice at a time, or else the first one after it if that is in view.
function sliceInView(scene, row, lane, time) {
  const found = sliceAt(row, lane, time, true);
  return found && columnsOf(found).begin[found.place] <= Math.max(scene.to, time) ? found : null;
}

// Returns the outermost event of the first row in view.
function firstInView(scene) {
  for (const row of scene.rows) {
    if (!scene.isSeen(row)) continue;
    for (let lane = 0; lane < row.lanes.length; lane++) {
      const {begin, end} = row.lanes[lane].columns;
      const place = lowerBound(end, scene.from);
      if (place < end.length && begin[place] <= scene.to) return {row, lane, place};
    }
  }
  return null;
}
