// Draws rows on the canvas. The work is bounded by the pixels, not by the events.

const FONT = '11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace';

// A wider box has a caption.
const CAPTION_WIDTH = 24;
// A wider box is drawn by itself, and so are those of a lane that has few in view.
const STRIP_WIDTH = 256;
const FEW_BOXES = 32;
// The most captions while the view moves: each takes as long as a hundred boxes.
const MAX_MOVING_CAPTIONS = 500;

class Painter {
  constructor(canvas, scene, colours) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d', {alpha: false});
    this.scene = scene;
    this.colours = colours;
    // The argument that labels durations, or an empty text for their names.
    this.labelBy = '';
    // The view of the last frame, and whether that frame has all captions.
    this.view = [];
    this.isComplete = true;
    this.strips = {bright: new Strip(), dim: new Strip()};
  }

  resize() {
    const [width, height] = fitCanvas(this.canvas);
    this.scene.resize(width, height);
    for (const strip of Object.values(this.strips)) strip.resize(width + 6);
    prepare(this.canvas, this.scene, this.context);
    this.character = this.context.measureText('0').width;
  }

  // Draws everything. `hits` are the places that a search has found, or null without a search.
  draw({selected, hits, range, arrows}) {
    const {context, scene, colours: {theme}} = this;
    this.hits = hits;
    this.captions = [];
    this.torn = [];
    prepare(this.canvas, scene, context);
    context.fillStyle = theme.back;
    context.fillRect(0, 0, scene.width, scene.height);
    this.clipped(scene.gutter, RULER_HEIGHT, () => {
      drawGrid(this);
      for (const row of scene.rows) if (scene.isSeen(row)) this.row(row);
      for (const edge of this.torn) this.tornEdge(...edge);
      this.globals();
      drawArrows(this, arrows);
      this.names();
      if (selected) this.selection(selected);
    });
    this.clipped(0, RULER_HEIGHT, () => drawNames(this));
    drawRuler(this);
    if (range) this.range(range);
    drawScrollbar(this);
  }

  clipped(x, y, draw) {
    const {context, scene} = this;
    context.save();
    context.beginPath();
    context.rect(x, y, scene.width - x, scene.height - y);
    context.clip();
    draw();
    context.restore();
  }

  // Draws as much of a text as fits.
  text(text, x, y, width) {
    const characters = Math.floor(width / this.character);
    if (characters >= text.length) this.context.fillText(text, x, y);
    else if (characters >= 3) this.context.fillText(text.slice(0, characters - 1) + '…', x, y);
  }

  row(row) {
    const {context, scene, colours: {theme}} = this;
    context.fillStyle = theme.line;
    context.fillRect(scene.gutter, scene.rowY(row) + row.height + 1, scene.width, 1);
    for (const loss of row.losses.between(scene.from, scene.to, (time) => scene.nextPixel(time))) this.loss(row, loss);
    row.lanes.forEach((lane, number) => this.lane(row, lane, number));
    if (row.series.length) drawGraph(this, row);
    this.points(row);
  }

  // Draws the slices of a lane. A slice narrower than a pixel is drawn together with all that end
  // in the same pixel.
  lane(row, lane, number) {
    const {context, scene, colours: {theme}, strips} = this;
    const y = scene.laneY(row, number), height = row.laneHeight - 1;
    if (y > scene.height || y + height < RULER_HEIGHT) return;
    const columns = lane.columns, {begin, end, label, open, odd} = columns, size = begin.length;
    const isOdd = row.kind === KIND.thread ? number % 2 : 0;
    const scale = scene.scale(), left = scene.gutter - scene.from * scale, first = scene.gutter - 5, last = scene.width + 5;
    const start = lowerBound(end, scene.from), stripWidth = lowerBound(begin, scene.to) - start > FEW_BOXES ? STRIP_WIDTH : 0;
    for (let place = start; place < size && begin[place] <= scene.to;) {
      const x = Math.max(begin[place] * scale + left, first);
      const right = Math.min(end[place] * scale + left, last), width = Math.max(right - x, 1);
      const next = width > 1 ? place + 1 : nextEnd(end, place, (x + 1 - left) / scale);
      const hit = this.hits ? this.hit(columns, place, next) : place, shown = hit ?? place;
      const shade = odd ? odd[shown] : isOdd;
      // Whole pixels are drawn faster.
      const from = Math.round(x), to = Math.max(Math.round(x + width) - (width > 3 ? 1 : 0), from + 1);
      const alpha = hit === null ? theme.dim : 1;
      if (width <= stripWidth) {
        (hit === null ? strips.dim : strips.bright).fill(from, to, this.colours.boxPixel(label[shown], shade));
      } else {
        context.globalAlpha = alpha;
        context.fillStyle = this.colours.box(label[shown], shade);
        context.fillRect(from, y, to - from, height);
      }
      if (width > CAPTION_WIDTH && height > 10) this.captions.push({columns, place, alpha, x: Math.max(x, scene.gutter) + 3, y: y + height / 2 + 0.5, right});
      if (open[place]) this.torn.push([right, y, height]);
      place = next;
    }
    context.globalAlpha = theme.dim;
    strips.dim.draw(context, y, height);
    context.globalAlpha = 1;
    strips.bright.draw(context, y, height);
  }

  // Returns the first of a run of slices or points that is not dimmed, or null.
  hit(of, place, next) {
    if (!this.hits) return place;
    const hits = this.hits.get(of) ?? [];
    const hit = hits[lowerBound(hits, place)];
    return hit < next ? hit : null;
  }

  // Draws the names of slices, over the arrows.
  names() {
    const {context, colours: {theme}} = this;
    context.fillStyle = theme.text;
    for (const {columns, place, alpha, x, y, right} of this.shownCaptions()) {
      context.globalAlpha = alpha;
      this.text(this.caption(columns, place), x, y, right - x - 3);
    }
    context.globalAlpha = 1;
  }

  // Returns all captions, or while the view moves those of the widest slices. Those of one width
  // are all shown or all omitted.
  shownCaptions() {
    const {captions, scene, view} = this;
    this.view = [scene.from, scene.to, scene.top];
    const isMoving = view.length > 0 && this.view.some((value, place) => value !== view[place]);
    this.isComplete = !isMoving || captions.length <= MAX_MOVING_CAPTIONS;
    if (this.isComplete) return captions;
    const width = ({x, right}) => Math.round(right - x);
    const least = Float64Array.from(captions, width).sort().at(-1 - MAX_MOVING_CAPTIONS);
    return captions.filter((caption) => width(caption) > least);
  }

  // Returns the text in a slice.
  caption(columns, place) {
    const name = this.colours.name(columns.label[place]);
    if (!this.labelBy) return name;
    const isId = this.labelBy === 'id' && columns.id;
    const value = isId ? String(columns.id[place]) : argumentNamed(this.scene.data, columns.arguments[place], this.labelBy);
    return value === undefined ? name : `${value} · ${name}`;
  }

  // Marks the end of a slice without an end.
  tornEdge(x, y, height) {
    const {context, colours: {theme}} = this;
    context.fillStyle = theme.loss;
    for (let step = 0; step < height; step += 6) context.fillRect(x - 2, y + step, 2, 3);
  }

  points(row) {
    const {context, scene, colours: {theme}} = this;
    const {at, kind} = row.points, y = scene.rowY(row) + row.pointsY;
    for (let point = lowerBound(at, scene.time(scene.gutter - 6)); point < at.length && at[point] <= scene.to;) {
      // Points within a pixel are one.
      const x = scene.x(at[point]), next = gallop(at, scene.nextPixel(at[point]), point + 1);
      const hit = this.hit(row.points, point, next);
      context.globalAlpha = hit === null ? theme.dim : 1;
      const isLog = kind[hit ?? point] === 3;
      context.fillStyle = isLog ? theme.soft : theme.mark;
      if (isLog) context.fillRect(x - 3, y + 2, 6, 8); else triangle(context, x, y + 1, 5, 9);
      point = next;
    }
    context.globalAlpha = 1;
  }

  // Draws lines through all rows for instants of the whole trace.
  globals() {
    const {context, scene, colours: {theme}} = this;
    context.fillStyle = theme.mark;
    context.globalAlpha = 0.4;
    const {globals} = scene;
    for (let place = lowerBound(globals, scene.from); place < globals.length && globals[place] <= scene.to;) {
      context.fillRect(scene.x(globals[place]), RULER_HEIGHT, 1, scene.height);
      place = gallop(globals, scene.nextPixel(globals[place]), place + 1);
    }
    context.globalAlpha = 1;
  }

  loss(row, loss) {
    const {context, scene, colours: {theme}} = this;
    const y = scene.rowY(row) + row.pointsY, height = row.height - row.pointsY, x = Math.max(scene.x(loss.from), scene.gutter - 5);
    const width = Math.max(Math.min(scene.x(loss.to), scene.width + 5) - x, 2);
    context.fillStyle = theme.loss;
    context.globalAlpha = 0.22;
    context.fillRect(x, y, width, height);
    context.globalAlpha = 1;
    context.fillRect(x, y + height - 2, width, 2);
    context.fillRect(x, y, 1, height);
    context.fillRect(x + width - 1, y, 1, height);
    this.text(loss.text, x + 4, y + height - 8, width - 8);
  }

  // Frames the selected item. A line through the row shows a box that is too narrow to see.
  selection(item) {
    const {context, scene, colours: {theme}} = this;
    if (item.arrow !== undefined || item.row.group.isFolded) return;
    const {x, y, width, height} = boxOf(scene, item);
    const left = Math.max(x, scene.gutter - 4), right = Math.min(x + width, scene.width + 4);
    context.strokeStyle = context.fillStyle = theme.mark;
    if (width < 6) {
      context.fillRect(x, RULER_HEIGHT, 1, scene.height);
      triangle(context, x, y + height + 1, 5, 7);
    }
    context.lineWidth = 2;
    context.strokeRect(left, y, Math.max(right - left, 2), height);
    context.lineWidth = 1;
  }

  // Draws the selected range, with its length in the ruler.
  range({from, to, rows}) {
    const {context, scene, colours: {theme}} = this;
    const left = Math.max(scene.x(from), scene.gutter), right = Math.min(scene.x(to), scene.width);
    if (right < left) return;
    const isAll = rows.length === scene.rows.length, shown = rows.filter((row) => row.height);
    const top = isAll || !shown.length ? RULER_HEIGHT : Math.max(RULER_HEIGHT, scene.rowY(shown[0]));
    const bottom = isAll ? scene.height : shown.length ? Math.max(top, scene.rowY(shown.at(-1)) + shown.at(-1).height) : top;
    context.fillStyle = theme.range;
    if (bottom > top) context.fillRect(left, top, right - left, bottom - top);
    context.fillStyle = theme.mark;
    context.fillRect(left, RULER_HEIGHT - 5, right - left, 5);
    for (const x of [left, right - 1]) context.fillRect(x, RULER_HEIGHT - 5, 1, bottom - RULER_HEIGHT + 5);
    const text = duration(to - from), width = (text.length + 2) * this.character;
    const middle = Math.min(Math.max((left + right - width) / 2, scene.gutter), scene.width - width);
    context.fillRect(middle, 1, width, RULER_HEIGHT - 6);
    context.fillStyle = theme.back;
    context.fillText(text, middle + this.character, RULER_HEIGHT / 2 - 2);
  }
}

// Sets the size of a canvas in pixels of the screen; returns its size in CSS pixels.
function fitCanvas(canvas) {
  const ratio = window.devicePixelRatio || 1, {clientWidth: width, clientHeight: height} = canvas;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  return [width, height];
}

// Prepares a canvas of a width and a height in CSS pixels. The pixel ratio may differ from that when
// its size was set.
function prepare(canvas, {width, height}, context) {
  context.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
  context.globalAlpha = 1;
  context.font = FONT;
  context.textBaseline = 'middle';
}

// Returns the first slice after `place` that ends at a time or later, and not with `place`.
function nextEnd(end, place, time) {
  const next = place + 1, least = time > end[place] ? time : nextNumber(end[place]);
  return next < end.length && end[next] < least ? gallop(end, least, next) : next;
}

function triangle(context, x, y, half, height) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + half, y + height);
  context.lineTo(x - half, y + height);
  context.fill();
}
