// The flame chart: calls in time order, one lane per thread and per CPU.

/** The strip of states of a lane: its height with the gap below it. */
const STRIP_ROOM = 10;
const STRIP = 6;
/** What the words on lost events need above it. */
const GAP_ROOM = 16;
const LANE_GAP = 8;
/** A lane is never lower than its name. */
const LANE_MIN = 22;
const ROW = 17;
/** A lane whose widest box is narrower than this, on a page that does not fit, is folded. */
const READABLE = 48;
/** Where a row is that is not shown. */
const NOWHERE = -1e9;

/** What was not seen of a call, as bits of its flags. */
const NO_ENTRY = 1;
const NO_EXIT = 2;
const AT_GAP = 4;

/** States by number, as the data have them. */
const RUNNING = 0;
const UNKNOWN = 4;

/** A chart of `calls`; `moments` are absences and instants, which come later than the calls. */
function* chartModel(page, calls, moments) {
  const lanes = [];
  let nRows = 0;
  const laneOf = [];
  for (const [index, lane] of page.lanes.entries()) {
    const strip = lane.gaps.length > 0 ? GAP_ROOM : 3;
    const head = strip + (lane.states > 0 ? STRIP_ROOM : 0);
    lanes.push({ ...lane, index, first: nRows, strip, head });
    for (let r = 0; r < lane.levels; r++) laneOf.push(index);
    nRows += lane.levels;
  }
  // The lane of a call: lanes follow one another.
  let lane = 0;
  let left = calls.lanes.length > 0 ? calls.lanes[0].n : 0;
  const rowOf = (i) => {
    while (left === 0) left = calls.lanes[++lane].n;
    left--;
    return lanes[lane].first + calls.depth[i];
  };
  const columns = ['elapsed', 'net', 'off', 'flags', 'cpu', 'count'];
  const rows = yield* arrange(calls, nRows, rowOf, columns);
  rows.counts = (i) => lanes[laneOf[rows.row[i]]].kind === 'thread';
  let total = 0;
  // How many calls the boxes before each stand for.
  const amount = new Float64Array(rows.n + 1);
  for (let i = 0; i < rows.n; i++) {
    if (i % SLICE === 0) yield;
    amount[i + 1] = amount[i] + (rows.func[i] === MERGED ? rows.count[i] : 1);
    if (rows.parent[i] < 0 && rows.counts(i)) total += rows.elapsed[i];
  }
  const crowdSize = (from, to) => amount[to] - amount[from];
  const absences = yield* stretchesOf(lanes, moments, 'away');
  const states = yield* stretchesOf(lanes, moments, 'state');
  const interrupts = yield* interruptsOf(page, rows, lanes);
  const marks = marksOf(lanes, moments);
  const clock = page.clock;
  const name = (i) => page.functions[rows.func[i]];

  const facts = (i) => {
    const of = lanes[laneOf[rows.row[i]]];
    if (of.kind === 'cpu') {
      return [
        ['ran for', lengthWithUnit(rows.end[i] - rows.start[i], clock)],
        ['from', lengthWithUnit(rows.start[i], clock)],
        ['on', of.label],
      ];
    }
    const facts = [
      ['elapsed', `${lengthWithUnit(rows.elapsed[i], clock)} (${share(rows.elapsed[i], total)} of all)`],
      ['net', `${lengthWithUnit(Math.max(rows.net[i], 0), clock)} (${share(Math.max(rows.net[i], 0), total)} of all)`],
    ];
    if (rows.off && rows.off[i] > 0) facts.push(['off CPU', lengthWithUnit(rows.off[i], clock)]);
    facts.push(['from', lengthWithUnit(rows.start[i], clock)]);
    const on = rows.cpu[i] >= 0 ? `, CPU ${page.cpus[rows.cpu[i]]}` : '';
    facts.push(['thread', `${of.label}${on}`]);
    return facts;
  };
  const remarks = (i) => {
    const flags = rows.flags[i];
    const remarks = [];
    if (flags & NO_ENTRY) remarks.push('entry not recorded');
    if (flags & NO_EXIT) remarks.push('exit not recorded');
    if (flags & AT_GAP) remarks.push('cut short where events were lost');
    return remarks;
  };

  const model = {
    kind: 'chart',
    noun: ['call', 'calls'],
    rows,
    lanes,
    laneOf,
    absences,
    states,
    interrupts,
    marks,
    x0: 0,
    x1: Math.max(page.real, 1),
    height: 0,
    pinnedHeight: 0,
    total,
    crowdSize,
    rowHeight: ROW,
    isShort: (r) => lanes[laneOf[r]].isFolded,
    rowTop(r) {
      const lane = lanes[laneOf[r]];
      return lane.isHidden || (lane.isFolded && r > lane.first) ? NOWHERE : lane.top + lane.head + (r - lane.first) * ROW;
    },
    below: (r) => (r + 1 < nRows && laneOf[r + 1] === laneOf[r] ? r + 1 : -1),
    laneAt: (at) => lanes.find(({ top, height, isHidden }) => !isHidden && at >= top && at < top + height),
    rowAt(at) {
      const lane = model.laneAt(at);
      if (!lane || lane.levels === 0 || lane.isFolded || at < lane.top + lane.head) return -1;
      return lane.first + Math.min(lane.levels - 1, Math.floor((at - lane.top - lane.head) / ROW));
    },
    paint: (i) => page.functions[rows.func[i]].paint,
    label: (i) => (rows.func[i] === MERGED ? count(rows.count[i], 'call', 'calls') : name(i).name),
    func: (i) => rows.func[i],
    weight: (i) => rows.elapsed[i],
    isPartial: (i) => rows.flags[i],
    describe(i) {
      if (rows.func[i] === MERGED) return describeMerged(i);
      const what = lanes[laneOf[rows.row[i]]].kind === 'cpu' ? 'thread' : 'call';
      return { title: name(i).name, what, func: rows.func[i], facts: facts(i), remarks: remarks(i) };
    },
    describeCrowd(from, to) {
      return {
        title: count(crowdSize(from, to), 'call', 'calls'),
        what: 'too short to be drawn apart here: zoom in',
        facts: [
          ['together', lengthWithUnit(rows.covered[to] - rows.covered[from], clock)],
          ['within', lengthWithUnit(rows.end[to - 1] - rows.start[from], clock)],
          ['from', lengthWithUnit(rows.start[from], clock)],
        ],
        remarks: [],
      };
    },
  };
  return model;

  function describeMerged(i) {
    return {
      title: count(rows.count[i], 'call', 'calls'),
      what: page.cut ? 'too short to be kept apart in this file' : 'still being read',
      facts: [
        ['elapsed', lengthWithUnit(rows.elapsed[i], clock)],
        ['within', lengthWithUnit(rows.end[i] - rows.start[i], clock)],
        ['from', lengthWithUnit(rows.start[i], clock)],
      ],
      remarks: [],
    };
  }
}

