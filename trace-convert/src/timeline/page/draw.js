// Drawing.

const FONT = '11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace';
const THEMES = {
  light: {back: '#ffffff', front: '#1c1f26', soft: '#5b6270', line: '#e3e6ec', bar: '#f3f5f9', mark: '#1565c0', loss: '#c62828', box: [62, 80], text: '#14161b', dim: 0.25},
  dark: {back: '#14161b', front: '#e4e7ee', soft: '#9aa3b2', line: '#2a2f39', bar: '#1d2027', mark: '#82b1ff', loss: '#ff5252', box: [38, 34], text: '#f2f4f8', dim: 0.25},
};

class Painter {
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.scene = scene;
    this.colours = new Map();
    this.setTheme('light');
  }

  setTheme(name) {
    this.theme = THEMES[name];
    this.colours.clear();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const {clientWidth: width, clientHeight: height} = this.canvas;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.scene.resize(width, height);
  }

  // Draws everything. `hits` are what a search has found, or null if nothing is
  // searched for.
  draw(selected, hits) {
    const {context, scene, theme} = this;
    const ratio = window.devicePixelRatio || 1;
    this.hits = hits;
    this.captions = [];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.back;
    context.fillRect(0, 0, scene.width, scene.height);
    context.font = FONT;
    context.textBaseline = 'middle';
    this.character = context.measureText('0').width;
    this.clipped(scene.gutter, RULER_HEIGHT, () => {
      this.grid();
      for (const row of scene.rows) if (this.isSeen(row)) this.row(row);
      this.globals();
      this.arrows(selected);
      this.names();
      if (selected) this.selection(selected);
    });
    this.clipped(0, RULER_HEIGHT, () => this.gutter());
    this.ruler();
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

  isSeen(row) {
    const y = this.scene.rowY(row);
    return row.height > 0 && y + row.height > RULER_HEIGHT && y < this.scene.height;
  }

  colour(label) {
    let colour = this.colours.get(label);
    if (!colour) {
      const [category, name] = this.scene.data.labels[label];
      const text = this.scene.data.strings[name] || this.scene.data.strings[category];
      let hash = 7;
      for (let place = 0; place < text.length; place++) hash = (hash * 31 + text.charCodeAt(place)) >>> 0;
      const [saturation, lightness] = this.theme.box;
      colour = `hsl(${(hash * 47) % 360} ${saturation}% ${lightness}%)`;
      this.colours.set(label, colour);
    }
    return colour;
  }

  name(label) {
    const [category, name] = this.scene.data.labels[label];
    return this.scene.data.strings[name] || this.scene.data.strings[category];
  }

  // Writes as much of a text as fits.
  text(text, x, y, width) {
    const room = Math.floor(width / this.character);
    if (room >= text.length) this.context.fillText(text, x, y);
    else if (room >= 3) this.context.fillText(text.slice(0, room - 1) + '…', x, y);
  }

  row(row) {
    const {context, scene, theme} = this;
    context.fillStyle = theme.line;
    context.fillRect(scene.gutter, scene.rowY(row) + row.height + 1, scene.width, 1);
    row.losses.forEach((loss) => this.loss(row, loss));
    row.lanes.forEach((lane, number) => this.lane(row, lane, scene.laneY(row, number)));
    if (row.series.length) this.graph(row);
    this.points(row);
  }

  // Draws the slices of a lane. What is narrower than a pixel is drawn with all
  // that ends in the same pixel, so that the work is bounded by the pixels.
  lane(row, lane, y) {
    const {context, scene, theme} = this;
    const height = row.laneHeight - 1;
    if (y > scene.height || y + height < RULER_HEIGHT) return;
    const count = lane.begin.length;
    for (let place = lowerBound(lane.end, scene.from); place < count && lane.begin[place] <= scene.to;) {
      const x = Math.max(scene.x(lane.begin[place]), scene.gutter - 5);
      const right = Math.min(scene.x(lane.end[place]), scene.width + 5);
      const width = Math.max(right - x, 1);
      const next = width > 1 ? place + 1 : lowerBound(lane.end, scene.time(x + 1), place + 1);
      const hit = this.hit(lane, place, next);
      const label = lane.label[hit ?? place];
      const alpha = context.globalAlpha = hit === null ? theme.dim : 1;
      context.fillStyle = this.colour(label);
      context.fillRect(x, y, width - (width > 3 ? 0.5 : 0), height);
      if (lane.open[place]) this.tornEdge(right, y, height);
      if (width > 24 && height > 10) {
        const left = Math.max(x, scene.gutter);
        this.captions.push({label, alpha, x: left + 3, y: y + height / 2 + 0.5, width: right - left - 6});
      }
      place = next;
    }
    context.globalAlpha = 1;
  }

  // The first of a run of slices or points that is not to be dimmed, or null.
  hit(of, place, next) {
    if (!this.hits) return place;
    const hits = this.hits.get(of) ?? [];
    const hit = hits[lowerBound(hits, place)];
    return hit < next ? hit : null;
  }

  // The names of slices, over the arrows.
  names() {
    const {context, theme} = this;
    context.fillStyle = theme.text;
    for (const {label, alpha, x, y, width} of this.captions) {
      context.globalAlpha = alpha;
      this.text(this.name(label), x, y, width);
    }
    context.globalAlpha = 1;
  }

  // The end of what has no end.
  tornEdge(x, y, height) {
    const {context, theme} = this;
    context.fillStyle = theme.loss;
    for (let step = 0; step < height; step += 6) context.fillRect(x - 2, y + step, 2, 3);
  }

  points(row) {
    const {context, scene, theme} = this;
    const {at, kind} = row.points;
    const y = scene.rowY(row);
    for (let point = lowerBound(at, scene.time(scene.gutter - 6)); point < at.length && at[point] <= scene.to;) {
      // Many at the same place are one.
      const x = scene.x(at[point]), next = lowerBound(at, scene.time(x + 1), point + 1);
      const hit = this.hit(row.points, point, next);
      context.globalAlpha = hit === null ? theme.dim : 1;
      const isLog = kind[hit ?? point] === 3;
      context.fillStyle = isLog ? theme.soft : theme.mark;
      context.beginPath();
      if (isLog) context.rect(x - 3, y + 2, 6, 8);
      else {
        context.moveTo(x, y + 1);
        context.lineTo(x + 5, y + 10);
        context.lineTo(x - 5, y + 10);
      }
      context.fill();
      point = next;
    }
    context.globalAlpha = 1;
  }

  // Lines through all rows for instants of the whole trace.
  globals() {
    const {context, scene, theme} = this;
    context.fillStyle = theme.mark;
    context.globalAlpha = 0.4;
    for (const at of scene.globals) if (at >= scene.from && at <= scene.to) context.fillRect(scene.x(at), RULER_HEIGHT, 1, scene.height);
    context.globalAlpha = 1;
  }

  loss(row, loss) {
    const {context, scene, theme} = this;
    if (loss.to < scene.from || loss.from > scene.to) return;
    const y = scene.rowY(row), x = Math.max(scene.x(loss.from), scene.gutter - 5);
    const width = Math.max(Math.min(scene.x(loss.to), scene.width + 5) - x, 2);
    context.fillStyle = theme.loss;
    context.globalAlpha = 0.22;
    context.fillRect(x, y, width, row.height);
    context.globalAlpha = 1;
    context.fillRect(x, y + row.height - 2, width, 2);
    context.fillRect(x, y, 1, row.height);
    context.fillRect(x + width - 1, y, 1, row.height);
    this.text(`${loss.count} lost: ${loss.reason}`, x + 4, y + row.height - 8, width - 8);
  }

  // Draws the series of a counter, each as steps in the same room.
  graph(row) {
    const {context, scene, theme} = this;
    const top = scene.rowY(row) + row.lanesY + 3, height = GRAPH_HEIGHT - 6;
    const [least, most] = bounds(row);
    const y = (value) => top + height - (most > least ? (value - least) / (most - least) : 0) * height;
    row.series.forEach((series, number) => {
      const colour = `hsl(${(210 + number * 67) % 360} 60% ${theme === THEMES.dark ? 60 : 45}%)`;
      this.steps(series, y, y(Math.max(least, 0)), colour);
    });
  }

  steps(series, y, base, colour) {
    const {context, scene} = this;
    const {at, value} = series;
    let sample = Math.max(upperBound(at, scene.from) - 1, 0);
    if (sample >= at.length) return;
    const start = Math.max(scene.x(at[sample]), scene.gutter - 5);
    let height = y(value[sample]), x = start;
    context.beginPath();
    context.moveTo(start, base);
    context.lineTo(start, height);
    while (++sample < at.length && at[sample] <= scene.to) {
      const next = scene.x(at[sample]);
      // Within a pixel, the last value counts.
      if (next - x < 1) sample = Math.max(sample, lowerBound(at, scene.time(x + 1)) - 1);
      x = scene.x(at[sample]);
      context.lineTo(x, height);
      context.lineTo(x, height = y(value[sample]));
    }
    context.lineTo(scene.width + 5, height);
    context.strokeStyle = context.fillStyle = colour;
    context.stroke();
    context.lineTo(scene.width + 5, base);
    context.globalAlpha = 0.2;
    context.fill();
    context.globalAlpha = 1;
  }

  // Draws arrows, those of the selection over the others.
  arrows(selected) {
    const {scene, theme, hits} = this;
    const {own, others} = scene.chooseArrows(selected);
    const alpha = hits || own.length ? 0.15 : Math.min(0.6, Math.max(0.25, 20 / others.length));
    others.forEach((arrow) => this.arrow(arrow, theme.soft, 1, alpha));
    const most = scene.mostArrows();
    own.forEach((arrow) => this.arrow(arrow, theme.mark, own.length > most ? 1 : 2, Math.max(0.1, Math.min(1, most / own.length))));
  }

  arrow(arrow, colour, width, alpha) {
    const {context, scene} = this;
    const [fromX, fromY] = scene.tip(arrow.from), [toX, toY] = scene.tip(arrow.to);
    const bend = bendOf(fromX, toX), rise = riseOf(fromY, toY);
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = width;
    context.globalAlpha = alpha;
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.bezierCurveTo(fromX + bend, fromY - rise, toX - bend, toY - rise, toX, toY);
    context.stroke();
    context.beginPath();
    context.moveTo(toX, toY);
    context.lineTo(toX - 6, toY - 3);
    context.lineTo(toX - 6, toY + 3);
    context.fill();
    context.globalAlpha = context.lineWidth = 1;
  }

  selection(item) {
    if (item.arrow) return;
    const {context, scene, theme} = this;
    const {x, y, width, height} = scene.box(item);
    const left = Math.max(x, scene.gutter - 4), right = Math.min(x + width, scene.width + 4);
    context.strokeStyle = theme.mark;
    context.lineWidth = 2;
    context.strokeRect(left, y, right - left, height);
    context.lineWidth = 1;
  }

  gutter() {
    const {context, scene, theme} = this;
    context.fillStyle = theme.bar;
    context.fillRect(0, 0, scene.gutter, scene.height);
    for (const group of scene.data.groups) {
      const y = group.y - scene.top + RULER_HEIGHT;
      if (y + GROUP_HEIGHT > 0 && y < scene.height) {
        context.fillStyle = theme.bar;
        context.fillRect(0, y, scene.width, GROUP_HEIGHT);
        context.fillStyle = theme.front;
        this.text(`${group.isFolded ? '▸' : '▾'} ${group.name}`, 8, y + GROUP_HEIGHT / 2, scene.width - 16);
      }
      for (const row of group.rows) {
        if (!this.isSeen(row)) continue;
        context.fillStyle = row.losses.length ? theme.loss : theme.front;
        this.text(row.name, 20, scene.rowY(row) + LANE_HEIGHT / 2, scene.gutter - 26);
        if (row.series.length) {
          context.fillStyle = theme.soft;
          const [least, most] = bounds(row);
          this.text(`${number(least)} … ${number(most)} ${row.series.map((series) => series.name).join(', ')}`, 20, scene.rowY(row) + LANE_HEIGHT * 1.5, scene.gutter - 26);
        }
        if (row.isFolded) {
          context.fillStyle = theme.soft;
          this.text(`${row.lanes.length} lanes`, 20, scene.rowY(row) + LANE_HEIGHT * 1.5, scene.gutter - 26);
        }
      }
    }
    context.fillStyle = theme.line;
    context.fillRect(scene.gutter - 1, 0, 1, scene.height);
  }

  // Times at which there are lines, with the step between them.
  ticks() {
    const {scene} = this;
    const rough = 110 / scene.scale();
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(1, [1, 2, 5, 10].find((part) => part * power >= rough) * power);
    const ticks = [], zero = scene.data.from;
    for (let time = Math.ceil((scene.from - zero) / step) * step + zero; time <= scene.to; time += step) ticks.push(time);
    return {ticks, step};
  }

  grid() {
    const {context, scene, theme} = this;
    context.fillStyle = theme.line;
    for (const time of this.ticks().ticks) context.fillRect(Math.round(scene.x(time)), 0, 1, scene.height);
  }

  ruler() {
    const {context, scene, theme} = this;
    context.fillStyle = theme.bar;
    context.fillRect(0, 0, scene.width, RULER_HEIGHT);
    context.fillStyle = theme.soft;
    const {ticks, step} = this.ticks();
    for (const time of ticks) {
      const x = scene.x(time);
      if (x >= scene.gutter) context.fillText(tickTime(time - scene.data.from, step), x + 3, RULER_HEIGHT / 2);
    }
    context.fillStyle = theme.bar;
    context.fillRect(0, 0, scene.gutter, RULER_HEIGHT);
    context.fillStyle = theme.soft;
    context.fillText(`${duration(scene.to - scene.from)} in view`, 8, RULER_HEIGHT / 2);
  }
}

// The least and the most value of a counter, with 0.
function bounds(row) {
  return [Math.min(...row.series.map((series) => series.least)), Math.max(...row.series.map((series) => series.most))];
}

// Times as texts.

const UNITS = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

// A time as short as lines in steps of `step` need it.
function tickTime(time, step) {
  const [size, unit] = UNITS.find(([size]) => Math.abs(time) >= size) ?? UNITS[3];
  const digits = Math.min(9, Math.max(0, Math.ceil(Math.log10(size / step))));
  return `${(time / size).toFixed(digits)} ${unit}`;
}

function duration(nanos) {
  const [size, unit] = UNITS.find(([size]) => Math.abs(nanos) >= size) ?? UNITS[3];
  return `${Number((nanos / size).toPrecision(size === 1 ? 15 : 4))} ${unit}`;
}

// A whole number of nanoseconds with its digits in groups.
function exactly(nanos) {
  return `${BigInt(Math.round(nanos)).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f')} ns`;
}

function count(number, what) {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function number(value) {
  return Number.isInteger(value) ? String(value) : value.toPrecision(6);
}

