// The flame graph: calls merged by their path of callers. Widths in a row sum to the caller's: a
// box is as wide as its own time and the boxes that it calls.

/** The box at the bottom, which is no function. */
const ALL = -1;
/** Callers more levels up than this are merged: a recursion that never returned must not take all memory. */
const CALLERS_MAX = 200;

/** Paths by function and caller: columns that grow, and a table in which a path is found. */
class Paths {
  constructor(size) {
    this.n = 0;
    this.size = Math.max(size, 16);
    this.func = new Int32Array(this.size);
    this.parent = new Int32Array(this.size);
    for (const name of Paths.sums) this[name] = new Float64Array(this.size);
    this.slots = new Int32Array(1 << Math.ceil(Math.log2(this.size * 2))).fill(-1);
  }

  /** The path for `func` below `parent`, created with zeros if it is new. */
  below(parent, func) {
    const { slots } = this;
    const mask = slots.length - 1;
    let slot = (Math.imul(parent + 1, 0x9e3779b1) ^ Math.imul(func, 0x85ebca6b)) & mask;
    for (; slots[slot] >= 0; slot = (slot + 1) & mask) {
      const place = slots[slot];
      if (this.func[place] === func && this.parent[place] === parent) return place;
    }
    if (this.n === this.size) {
      this.grow();
      return this.below(parent, func);
    }
    slots[slot] = this.n;
    this.func[this.n] = func;
    this.parent[this.n] = parent;
    return this.n++;
  }

  grow() {
    const wider = new Paths(this.size * 2);
    for (let i = 0; i < this.n; i++) wider.below(this.parent[i], this.func[i]);
    for (const name of Paths.sums) wider[name].set(this[name]);
    Object.assign(this, wider);
  }
}

Paths.sums = ['calls', 'partial', 'elapsed', 'net'];

/**
 * The paths of one thread of the block, or of all of them merged if `which` is -1: each before whatever
 * is below it, the widest of its caller first.
 */
function* pathsOf(block, which) {
  const { head, columns } = block;
  block.known = block.known || new Map();
  const known = block.known.get(which);
  if (known) return known;
  // The first tree is that of all threads, unless there is one only.
  const tree = head.trees.length > 1 ? which + 1 : 0;
  let from = 0;
  for (let t = 0; t < tree; t++) from += head.trees[t].n;
  const n = head.trees.length > 0 ? head.trees[tree].n : 0;
  const of = (name) => (columns[name] ? columns[name].subarray(from, from + n) : new Float64Array(n));
  const paths = { n, func: of('func'), parent: new Int32Array(n), isInOrder: true };
  for (const name of Paths.sums) paths[name] = of(name);
  const depths = of('depth');
  const open = [];
  let depth = 0;
  for (let i = 0; i < n; i++) {
    if (i % SLICE === 0) yield;
    depth += depths[i];
    paths.parent[i] = depth > 0 ? open[depth - 1] : -1;
    open[depth] = i;
  }
  block.known.set(which, paths);
  return paths;
}