/**
 * When the thread of each lane was switched out (`away`), or what it was doing (`state`): as rows,
 * so that they are drawn like boxes.
 */
function* stretchesOf(lanes, moments, kind) {
  const starts = [];
  const ends = [];
  const looks = [];
  const first = new Uint32Array(lanes.length + 1);
  const columns = moments ? moments.columns : {};
  const gaps = columns[`${kind}_gap`];
  const lengths = columns[`${kind}_length`];
  const look = columns[`${kind}_look`];
  let at = 0;
  for (const [index, lane] of lanes.entries()) {
    let now = 0;
    const n = kind === 'away' ? lane.away : lane.states;
    for (let k = 0; moments && k < n; k++, at++) {
      const start = now + (gaps ? gaps[at] : 0);
      now = start + lengths[at];
      starts.push(start);
      ends.push(now);
      looks.push(look ? look[at] : RUNNING);
    }
    first[index + 1] = starts.length;
  }
  return yield* stretches(first, starts, ends, looks);
}

function* stretches(first, starts, ends, looks) {
  const rows = {
    n: starts.length, nRows: first.length - 1, first, looks,
    start: Float64Array.from(starts), end: Float64Array.from(ends),
  };
  rows.covered = yield* covering(rows);
  return rows;
}

/** When interrupts were served on the thread of each lane: their outermost calls. */
function* interruptsOf(page, rows, lanes) {
  const isInterrupt = page.functions.map(({ kind }) => kind === 'interrupt');
  const first = new Uint32Array(lanes.length + 1);
  const found = [];
  if (!isInterrupt.includes(true)) return yield* stretches(first, [], [], []);
  const inside = new Uint8Array(rows.n);
  for (const lane of lanes) {
    const of = [];
    const [low, high] = [rows.first[lane.first], rows.first[lane.first + lane.levels]];
    for (let i = low; i < high; i++) {
      if (i % SLICE === 0) yield;
      const above = rows.parent[i] >= 0 && inside[rows.parent[i]] === 1;
      if (isInterrupt[rows.func[i]] && !above) of.push(i);
      inside[i] = above || isInterrupt[rows.func[i]] ? 1 : 0;
    }
    of.sort((a, b) => rows.start[a] - rows.start[b]);
    found.push(...of.map((i) => [rows.start[i], rows.end[i]]));
    first[lane.index + 1] = found.length;
  }
  return yield* stretches(first, found.map(([start]) => start), found.map(([, end]) => end), []);
}

/** The instants of each lane, by time. */
function marksOf(lanes, moments) {
  const columns = moments ? moments.columns : {};
  let at = 0;
  return lanes.map((lane) => {
    const marks = { time: [], depth: [], func: [] };
    let now = 0;
    for (let k = 0; moments && k < lane.marks; k++, at++) {
      now += columns.mark_gap ? columns.mark_gap[at] : 0;
      marks.time.push(now);
      marks.depth.push(columns.mark_depth ? columns.mark_depth[at] : 0);
      marks.func.push(columns.mark_func[at]);
    }
    return marks;
  });
}

/** How much of lane `index` up to `x` its thread ran, as far as is known. */
function busyUntil(model, index, x) {
  const lane = model.lanes[index];
  if (lane.levels === 0) return 0;
  const covered = coveredUntil(model.rows, lane.first, x);
  return Math.max(covered - coveredUntil(model.absences, index, x), 0);
}
