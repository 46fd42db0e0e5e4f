// Items: {row, lane, place} for a slice, {row, point} for a point, {row, loss} for a loss,
// {row, series, sample} for a value of a counter, {arrow} for an arrow.

const POINT_KINDS = ['instant', 'instant of the process', 'instant of the whole trace', 'log message', 'step of an operation', 'blob', 'wake-up'];

const isSlice = (item) => item.place !== undefined;

const columnsOf = (item) => item.row.lanes[item.lane].columns;

function isSame(a, b) {
  return a === b || (a && b && ['row', 'lane', 'place', 'point', 'loss', 'series', 'sample', 'arrow'].every((key) => a[key] === b[key]));
}

// Returns the begin and the end.
function times(scene, item) {
  if (item.arrow !== undefined) {
    const {from, to} = scene.data.arrows.columns;
    return [from.at[item.arrow], to.at[item.arrow]];
  }
  if (item.loss) return [item.loss.from, item.loss.to];
  if (item.series) return [item.series.at[item.sample], item.series.at[item.sample]];
  if (item.point !== undefined) return [item.row.points.at[item.point], item.row.points.at[item.point]];
  const {begin, end} = columnsOf(item);
  return [begin[item.place], end[item.place]];
}

// Returns the box of an item on the canvas, in CSS pixels.
function boxOf(scene, item) {
  const [from, to] = times(scene, item);
  const x = scene.x(from), width = Math.max(scene.x(to) - x, 1);
  if (item.arrow !== undefined) {
    const y = tipAt(scene, item.arrow, 'from')[1];
    return {x, y, width, height: tipAt(scene, item.arrow, 'to')[1] - y};
  }
  const {row} = item, y = scene.rowY(row);
  if (item.loss || item.series) return {x, y: y + row.pointsY, width, height: row.height - row.pointsY};
  if (item.point !== undefined) return {x: x - 5, y: y + row.pointsY, width: 10, height: POINT_HEIGHT};
  return {x, y: scene.laneY(row, item.lane), width, height: row.laneHeight - 1};
}

// Returns the position of a tip of an arrow.
function tipAt(scene, arrow, side) {
  const {row: number, lane, at} = scene.data.arrows.tip(arrow, side);
  const row = scene.rows[number];
  const y = row.group.isFolded ? scene.groupY(row.group) + GROUP_HEIGHT / 2 : scene.laneY(row, lane) + row.laneHeight / 2;
  return [scene.x(at), y];
}

function rowOf(scene, item) {
  return item.row ?? scene.rows[scene.data.arrows.tip(item.arrow, 'from').row];
}

// Scrolls until an item can be seen, and unfolds its process.
function scrollTo(scene, item) {
  const {group} = rowOf(scene, item);
  if (group.isFolded) scene.fold(group);
  const {y, height} = boxOf(scene, item);
  if (y < RULER_HEIGHT || y + height > scene.height) scene.scroll(y - scene.height / 3);
}

// Brings an item into view. The scale stays, so that the surroundings stay recognizable.
function bring(scene, item) {
  const [from, to] = times(scene, item), length = scene.to - scene.from;
  const isCut = from < scene.from || to > scene.to, isOutside = to < scene.from || from > scene.to;
  if (isOutside || (isCut && to - from < length)) {
    const start = from - Math.max((length - (to - from)) / 2, length * 0.05);
    scene.show(start, start + length);
  }
  scrollTo(scene, item);
}

// Zooms to an item.
function zoomTo(scene, item) {
  const [from, to] = times(scene, item);
  const margin = Math.max((to - from) * 1.5, 100);
  scene.show(from - margin, to + margin);
  scrollTo(scene, item);
}
