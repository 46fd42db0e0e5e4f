// Starts the page.

function listenToControls(page) {
  const query = by('query');
  let waiting = 0;
  query.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => page.find(), 100);
  });
  query.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      clearTimeout(waiting);
      page.goTo(event.shiftKey ? -1 : 1);
    }
    if (event.key !== 'Escape') return;
    clearTimeout(waiting);
    page.searchFor('');
    by('canvas').focus({preventScroll: true});
  });
  by('search').addEventListener('submit', (event) => {
    event.preventDefault();
    page.goTo(1);
  });
  by('previous').addEventListener('click', () => page.goTo(-1));
  by('label').addEventListener('change', () => page.labelBy(by('label').value));
  by('fit').addEventListener('click', () => {
    page.scene.showAll();
    page.redraw();
  });
  by('keys').addEventListener('click', () => page.toggleHelp());
}

function followTheme(page) {
  const isDark = matchMedia('(prefers-color-scheme: dark)');
  const system = () => isDark.matches ? 'dark' : 'light';
  isDark.addEventListener('change', () => page.setTheme(system()));
  by('theme').addEventListener('click', () => page.setTheme(page.colours.isDark ? 'light' : 'dark'));
  page.setTheme(system());
}

// Follows the size of the canvas. Its size in pixels also changes with the pixel ratio, if the window
// is moved to another screen.
function followSize(page) {
  const hasPixels = 'devicePixelContentBoxSize' in ResizeObserverEntry.prototype;
  new ResizeObserver(() => page.resize()).observe(by('canvas'), hasPixels ? {box: 'device-pixel-content-box'} : {});
}

// Fills the list of arguments that can label durations.
function listLabels({scene}) {
  const names = argumentNames(scene.data);
  if (scene.rows.some((row) => row.kind === KIND.operation)) names.unshift('id');
  by('labels').hidden = names.length === 0;
  for (const name of new Set(names)) by('label').append(element('option', name, {value: name}));
}

function writeNotes(page) {
  const lost = page.losses.reduce((sum, {loss}) => sum + loss.count, 0);
  if (lost) {
    const note = element('li', `${count(lost, 'record')} lost, in ${count(page.losses.length, 'place')} `);
    note.append(button('show', () => page.nextLoss()));
    by('notes').append(note);
  }
  page.scene.data.notes.forEach((note) => by('notes').append(element('li', note)));
}

function writeSummary({scene: {rows, data}}) {
  let slices = 0, points = 0, samples = 0;
  for (const row of rows) {
    row.lanes.forEach((lane) => slices += lane.count);
    row.series.forEach((series) => samples += series.at.length);
    points += row.points.at.length;
  }
  const counts = [[slices, 'duration'], [points, 'point'], [samples, 'value'], [data.arrows.count, 'arrow']];
  by('summary').textContent = counts.filter(([number]) => number).map((pair) => count(...pair)).join(', ') + ` in ${duration(data.to - data.from)}`;
}

// For scripts: what is found, and its place on the canvas.
function interfaceOf(page) {
  const {scene} = page, about = (item) => ({item, ...describe(scene, item)});
  return {
    page,
    drawn: performance.now(),
    find: (text) => search(scene, text).found.map(about),
    count: (text) => search(scene, text).count,
    box: (item) => boxOf(scene, item),
    rows: () => scene.data.groups.map((group) => [group.name, ...group.rows.map((row) => row.name)]),
    arrows: () => Array.from({length: scene.data.arrows.count}, (_, arrow) => about({arrow})),
    drawnArrows: () => [page.arrows.own.length, page.arrows.near.length],
    view: () => [scene.from, scene.to, scene.top],
  };
}

function start() {
  const data = readTimeline(fromBase64(by('data').textContent));
  by('data').remove();
  const page = new Page(data);
  writeNotes(page);
  writeSummary(page);
  listenToControls(page);
  listenToKeys(page);
  followTheme(page);
  page.resize();
  followSize(page);
  window.timeline = interfaceOf(page);
  setTimeout(() => listLabels(page));
}

start();