/** The inverted graph: from each function up to its callers, weighted by its net time. */
function* turned(paths) {
  const up = new Paths(paths.n);
  for (let i = 0; i < paths.n; i++) {
    if (i % SLICE === 0) yield;
    let place = -1;
    let at = i;
    for (let level = 0; at >= 0 && level < CALLERS_MAX; level++) {
      place = up.below(place, paths.func[at]);
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

/** The time of each path with all below it. */
function widthsOf(paths, own) {
  const width = new Float64Array(paths.n);
  for (let i = paths.n - 1; i >= 0; i--) {
    width[i] += own(i);
    if (paths.parent[i] >= 0) width[paths.parent[i]] += width[i];
  }
  return width;
}

/** Boxes for `n` paths, and for all of it at the root. */
function boxesFor(n) {
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
  return boxes;
}

/** Places for paths that are in order already. */
function* spreadInOrder(paths) {
  const { n, parent } = paths;
  const width = widthsOf(paths, (i) => paths.net[i]);
  const boxes = boxesFor(n);
  // Where the next callee of a box begins.
  const next = new Float64Array(n + 1);
  let deepest = 0;
  for (let i = 0; i < n; i++) {
    if (i % SLICE === 0) yield;
    const [box, above] = [i + 1, parent[i] + 1];
    boxes.func[box] = paths.func[i];
    boxes.parent[box] = above;
    boxes.start[box] = next[above];
    next[box] = next[above];
    next[above] += width[i];
    boxes.end[box] = next[above];
    boxes.depth[box] = boxes.depth[above] + 1;
    boxes.path[box] = i;
    deepest = Math.max(deepest, boxes.depth[box]);
  }
  boxes.end[0] = next[0];
  return { boxes, total: next[0], levels: deepest + 1 };
}

/**
 * Places for paths: each as wide as `own(i)` and all below it, the widest first. Gives boxes with
 * the parent first, a box for all of it at the root.
 */
function* spread(paths, own, nameOf) {
  const { n, parent } = paths;
  const width = widthsOf(paths, own);
  // By caller, -1 as 0: how many paths it has, then where they begin in `below`.
  const first = new Int32Array(n + 2);
  for (let i = 0; i < n; i++) first[parent[i] + 2]++;
  for (let i = 0; i <= n; i++) first[i + 1] += first[i];
  const below = new Int32Array(n);
  const next = first.slice();
  for (let i = 0; i < n; i++) below[next[parent[i] + 1]++] = i;
  const order = (a, b) => width[b] - width[a] || (nameOf(a) < nameOf(b) ? -1 : 1);
  const boxes = boxesFor(n);
  let placed = 1;
  let deepest = 0;
  // What is still to be placed, the next one on top: path, box of the caller, left edge.
  const waiting = [];
  const descend = (path, box) => {
    const children = below.subarray(first[path + 1], first[path + 2]);
    if (children.length > 1) children.sort(order);
    let x = boxes.start[box];
    for (const child of children) x += width[child];
    for (let k = children.length - 1; k >= 0; k--) {
      x -= width[children[k]];
      waiting.push(children[k], box, x);
    }
  };
  let total = 0;
  for (let k = 0; k < first[1]; k++) total += width[below[k]];
  boxes.end[0] = total;
  descend(-1, 0);
  while (waiting.length > 0) {
    const x = waiting.pop();
    const above = waiting.pop();
    const path = waiting.pop();
    const box = placed++;
    if (box % SLICE === 0) yield;
    boxes.func[box] = paths.func[path];
    boxes.parent[box] = above;
    boxes.start[box] = x;
    boxes.end[box] = x + width[path];
    boxes.depth[box] = boxes.depth[above] + 1;
    boxes.path[box] = path;
    deepest = Math.max(deepest, boxes.depth[box]);
    descend(path, box);
  }
  return { boxes, total, levels: deepest + 1 };
}

/** What every graph has in common: rows from the root down, or up if `upwards`. */
function* graphRows({ boxes, levels }, upwards, rowHeight = ROW) {
  const rows = yield* arrange(boxes, levels, (i) => boxes.depth[i], ['path']);
  rows.counts = (i) => rows.func[i] !== ALL;
  const flip = (r) => (upwards ? levels - 1 - r : r);
  return {
    rows,
    lanes: [],
    x0: 0,
    x1: Math.max(boxes.end[0], 1),
    height: levels * rowHeight,
    upwards,
    rowHeight,
    rowTop: (r) => flip(r) * rowHeight,
    rowAt(at) {
      const r = flip(Math.floor(at / rowHeight));
      return r >= 0 && r < levels ? r : -1;
    },
    below: (r) => (r + 1 < levels ? r + 1 : -1),
    isPartial: () => 0,
    func: (i) => Math.max(rows.func[i], 0),
  };
}

/** The paths that a graph shows: of one thread or all, changed as `options.steps` say. */
function* pathsShown(block, options) {
  const paths = yield* changed(yield* pathsOf(block, options.thread), options.steps, options.recursion);
  return options.reverse ? yield* turned(paths) : paths;
}

/** A flame graph of one thread (or all, -1): `options` are `thread`, `reverse`, `upwards`, `steps`, `recursion`. */
function* graphModel(page, block, options) {
  const paths = yield* pathsShown(block, options);
  const nameOf = (path) => page.functions[paths.func[path]].name;
  const laid = yield* (paths.isInOrder ? spreadInOrder(paths) : spread(paths, (i) => paths.net[i], nameOf));
  const rows = yield* graphRows(laid, options.upwards);
  const { total } = laid;
  const clock = page.clock;
  const of = rows.rows;
  const whole = options.thread < 0 ? 'all threads' : page.trees[options.thread];
  return {
    ...rows,
    kind: 'graph',
    noun: ['path', 'paths'],
    paths,
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
        remarks.push(`${count(paths.partial[path], 'call', 'calls')} incomplete: in the times, not in the number`);
      }
      const above = of.parent[i] >= 0 && of.func[of.parent[i]] !== ALL ? of.end[of.parent[i]] - of.start[of.parent[i]] : 0;
      if (above > 0) facts.push(['of the box below it', share(of.end[i] - of.start[i], above)]);
      const what = options.reverse ? 'by caller, with the net time of the function' : 'on this path';
      return { title: page.functions[of.func[i]].name, what, func: of.func[i], facts, remarks };
    },
    describeCrowd: (from, to) => crowdOfPaths(of, from, to, total, clock),
  };
}

/** Neighbors that are too narrow to be drawn apart. */
function crowdOfPaths(rows, from, to, total, clock) {
  const sum = rows.covered[to] - rows.covered[from];
  return {
    title: count(to - from, 'path', 'paths'),
    what: 'too narrow to be drawn apart here: zoom in',
    facts: [['together', `${lengthWithUnit(sum, clock)} (${share(sum, total)} of all)`]],
    remarks: [],
  };
}
