'use strict';

// Reads the numbers and texts of the encoded timeline. `encode.rs` defines their order.
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.at = 0;
  }

  // Returns a number, rounded beyond 2^53.
  number() {
    const {bytes} = this;
    let byte = bytes[this.at++];
    if (byte < 128) return byte;
    let number = byte & 127;
    for (let scale = 128; ; scale *= 128) {
      byte = bytes[this.at++];
      number += (byte & 127) * scale;
      if (byte < 128) return number;
    }
  }

  // Returns a number of up to 64 bits as a BigInt. Parts of 28 bits are faster than a BigInt a byte.
  exact() {
    const parts = [0, 0, 0];
    for (let group = 0; ; group++) {
      const byte = this.bytes[this.at++];
      parts[group >> 2] += (byte & 127) * 128 ** (group & 3);
      if (byte < 128) break;
    }
    const [low, middle, high] = parts;
    if (middle < 2 ** 24 && high === 0) return BigInt(low + middle * 2 ** 28);
    return BigInt(low) | BigInt(middle) << 28n | BigInt(high) << 56n;
  }

  signed() {
    const number = this.exact();
    return number & 1n ? -((number + 1n) >> 1n) : number >> 1n;
  }

  double() {
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }

  slice() {
    const length = this.number();
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  text() { return DECODER.decode(this.slice()); }

  list(read) {
    const list = new Array(this.number());
    for (let place = 0; place < list.length; place++) list[place] = read(place);
    return list;
  }
}

const DECODER = new TextDecoder();

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let place = 0; place < bytes.length; place++) bytes[place] = binary.charCodeAt(place);
  return bytes;
}

// Returns a greater number than one from 0 on. A pixel may be less than the distance of two numbers.
function nextNumber(number) { return number * (1 + Number.EPSILON); }

// Returns the first place from `from` on of a sorted column whose entry is not below `value`.
function lowerBound(column, value, from = 0, to = column.length) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (column[middle] < value) from = middle + 1; else to = middle;
  }
  return from;
}

// Returns the same place, fast if it is near `from`.
function gallop(column, value, from) {
  let step = 1;
  while (from + step < column.length && column[from + step] < value) step *= 2;
  return lowerBound(column, value, from + (step >> 1), Math.min(from + step, column.length));
}

// Returns the first place of a sorted column whose entry is above `value`.
function upperBound(column, value) {
  let from = 0, to = column.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (column[middle] <= value) from = middle + 1; else to = middle;
  }
  return from;
}
