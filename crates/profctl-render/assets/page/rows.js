// Boxes in rows: what a flame chart and a flame graph have in common. A row holds boxes from left
// to right that do not overlap; a box lies above what it calls.

/** Which box of a block of merged calls: it has no function. */
const MERGED = 0;

/**
 * Boxes by row, from boxes with the parent first. `rowOf(i)` says in which of `nRows` rows a box
 * lies. Columns in `extra` come along. In slices, as all that goes through every call.
 */
function* arrange(boxes, nRows, rowOf, extra) {
  const n = boxes.n;
  const first = new Uint32Array(nRows + 1);
  const row = new Uint32Array(n);
  for (let i = 0; i < n; i++) {
    if (i % SLICE === 0) yield;
    row[i] = rowOf(i);
    first[row[i] + 1]++;
  }
  for (let r = 0; r < nRows; r++) first[r + 1] += first[r];
  const next = first.slice(0, nRows);
  const place = new Int32Array(n);
  for (let i = 0; i < n; i++) {
    if (i % SLICE === 0) yield;
    place[i] = next[row[i]]++;
  }
  const rows = { n, nRows, first, row: new Uint32Array(n), parent: new Int32Array(n) };
  for (const name of ['func', 'start', 'end', ...extra]) {
    const from = boxes[name];
    if (!from) continue;
    const to = new from.constructor(n);
    for (let i = 0; i < n; i++) {
      if (i % SLICE === 0) yield;
      to[place[i]] = from[i];
    }
    rows[name] = to;
  }
  for (let i = 0; i < n; i++) {
    if (i % SLICE === 0) yield;
    rows.row[place[i]] = row[i];
    rows.parent[place[i]] = boxes.parent[i] < 0 ? -1 : place[boxes.parent[i]];
  }
  // What is covered left of each box in its row, so that a crowd of them can be weighed at once.
  rows.covered = yield* covering(rows);
  return rows;
}

function* covering({ n, start, end }) {
  const covered = new Float64Array(n + 1);
  for (let i = 0; i < n; i++) {
    if (i % SLICE === 0) yield;
    covered[i + 1] = covered[i] + end[i] - start[i];
  }
  return covered;
}

/** How much of row `r` is covered by its boxes up to `x`. */
function coveredUntil(rows, r, x) {
  const [low, high] = [rows.first[r], rows.first[r + 1]];
  const i = firstEndingAfter(rows, low, high, x);
  const part = i < high ? Math.max(x - rows.start[i], 0) : 0;
  return rows.covered[i] - rows.covered[low] + part;
}

/** The first of the boxes `low..high` of a row that ends after `x`. */
function firstEndingAfter(rows, low, high, x) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows.end[middle] > x) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The first of the boxes `low..high` of a row that starts at or after `x`, looked for near `low`. */
function firstStartingAt(rows, low, high, x) {
  let step = 1;
  let top = low;
  while (top < high && rows.start[top] < x) {
    low = top + 1;
    top += step;
    step *= 2;
  }
  top = Math.min(top, high);
  while (low < top) {
    const middle = (low + top) >>> 1;
    if (rows.start[middle] >= x) top = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Goes through what of row `r` can be seen from `x0` to `x1` at `scale` pixels a unit: `box(i)` for
 * each box a pixel wide or wider, `crowd(from, to)` for neighbors that are narrower. Nothing is
 * omitted, and the work grows with the pixels, not with the boxes.
 */
function visit(rows, r, x0, x1, scale, box, crowd) {
  const last = rows.first[r + 1];
  const { start, end } = rows;
  const pixel = 1 / scale;
  let i = firstEndingAfter(rows, rows.first[r], last, x0);
  // A box without a length ends where it starts: at the left edge it is still seen.
  while (i > rows.first[r] && start[i - 1] >= x0) i--;
  let from = -1;
  let to = -1;
  while (i < last && start[i] <= x1) {
    if (end[i] - start[i] >= pixel) {
      if (from >= 0) crowd(from, to);
      from = -1;
      box(i);
      i++;
      continue;
    }
    if (from >= 0 && start[i] - end[to - 1] > pixel) {
      crowd(from, to);
      from = -1;
    }
    if (from < 0) from = i;
    let next = Math.max(i + 1, firstStartingAt(rows, i + 1, last, start[i] + pixel));
    // Only the last one that starts within the pixel can be wide.
    if (next - 1 > i && end[next - 1] - start[next - 1] >= pixel) next--;
    to = next;
    i = next;
  }
  if (from >= 0) crowd(from, to);
}

/** The box of row `r` at `x`, or the nearest within `slack`; -1 if there is none. */
function boxAt(rows, r, x, slack) {
  if (r < 0 || r >= rows.nRows) return -1;
  const low = rows.first[r];
  const high = rows.first[r + 1];
  if (low === high) return -1;
  const i = Math.min(firstEndingAfter(rows, low, high, x), high - 1);
  let best = -1;
  let least = slack;
  for (const one of [i - 1, i]) {
    if (one < low) continue;
    const away = Math.max(rows.start[one] - x, x - rows.end[one], 0);
    if (away <= least) {
      least = away;
      best = one;
    }
  }
  return best;
}

/** The widest box directly below `i` in the call tree; -1 if it calls nothing. */
function widestBelow(rows, i, nextRow) {
  const r = nextRow(rows.row[i]);
  if (r < 0 || r >= rows.nRows) return -1;
  let best = -1;
  const high = rows.first[r + 1];
  let at = firstStartingAt(rows, rows.first[r], high, rows.start[i]);
  for (; at < high && rows.start[at] <= rows.end[i]; at++) {
    if (rows.parent[at] !== i) continue;
    if (best < 0 || rows.end[at] - rows.start[at] > rows.end[best] - rows.start[best]) best = at;
  }
  return best;
}

/**
 * What a search finds: how many of the boxes before each match, and the time of those that lie in
 * no other match.
 */
function findMatches(rows, matched, weight) {
  const { n, func, parent } = rows;
  const inside = new Uint8Array(n);
  const before = new Uint32Array(n + 1);
  let sum = 0;
  for (let i = 0; i < n; i++) {
    const hit = func[i] !== MERGED && matched[func[i]] === 1;
    const above = parent[i] >= 0 && inside[parent[i]] === 1;
    if (hit && !above && rows.counts(i)) sum += weight(i);
    inside[i] = hit || above ? 1 : 0;
    before[i + 1] = before[i] + (hit ? 1 : 0);
  }
  return { before, sum, n: before[n] };
}
