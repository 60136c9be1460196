// The flame graph: calls merged by their path of callers. Widths in a row sum to the caller's: a
// box is as wide as its own time and the boxes that it calls.

/** The box at the bottom, which is no function. */
const ALL = -1;
/** Callers more levels up than this are merged: a recursion that never returned must not take all memory. */
const CALLERS_MAX = 200;

/** The paths of one thread of the block, or of all of them merged if `which` is -1. */
function pathsOf({ head, columns }, which) {
  const trees = head.trees;
  const first = [];
  let n = 0;
  for (const tree of trees) {
    first.push(n);
    n += tree.n;
  }
  const paths = { func: [], parent: [], calls: [], partial: [], elapsed: [], net: [] };
  const places = new Map();
  const nFunctions = head.functions;
  const [from, to] = which < 0 ? [0, trees.length] : [which, which + 1];
  for (let t = from; t < to; t++) {
    const open = [];
    let depth = 0;
    for (let i = first[t]; i < first[t] + trees[t].n; i++) {
      depth += columns.depth ? columns.depth[i] : 0;
      const parent = depth > 0 ? open[depth - 1] : -1;
      const place = pathBelow(paths, places, parent, columns.func[i], nFunctions);
      open[depth] = place;
      paths.calls[place] += columns.calls ? columns.calls[i] : 0;
      paths.partial[place] += columns.partial ? columns.partial[i] : 0;
      paths.elapsed[place] += columns.elapsed ? columns.elapsed[i] : 0;
      paths.net[place] += columns.net ? columns.net[i] : 0;
    }
  }
  return paths;
}

/** The path for `func` below `parent`, made with noughts if it is new. */
function pathBelow(paths, places, parent, func, nFunctions) {
  const key = (parent + 1) * nFunctions + func;
  let place = places.get(key);
  if (place === undefined) {
    place = paths.func.length;
    places.set(key, place);
    paths.func.push(func);
    paths.parent.push(parent);
    for (const sum of [paths.calls, paths.partial, paths.elapsed, paths.net]) sum.push(0);
  }
  return place;
}

/** The same turned around: from each function up to whoever called it, weighed by its own time. */
function turned(paths, nFunctions) {
  const up = { func: [], parent: [], calls: [], partial: [], elapsed: [], net: [] };
  const places = new Map();
  for (let i = 0; i < paths.func.length; i++) {
    let place = -1;
    let at = i;
    for (let level = 0; at >= 0 && level < CALLERS_MAX; level++) {
      place = pathBelow(up, places, place, paths.func[at], nFunctions);
      up.calls[place] += paths.calls[i];
      up.partial[place] += paths.partial[i];
      up.elapsed[place] += paths.net[i];
      at = paths.parent[at];
    }
    // Whatever has no further caller keeps the time for itself.
    up.net[place] += paths.net[i];
  }
  return up;
}

/**
 * Places for paths: each as wide as `own(i)` and all below it, the widest first. Gives boxes with
 * the parent first, a box for all of it at the root.
 */
function spread(paths, own, nameOf) {
  const n = paths.func.length;
  const width = new Float64Array(n);
  for (let i = n - 1; i >= 0; i--) {
    width[i] += own(i);
    if (paths.parent[i] >= 0) width[paths.parent[i]] += width[i];
  }
  const below = Array.from({ length: n + 1 }, () => []);
  for (let i = 0; i < n; i++) below[paths.parent[i] + 1].push(i);
  const order = (a, b) => width[b] - width[a] || (nameOf(a) < nameOf(b) ? -1 : 1);
  let total = 0;
  for (const root of below[0]) total += width[root];
  const boxes = {
    n: n + 1,
    func: new Int32Array(n + 1),
    parent: new Int32Array(n + 1),
    start: new Float64Array(n + 1),
    end: new Float64Array(n + 1),
    depth: new Uint32Array(n + 1),
    path: new Int32Array(n + 1),
  };
  boxes.func[0] = ALL;
  boxes.parent[0] = -1;
  boxes.path[0] = -1;
  boxes.end[0] = total;
  let placed = 1;
  // What is still to be placed, the next one on top.
  const waiting = [];
  const descend = (children, box) => {
    children.sort(order);
    let x = boxes.start[box];
    const entries = children.map((path) => {
      const entry = [path, box, x];
      x += width[path];
      return entry;
    });
    for (let k = entries.length - 1; k >= 0; k--) waiting.push(entries[k]);
  };
  descend(below[0], 0);
  let deepest = 0;
  while (waiting.length > 0) {
    const [path, parent, x] = waiting.pop();
    const box = placed++;
    boxes.func[box] = paths.func[path];
    boxes.parent[box] = parent;
    boxes.start[box] = x;
    boxes.end[box] = x + width[path];
    boxes.depth[box] = boxes.depth[parent] + 1;
    boxes.path[box] = path;
    deepest = Math.max(deepest, boxes.depth[box]);
    descend(below[path + 1], box);
  }
  return { boxes, total, levels: deepest + 1 };
}

