// The page: what is selected, and what keys, buttons and the pointer do.

const by = (id) => document.getElementById(id);

// Milliseconds after the last movement until all captions are drawn.
const REST = 150;

// Milliseconds that a search may take before the page draws again.
const SEARCH_TURN = 12;

class Page {
  constructor(data) {
    this.scene = new Scene(data);
    this.colours = new Colours(data);
    this.painter = new Painter(by('canvas'), this.scene, this.colours);
    this.panel = new Panel(by('details'), this.scene, this.colours, {
      select: (item) => this.select(item),
      searchFor: (text) => this.searchFor(text),
      labelBy: (name) => this.labelBy(name),
      close: () => this.clear(),
    });
    this.selected = this.range = this.matches = null;
    this.arrows = NO_ARROWS;
    this.current = -1;
    this.overview = new Overview(by('overview'), this.scene, this.colours, () => this.redraw());
    this.pointer = new Pointer(by('canvas'), this.scene, {
      changed: () => this.redraw(),
      click: (...click) => this.click(...click),
      doubleClick: () => this.fit(),
      range: (...range) => this.drag(...range),
      hover: () => this.showTip(),
    });
    this.losses = this.scene.rows.flatMap((row) => row.losses.list.map((loss) => ({row, loss}))).sort((a, b) => a.loss.from - b.loss.from);
    this.lossPlace = -1;
  }

  // Drawing.

  redraw() {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.isAsked = false;
    const started = performance.now();
    this.painter.draw({...this, hits: this.matches?.hits ?? null});
    this.overview.draw(this);
    this.drawTime = performance.now() - started;
    clearTimeout(this.rest);
    if (!this.painter.isComplete) this.rest = setTimeout(() => this.redraw(), REST);
    this.showTip();
    describeView(this.scene, by('overview'));
  }

  resize() {
    this.painter.resize();
    this.overview.resize();
    // A new size clears the canvas.
    this.draw();
  }

  itemAt(x, y) { return itemAt(this.scene, this.arrows, x, y); }

  // Shows the tip of the item below the mouse, wherever that is now.
  showTip() {
    const {scene, pointer: {position}} = this, tip = by('tip');
    const item = position && this.itemAt(position.x, position.y);
    const named = position && !item && !scene.isNarrow && scene.namedAt(position.x, position.y);
    tip.hidden = !item && !named;
    by('canvas').style.cursor = named ? 'pointer' : '';
    if (tip.hidden) return;
    if (!item || !isSame(item, this.tipItem)) tip.textContent = item ? tipText(scene, item) : named.name;
    this.tipItem = item;
    const {x, y} = position;
    tip.style.left = `${Math.max(0, Math.min(x + 14, scene.width - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(0, y + 18 + tip.offsetHeight > scene.height ? y - tip.offsetHeight - 10 : y + 18)}px`;
  }

  announce(text) { by('live').textContent = text; }

  // Selection.

  // Selects an item and brings it into view. What was clicked is in view.
  select(item, isInView = false) {
    this.selected = item;
    this.range = null;
    this.arrows = arrowsOf(this.scene, item);
    if (!item) {
      this.panel.hide();
      return this.redraw();
    }
    this.panel.item(item, this.arrows);
    // The panel takes a part of the height.
    this.painter.resize();
    if (isInView) scrollTo(this.scene, item); else bring(this.scene, item);
    this.announce(spoken(this.scene, item));
    this.draw();
  }

  clear() {
    this.range = null;
    this.select(null);
    this.announce('Nothing selected');
    by('canvas').focus({preventScroll: true});
  }

  setRange(range, isDone = true) {
    this.selected = null;
    this.arrows = NO_ARROWS;
    this.range = range;
    if (isDone) this.announce(this.panel.range(range)); else this.panel.hide();
    this.redraw();
  }

  drag(from, to, fromY, toY, isDone) {
    const {scene} = this, {data, span} = scene, rows = scene.rowsBetween(fromY, toY);
    const within = (time) => Math.min(Math.max(time, data.from), data.from + span);
    if (rows.length) this.setRange({from: within(Math.min(from, to)), to: within(Math.max(from, to)), rows}, isDone);
  }

  // Selects the time of the selected event, or the time in view.
  mark() {
    const {scene, selected} = this;
    const [from, to] = selected ? times(scene, selected) : [scene.from, scene.to];
    this.setRange({from, to, rows: scene.rows});
  }

  // Moves the end of the range.
  stretch(step) {
    const {scene} = this, {from, to, rows} = this.range ?? {from: scene.from, to: scene.from, rows: scene.rows};
    this.setRange({from, to: Math.max(from, to + step * (scene.to - scene.from) / 20), rows});
  }

