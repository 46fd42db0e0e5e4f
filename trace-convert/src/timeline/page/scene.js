// The positions of rows on the canvas, and the part of the timeline in view.

const LANE_HEIGHT = 18;
const SMALL_LANE_HEIGHT = 3;
// Rows of more lanes are folded at first.
const MANY_LANES = 100;
const POINT_HEIGHT = 12;
const GRAPH_HEIGHT = 44;
const GROUP_HEIGHT = 22;
const NAME_HEIGHT = 16;
const RULER_HEIGHT = 24;
const ROW_GAP = 3;
// Below this width, names are above their rows.
const NARROW = 640;
// The shortest time in view, in nanoseconds, and as a part of the time: times are rounded beyond
// 2^53 ns, and 64 distinct ones remain in view.
const MIN_SPAN = 10;
const MIN_PART = 64 * Number.EPSILON;

class Scene {
  constructor(data) {
    this.data = data;
    this.rows = data.groups.flatMap((group) => group.rows);
    for (const group of data.groups) for (const row of group.rows) row.group = group;
    this.rows.forEach((row, number) => Object.assign(row, {number, isFolded: row.lanes.length > MANY_LANES}));
    // Instants of the whole trace.
    this.globals = Float64Array.from(this.rows.flatMap(globalsOf)).sort();
    this.span = Math.max(data.to - data.from, 1);
    this.top = 0;
    this.resize(1, 1);
    this.showAll();
  }

  // Layout.

  layOut() {
    let y = 0;
    for (const group of this.data.groups) {
      group.y = y;
      y += GROUP_HEIGHT;
      for (const row of group.rows) {
        row.y = y;
        row.laneHeight = row.isFolded ? SMALL_LANE_HEIGHT : LANE_HEIGHT;
        row.pointsY = this.isNarrow ? NAME_HEIGHT : 0;
        row.lanesY = row.pointsY + (row.points.at.length ? POINT_HEIGHT : 0);
        row.height = group.isFolded ? 0 : row.lanesY + this.bodyHeight(row);
        y += group.isFolded ? 0 : row.height + ROW_GAP;
      }
      y += ROW_GAP;
    }
    this.total = y;
  }

  bodyHeight(row) {
    const lanes = row.lanes.length * row.laneHeight;
    if (row.series.length) return Math.max(lanes, GRAPH_HEIGHT);
    const isShort = this.isNarrow && !row.lanes.length;
    return isShort ? 0 : Math.max(lanes, LANE_HEIGHT);
  }

  resize(width, height) {
    this.width = width;
    this.height = height;
    this.isNarrow = width < NARROW;
    this.gutter = this.isNarrow ? 0 : Math.min(340, Math.max(160, width * 0.16));
    this.layOut();
    this.scroll(0);
  }

  fold(of) {
    of.isFolded = !of.isFolded;
    this.layOut();
    this.scroll(0);
  }

  // Time and pixels.

  scale() { return (this.width - this.gutter) / (this.to - this.from); }
  x(time) { return this.gutter + (time - this.from) * this.scale(); }
  time(x) { return this.from + (x - this.gutter) / this.scale(); }
  nextPixel(time) { return Math.max(this.time(this.x(time) + 1), nextNumber(time)); }

  show(from, to) {
    const whole = Math.max(this.data.length, 1);
    const length = Math.min(Math.max(to - from, minSpan(from, to)), whole * 1.2 + MIN_SPAN);
    const middle = Math.min(Math.max((from + to) / 2, -0.05 * whole), whole * 1.05);
    this.from = middle - length / 2;
    this.to = this.from + length;
  }

  showAll() {
    const margin = this.span * 0.01;
    this.show(this.data.from - margin, this.data.from + this.span + margin);
  }

  zoom(factor, x = (this.gutter + this.width) / 2) {
    const time = this.time(Math.max(x, this.gutter));
    const length = Math.max((this.to - this.from) * factor, minSpan(this.from, this.to));
    const from = time - (time - this.from) * length / (this.to - this.from);
    this.show(from, from + length);
  }

  pan(pixels) {
    const time = pixels / this.scale();
    this.show(this.from + time, this.to + time);
  }

  maxTop() { return Math.max(0, this.total - (this.height - RULER_HEIGHT)); }

  scroll(pixels) { this.top = Math.min(Math.max(0, this.top + pixels), this.maxTop()); }

  // Positions.

  groupY(group) { return group.y - this.top + RULER_HEIGHT; }
  rowY(row) { return row.y - this.top + RULER_HEIGHT; }
  laneY(row, lane) { return this.rowY(row) + row.lanesY + lane * row.laneHeight; }

  isSeen(row) {
    const y = this.rowY(row);
    return row.height > 0 && y + row.height > RULER_HEIGHT && y < this.height;
  }

  groupAt(y) {
    return this.data.groups.find((group) => y >= this.groupY(group) && y < this.groupY(group) + GROUP_HEIGHT);
  }

  rowAt(y) {
    return this.rows.find((row) => row.height && y >= this.rowY(row) && y < this.rowY(row) + row.height);
  }

  // Returns the group or the row whose name is at a position.
  namedAt(x, y) {
    if (y < RULER_HEIGHT) return null;
    const row = this.rowAt(y);
    const isName = this.isNarrow ? row && y < this.rowY(row) + NAME_HEIGHT : x < this.gutter;
    return this.groupAt(y) ?? (isName ? row : null) ?? null;
  }

  // Returns the rows between two heights. A drag in the ruler selects all rows.
  rowsBetween(from, to) {
    const [above, below] = from < to ? [from, to] : [to, from];
    if (from < RULER_HEIGHT) return this.rows;
    return this.rows.filter((row) => row.height && this.rowY(row) + row.height >= above && this.rowY(row) <= below);
  }
}

function globalsOf({points: {at, kind}}) { return [...at].filter((_, point) => kind[point] === 2); }

function minSpan(from, to) { return Math.max(MIN_SPAN, MIN_PART * Math.max(Math.abs(from), Math.abs(to))); }
