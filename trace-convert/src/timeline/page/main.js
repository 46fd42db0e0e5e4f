// What the user does.

function start() {
  const by = (id) => document.getElementById(id);
  const canvas = by('canvas'), tip = by('tip'), details = by('details'), query = by('query');
  const data = readTimeline(fromBase64(by('data').textContent));
  by('data').remove();
  const scene = new Scene(data);
  const painter = new Painter(canvas, scene);
  let selected = null, matches = null, current = -1, isAsked = false;

  function redraw() {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      painter.draw(selected, matches?.hits ?? null);
      tellArrows();
    });
  }

  function tellArrows() {
    const {hidden} = scene.arrows, told = scene.hasArrows ? 'zoom in, or click a duration to see its own' : 'switched off, r shows them';
    const text = hidden ? `${count(hidden, 'arrow')}: ${told}` : '';
    if (by('arrows').textContent !== text) by('arrows').textContent = text;
  }

  // What was clicked is in view, and stays where it is.
  function select(item, isClose, isInView) {
    selected = item;
    if (item && !isInView) scene.reveal(item, isClose);
    showDetails(details, scene, item);
    redraw();
  }

  function find() {
    const text = query.value.trim();
    matches = text ? {query: text, ...search(scene, text)} : null;
    current = -1;
    by('matches').textContent = matches ? `${matches.count} found` : '';
    redraw();
  }

  function goTo(step) {
    if (!matches?.found.length) return;
    current = (current + step + matches.found.length) % matches.found.length;
    by('matches').textContent = `${current + 1} of ${matches.count}`;
    select(matches.found[current]);
  }

  const losses = scene.rows.flatMap((row) => row.losses.map((loss) => ({row, loss})));
  losses.sort((a, b) => a.loss.from - b.loss.from);
  let lossPlace = -1;
  function nextLoss() {
    if (losses.length) select(losses[lossPlace = (lossPlace + 1) % losses.length], true);
  }

  // Light and dark.
  const isDark = matchMedia('(prefers-color-scheme: dark)');
  let theme = isDark.matches ? 'dark' : 'light';
  function setTheme(name) {
    theme = name;
    document.documentElement.dataset.theme = name;
    by('theme').textContent = name === 'dark' ? 'Light' : 'Dark';
    painter.setTheme(name);
    redraw();
  }
  isDark.addEventListener('change', () => setTheme(isDark.matches ? 'dark' : 'light'));
  by('theme').addEventListener('click', () => setTheme(theme === 'dark' ? 'light' : 'dark'));

  // Search.
  let waiting = 0;
  query.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(find, 100);
  });
  by('search').addEventListener('submit', (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    if (matches?.query !== query.value.trim()) find();
    goTo(1);
  });
  by('previous').addEventListener('click', () => goTo(current < 0 ? 0 : -1));
  query.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    query.value = '';
    find();
    canvas.focus();
  });

  // Buttons.
  const fit = () => {
    if (selected) select(selected, true); else scene.showAll();
    redraw();
  };
  by('fit').addEventListener('click', () => {
    scene.showAll();
    redraw();
  });
  const help = () => {
    by('help').hidden = !by('help').hidden;
    by('keys').setAttribute('aria-expanded', String(!by('help').hidden));
  };
  by('keys').addEventListener('click', help);

  // Keys.
  const steps = (step) => select(selected ? scene.neighbour(selected, step) : scene.firstInView());
  const keys = {
    w: () => scene.zoom(0.7), s: () => scene.zoom(1 / 0.7),
    a: () => scene.pan(-100), d: () => scene.pan(100),
    ArrowLeft: () => scene.pan(-100), ArrowRight: () => scene.pan(100),
    ArrowUp: () => scene.scroll(-60), ArrowDown: () => scene.scroll(60),
    PageUp: () => scene.scroll(-scene.height), PageDown: () => scene.scroll(scene.height),
    f: fit, 0: () => scene.showAll(),
    ',': () => steps(-1), '.': () => steps(1),
    n: () => goTo(1), p: () => goTo(current < 0 ? 0 : -1), l: nextLoss,
    r: () => scene.hasArrows = !scene.hasArrows,
    '/': () => query.focus(), '?': help,
    Escape: () => select(null),
  };
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target === query;
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (isTyping || !act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
    redraw();
  });

  // Pointer.
  let drag = null;
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    drag = {x: event.offsetX, y: event.offsetY, moved: 0};
    canvas.setPointerCapture(event.pointerId);
    tip.hidden = true;
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!drag) return showTip(event.offsetX, event.offsetY);
    const x = event.offsetX - drag.x, y = event.offsetY - drag.y;
    drag = {x: event.offsetX, y: event.offsetY, moved: drag.moved + Math.abs(x) + Math.abs(y)};
    if (drag.moved < 4) return;
    canvas.classList.add('dragged');
    scene.pan(-x);
    scene.scroll(-y);
    redraw();
  });
  canvas.addEventListener('pointerup', (event) => {
    canvas.classList.remove('dragged');
    if (drag && drag.moved < 4) click(event.offsetX, event.offsetY);
    drag = null;
  });
  canvas.addEventListener('pointercancel', () => drag = null);
  canvas.addEventListener('pointerleave', () => tip.hidden = true);
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    const size = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey || event.metaKey) scene.zoom(Math.exp(event.deltaY * size / 300), event.offsetX);
    else if (event.shiftKey) scene.pan((event.deltaY || event.deltaX) * size);
    else {
      scene.pan(event.deltaX * size);
      scene.scroll(event.deltaY * size);
    }
    redraw();
  }, {passive: false});

  function click(x, y) {
    const group = scene.groupAt(y);
    const row = x < scene.gutter && scene.rowAt(y);
    if (group) group.isFolded = !group.isFolded;
    else if (row) row.isFolded = !row.isFolded && row.lanes.length > 1;
    else return select(scene.itemAt(x, y), false, true);
    scene.layOut();
    scene.scroll(0);
    redraw();
  }

  function showTip(x, y) {
    const row = x < scene.gutter ? scene.rowAt(y) : null;
    const item = row ? null : scene.itemAt(x, y);
    tip.hidden = !item && !row;
    if (tip.hidden) return;
    tip.textContent = row ? row.name : tipText(scene, item);
    tip.style.left = `${Math.max(0, Math.min(x + 14, scene.width - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(0, Math.min(y + 14, scene.height - tip.offsetHeight - 8))}px`;
  }

  function notes() {
    const lost = losses.reduce((sum, {loss}) => sum + loss.count, 0);
    if (lost) {
      const button = element('button', 'show');
      button.addEventListener('click', nextLoss);
      const note = element('li', `${count(lost, 'record')} lost, in ${count(losses.length, 'place')} `);
      note.append(button);
      by('notes').append(note);
    }
    data.notes.forEach((note) => by('notes').append(element('li', note)));
  }

  function summary() {
    let slices = 0, points = 0, samples = 0;
    for (const row of scene.rows) {
      row.lanes.forEach((lane) => slices += lane.begin.length);
      row.series.forEach((series) => samples += series.at.length);
      points += row.points.at.length;
    }
    by('summary').textContent =
      [[slices, 'duration'], [points, 'point'], [samples, 'value'], [data.arrows.length, 'arrow']].map((pair) => count(...pair)).join(', ') +
      ` in ${duration(data.to - data.from)}`;
  }

  notes();
  summary();
  setTheme(theme);
  new ResizeObserver(() => {
    painter.resize();
    redraw();
  }).observe(canvas);
  // For scripts: what is found, and where on the canvas it is.
  window.timeline = {
    find: (text) => search(scene, text).found.map((item) => ({item, ...describe(scene, item)})),
    box: (item) => scene.box(item),
    rows: () => data.groups.map((group) => [group.name, ...group.rows.map((row) => row.name)]),
    arrows: () => data.arrows.map((arrow) => ({item: {arrow}, ...describe(scene, {arrow})})),
    drawnArrows: () => [scene.arrows.own.length, scene.arrows.others.length],
  };
}

start();
