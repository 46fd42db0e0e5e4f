// Where everything is, and what is at a place.
//
// An item is {row, lane, place} for a slice, {row, point} for a point,
// {row, loss} for a loss, {row, series, sample} for a value, or {arrow}.

const LANE_HEIGHT = 18;
const SMALL_LANE_HEIGHT = 3;
const MANY_LANES = 40;
const POINT_HEIGHT = 12;
const GRAPH_HEIGHT = 44;
const GROUP_HEIGHT = 22;
const RULER_HEIGHT = 24;
const ROW_GAP = 3;
// There is an arrow for each so many pixels at most.
const ARROW_ROOM = 4;
const POINT_KINDS = ['instant', 'instant of the process', 'instant of the whole trace', 'log message', 'step of an operation', 'blob', 'wake-up'];

class Scene {
  constructor(data) {
    this.data = data;
    this.rows = data.groups.flatMap((group) => group.rows);
    for (const group of data.groups) {
      for (const row of group.rows) {
        row.group = group;
        row.isFolded = row.lanes.length > MANY_LANES;
      }
    }
    // Instants of the whole trace.
    this.globals = this.rows.flatMap((row) => [...row.points.at].filter((_, point) => row.points.kind[point] === 2));
    this.shortest = Math.max(data.to - data.from, 1);
    this.showAll();
    this.top = 0;
    this.width = 1;
    this.height = 1;
    this.gutter = 200;
    this.hasArrows = true;
    this.arrows = {own: [], others: [], hidden: 0};
    this.layOut();
  }

  layOut() {
    let y = 0;
    for (const group of this.data.groups) {
      group.y = y;
      y += GROUP_HEIGHT;
      for (const row of group.rows) {
        row.y = y;
        row.laneHeight = row.isFolded ? SMALL_LANE_HEIGHT : LANE_HEIGHT;
        row.lanesY = row.points.at.length ? POINT_HEIGHT : 0;
        const lanes = Math.max(row.lanes.length, row.series.length ? 0 : 1) * row.laneHeight;
        row.height = group.isFolded ? 0 : row.lanesY + Math.max(lanes, row.series.length ? GRAPH_HEIGHT : LANE_HEIGHT);
        y += group.isFolded ? 0 : row.height + ROW_GAP;
      }
      y += ROW_GAP;
    }
    this.total = y;
  }

  resize(width, height) {
    this.width = width;
    this.height = height;
    this.gutter = Math.min(220, width / 4);
    this.scroll(0);
  }

  // Time and pixels.

  scale() { return (this.width - this.gutter) / (this.to - this.from); }
  x(time) { return this.gutter + (time - this.from) * this.scale(); }
  time(x) { return this.from + (x - this.gutter) / this.scale(); }

  show(from, to) {
    const whole = Math.max(this.data.length, 1);
    const length = Math.min(Math.max(to - from, 10), whole * 1.2 + 10);
    const middle = Math.min(Math.max((from + to) / 2, -0.05 * whole), whole * 1.05);
    this.from = middle - length / 2;
    this.to = this.from + length;
  }

  showAll() {
    const margin = this.shortest * 0.01;
    this.show(this.data.from - margin, this.data.from + this.shortest + margin);
  }

  zoom(factor, x = (this.gutter + this.width) / 2) {
    const time = this.time(x);
    this.show(time + (this.from - time) * factor, time + (this.to - time) * factor);
  }

  pan(pixels) {
    const time = pixels / this.scale();
    this.show(this.from + time, this.to + time);
  }

  scroll(pixels) {
    const most = Math.max(0, this.total - (this.height - RULER_HEIGHT));
    this.top = Math.min(Math.max(0, this.top + pixels), most);
  }

  // Where an item is.

  rowY(row) { return row.y - this.top + RULER_HEIGHT; }

  laneY(row, lane) { return this.rowY(row) + row.lanesY + lane * row.laneHeight; }

  times(item) {
    if (item.arrow) return [item.arrow.from.at, item.arrow.to.at];
    if (item.loss) return [item.loss.from, item.loss.to];
    if (item.series) return [item.series.at[item.sample], item.series.at[item.sample]];
    if (item.point !== undefined) return [item.row.points.at[item.point], item.row.points.at[item.point]];
    const lane = item.row.lanes[item.lane];
    return [lane.begin[item.place], lane.end[item.place]];
  }

