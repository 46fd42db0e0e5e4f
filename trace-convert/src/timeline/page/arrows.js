// Arrows between durations.

// Returns how far an arrow continues before it turns, and its height above a lane if it stays in
// that lane: the line would cross names.
function bends(from, to) {
  return {bend: Math.min(40, Math.abs(to[0] - from[0]) / 2 + 8), rise: Math.abs(to[1] - from[1]) < 2 ? LANE_HEIGHT : 0};
}

// Returns a point of an arrow's curve.
function pointOfCurve(from, to, part) {
  const {bend, rise} = bends(from, to), rest = 1 - part;
  const mix = (a, b, c, d) => rest ** 3 * a + 3 * rest ** 2 * part * b + 3 * rest * part ** 2 * c + part ** 3 * d;
  return [mix(from[0], from[0] + bend, to[0] - bend, to[0]), mix(from[1], from[1] - rise, to[1] - rise, to[1])];
}

// Draws the arrows of the selection over those of its neighbours.
function drawArrows(painter, {own, near}) {
  const {theme} = painter.colours;
  near.forEach((arrow) => drawArrow(painter, arrow, theme.soft, 1, 0.6));
  const alpha = Math.max(0.1, Math.min(1, 200 / own.length));
  own.forEach((arrow) => drawArrow(painter, arrow, theme.mark, alpha < 1 ? 1 : 2, alpha));
}

function drawArrow({context, scene}, arrow, colour, width, alpha) {
  const from = tipAt(scene, arrow, 'from'), to = tipAt(scene, arrow, 'to');
  const isOutside = Math.max(from[0], to[0]) < scene.gutter || Math.min(from[0], to[0]) > scene.width ||
    Math.max(from[1], to[1]) < RULER_HEIGHT || Math.min(from[1], to[1]) > scene.height;
  if (isOutside) return;
  const {bend, rise} = bends(from, to);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = width;
  context.globalAlpha = alpha;
  context.beginPath();
  context.moveTo(...from);
  context.bezierCurveTo(from[0] + bend, from[1] - rise, to[0] - bend, to[1] - rise, ...to);
  context.stroke();
  context.beginPath();
  context.moveTo(...to);
  context.lineTo(to[0] - 7, to[1] - 4);
  context.lineTo(to[0] - 7, to[1] + 4);
  context.fill();
  context.globalAlpha = context.lineWidth = 1;
}
