// The lanes of a chart: which are shown, in which order and how, and their names beside the picture.

/** Orders, folds and hides lanes; by lane, as numbers. */
class Lanes {
  constructor(n) {
    this.order = Array.from({ length: n }, (_, index) => index);
    this.folded = new Set();
    this.hidden = new Set();
    this.pinned = new Set();
    /** Whether the reader of the page changed them. */
    this.isChanged = false;
  }

  /** The changes, as parameters of the address; empty if there are none. */
  state() {
    if (!this.isChanged) return {};
    const { order, folded, hidden, pinned } = this;
    const runs = (set) => runsOf([...set].sort((a, b) => a - b));
    const all = { order: runsOf(order), hidden: runs(hidden), pinned: runs(pinned) };
    if (order.every((lane, index) => lane === index)) delete all.order;
    // Empty as well: nothing is folded then, not even what is dense.
    return { folded: runs(folded), ...Object.fromEntries(Object.entries(all).filter(([, text]) => text !== '')) };
  }

  /** Sets the state that `state` returned; changes nothing if lanes were not changed. */
  restore({ folded, order, hidden, pinned }) {
    if (folded === undefined) return;
    const n = this.order.length;
    const known = new Set(numbersOf(order, n));
    for (let index = 0; index < n; index++) known.add(index);
    this.order = [...known];
    this.folded = new Set(numbersOf(folded, n));
    this.hidden = new Set(numbersOf(hidden, n));
    this.pinned = new Set(numbersOf(pinned, n));
    this.isChanged = true;
  }

  /** Puts the lanes of `model` where they belong: pinned ones first. */
  place(model) {
    const { order, folded, hidden, pinned } = this;
    const isShown = (index) => !hidden.has(index);
    const shown = [
      ...order.filter((index) => isShown(index) && pinned.has(index)),
      ...order.filter((index) => isShown(index) && !pinned.has(index)),
    ];
    for (const lane of model.lanes) lane.isHidden = true;
    let y = 0;
    model.pinnedHeight = 0;
    for (const index of shown) {
      const lane = model.lanes[index];
      lane.isHidden = false;
      lane.isFolded = folded.has(index);
      lane.isPinned = pinned.has(index);
      lane.top = y;
      lane.height = Math.max(lane.isFolded ? LANE_MIN : lane.head + lane.levels * ROW, LANE_MIN);
      y += lane.height + LANE_GAP;
      if (lane.isPinned) model.pinnedHeight = y;
    }
    model.height = Math.max(y - LANE_GAP, ROW);
  }

  /** Folds what would be a crowd without a single name, if the page does not fit in `height`. */
  foldDense(model, width, height) {
    if (this.isChanged) return;
    this.place(model);
    if (model.height < height * 1.5) return;
    const readable = (READABLE / width) * (model.x1 - model.x0);
    const { rows } = model;
    for (const lane of model.lanes) {
      let isReadable = lane.kind === 'cpu';
      for (let i = rows.first[lane.first]; i < rows.first[lane.first + lane.levels] && !isReadable; i++) {
        isReadable = rows.func[i] !== MERGED && rows.end[i] - rows.start[i] >= readable;
      }
      if (!isReadable) this.folded.add(lane.index);
    }
  }

  /** Moves a lane past the next shown one, `up` or down. */
  move(index, up) {
    const isShown = (other) => !this.hidden.has(other) && this.pinned.has(other) === this.pinned.has(index);
    const shown = this.order.filter(isShown);
    const other = shown[shown.indexOf(index) + (up ? -1 : 1)];
    if (other === undefined) return;
    const [a, b] = [this.order.indexOf(index), this.order.indexOf(other)];
    [this.order[a], this.order[b]] = [other, index];
  }
}

/** Numbers as text, neighbors as runs: `0-2,5,3-4`. */
function runsOf(numbers) {
  const runs = [];
  for (const n of numbers) {
    const last = runs.at(-1);
    if (last && n === last[1] + 1) last[1] = n;
    else runs.push([n, n]);
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}

/** The numbers below `n` in such a text. */
function numbersOf(runs, n) {
  const numbers = [];
  for (const run of (runs || '').split(',').filter(Boolean)) {
    const [from, to = from] = run.split('-').map((text) => parseInt(text, 10));
    for (let i = Math.max(from, 0); i <= Math.min(to, n - 1); i++) numbers.push(i);
  }
  return numbers;
}

/** The names of lanes beside the picture; `changed` is called when lanes were changed. */
class LaneNames {
  constructor(lanes, changed) {
    this.lanes = lanes;
    this.changed = changed;
    this.byLane = new Map();
    this.body = make('div', { class: 'lane-names' });
    this.more = make('button', { type: 'button', class: 'hidden-lanes', hidden: true, click: () => this.apply(() => lanes.hidden.clear()) });
    this.element = make('div', { class: 'gutter', role: 'group', 'aria-label': 'lanes' }, make('div', { class: 'corner' }, this.more), this.body);
  }

  apply(change) {
    change();
    this.lanes.isChanged = true;
    this.changed();
  }

  /** Shows the names of the lanes between `from` and `to`, scrolled by `scroll`. */
  show(model, scroll, height) {
    const used = new Set();
    for (const lane of model.lanes) {
      if (lane.isHidden) continue;
      const top = lane.isPinned ? lane.top : lane.top - scroll;
      const edge = lane.isPinned ? 0 : model.pinnedHeight;
      if (top + lane.height < edge || top > height) continue;
      used.add(lane.index);
      let head = this.byLane.get(lane.index);
      if (!head) {
        head = this.headOf(lane);
        this.byLane.set(lane.index, head);
        this.body.append(head.element);
      }
      // A name stays in sight while anything of its lane is.
      const visible = Math.max(top, edge);
      const { style } = head.element;
      style.transform = `translateY(${visible}px)`;
      style.height = `${top + lane.height - visible}px`;
      head.fold.setAttribute('aria-expanded', String(!lane.isFolded));
      head.pin.setAttribute('aria-pressed', String(lane.isPinned));
      head.element.classList.toggle('pinned', lane.isPinned);
    }
    for (const [index, { element }] of this.byLane) {
      if (used.has(index)) continue;
      element.remove();
      this.byLane.delete(index);
    }
    const n = this.lanes.hidden.size;
    this.more.hidden = n === 0;
    this.more.textContent = `show ${n} hidden`;
  }

  headOf(lane) {
    const { lanes } = this;
    const flip = (set) => () => this.apply(() => (set.has(lane.index) ? set.delete(lane.index) : set.add(lane.index)));
    const button = (text, what, click, more) =>
      make('button', { type: 'button', title: what, 'aria-label': `${what}: ${lane.label}`, click, ...more }, text);
    const fold = make('button', { type: 'button', class: 'fold', title: lane.label, click: flip(lanes.folded) }, lane.label);
    const pin = button('⚲', 'pin on top', flip(lanes.pinned), { 'aria-pressed': 'false' });
    const tools = make('span', { class: 'tools' }, pin,
      button('↑', 'move up', () => this.apply(() => lanes.move(lane.index, true))),
      button('↓', 'move down', () => this.apply(() => lanes.move(lane.index, false))),
      button('×', 'hide', flip(lanes.hidden)));
    const element = make('div', { class: 'lane-name' }, fold, tools, lane.note ? make('small', {}, lane.note) : null);
    return { element, fold, pin };
  }
}
