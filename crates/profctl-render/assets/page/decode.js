// The data of the page: deflated columns of variable-length numbers, in base64 so that no name in
// them can end a script or an attribute.

/** After so many steps of a loop there may be a pause. */
const SLICE = 1 << 13;
/** Between two pauses, in milliseconds: the page answers meanwhile. */
const BUSY_MAX = 12;
/** Characters of base64 that are decoded at once: whole groups of four. */
const PIECE = 1 << 18;

/** Does what a generator does, with pauses where it yields; gives what it returns. */
async function inSlices(work) {
  let began = performance.now();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    began = await pauseAfter(began);
  }
}

/** Pauses if the page was busy for long since `began`; returns when the last pause ended. */
async function pauseAfter(began) {
  if (performance.now() - began < BUSY_MAX) return began;
  await (globalThis.scheduler?.yield ? scheduler.yield() : new Promise((resume) => setTimeout(resume)));
  return performance.now();
}

/** The bytes of a block of the page; nothing if the page has no such block. */
async function inflated(id) {
  const element = document.getElementById(id);
  if (!element) return null;
  const text = element.textContent.trim();
  let at = 0;
  let began = performance.now();
  const deflated = new ReadableStream({
    async pull(controller) {
      began = await pauseAfter(began);
      controller.enqueue(fromBase64(text.slice(at, at + PIECE)));
      at += PIECE;
      if (at >= text.length) controller.close();
    },
  });
  return new Uint8Array(await new Response(deflated.pipeThrough(new DecompressionStream('deflate'))).arrayBuffer());
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/** A block that is one JSON value. */
async function jsonBlock(id) {
  const bytes = await inflated(id);
  return bytes && JSON.parse(new TextDecoder().decode(bytes));
}

/** A block of columns: what its head says, and each column as numbers; a column of zeros is omitted. */
async function columnBlock(id) {
  const bytes = await inflated(id);
  if (!bytes) return null;
  const headLength = new DataView(bytes.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headLength)));
  const columns = {};
  let at = 4 + headLength;
  for (const [name, n, size, signed] of head.columns) {
    columns[name] = await inSlices(numbers(bytes, at, n, signed));
    at += size;
  }
  return { head, columns };
}

function* numbers(bytes, at, n, signed) {
  const out = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    if (i % SLICE === 0) yield;
    let byte = bytes[at++];
    let value = byte & 127;
    for (let factor = 128; byte >= 128; factor *= 128) {
      byte = bytes[at++];
      value += (byte & 127) * factor;
    }
    out[i] = signed ? (value % 2 === 1 ? -(value + 1) / 2 : value / 2) : value;
  }
  return out;
}

/** Calls in the order of entry: each column by call, parents first. Lanes follow one another. */
function* decodeCalls({ head, columns }) {
  const n = head.n;
  const zeros = new Float64Array(0);
  const whole = (name) => columns[name] || new Float64Array(n);
  const [func, gap, lengths] = ['func', 'gap', 'length'].map(whole);
  const steps = columns.depth;
  const of = (name) => columns[name] || zeros;
  const wall = of('wall');
  const off = of('off');
  const own = of('net');
  const flagged = of('flags');
  const cpus = of('cpu');
  const counts = of('count');
  const calls = {
    n,
    lanes: head.lanes,
    func: new Uint32Array(n),
    depth: new Uint32Array(n),
    parent: new Int32Array(n),
    start: new Float64Array(n),
    end: new Float64Array(n),
    elapsed: new Float64Array(n),
    net: new Float64Array(n),
    off: off.length > 0 ? off : null,
    flags: new Uint8Array(n),
    cpu: new Int32Array(n),
    count: new Float64Array(n),
  };
  let block = 0;
  let cpu = 0;
  // By depth: the call that is open there, and where the next one below it can begin.
  const open = [];
  const free = [];
  let lane = 0;
  let laneEnd = 0;
  let depth = 0;
  for (let i = 0; i < n; i++) {
    if (i % SLICE === 0) yield;
    while (i >= laneEnd && lane < head.lanes.length) {
      laneEnd += head.lanes[lane++].n;
      free[0] = 0;
      depth = 0;
    }
    depth += steps ? steps[i] : 0;
    const start = free[depth] + gap[i];
    const end = start + lengths[i];
    const parent = depth > 0 ? open[depth - 1] : -1;
    open[depth] = i;
    free[depth] = end;
    free[depth + 1] = start;
    cpu += cpus.length > 0 ? cpus[i] : 0;
    const elapsed = lengths[i] + (wall.length > 0 ? wall[i] : 0) - (off.length > 0 ? off[i] : 0);
    calls.func[i] = func[i];
    calls.depth[i] = depth;
    calls.parent[i] = parent;
    calls.start[i] = start;
    calls.end[i] = end;
    calls.elapsed[i] = elapsed;
    calls.net[i] += elapsed + (own.length > 0 ? own[i] : 0);
    if (parent >= 0) calls.net[parent] -= elapsed;
    calls.flags[i] = flagged.length > 0 ? flagged[i] : 0;
    calls.cpu[i] = cpu - 1;
    calls.count[i] = func[i] === 0 ? counts[block++] : 0;
  }
  return calls;
}
