// What happened in a range of time: sums by function and by state.

/** Rows of a list of sums at most. */
const SUMS_MAX = 60;

/** The sums of the calls and states between `from` and `to`; calls that reach beyond are clipped. */
function* sumsWithin(page, model, from, to) {
  const { rows, lanes, absences } = model;
  const n = page.functions.length;
  const [net, elapsed, calls, clipped] = [0, 0, 0, 0].map(() => new Float64Array(n));
  /** Whether the call of that number is counted within a call of the same function. */
  const isInner = (i) => {
    for (let at = rows.parent[i]; at >= 0; at = rows.parent[at]) if (rows.func[at] === rows.func[i]) return true;
    return false;
  };
  for (const lane of lanes) {
    if (lane.kind !== 'thread') continue;
    const away = (x) => coveredUntil(absences, lane.index, x);
    for (let r = lane.first; r < lane.first + lane.levels; r++) {
      const high = rows.first[r + 1];
      for (let i = firstEndingAfter(rows, rows.first[r], high, from); i < high && rows.start[i] < to; i++) {
        if (i % SLICE === 0) yield;
        const f = rows.func[i];
        const above = rows.parent[i];
        const time = within(i, away);
        // The net time of a call that is cut is what its callees leave of it.
        net[f] += isInside(i) ? rows.net[i] : time;
        if (above >= 0 && !isInside(above)) net[rows.func[above]] -= time;
        if (!isInner(i)) elapsed[f] += time;
        (isInside(i) && !rows.flags[i] ? calls : clipped)[f] += f === MERGED ? rows.count[i] : 1;
      }
    }
  }
  const functions = [];
  for (let f = 0; f < n; f++) {
    if (calls[f] + clipped[f] === 0) continue;
    functions.push({
      func: f, name: f === MERGED ? 'calls merged in this file' : page.functions[f].name,
      net: Math.max(net[f], 0), elapsed: elapsed[f], calls: calls[f], clipped: clipped[f],
    });
  }
  functions.sort((a, b) => b.net - a.net || (a.name < b.name ? -1 : 1));
  return { functions, states: statesWithin(page, model, from, to) };

  function isInside(i) {
    return rows.start[i] >= from && rows.end[i] <= to;
  }

  /** The part of the elapsed time of a call that is in the range. */
  function within(i, away) {
    if (isInside(i)) return rows.elapsed[i];
    const [start, end] = [Math.max(rows.start[i], from), Math.min(rows.end[i], to)];
    return Math.min(Math.max(end - start - (away(end) - away(start)), 0), rows.elapsed[i]);
  }
}

/** The time of threads by state, of that with interrupts, and of CPUs that were idle. */
function statesWithin(page, model, from, to) {
  const { rows, lanes, states, interrupts } = model;
  const sums = new Float64Array(page.looks.length);
  let interrupted = 0;
  let idle = 0;
  const overlap = (of, i) => Math.max(Math.min(of.end[i], to) - Math.max(of.start[i], from), 0);
  for (const lane of lanes) {
    if (lane.kind === 'cpu') {
      for (let i = rows.first[lane.first]; i < rows.first[lane.first + 1]; i++) {
        if (page.functions[rows.func[i]].isIdle) idle += overlap(rows, i);
      }
      continue;
    }
    if (lane.states === 0) continue;
    for (let i = states.first[lane.index]; i < states.first[lane.index + 1]; i++) sums[states.looks[i]] += overlap(states, i);
    for (let i = interrupts.first[lane.index]; i < interrupts.first[lane.index + 1]; i++) interrupted += overlap(interrupts, i);
  }
  const rowsOf = [...sums].map((time, look) => ({ look, name: page.looks[look], time }));
  const runs = rowsOf.findIndex(({ look }) => look === RUNNING);
  if (interrupted > 0) rowsOf.splice(runs + 1, 0, { look: INTERRUPTED, name: 'of that interrupted', time: interrupted });
  if (idle > 0) rowsOf.push({ look: -1, name: 'CPUs idle', time: idle });
  return rowsOf.filter(({ time }) => time > 0);
}

/** Both lists for the panel. */
function sumsOf({ functions, states }, range, page, pick) {
  const { clock } = page;
  const whole = range[1] - range[0];
  const inUnit = (ticks) => rounded(ticks, clock);
  const parts = [make('p', { class: 'what' },
    make('strong', {}, lengthWithUnit(whole, clock)),
    ` from ${lengthWithUnit(range[0], clock)} to ${lengthWithUnit(range[1], clock)}`)];
  if (states.length > 0) {
    parts.push(make('table', { class: 'plain sums states' },
      make('thead', {}, row('th', 'state of threads', clock.label, '% of range')),
      make('tbody', {}, states.map(({ name, time }) => row('td', name, inUnit(time), share(time, whole))))));
  }
  const shown = functions.slice(0, SUMS_MAX);
  const heading = row('th', 'function', `net, ${clock.label}`, 'elapsed', '# calls');
  const button = (name) => make('button', { type: 'button', class: 'pick', click: () => pick(name) }, name);
  parts.push(make('table', { class: 'plain sums functions' }, make('thead', {}, heading),
    make('tbody', {}, shown.map(({ func, name, net, elapsed, calls, clipped }) =>
      row('td', func === MERGED ? name : button(name), inUnit(net), inUnit(elapsed),
        clipped > 0 ? `${calls} + ${clipped} cut` : String(calls))))));
  if (functions.length > shown.length) parts.push(make('p', { class: 'hint' }, `and ${count(functions.length - shown.length, 'function', 'functions')} of less net time`));
  return parts;

  function row(cell, first, ...rest) {
    const attributes = cell === 'th' ? { scope: 'col' } : {};
    return make('tr', {}, make(cell, { ...attributes, class: 'name' }, first), rest.map((text) => make(cell, { ...attributes, class: 'number' }, text)));
  }
}
