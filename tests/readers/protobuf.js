// The part of the protobuf wire format that perfetto.js uses.

"use strict";

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

function encodeVarint(value) {
  const bytes = [];
  let rest = BigInt(value);
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

function decodeVarint(buffer, at) {
  let value = 0n;
  for (let shift = 0n; shift < 70n && at < buffer.length; shift += 7n) {
    const byte = buffer[at++];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return { value: BigInt.asUintN(64, value), at };
  }
  return undefined;
}

exports.varint = (field, value) => Buffer.concat([encodeVarint((field << 3) | VARINT), encodeVarint(value)]);

exports.bytes = (field, content) => {
  const bytes = Buffer.from(content);
  return Buffer.concat([encodeVarint((field << 3) | BYTES), encodeVarint(bytes.length), bytes]);
};

// The first length-delimited field of a stream, if it is complete.
exports.frame = (buffer) => {
  const tag = decodeVarint(buffer, 0);
  const length = tag && decodeVarint(buffer, tag.at);
  if (!length) return undefined;
  const end = length.at + Number(length.value);
  return end <= buffer.length ? { content: buffer.subarray(length.at, end), end } : undefined;
};

// The fields of a message: number -> values in order, as Buffer or BigInt.
exports.fields = (buffer) => {
  const fields = new Map();
  for (let at = 0; at < buffer.length; ) {
    const tag = decodeVarint(buffer, at);
    if (!tag) throw new Error("expected a whole protobuf message, found a cut one");
    const number = Number(tag.value >> 3n);
    const { value, next } = field(buffer, tag.at, Number(tag.value & 7n));
    at = next;
    fields.set(number, [...(fields.get(number) || []), value]);
  }
  return fields;
};

function field(buffer, at, type) {
  if (type === FIXED64) return { value: buffer.readBigUInt64LE(at), next: at + 8 };
  if (type === FIXED32) return { value: BigInt(buffer.readUInt32LE(at)), next: at + 4 };
  const number = decodeVarint(buffer, at);
  if (number && type === VARINT) return { value: number.value, next: number.at };
  if (!number || type !== BYTES) throw new Error(`unknown protobuf wire type ${type}`);
  const next = number.at + Number(number.value);
  return { value: buffer.subarray(number.at, next), next };
}

exports.packedVarints = (buffer) => {
  const values = [];
  for (let at = 0; at < buffer.length; ) {
    const number = decodeVarint(buffer, at);
    if (!number) throw new Error("expected packed varints, found cut ones");
    values.push(number.value);
    at = number.at;
  }
  return values;
};

exports.packedDoubles = (buffer) =>
  Array.from({ length: buffer.length / 8 }, (_, index) => buffer.readDoubleLE(index * 8));
