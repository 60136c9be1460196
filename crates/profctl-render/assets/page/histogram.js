// How long the calls of one function took: bars over a logarithmic scale, before and after
// overlaid where there are two sides.

const SUB_BUCKETS = 32;

/** Where a bucket begins: below 64 each value has its own, above, 32 share a doubling. */
function bucketStart(bucket) {
  const octave = Math.max(Math.floor(bucket / SUB_BUCKETS) - 1, 0);
  return (bucket - octave * SUB_BUCKETS) * 2 ** octave;
}

/** Buckets and counts of the text form of the saved profile. */
function decodeHistogram(text) {
  const buckets = [];
  let bucket = 0;
  for (const item of text ? text.split(',') : []) {
    const [step, n] = item.split(':');
    bucket += Number(step);
    buckets.push([bucket, n === undefined ? 1 : Number(n)]);
  }
  return buckets;
}

/** Bars of equal width on a logarithmic scale: `[from, to, n]`. */
function barsOf(text) {
  const bars = new Map();
  for (const [bucket, n] of decodeHistogram(text)) {
    // The first 64 values have a bucket each, which is finer than a quarter of a doubling.
    const value = bucketStart(bucket);
    const bar = value < 4 ? value : Math.floor(Math.log2(value + 0.5) * 4);
    bars.set(bar, (bars.get(bar) || 0) + n);
  }
  return bars;
}

function barStart(bar) {
  return bar < 4 ? bar : Math.ceil(2 ** (bar / 4) - 0.5);
}

function startHistogram(host, data, clock) {
  const select = make('select', { 'aria-label': 'function', change: draw },
    data.functions.map(({ name }, i) => make('option', { value: i }, name)));
  const measure = make('select', { 'aria-label': 'what is counted', change: draw },
    make('option', { value: 'net' }, 'net time of a call'), make('option', { value: 'elapsed' }, 'elapsed time of a call'));
  const stage = make('div', { class: 'bars' });
  host.append(make('div', { class: 'bar' }, select, measure), stage);

  function draw() {
    const { sides } = data.functions[select.value] || { sides: [] };
    const bars = sides.map((side) => barsOf(side && side[measure.value]));
    const keys = bars.flatMap((side) => Array.from(side.keys()));
    if (keys.length === 0) {
      stage.replaceChildren(make('p', { class: 'hint' }, 'No lengths of single calls are known of this function.'));
      return;
    }
    const [low, high] = [Math.min(...keys), Math.max(...keys)];
    const sums = bars.map((side) => Array.from(side.values()).reduce((a, b) => a + b, 0));
    // Sides of different size are compared by share.
    const height = (side, bar) => (sums[side] > 0 ? (bars[side].get(bar) || 0) / sums[side] : 0);
    const most = Math.max(...bars.flatMap((side, s) => Array.from(side.keys(), (bar) => height(s, bar))));
    stage.replaceChildren(histogramPicture(low, high, bars.length, height, most, clock),
      histogramTable(low, high, bars, sums, data.sides, clock));
  }

  draw();
  return {
    choose(name) {
      const i = data.functions.findIndex((one) => one.name === name);
      if (i < 0) return;
      select.value = i;
      draw();
    },
  };
}

function histogramPicture(low, high, nSides, height, most, clock) {
  const space = 'http://www.w3.org/2000/svg';
  const [width, tall] = [900, 180];
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('viewBox', `0 0 ${width} ${tall + 24}`);
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', 'share of calls by their length; the table below has the figures');
  const add = (tag, attributes, text) => {
    const element = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text) element.textContent = text;
    svg.append(element);
    return element;
  };
  const n = high - low + 1;
  const step = Math.min(width / n, 60);
  for (let bar = low; bar <= high; bar++) {
    for (let side = 0; side < nSides; side++) {
      const size = (height(side, bar) / most) * (tall - 8);
      if (size <= 0) continue;
      const x = (bar - low) * step;
      const shown = Math.max(size, 1);
      const title = document.createElementNS(space, 'title');
      title.textContent = `${lengthWithUnit(barStart(bar), clock)} and more: ${percent(height(side, bar) * 100)}`;
      const of = nSides === 1 ? 'only' : side === 0 ? 'before' : 'after';
      add('rect', { class: of, x: x + 1, y: tall - shown, width: Math.max(step - 2, 1), height: shown }).append(title);
    }
  }
  add('line', { x1: 0, y1: tall + 0.5, x2: width, y2: tall + 0.5, class: 'base' });
  const apart = Math.max(1, Math.ceil(120 / step));
  for (let bar = low; bar <= high; bar += apart) {
    add('text', { x: (bar - low) * step + 1, y: tall + 16 }, lengthWithUnit(barStart(bar), clock));
  }
  return svg;
}

/** The same as figures. */
function histogramTable(low, high, bars, sums, sides, clock) {
  const rows = [];
  for (let bar = low; bar <= high; bar++) {
    if (!bars.some((side) => side.has(bar))) continue;
    rows.push(make('tr', {}, make('td', {}, lengthWithUnit(barStart(bar), clock)),
      bars.map((side, s) => [make('td', {}, String(side.get(bar) || 0)), make('td', {}, share(side.get(bar) || 0, sums[s]))])));
  }
  const of = (side) => (sides.length > 1 ? `${side} ` : '');
  return make('details', {}, make('summary', {}, 'as a table'),
    make('table', { class: 'plain' },
      make('thead', {}, make('tr', {}, make('th', { scope: 'col' }, 'from'),
        sides.map((side) => [make('th', { scope: 'col' }, `${of(side)}calls`), make('th', { scope: 'col' }, `${of(side)}share`)]))),
      make('tbody', {}, rows)));
}
