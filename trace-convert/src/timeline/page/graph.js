// Draws the series of counters.

// Returns the least and the most value of a counter, with 0.
function bounds(row) {
  return [Math.min(...row.series.map((series) => series.least)), Math.max(...row.series.map((series) => series.most))];
}

// Draws the series of a counter as steps with one scale.
function drawGraph(painter, row) {
  const top = painter.scene.rowY(row) + row.lanesY + 3, height = GRAPH_HEIGHT - 6;
  const [least, most] = bounds(row);
  const y = (value) => top + height - (most > least ? (value - least) / (most - least) : 0) * height;
  row.series.forEach((series, number) => drawSteps(painter, series, y, y(Math.max(least, 0)), painter.colours.series(number)));
}

function drawSteps({context, scene}, series, y, base, colour) {
  const {at, value} = series;
  let sample = Math.max(upperBound(at, scene.from) - 1, 0);
  if (sample >= at.length) return;
  const start = Math.max(scene.x(at[sample]), scene.gutter - 5);
  let height = y(value[sample]), x = start;
  context.beginPath();
  context.moveTo(start, base);
  context.lineTo(start, height);
  while (++sample < at.length && at[sample] <= scene.to) {
    // Of the values within a pixel, the last one is drawn.
    if (scene.x(at[sample]) - x < 1) sample = Math.max(sample, lowerBound(at, Math.max(scene.time(x + 1), nextNumber(at[sample]))) - 1);
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
