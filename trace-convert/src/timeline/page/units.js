// Times and numbers as texts.

const UNITS = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

// Returns a time with the digits that distinguish lines in steps of `step`.
function tickTime(time, step) {
  const [size, unit] = UNITS.find(([size]) => Math.abs(time) >= size) ?? UNITS[3];
  const digits = Math.min(9, Math.max(0, Math.ceil(Math.log10(size / step))));
  return `${(time / size).toFixed(digits)} ${unit}`;
}

function duration(nanos) {
  const [size, unit] = UNITS.find(([size]) => Math.abs(nanos) >= size) ?? UNITS[3];
  return `${Number((nanos / size).toPrecision(size === 1 ? 15 : 4))} ${unit}`;
}

// Returns a whole number of nanoseconds with its digits in groups.
function exactly(nanos) {
  return `${BigInt(Math.round(nanos)).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f')} ns`;
}

// Returns a short time, and all its digits if these are more.
function fully(nanos) {
  return Math.abs(nanos) < 1000 ? exactly(nanos) : `${duration(nanos)} (${exactly(nanos)})`;
}

function count(number, what) {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function number(value) {
  return Number.isInteger(value) ? String(value) : value.toPrecision(6);
}