  // The box of an item on the canvas, in CSS pixels.
  box(item) {
    const [from, to] = this.times(item);
    const x = this.x(from), width = Math.max(this.x(to) - x, 1);
    if (item.arrow) {
      const y = this.tip(item.arrow.from)[1];
      return {x, y, width, height: this.tip(item.arrow.to)[1] - y};
    }
    const y = this.rowY(item.row);
    if (item.loss || item.series) return {x, y, width, height: item.row.height};
    if (item.point !== undefined) return {x: x - 5, y, width: 10, height: POINT_HEIGHT};
    return {x, y: this.laneY(item.row, item.lane), width, height: item.row.laneHeight - 1};
  }

  tip({row, lane, at}) {
    const of = this.rows[row];
    const y = of.group.isFolded ? this.rowY(of) - GROUP_HEIGHT / 2 : this.laneY(of, lane) + of.laneHeight / 2;
    return [this.x(at), y];
  }

  // Arrows.

  mostArrows() { return Math.floor((this.width - this.gutter) / ARROW_ROOM); }

  // Chooses the arrows to draw: those of the selection, and the others unless
  // they are too many to be told apart; then they are counted only.
  chooseArrows(selected) {
    const own = [], others = [];
    for (const arrow of this.data.arrows) {
      if (arrow.from.at > this.to) break;
      if (arrow.to.at < this.from || !this.isArrowSeen(arrow)) continue;
      (this.isOwnArrow(arrow, selected) ? own : others).push(arrow);
    }
    if (!this.hasArrows) this.arrows = {own: [], others: [], hidden: own.length + others.length};
    else if (own.length + others.length <= this.mostArrows()) this.arrows = {own, others, hidden: 0};
    else this.arrows = {own, others: [], hidden: others.length};
    return this.arrows;
  }

  isArrowSeen({from, to}) {
    const [fromX, fromY] = this.tip(from), [toX, toY] = this.tip(to);
    if (Math.max(fromY, toY) < RULER_HEIGHT || Math.min(fromY, toY) > this.height) return false;
    return Math.abs(toX - fromX) >= 2 || Math.abs(toY - fromY) >= 2;
  }

  // An arrow is of the duration that it comes from or goes to.
  isOwnArrow(arrow, selected) {
    if (!selected) return false;
    if (selected.place === undefined) return selected.arrow === arrow;
    const {row, lane, place} = selected;
    const isTip = (tip) => this.rows[tip.row] === row && tip.lane === lane && upperBound(row.lanes[lane].begin, tip.at) - 1 === place;
    return isTip(arrow.from) || isTip(arrow.to);
  }

  // Brings an item into view, with room around it.
  reveal(item, isClose) {
    const row = item.row ?? this.rows[item.arrow.from.row];
    if (row.group.isFolded) {
      row.group.isFolded = false;
      this.layOut();
    }
    const [from, to] = this.times(item);
    const isSmall = to > from && this.x(to) - this.x(from) < 4;
    if (isClose || isSmall || from < this.from || to > this.to) {
      const room = Math.max((to - from) * 1.5, isClose ? 100 : Math.min(1e6, this.to - this.from) / 2);
      this.show(from - room, to + room);
    }
    const {y, height} = this.box(item);
    if (y < RULER_HEIGHT || y + height > this.height) this.scroll(y - this.height / 3);
  }

  // What is at a place.

  groupAt(y) {
    const at = y - RULER_HEIGHT + this.top;
    return this.data.groups.find((group) => at >= group.y && at < group.y + GROUP_HEIGHT);
  }

  rowAt(y) {
    const at = y - RULER_HEIGHT + this.top;
    return this.rows.find((row) => row.height && at >= row.y && at < row.y + row.height);
  }

