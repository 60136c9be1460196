// Changes to the paths of a flame graph, and the graph of one function between its callers and callees.

/** Focuses on a function, or removes one from all paths: what a step says of the paths. */
const STEPS = {
  focus: 'only calls of',
  merge: 'without',
};

/**
 * The paths after `steps`, a list of `[what, function]`: `focus` keeps what is below the outermost
 * calls of a function; `merge` gives its net time and callees to its callers. With `recursion`, a
 * function below itself is counted where it was first called.
 */
function* changed(paths, steps, recursion) {
  let now = paths;
  for (const [what, func] of steps || []) now = yield* mapped(now, what === 'focus' ? focusing(now, func) : merging(now, func));
  return recursion ? yield* mapped(now, folding(now)) : now;
}

/**
 * New paths: `place(i, above, to)` says where path `i`, whose caller has become `above`, goes; `null`
 * stands for nowhere, a number for an existing path that takes its net time.
 */
function* mapped(paths, place) {
  const to = new Paths(paths.n);
  const of = new Int32Array(paths.n);
  for (let i = 0; i < paths.n; i++) {
    if (i % SLICE === 0) yield;
    const above = paths.parent[i] >= 0 ? of[paths.parent[i]] : -1;
    const into = place(i, above, to);
    if (into === null) {
      of[i] = -1;
    } else if (into >= 0) {
      of[i] = into;
      to.net[into] += paths.net[i];
    } else {
      of[i] = to.below(above, paths.func[i]);
      for (const name of Paths.sums) to[name][of[i]] += paths[name][i];
    }
  }
  return to;
}

/** What becomes a path of its own. */
const ITSELF = -1;

function focusing(paths, func) {
  const inside = new Uint8Array(paths.n);
  return (i) => {
    const isBelow = paths.parent[i] >= 0 && inside[paths.parent[i]] === 1;
    inside[i] = isBelow || paths.func[i] === func ? 1 : 0;
    return inside[i] ? ITSELF : null;
  };
}

function merging(paths, func) {
  // Without a caller nothing can take the time: such calls stay.
  return (i, above) => (paths.func[i] === func && above >= 0 ? above : ITSELF);
}

function folding(paths) {
  return (i, above, to) => {
    for (let at = above; at >= 0; at = to.parent[at]) if (to.func[at] === paths.func[i]) return at;
    return ITSELF;
  };
}

/**
 * One function: its callers above, its callees below, each as wide as its part of the elapsed time
 * of the function.
 */
function* sandwichModel(page, block, options) {
  const all = yield* changed(yield* pathsOf(block, options.thread), options.steps, options.recursion);
  const { func } = options;
  const below = yield* mapped(all, focusing(all, func));
  const above = yield* callersOf(all, func, below);
  const nameOf = (paths) => (path) => page.functions[paths.func[path]].name;
  const down = yield* spread(below, (i) => below.net[i], nameOf(below));
  const up = yield* spread(above, (i) => above.net[i], nameOf(above));
  // The box for all stands for nothing here: both begin with the function.
  const levels = { up: Math.max(up.levels - 2, 0), down: Math.max(down.levels - 1, 0) };
  const n = down.boxes.n - 1 + Math.max(up.boxes.n - 2, 0);
  const boxes = { n };
  for (const name of ['func', 'parent', 'start', 'end', 'path']) boxes[name] = new up.boxes[name].constructor(n);
  const row = new Uint32Array(n);
  let at = 0;
  const take = ({ boxes: from }, first, rowOf, place) => {
    for (let i = first; i < from.n; i++, at++) {
      for (const name of ['func', 'start', 'end', 'path']) boxes[name][at] = from[name][i];
      boxes.parent[at] = place(from.parent[i]);
      row[at] = rowOf(from.depth[i]);
    }
  };
  take(down, 1, (depth) => levels.up + depth - 1, (parent) => parent - 1);
  const callers = at;
  take(up, 2, (depth) => levels.up - depth + 1, (parent) => (parent < 2 ? 0 : callers + parent - 2));
  const nRows = levels.up + levels.down;
  const rows = yield* arrange(boxes, nRows, (i) => row[i], ['path']);
  const isCaller = (i) => rows.row[i] < levels.up;
  rows.counts = (i) => !isCaller(i);
  const total = down.total;
  const { clock } = page;
  const time = (ticks) => `${lengthWithUnit(ticks, clock)} (${share(ticks, total)} of the function)`;
  return {
    kind: 'sandwich',
    noun: ['path', 'paths'],
    rows,
    lanes: [],
    x0: 0,
    x1: Math.max(total, 1),
    height: nRows * ROW,
    rowHeight: ROW,
    /** The row of the function itself. */
    middle: levels.up,
    paths: below,
    total,
    rowTop: (r) => r * ROW,
    rowAt(at) {
      const r = Math.floor(at / ROW);
      return r >= 0 && r < nRows ? r : -1;
    },
    below: (r) => (r >= levels.up && r + 1 < nRows ? r + 1 : -1),
    isPartial: () => 0,
    func: (i) => rows.func[i],
    paint: (i) => page.functions[rows.func[i]].paint,
    label: (i) => page.functions[rows.func[i]].name,
    weight: (i) => rows.end[i] - rows.start[i],
    describe(i) {
      const what = isCaller(i) ? 'caller' : rows.row[i] === levels.up ? 'all its calls' : 'callee';
      const facts = [[isCaller(i) ? 'called it for' : 'elapsed', time(rows.end[i] - rows.start[i])]];
      if (!isCaller(i)) {
        facts.push(['net', time(below.net[rows.path[i]])], ['calls', String(below.calls[rows.path[i]])]);
      }
      return { title: page.functions[rows.func[i]].name, what, func: rows.func[i], facts, remarks: [] };
    },
    describeCrowd: (from, to) => crowdOfPaths(rows, from, to, total, clock),
  };
}

/** From a function up to its callers, weighted by what its outermost calls took. */
function* callersOf(all, func, below) {
  const up = new Paths(below.n);
  const width = widthsOf(all, (i) => all.net[i]);
  const inside = new Uint8Array(all.n);
  for (let i = 0; i < all.n; i++) {
    if (i % SLICE === 0) yield;
    const isBelow = all.parent[i] >= 0 && inside[all.parent[i]] === 1;
    inside[i] = isBelow || all.func[i] === func ? 1 : 0;
    if (isBelow || !inside[i]) continue;
    let place = -1;
    for (let at = i, level = 0; at >= 0 && level < CALLERS_MAX; at = all.parent[at], level++) {
      place = up.below(place, all.func[at]);
      up.calls[place] += all.calls[i];
    }
    up.net[place] += width[i];
  }
  return up;
}
