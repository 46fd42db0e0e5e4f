// Draws the times.

// Returns the times at which there are lines, and the step between them.
function ticks(scene) {
  const rough = 110 / scene.scale();
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].find((part) => part * power >= rough) * power);
  const zero = scene.data.from, first = Math.ceil((scene.from - zero) / step);
  // Steps are counted: beyond 2^53 ns, `time + step` may be `time`.
  const count = Math.max(Math.floor((scene.to - zero) / step) - first + 1, 0);
  return {list: Array.from({length: count}, (_, number) => (first + number) * step + zero), step};
}

function drawGrid({context, scene, colours: {theme}}) {
  context.fillStyle = theme.line;
  for (const time of ticks(scene).list) context.fillRect(Math.round(scene.x(time)), 0, 1, scene.height);
}

function drawRuler(painter) {
  const {context, scene, colours: {theme}} = painter;
  context.fillStyle = theme.bar;
  context.fillRect(0, 0, scene.width, RULER_HEIGHT);
  context.fillStyle = theme.soft;
  const {list, step} = ticks(scene);
  for (const time of list) {
    const x = scene.x(time), text = tickTime(time - scene.data.from, step);
    const fits = x + 3 + text.length * painter.character < scene.width;
    if (x >= scene.gutter && fits) context.fillText(text, x + 3, RULER_HEIGHT / 2);
  }
  if (scene.isNarrow) return;
  context.fillStyle = theme.bar;
  context.fillRect(0, 0, scene.gutter, RULER_HEIGHT);
  context.fillStyle = theme.soft;
  painter.text(`${duration(scene.to - scene.from)} in view`, 8, RULER_HEIGHT / 2, scene.gutter - 12);
}