/** What every graph has in common: rows from the root down, or up if `upwards`. */
function graphRows({ boxes, levels }, upwards) {
  const rows = arrange(boxes, levels, (i) => boxes.depth[i], ['path']);
  rows.counts = (i) => rows.func[i] !== ALL;
  const flip = (r) => (upwards ? levels - 1 - r : r);
  return {
    rows,
    lanes: [],
    x0: 0,
    x1: Math.max(boxes.end[0], 1),
    height: levels * ROW,
    hasAxis: false,
    upwards,
    rowHeight: ROW,
    rowTop: (r) => flip(r) * ROW,
    rowAt(at) {
      const r = flip(Math.floor(at / ROW));
      return r >= 0 && r < levels ? r : -1;
    },
    below: (r) => (r + 1 < levels ? r + 1 : -1),
    isPartial: () => 0,
    func: (i) => Math.max(rows.func[i], 0),
  };
}

/** A flame graph of one thread (or all, -1): `options` are `thread`, `reverse`, `upwards`. */
function graphModel(page, block, options) {
  let paths = pathsOf(block, options.thread);
  if (options.reverse) paths = turned(paths, block.head.functions);
  const nameOf = (path) => page.functions[paths.func[path]].name;
  const laid = spread(paths, (i) => paths.net[i], nameOf);
  const rows = graphRows(laid, options.upwards);
  const { total } = laid;
  const clock = page.clock;
  const of = rows.rows;
  const whole = options.thread < 0 ? 'all threads' : block.head.trees[options.thread].label;
  return {
    ...rows,
    kind: 'graph',
    noun: ['path', 'paths'],
    total,
    paint: (i) => (of.func[i] === ALL ? page.rootPaint : page.functions[of.func[i]].paint),
    label: (i) => (of.func[i] === ALL ? whole : page.functions[of.func[i]].name),
    weight: (i) => (options.reverse ? of.end[i] - of.start[i] : paths.elapsed[of.path[i]]),
    describe(i) {
      if (of.func[i] === ALL) {
        const facts = [['net of all calls', lengthWithUnit(total, clock)]];
        return { title: whole, what: 'everything', facts, remarks: [] };
      }
      const path = of.path[i];
      const time = (ticks) => `${lengthWithUnit(ticks, clock)} (${share(ticks, total)} of all)`;
      const facts = options.reverse
        ? [['net', `${time(of.end[i] - of.start[i])}`]]
        : [['elapsed', time(paths.elapsed[path])], ['net', time(paths.net[path])]];
      facts.push(['calls', String(paths.calls[path])]);
      const remarks = [];
      if (paths.partial[path] > 0) {
        remarks.push(`${count(paths.partial[path], 'call', 'calls')} seen in part: in the times, not in the number`);
      }
      const above = of.parent[i] >= 0 && of.func[of.parent[i]] !== ALL ? of.end[of.parent[i]] - of.start[of.parent[i]] : 0;
      if (above > 0) facts.push(['of the box below it', share(of.end[i] - of.start[i], above)]);
      const what = options.reverse ? 'as the cause of its own time, by caller' : 'on this path';
      return { title: page.functions[of.func[i]].name, what, func: of.func[i], facts, remarks };
    },
    describeCrowd: (from, to) => crowdOfPaths(of, from, to, total, clock),
  };
}

/** Neighbours that are too narrow to be drawn apart. */
function crowdOfPaths(rows, from, to, total, clock) {
  const sum = rows.covered[to] - rows.covered[from];
  return {
    title: count(to - from, 'path', 'paths'),
    what: 'too narrow to be drawn apart here: zoom in',
    facts: [['together', `${lengthWithUnit(sum, clock)} (${share(sum, total)} of all)`]],
    remarks: [],
  };
}
