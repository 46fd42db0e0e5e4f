// The boxes of a lane: an image one pixel high, which is drawn at the height of the lane. Drawing
// each box takes several times as long.

class Strip {
  constructor() {
    this.canvas = document.createElement('canvas');
    this.context = this.canvas.getContext('2d', {willReadFrequently: true});
    this.resize(1);
  }

  resize(width) {
    this.canvas.width = Math.max(1, Math.ceil(width));
    this.canvas.height = 1;
    this.image = this.context.createImageData(this.canvas.width, 1);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.isEmpty = true;
  }

  // Adds a box of whole pixels.
  fill(from, to, pixel) {
    // Calls take longer than a few pixels.
    if (to - from < 8) for (let x = from; x < to; x++) this.pixels[x] = pixel;
    else this.pixels.fill(pixel, Math.max(from, 0), Math.max(to, 0));
    this.isEmpty = false;
  }

  // Draws the boxes and removes them.
  draw(context, y, height) {
    if (this.isEmpty) return;
    this.context.putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.canvas, 0, y, this.canvas.width, height);
    this.pixels.fill(0);
    this.isEmpty = true;
  }
}
