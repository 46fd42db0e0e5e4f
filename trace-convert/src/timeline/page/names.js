// Draws the names of processes, rows and lanes, and the scrollbar.

const SCROLLBAR = 8;
// The most slices of a lane that are read for its name.
const MAX_READ = 10000;

function drawNames(painter) {
  const {context, scene, colours: {theme}} = painter;
  if (!scene.isNarrow) {
    context.fillStyle = theme.bar;
    context.fillRect(0, 0, scene.gutter, scene.height);
  }
  for (const group of scene.data.groups) {
    const y = scene.groupY(group);
    if (y + GROUP_HEIGHT > 0 && y < scene.height) {
      context.fillStyle = theme.bar;
      context.fillRect(0, y, scene.width, GROUP_HEIGHT);
      context.fillStyle = theme.front;
      painter.text(`${group.isFolded ? '▸' : '▾'} ${group.name}`, 8, y + GROUP_HEIGHT / 2, scene.width - 16);
    }
    for (const row of group.rows) if (scene.isSeen(row)) drawName(painter, row);
  }
  if (scene.isNarrow) return;
  context.fillStyle = theme.line;
  context.fillRect(scene.gutter - 1, 0, 1, scene.height);
}

function drawName(painter, row) {
  const {context, scene, colours: {theme}} = painter;
  const notes = rowNotes(painter, row), y = scene.rowY(row) + LANE_HEIGHT / 2;
  context.fillStyle = row.losses.list.length ? theme.loss : theme.front;
  if (scene.isNarrow) return painter.text([row.name, ...notes].join(' · '), 8, scene.rowY(row) + NAME_HEIGHT / 2, scene.width - 16);
  painter.text(row.name, 20, y, scene.gutter - 26);
  context.fillStyle = theme.soft;
  notes.forEach((note, line) => painter.text(note, 20, y + (line + 1) * LANE_HEIGHT * 0.8, scene.gutter - 26));
  if (!row.isFolded && row.kind === KIND.operation) drawLaneNames(painter, row);
}

function rowNotes({colours}, row) {
  const notes = [];
  if (row.series.length) {
    const [least, most] = bounds(row);
    notes.push(`${number(least)} … ${number(most)} ${row.series.map((series) => series.name).join(', ')}`);
  }
  if (row.isFolded) notes.push(count(row.lanes.length, 'lane'));
  return notes;
}

// Draws the names of the lanes of operations, indented by their depths. Repetitions are omitted.
function drawLaneNames(painter, row) {
  const {scene} = painter;
  let last = `0 ${row.name}`;
  row.lanes.forEach((_, lane) => {
    const y = scene.laneY(row, lane) + row.laneHeight / 2;
    if (y < 0 || y > scene.height) return;
    const {depth, name} = laneName(painter, row, lane), text = `${depth} ${name}`;
    const isRepeated = text === last;
    last = text;
    if (!isRepeated) painter.text(name, 20 + 10 * depth, y, scene.gutter - 26 - 10 * depth);
  });
}

// Returns the depth of a lane's first operation, and the names in the lane.
function laneName({colours}, row, lane) {
  return row.lanes[lane].name ??= {depth: depthOf({row, lane, place: 0}), name: namesIn(colours, row.lanes[lane].columns)};
}

function depthOf(item) {
  let depth = 0;
  for (let parent = parentOf(item); parent; parent = parentOf(parent)) depth++;
  return depth;
}

function namesIn(colours, {label}) {
  const labels = [...new Set(label.subarray(0, MAX_READ))];
  const names = labels.slice(0, 3).map((label) => colours.name(label));
  return names.join(', ') + (labels.length > 3 ? ', …' : '');
}

// Returns the top and the height of the scrollbar's thumb, or null if all rows fit.
function thumb(scene) {
  const most = scene.maxTop(), track = scene.height - RULER_HEIGHT;
  if (most === 0) return null;
  const height = Math.max(24, track * track / scene.total);
  return {y: RULER_HEIGHT + scene.top / most * (track - height), height, pixel: most / (track - height)};
}

function drawScrollbar({context, scene, colours: {theme}}) {
  const at = thumb(scene);
  if (!at) return;
  context.fillStyle = theme.soft;
  context.globalAlpha = 0.5;
  context.fillRect(scene.width - SCROLLBAR + 1, at.y, SCROLLBAR - 2, at.height);
  context.globalAlpha = 1;
}
