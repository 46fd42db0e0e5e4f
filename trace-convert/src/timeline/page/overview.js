// The overview: how busy the threads are in the whole trace, and the part in view as a brush.

const BUCKETS = 1000;
// How near to an edge of the brush a drag moves that edge, in pixels.
const EDGE = 7;

class Overview {
  constructor(canvas, scene, colours, changed) {
    Object.assign(this, {canvas, scene, colours, changed});
    this.context = canvas.getContext('2d', {alpha: false});
    const margin = scene.span * 0.01;
    this.from = scene.data.from - margin;
    this.to = scene.data.from + scene.span + margin;
    this.busy = busyShares(scene, this.from, this.to);
    this.losses = new Losses(scene.rows.flatMap((row) => row.losses.list));
    this.drag = null;
    this.listen();
  }

  resize() { [this.width, this.height] = fitCanvas(this.canvas); }

  x(time) { return (time - this.from) / (this.to - this.from) * this.width; }
  time(x) { return this.from + x / this.width * (this.to - this.from); }
  nextPixel(time) { return Math.max(this.time(this.x(time) + 1), nextNumber(time)); }

  draw({selected, matches, range}) {
    const {context, colours: {theme}} = this;
    prepare(this.canvas, this, context);
    context.fillStyle = theme.back;
    context.fillRect(0, 0, this.width, this.height);
    this.activity();
    context.fillStyle = theme.loss;
    for (const {from, to} of this.losses.between(this.from, this.to, (time) => this.nextPixel(time))) this.line(from, to, this.height - 4, 4);
    context.fillStyle = theme.mark;
    if (matches) this.marks(matches.found);
    if (range) this.line(range.from, range.to, 0, 4);
    if (selected) this.selection(times(this.scene, selected));
    this.brush();
  }

  activity() {
    const {context, busy, colours: {theme}} = this, width = this.width / BUCKETS;
    context.fillStyle = theme.soft;
    context.globalAlpha = 0.55;
    context.beginPath();
    context.moveTo(0, this.height);
    busy.forEach((share, bucket) => {
      const y = this.height - share * (this.height - 4);
      context.lineTo(bucket * width, y);
      context.lineTo((bucket + 1) * width, y);
    });
    context.lineTo(this.width, this.height);
    context.fill();
    context.globalAlpha = 1;
  }

  selection([from, to]) {
    this.line(from, from, 0, this.height);
    this.line(from, to, 0, 4);
  }

  line(from, to, y, height) {
    const x = this.x(from);
    this.context.fillRect(x, y, Math.max(this.x(to) - x, 1), height);
  }

  // Draws a line for each search match, at most one a pixel.
  marks(found) {
    let last = -1;
    for (const item of found) {
      const x = Math.round(this.x(times(this.scene, item)[0]));
      if (x > last) this.context.fillRect(last = x, this.height / 2, 1, this.height / 2);
    }
  }

  brush() {
    const {context, scene, colours: {theme}} = this;
    const left = Math.max(this.x(scene.from), 0), right = Math.min(this.x(scene.to), this.width);
    context.fillStyle = theme.veil;
    context.fillRect(0, 0, left, this.height);
    context.fillRect(right, 0, this.width - right, this.height);
    context.strokeStyle = context.fillStyle = theme.mark;
    context.strokeRect(left + 0.5, 0.5, Math.max(right - left - 1, 1), this.height - 1);
    for (const x of [left, right - 4]) context.fillRect(x, this.height / 2 - 7, 4, 14);
  }

  listen() {
    const {canvas} = this;
    canvas.addEventListener('pointerdown', (event) => event.button === 0 && this.press(event));
    canvas.addEventListener('pointermove', (event) => {
      // A button that was released elsewhere is not reported.
      if (!event.buttons) this.drag = null;
      if (this.drag) this.move(event.offsetX); else this.hover(event.offsetX);
    });
    canvas.addEventListener('pointerup', (event) => this.release(event.offsetX));
    canvas.addEventListener('pointercancel', () => this.drag = null);
    canvas.addEventListener('dblclick', () => {
      this.scene.showAll();
      this.changed();
    });
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      const {from, to} = this.scene, time = this.time(event.offsetX), factor = wheelFactor(event);
      this.scene.show(time + (from - time) * factor, time + (to - time) * factor);
      this.changed();
    }, {passive: false});
  }

  // Returns what a drag from a position changes: an edge or the place of the brush, or a new brush.
  part(x) {
    const left = this.x(this.scene.from), right = this.x(this.scene.to);
    if (Math.abs(x - left) <= EDGE) return 'from';
    if (Math.abs(x - right) <= EDGE) return 'to';
    const isAll = left <= EDGE && right >= this.width - EDGE;
    return x > left && x < right && !isAll ? 'move' : 'new';
  }

  press({pointerId, offsetX: x}) {
    this.canvas.setPointerCapture(pointerId);
    const {from, to} = this.scene;
    this.drag = {part: this.part(x), x, from, to, moved: false};
  }

  move(x) {
    const {drag, scene} = this, by = this.time(x) - this.time(drag.x);
    drag.moved ||= Math.abs(x - drag.x) > 2;
    if (!drag.moved) return;
    const [anchor, end] = {from: [drag.to, drag.from + by], to: [drag.from, drag.to + by], new: [this.time(drag.x), this.time(x)]}[drag.part] ?? [];
    if (drag.part === 'move') scene.show(drag.from + by, drag.to + by);
    else scene.show(Math.min(anchor, end), Math.max(anchor, end));
    this.changed();
  }

  // A click centers the view.
  release(x) {
    if (this.drag && !this.drag.moved) {
      const half = (this.scene.to - this.scene.from) / 2, time = this.time(x);
      this.scene.show(time - half, time + half);
      this.changed();
    }
    this.drag = null;
  }

  hover(x) {
    this.canvas.style.cursor = {from: 'ew-resize', to: 'ew-resize', move: 'grab', new: 'crosshair'}[this.part(x)];
  }
}

// Returns the share of the busiest time for each part of the trace: the time that the outermost
// durations of threads and CPUs take, or of operations if there are no others.
function busyShares(scene, from, to) {
  const isBusy = (row) => row.lanes.length && row.kind !== KIND.operation;
  const rows = scene.rows.some(isBusy) ? scene.rows.filter(isBusy) : scene.rows.filter((row) => row.lanes.length);
  const busy = new Float64Array(BUCKETS), changes = new Float64Array(BUCKETS + 1), scale = BUCKETS / (to - from);
  for (const row of rows) {
    const {begin, end} = row.lanes[0].columns;
    for (let place = 0; place < begin.length; place++) {
      // The last thread of a CPU can run longer than the trace lasts.
      const first = Math.max(0, (begin[place] - from) * scale), last = Math.min(BUCKETS, (end[place] - from) * scale);
      if (last <= first) continue;
      const bucket = Math.floor(first), lastBucket = Math.min(BUCKETS - 1, Math.floor(last));
      if (bucket >= lastBucket) {
        busy[bucket] += last - first;
        continue;
      }
      busy[bucket] += bucket + 1 - first;
      busy[lastBucket] += last - lastBucket;
      changes[bucket + 1]++;
      changes[lastBucket]--;
    }
  }
  let open = 0;
  busy.forEach((_, bucket) => busy[bucket] += open += changes[bucket]);
  const most = busy.reduce((a, b) => Math.max(a, b), 0);
  return busy.map((time) => most ? time / most : 0);
}
