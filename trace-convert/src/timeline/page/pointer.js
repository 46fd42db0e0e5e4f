// Mouse, pen and touch on the canvas.
//
// A drag selects a range; with Shift, the space bar or the middle button it pans. A finger pans, or
// selects a range in the ruler; two fingers zoom. The wheel zooms; with Shift, or above the names,
// it scrolls.

// Pixels before a press is a drag.
const SLOP = 4;

function wheelFactor(event) {
  const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
  return Math.exp(Math.max(-200, Math.min(200, pixels)) / (event.ctrlKey ? 120 : 300));
}

class Pointer {
  // `actions` are changed(), click(x, y), doubleClick(), range(from, to, fromY, toY,
  // isDone) and hover().
  constructor(canvas, scene, actions) {
    Object.assign(this, {canvas, scene, actions});
    this.pressed = new Map();
    this.gesture = null;
    this.isSpace = false;
    // Whether a press was a click, and whether the first click of a double click selected an item.
    this.isClick = this.isHit = false;
    // The position of a hovering mouse, or null.
    this.position = null;
    this.listen();
  }

  listen() {
    const {canvas} = this;
    canvas.addEventListener('pointerdown', (event) => this.press(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.release(event));
    canvas.addEventListener('pointercancel', () => this.cancel());
    canvas.addEventListener('pointerleave', () => this.leave());
    canvas.addEventListener('click', (event) => this.click(event));
    // The second click may be on the panel, which the first one opened.
    document.addEventListener('click', (event) => this.isHit &&= event.detail > 1, {capture: true});
    document.addEventListener('dblclick', () => this.doubleClick());
    canvas.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    // The middle button would start the browser's own scrolling.
    canvas.addEventListener('mousedown', (event) => event.button === 1 && event.preventDefault());
    window.addEventListener('blur', () => {
      this.isSpace = false;
      this.cancel();
      this.leave();
    });
  }

  press(event) {
    if (event.button > 1) return;
    const {offsetX: x, offsetY: y} = event;
    this.canvas.setPointerCapture(event.pointerId);
    this.pressed.set(event.pointerId, {x, y});
    this.position = null;
    this.gesture = {kind: this.kind(event), x, y, time: this.scene.time(x), moved: this.pressed.size > 1};
    this.actions.hover();
  }

  kind({pointerType, button, shiftKey, offsetX: x, offsetY: y}) {
    const isTouch = pointerType === 'touch' && y >= RULER_HEIGHT;
    if (thumb(this.scene) && x > this.scene.width - SCROLLBAR - 2) return 'scroll';
    if (isTouch || button === 1 || shiftKey || this.isSpace) return 'pan';
    return x < this.scene.gutter ? 'none' : 'range';
  }

  move(event) {
    // A button that was released elsewhere is not reported.
    if (!event.buttons && this.gesture) this.cancel();
    const {offsetX: x, offsetY: y} = event, last = this.pressed.get(event.pointerId);
    if (!last) {
      this.position = event.pointerType === 'touch' ? null : {x, y};
      return this.actions.hover();
    }
    const {gesture} = this;
    gesture.moved ||= Math.hypot(x - gesture.x, y - gesture.y) >= SLOP;
    if (!gesture.moved) return;
    if (this.pressed.size === 2) this.pinch(event.pointerId, last, {x, y});
    else this.drag(gesture, x, y, last);
    this.pressed.set(event.pointerId, {x, y});
  }

  drag(gesture, x, y, last) {
    if (gesture.kind === 'range') return this.actions.range(gesture.time, this.scene.time(x), gesture.y, y, false);
    if (gesture.kind === 'scroll') this.scene.scroll((y - last.y) * (thumb(this.scene)?.pixel ?? 0));
    if (gesture.kind === 'pan') {
      this.canvas.classList.add('dragged');
      this.scene.pan(last.x - x);
      this.scene.scroll(last.y - y);
    }
    this.actions.changed();
  }

  // Zooms so that the times below both fingers follow them.
  pinch(id, last, now) {
    const [other] = [...this.pressed].filter(([pointer]) => pointer !== id).map(([, at]) => at);
    const before = Math.abs(last.x - other.x), after = Math.abs(now.x - other.x);
    if (before > 8 && after > 8) this.scene.zoom(before / after, other.x);
    this.scene.scroll((last.y - now.y) / 2);
    this.actions.changed();
  }

  release(event) {
    const {gesture} = this, {offsetX: x, offsetY: y} = event;
    this.canvas.classList.remove('dragged');
    this.pressed.delete(event.pointerId);
    if (!gesture || this.pressed.size) return;
    this.gesture = null;
    if (event.pointerType !== 'touch') this.position = {x, y};
    this.isClick = !gesture.moved;
    if (gesture.moved && gesture.kind === 'range') this.actions.range(gesture.time, this.scene.time(x), gesture.y, y, true);
    this.actions.hover();
  }

  // The first click of a double click may move the item, because the panel takes space: the second
  // one selects nothing.
  click({offsetX: x, offsetY: y}) {
    if (this.isClick && !this.isHit) this.isHit = this.actions.click(x, y);
    this.isClick = false;
  }

  doubleClick() {
    if (this.isHit) this.actions.doubleClick();
    this.isHit = false;
  }

  // Ends the gesture, also for its other fingers.
  cancel() {
    this.pressed.clear();
    this.gesture = null;
    this.canvas.classList.remove('dragged');
  }

  leave() {
    this.position = null;
    this.actions.hover();
  }

  wheel(event) {
    event.preventDefault();
    const {scene} = this, size = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey || event.offsetX < scene.gutter) scene.scroll((event.deltaY || event.deltaX) * size);
    else {
      if (event.deltaX) scene.pan(event.deltaX * size);
      if (event.deltaY) scene.zoom(wheelFactor(event), event.offsetX);
    }
    this.position = {x: event.offsetX, y: event.offsetY};
    this.actions.changed();
  }
}
