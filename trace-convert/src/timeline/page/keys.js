// Keys. They work wherever the focus is, except in fields.

function keysOf(page) {
  const {scene, pointer} = page;
  const zoom = (factor) => scene.zoom(factor, pointer.position?.x);
  const pan = (part) => scene.pan(part * (scene.width - scene.gutter));
  return {
    w: () => zoom(0.7), s: () => zoom(1 / 0.7), a: () => pan(-0.1), d: () => pan(0.1),
    ArrowLeft: () => page.step(-1), ArrowRight: () => page.step(1),
    ArrowUp: () => page.stepVertically(-1), ArrowDown: () => page.stepVertically(1),
    'Shift ArrowLeft': () => page.stretch(-1), 'Shift ArrowRight': () => page.stretch(1),
    ',': () => page.step(-1), '.': () => page.step(1),
    '[': () => page.followFlow(-1), ']': () => page.followFlow(1),
    PageUp: () => scene.scroll(-scene.height * 0.9), PageDown: () => scene.scroll(scene.height * 0.9),
    Home: () => scene.show(scene.data.from, scene.data.from + scene.to - scene.from),
    End: () => scene.show(scene.data.to - (scene.to - scene.from), scene.data.to),
    f: () => page.fit(), Enter: () => page.fit(), 0: () => scene.showAll(), m: () => page.mark(),
    n: () => page.goTo(1), p: () => page.goTo(-1), l: () => page.nextLoss(),
    x: () => page.foldSelected(false), 'Shift X': () => page.foldSelected(true),
    '/': () => by('query').select(), '?': () => page.toggleHelp(), Escape: () => escape(page),
  };
}

// Clears one thing at a time.
function escape(page) {
  if (!by('help').hidden) page.toggleHelp();
  else if (page.selected || page.range) page.clear();
  else if (by('query').value) page.searchFor('');
}

const SCROLL_KEYS = ['ArrowUp', 'ArrowDown', 'PageUp', 'PageDown', 'Home', 'End', ' '];

// Returns whether a key scrolls the panel, because the focus is in it.
function scrollsPanel({key, shiftKey, target}) {
  const panel = target.closest('#details');
  return panel && !shiftKey && SCROLL_KEYS.includes(key) && panel.scrollHeight > panel.clientHeight;
}

function listenToKeys(page) {
  const keys = keysOf(page);
  document.addEventListener('keydown', (event) => {
    const {target} = event, name = event.key.length === 1 && !event.shiftKey ? event.key.toLowerCase() : event.key;
    // On some keyboards, brackets and slashes need AltGr.
    const isCommand = event.metaKey || ((event.ctrlKey || event.altKey) && !event.getModifierState('AltGraph'));
    if (['INPUT', 'SELECT'].includes(target.tagName) || isCommand) return;
    const isPressed = target.tagName === 'BUTTON' && ['Enter', ' '].includes(event.key);
    if (isPressed || scrollsPanel(event)) return;
    if (event.key === ' ') {
      page.pointer.isSpace = true;
      return event.preventDefault();
    }
    const act = (event.shiftKey && keys[`Shift ${name}`]) || keys[name] || keys[name.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
    page.redraw();
  });
  document.addEventListener('keyup', (event) => {
    if (event.key === ' ') page.pointer.isSpace = false;
  });
  listenToOverviewKeys(page);
}

// The overview is a slider: arrows move the part in view.
function listenToOverviewKeys(page) {
  const {scene} = page;
  const keys = {ArrowLeft: () => scene.pan(-scene.width / 10), ArrowRight: () => scene.pan(scene.width / 10),
    ArrowUp: () => scene.zoom(0.7), ArrowDown: () => scene.zoom(1 / 0.7)};
  by('overview').addEventListener('keydown', (event) => {
    if (!keys[event.key] || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
    page.redraw();
  });
}
