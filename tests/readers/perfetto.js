// Runs SQL on a trace in Perfetto's own trace processor, without a browser:
//
//     node perfetto.js ENGINE_DIR TRACE < queries.json > results.json
//
// ENGINE_DIR has engine_bundle.js and trace_processor*.wasm, as the Perfetto UI ships them. The bundle is the UI's worker script: it
// answers protobuf messages (TraceProcessorRpc) on a message port. Here that port is a pair of functions.
//
// Queries are a JSON list of strings; results are a JSON list of lists of rows. Integers are JSON strings, since they have 64 bits.
// With `--times` as last argument, the results are seconds instead: that of reading the trace, then one for each query.

"use strict";
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");
const { webcrypto } = require("node:crypto");
const proto = require("./protobuf.js");

// TraceProcessorRpc of perfetto/protos/perfetto/trace_processor/trace_processor.proto.
const METHOD = { append: 1, finalize: 2, query: 3 };
const RPC = { stream: 1, sequence: 1, request: 2, fatal: 5, appendData: 101, queryArgs: 103, appendResult: 201, queryResult: 203 };
const QUERY = { sql: 1, names: 1, error: 2, batch: 3 };
const BATCH = { cells: 1, integers: 2, floats: 3, blobs: 4, strings: 5, last: 6 };
const CELL = { 1: "null", 2: "integers", 3: "floats", 4: "strings", 5: "blobs" };
const CHUNK = 16 << 20;

// What the worker script loads its WebAssembly module with, synchronously.
function localFiles(directory) {
  return class {
    open(_method, url) {
      this.file = path.join(directory, path.basename(url));
    }
    send() {
      this.response = new Uint8Array(fs.readFileSync(this.file)).buffer;
    }
  };
}

class Engine {
  constructor(directory) {
    this.replies = [];
    this.sequence = 0;
    this.rest = Buffer.alloc(0);
    this.port = { postMessage: (bytes) => this.receive(Buffer.from(bytes)) };
    this.load(directory);
  }

  // The worker script finds what a browser's worker has. `process` is hidden from it, or it would
  // take itself for a Node program. The script tests errors and arrays with `instanceof`, so they
  // must be created in its own context.
  load(directory) {
    const self = { location: { href: "http://localhost/" } };
    const quiet = { log() {}, warn() {}, error() {} };
    const context = vm.createContext({
      self, WorkerGlobalScope: class {}, XMLHttpRequest: localFiles(directory), console: quiet, location: self.location,
      TextDecoder, TextEncoder, URL, performance, crypto: webcrypto, setTimeout, clearTimeout,
    });
    this.Uint8Array = vm.runInContext("Uint8Array", context);
    vm.runInContext(fs.readFileSync(path.join(directory, "engine_bundle.js"), "utf8"), context);
    self.onmessage({ data: this.port });
  }

  receive(bytes) {
    this.rest = Buffer.concat([this.rest, bytes]);
    for (let frame; (frame = proto.frame(this.rest)); this.rest = this.rest.subarray(frame.end)) {
      this.replies.push(proto.fields(frame.content));
    }
  }

  // Sends a request. Its replies have arrived when the call returns.
  call(method, argument, content) {
    const body = Buffer.concat([
      proto.varint(RPC.sequence, this.sequence++), proto.varint(RPC.request, method),
      argument === undefined ? Buffer.alloc(0) : proto.bytes(argument, content),
    ]);
    this.replies = [];
    this.port.onmessage({ data: new this.Uint8Array(proto.bytes(RPC.stream, body)) });
    for (const reply of this.replies) {
      const fatal = reply.get(RPC.fatal);
      if (fatal) throw new Error(String(fatal[0]));
    }
    return this.replies;
  }

  open(trace) {
    const bytes = fs.readFileSync(trace);
    for (let at = 0; at < bytes.length; at += CHUNK) {
      const replies = this.call(METHOD.append, RPC.appendData, bytes.subarray(at, at + CHUNK));
      for (const reply of replies) {
        const error = proto.fields(reply.get(RPC.appendResult)[0]).get(2);
        if (error) throw new Error(String(error[0]));
      }
    }
    this.call(METHOD.finalize);
  }

  query(sql) {
    const rows = [];
    let columns = 0;
    for (const reply of this.call(METHOD.query, RPC.queryArgs, proto.bytes(QUERY.sql, sql))) {
      const result = proto.fields(reply.get(RPC.queryResult)[0]);
      const error = result.get(QUERY.error);
      if (error && error[0].length) throw new Error(`${error[0]}: ${sql}`);
      columns = (result.get(QUERY.names) || []).length || columns;
      for (const batch of result.get(QUERY.batch) || []) {
        const values = cells(proto.fields(batch));
        for (let at = 0; at < values.length; at += columns) rows.push(values.slice(at, at + columns));
      }
    }
    return rows;
  }
}

// The cells of a batch, which lie by type.
function cells(batch) {
  const only = (field) => (batch.get(field) || [Buffer.alloc(0)])[0];
  const integers = proto.packedVarints(only(BATCH.integers)).map((value) => BigInt.asIntN(64, value).toString());
  const floats = proto.packedDoubles(only(BATCH.floats)).map((value) => (Number.isFinite(value) ? value : String(value)));
  const strings = only(BATCH.strings).toString("utf8").split("\0");
  const blobs = (batch.get(BATCH.blobs) || []).map((blob) => blob.toString("hex"));
  const values = { integers, floats, strings, blobs };
  return proto.packedVarints(only(BATCH.cells)).map((kind) => {
    const type = CELL[Number(kind)];
    if (type === undefined) throw new Error(`unknown type of cell ${kind}`);
    return type === "null" ? null : values[type].shift();
  });
}

function seconds(action) {
  const begin = performance.now();
  action();
  return (performance.now() - begin) / 1000;
}

async function main([directory, trace, times]) {
  const queries = JSON.parse(fs.readFileSync(0, "utf8"));
  const engine = new Engine(directory);
  // The module is loaded. A pending promise notifies its script.
  await new Promise((resume) => setTimeout(resume, 0));
  const reading = seconds(() => engine.open(trace));
  const results = times === "--times"
    ? [reading, ...queries.map((sql) => seconds(() => engine.query(sql)))]
    : queries.map((sql) => engine.query(sql));
  process.stdout.write(JSON.stringify(results));
}

// Not the stack: it would show the script's one line, of 150 kB.
function fail(error) {
  console.error(String(error).slice(0, 1000));
  process.exit(1);
}

process.on("uncaughtException", fail);
main(process.argv.slice(2)).catch(fail);