  itemAt(x, y) {
    if (x < this.gutter || y < RULER_HEIGHT) return null;
    const row = this.rowAt(y);
    // The lowest pixels of a row are those of its loss, whatever is above.
    const isEdge = row && y >= this.rowY(row) + row.height - 4;
    return (row && ((isEdge ? this.lossAt(row, x) : null) ?? this.pointAt(row, x, y) ?? this.sliceAt(row, x, y) ?? this.lossAt(row, x))) ??
      this.arrowAt(x, y) ?? (row && this.sampleAt(row, x)) ?? null;
  }

  pointAt(row, x, y) {
    const {at} = row.points;
    if (!at.length || y >= this.rowY(row) + POINT_HEIGHT) return null;
    const place = lowerBound(at, this.time(x));
    const distance = (point) => point in at ? Math.abs(this.x(at[point]) - x) : Infinity;
    const point = distance(place - 1) < distance(place) ? place - 1 : place;
    return distance(point) <= 6 ? {row, point} : null;
  }

  sliceAt(row, x, y) {
    const number = Math.floor((y - this.laneY(row, 0)) / row.laneHeight);
    const lane = row.lanes[number];
    if (!lane) return null;
    const place = lowerBound(lane.end, this.time(x - 1));
    if (place === lane.end.length || this.x(lane.begin[place]) > x + 1) return null;
    return {row, lane: number, place};
  }

  lossAt(row, x) {
    const loss = row.losses.find((loss) => x >= this.x(loss.from) - 2 && x <= this.x(loss.to) + 2);
    return loss ? {row, loss} : null;
  }

  sampleAt(row, x) {
    const time = this.time(x);
    for (const series of row.series) {
      const sample = upperBound(series.at, time) - 1;
      if (sample >= 0) return {row, series, sample};
    }
    return null;
  }

  arrowAt(x, y) {
    for (const arrow of [...this.arrows.own, ...this.arrows.others]) {
      const [fromX, fromY] = this.tip(arrow.from), [toX, toY] = this.tip(arrow.to);
      if (x < Math.min(fromX, toX) - 4 || x > Math.max(fromX, toX) + 4) continue;
      for (const part of [0, 0.25, 0.5, 0.75, 1]) {
        const [atX, atY] = curve(fromX, fromY, toX, toY, part);
        if (Math.hypot(atX - x, atY - y) < 6) return {arrow};
      }
    }
    return null;
  }

  // The event before (-1) or behind (1) an item in its lane.
  neighbour(item, step) {
    const moved = (length, place) => place + step >= 0 && place + step < length ? place + step : null;
    if (item.point !== undefined) {
      const point = moved(item.row.points.at.length, item.point);
      return point === null ? item : {row: item.row, point};
    }
    if (item.series) {
      const sample = moved(item.series.at.length, item.sample);
      return sample === null ? item : {...item, sample};
    }
    if (item.place === undefined) return item;
    const place = moved(item.row.lanes[item.lane].begin.length, item.place);
    return place === null ? item : {...item, place};
  }

  // The innermost slice of the first row that can be seen.
  firstInView() {
    for (const row of this.rows) {
      if (this.rowY(row) + row.height <= RULER_HEIGHT) continue;
      for (let lane = 0; lane < row.lanes.length; lane++) {
        const {begin, end} = row.lanes[lane];
        const place = lowerBound(end, this.from);
        if (place < end.length && begin[place] <= this.to) return {row, lane, place};
      }
    }
    return null;
  }
}

// How far an arrow goes on before it turns, and how high above a lane if it
// stays in that: the line would go through names.
function bendOf(fromX, toX) { return Math.min(40, Math.abs(toX - fromX) / 2 + 8); }

function riseOf(fromY, toY) { return Math.abs(toY - fromY) < 2 ? LANE_HEIGHT : 0; }

// A point on the curve of an arrow.
function curve(fromX, fromY, toX, toY, part) {
  const bend = bendOf(fromX, toX), rise = riseOf(fromY, toY), rest = 1 - part;
  const mix = (a, b, c, d) => rest ** 3 * a + 3 * rest ** 2 * part * b + 3 * rest * part ** 2 * c + part ** 3 * d;
  return [mix(fromX, fromX + bend, toX - bend, toX), mix(fromY, fromY - rise, toY - rise, toY)];
}

