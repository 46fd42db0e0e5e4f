// Colours. The hue of a name is the same as in the SVG.

const THEMES = {
  light: {back: '#ffffff', front: '#1c1f26', soft: '#5b6270', line: '#e3e6ec', bar: '#f3f5f9', mark: '#1565c0', range: '#1565c022', veil: '#8a93a355', loss: '#c62828', boxes: ['60% 82%', '52% 69%'], text: '#14161b', dim: 0.25},
  dark: {back: '#14161b', front: '#e4e7ee', soft: '#9aa3b2', line: '#2a2f39', bar: '#1d2027', mark: '#82b1ff', range: '#82b1ff26', veil: '#00000088', loss: '#ff5252', boxes: ['36% 31%', '42% 20%'], text: '#f2f4f8', dim: 0.25},
};

class Colours {
  constructor(data) {
    this.data = data;
    this.setTheme('light');
  }

  setTheme(name) {
    this.theme = THEMES[name];
    this.isDark = name === 'dark';
    // By label, for each shade.
    this.boxes = [[], []];
    this.pixels = [[], []];
  }

  // Returns the name of a label, or its category if it has no name.
  name(label) {
    const [category, name] = this.data.labels[label];
    return this.data.strings.get(name) || this.data.strings.get(category);
  }

  // Returns the colour of a label's boxes. Parents and children have different shades, because the
  // depths of one are odd and of the other even.
  box(label, isOdd) {
    return this.boxes[isOdd][label] ??= `hsl(${hue(this.name(label))} ${this.theme.boxes[isOdd]})`;
  }

  // Returns this colour as a pixel of an image.
  boxPixel(label, isOdd) {
    return this.pixels[isOdd][label] ??= pixelOf(this.box(label, isOdd));
  }

  series(number) { return `hsl(${(210 + number * 67) % 360} 60% ${this.isDark ? 60 : 45}%)`; }
}

// Returns a colour as a pixel of an image.
function pixelOf(colour) {
  const context = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer)[0];
}

function hue(text) {
  let hash = 7;
  for (let place = 0; place < text.length; place++) hash = (hash * 31 + text.charCodeAt(place)) >>> 0;
  return (hash * 47) % 360;
}