  // Returns whether there is an item at a position, and selects it.
  click(x, y) {
    const named = this.scene.namedAt(x, y);
    if (named) {
      if (!named.lanes || named.lanes.length > 1) this.scene.fold(named);
      this.redraw();
      return false;
    }
    this.select(this.itemAt(x, y), true);
    return this.selected !== null;
  }

  fit() {
    const {scene, selected, range} = this;
    if (range) scene.show(range.from - (range.to - range.from) * 0.05, range.to + (range.to - range.from) * 0.05);
    else if (selected) zoomTo(scene, selected);
    else scene.showAll();
    this.redraw();
  }

  foldSelected(isGroup) {
    const row = this.selected && rowOf(this.scene, this.selected);
    if (row) this.scene.fold(isGroup ? row.group : row);
  }

  step(step) {
    this.select(this.selected ? neighbour(this.selected, step) : firstInView(this.scene));
  }

  stepVertically(step) {
    this.select(this.selected ? vertical(this.scene, this.selected, step) : firstInView(this.scene));
  }

  // Selects the previous (-1) or next (1) duration of the selected one's flow.
  followFlow(step) {
    const name = step < 0 ? ['Flow from', 'From'] : ['Flow to', 'To'];
    const link = this.selected && linksOf(this.scene, this.selected).find((link) => name.includes(link.name));
    if (link) this.select(link.item);
  }

  nextLoss() {
    if (!this.losses.length) return;
    const item = this.losses[this.lossPlace = (this.lossPlace + 1) % this.losses.length];
    this.select(item);
    this.fit();
  }

  // Search.

  searchFor(text) {
    by('query').value = text;
    this.find();
  }

  // Starts a search; a newer one replaces it.
  find() {
    clearTimeout(this.turn);
    const text = by('query').value.trim();
    this.current = -1;
    this.matches = null;
    by('matches').textContent = text ? 'searching' : '';
    this.redraw();
    return text ? new Promise((done) => this.searchOn(searchSteps(this.scene, text), done)) : Promise.resolve();
  }

  searchOn(steps, done) {
    for (const end = performance.now() + SEARCH_TURN; performance.now() < end;) {
      const step = steps.next();
      if (!step.done) continue;
      this.matches = step.value;
      by('matches').textContent = `${this.matches.count} found`;
      this.redraw();
      return done();
    }
    this.turn = setTimeout(() => this.searchOn(steps, done));
  }

  // Selects the next (1) or previous (-1) match.
  async goTo(step) {
    if (this.matches?.query !== by('query').value.trim()) await this.find();
    const found = this.matches?.found ?? [];
    if (!found.length) return;
    this.current = (this.placeFrom(found, step) + found.length) % found.length;
    const {count} = this.matches, place = `${this.current + 1} of ${found.length}`;
    by('matches').textContent = found.length < count ? `${place}, ${count} found` : place;
    this.select(found[this.current]);
    this.announce(`${by('matches').textContent}: ${spoken(this.scene, this.selected)}`);
  }

  // Returns the place of the match before (-1) or after (1) the selection. At first, that is the
  // nearest to what is shown.
  placeFrom(found, step) {
    const {scene, selected, current} = this;
    if (selected && current >= 0) {
      const place = isSame(found[current], selected) ? current : found.findIndex((item) => isSame(item, selected));
      if (place >= 0) return place + step;
    }
    const start = selected ? times(scene, selected)[0] : scene.from;
    const first = found.findIndex((item) => times(scene, item)[0] >= start), next = first < 0 ? found.length : first;
    return step > 0 ? next : next - 1;
  }

  // Settings.

  labelBy(name) {
    this.painter.labelBy = by('label').value = name;
    this.redraw();
  }

  setTheme(name) {
    document.documentElement.dataset.theme = name;
    by('theme').textContent = name === 'dark' ? 'Light' : 'Dark';
    this.colours.setTheme(name);
    this.redraw();
  }

  toggleHelp() {
    by('help').hidden = !by('help').hidden;
    by('keys').setAttribute('aria-expanded', String(!by('help').hidden));
  }
}

// Writes the time in view for screen readers.
function describeView(scene, slider) {
  const text = `${duration(scene.to - scene.from)} in view, from ${duration(scene.from - scene.data.from)}`;
  if (slider.getAttribute('aria-valuetext') === text) return;
  slider.setAttribute('aria-valuetext', text);
  const percent = Math.round((scene.from - scene.data.from) / scene.span * 100);
  slider.setAttribute('aria-valuenow', String(Math.min(Math.max(percent, 0), 100)));
}
