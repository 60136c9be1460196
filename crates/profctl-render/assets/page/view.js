// A picture one can move about in: window, selection, range and search.

const ZOOM_STEP = 1.5;
const MAP_HEIGHT = 40;
/** Names of lanes are beside the picture if there is space for both. */
const GUTTER_FROM = 300;

class View {
  /** A view in `host`; `changed(isStep)` is called when the view to remember changes, `isStep` if one may want to go back. */
  constructor(host, page, changed) {
    this.host = host;
    this.page = page;
    this.changed = changed;
    this.model = null;
    this.x0 = 0;
    this.x1 = 1;
    this.scroll = 0;
    this.selected = -1;
    this.hover = -1;
    this.found = null;
    this.query = '';
    this.range = null;
    this.showPath = false;
    this.pending = false;
    this.isMapOld = true;
    this.pointer = null;
    this.canvas = make('canvas', {
      class: 'picture-canvas', tabindex: '0', role: 'application',
      'aria-roledescription': 'flame picture', 'aria-label': 'calls; arrow keys move the selection, ? lists the keys',
    });
    this.map = make('canvas', { class: 'minimap', 'aria-hidden': 'true', title: 'drag to move the window' });
    this.crumbs = make('ol', {});
    this.details = make('div', { class: 'details', role: 'status', 'aria-live': 'polite', 'aria-label': 'selection' });
    this.tip = make('div', { class: 'tip', 'aria-hidden': 'true', hidden: true });
    this.canvas.setAttribute('aria-describedby', (this.details.id = 'selection'));
    this.lanes = new Lanes(page.lanes.length);
    this.names = new LaneNames(this.lanes, () => this.placeLanes());
    this.place = make('div', { class: 'place' }, this.canvas);
    this.stage = make('div', { class: 'stage' }, this.names.element, this.place);
    host.append(
      this.map, make('nav', { class: 'crumbs', 'aria-label': 'callers of the selection' }, this.crumbs),
      this.stage, this.tip,
    );
    this.listen();
    this.retheme();
  }

  retheme() {
    const theme = { ...this.page.themes[isDark() ? 'dark' : 'light'] };
    const context = this.canvas.getContext('2d');
    theme.stripes = stripes(context, theme.hatch);
    theme.faintStripes = stripes(context, `${theme.hatch}50`);
    theme.awayStripes = stripes(context, theme.off_cpu);
    theme.awayVeil = `${theme.lane}99`;
    theme.outside = `${theme.background}a0`;
    // In the order of the looks of states: only what ran is solid.
    theme.looks = [
      theme.running, stripes(context, theme.runnable), stripes(context, theme.sleeping),
      stripes(context, theme.gap), dots(context, theme.muted), stripes(context, theme.running), theme.interrupted,
    ];
    this.theme = theme;
    this.isMapOld = true;
    this.redraw();
  }

  /** Shows another model; the window stays if `keep`. */
  show(model, keep) {
    model.mergedPaint = this.page.mergedPaint;
    this.model = model;
    if (!keep) {
      [this.x0, this.x1] = [model.x0, model.x1];
      this.scroll = 0;
    }
    this.selected = -1;
    this.hover = -1;
    this.names.element.hidden = model.kind !== 'chart' || this.host.clientWidth < GUTTER_FROM;
    if (model.kind === 'chart') {
      if (!this.areLanesFolded) this.lanes.foldDense(model, this.place.clientWidth, this.stage.clientHeight);
      this.areLanesFolded = true;
      this.lanes.place(model);
    }
    this.search(this.query);
    this.isMapOld = true;
    if (model.upwards && !keep) this.scroll = Infinity;
    this.describe();
    this.resize();
  }

  /** After lanes were folded, moved or hidden. */
  placeLanes() {
    this.lanes.place(this.model);
    this.isMapOld = true;
    this.resize();
    this.changed();
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    const isChart = this.model && this.model.kind === 'chart';
    this.names.element.hidden = !isChart || this.host.clientWidth < GUTTER_FROM;
    // A page with more than the picture in it gives it as much height as it needs, and no more.
    if (this.host.dataset.fit !== undefined && this.model) {
      const wanted = this.model.height + AXIS + 6;
      this.stage.style.height = `${Math.min(Math.max(wanted, 120), innerHeight * 0.7)}px`;
    }
    this.width = Math.max(this.place.clientWidth, 50);
    this.height = Math.max(this.stage.clientHeight, 60);
    this.map.style.marginLeft = `${this.names.element.hidden ? 0 : this.names.element.offsetWidth}px`;
    for (const [canvas, height] of [[this.canvas, this.height], [this.map, MAP_HEIGHT]]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${height}px`;
    }
    this.isMapOld = true;
    this.clampScroll();
    // At once: the canvas is empty now.
    this.paint();
  }

  redraw() {
    if (this.pending || !this.model) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  paint() {
    if (!this.model || !this.width) return;
    const began = performance.now();
    const ratio = devicePixelRatio || 1;
    const context = this.canvas.getContext('2d', { alpha: false });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawView(context, this);
    if (this.model.kind === 'chart') this.names.show(this.model, this.scroll, this.height - AXIS);
    const { mapContext, whole } = this.mapOf(ratio);
    mapContext.setTransform(1, 0, 0, 1, 0, 0);
    mapContext.drawImage(whole, 0, 0);
    mapContext.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { model } = this;
    const scale = this.width / (model.x1 - model.x0);
    const left = (this.x0 - model.x0) * scale;
    const right = Math.max((this.x1 - model.x0) * scale, left + 2);
    mapContext.fillStyle = `${this.theme.background}b0`;
    mapContext.fillRect(0, 0, left, MAP_HEIGHT);
    mapContext.fillRect(right, 0, this.width - right, MAP_HEIGHT);
    mapContext.strokeStyle = this.theme.ink;
    mapContext.strokeRect(left + 0.5, 0.5, Math.max(right - left - 1, 2), MAP_HEIGHT - 1);
    this.canvas.dataset.paintMs = (performance.now() - began).toFixed(2);
    // What is below the pointer may be another box now.
    if (this.pointer && !this.tip.hidden) this.showTip();
  }

  mapOf(ratio) {
    if (this.isMapOld || !this.whole) {
      this.whole = make('canvas', { width: this.map.width, height: this.map.height });
      const pen = this.whole.getContext('2d');
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      drawMinimap(pen, this, this.width, MAP_HEIGHT);
      this.isMapOld = false;
    }
    return { mapContext: this.map.getContext('2d'), whole: this.whole };
  }

  // Moving about.

  clampScroll() {
    const room = this.height - AXIS;
    const most = this.model ? Math.max(this.model.height - room, 0) : 0;
    this.scroll = Math.min(Math.max(this.scroll, 0), most);
    return most;
  }

  window(x0, x1) {
    const { model } = this;
    const whole = model.x1 - model.x0;
    // Deeper than a thousandth of a tick there is nothing to see.
    const size = Math.min(Math.max(x1 - x0, Math.min(1e-3, whole)), whole);
    const middle = (x0 + x1) / 2;
    this.x0 = Math.min(Math.max(middle - size / 2, model.x0), model.x1 - size);
    this.x1 = this.x0 + size;
    this.redraw();
    this.changed();
  }

  zoom(factor, at) {
    const x = this.x0 + ((at ?? this.pointer?.x ?? this.width / 2) / this.width) * (this.x1 - this.x0);
    this.window(x - (x - this.x0) / factor, x + (this.x1 - x) / factor);
  }

  pan(part) {
    const step = part * (this.x1 - this.x0);
    this.window(this.x0 + step, this.x1 + step);
  }

  /** Moves to a window, in a few steps unless the user wants no motion. */
  glide(x0, x1) {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return this.window(x0, x1);
    const [a0, a1] = [this.x0, this.x1];
    const began = performance.now();
    const token = (this.gliding = {});
    const step = (now) => {
      if (this.gliding !== token) return;
      const t = Math.min(Math.max((now - began) / 160, 0), 1);
      const eased = 1 - (1 - t) ** 3;
      this.window(a0 + (x0 - a0) * eased, a1 + (x1 - a1) * eased);
      if (t < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  wholeView() {
    this.glide(this.model.x0, this.model.x1);
  }

  /** Makes box `i` as wide as the picture. */
  zoomTo(i) {
    const { rows, kind } = this.model;
    const size = rows.end[i] - rows.start[i];
    const margin = kind === 'chart' ? size * 0.02 : 0;
    this.changed(true);
    this.glide(rows.start[i] - margin, rows.end[i] + margin);
  }

  /** Shows the critical path from its first step to its last. */
  goToPath() {
    const { path } = this.page;
    const lane = this.model.lanes[path[0][2]];
    if (lane.isHidden || lane.isFolded) {
      this.lanes.hidden.delete(lane.index);
      this.lanes.folded.delete(lane.index);
      this.placeLanes();
    }
    const [start, end] = [path[0][0], path.reduce((last, [from, size]) => Math.max(last, from + size), 0)];
    if (!lane.isPinned) this.scroll = lane.top - this.model.pinnedHeight;
    this.clampScroll();
    this.glide(start - (end - start) * 0.02, end + (end - start) * 0.02);
  }

  // A range of time, to measure and to sum.

  /** Selects the range between two times; none if they are the same. */
  selectRange(a, b) {
    const { model } = this;
    const clamp = (x) => Math.min(Math.max(x, model.x0), model.x1);
    const [from, to] = [clamp(Math.min(a, b)), clamp(Math.max(a, b))].map(Math.round);
    this.range = to > from ? [from, to] : null;
    this.redraw();
  }

  /** The time at `x` pixels, or that of an edge of the row below the pointer near it. */
  snapped({ x, y }) {
    const scale = this.width / (this.x1 - this.x0);
    const time = this.x0 + x / scale;
    const r = y < AXIS ? -1 : this.model.rowAt(this.contentY(y));
    if (r < 0) return time;
    const { rows } = this.model;
    const i = boxAt(rows, r, time, 5 / scale);
    if (i < 0) return time;
    const edge = Math.abs(rows.start[i] - time) < Math.abs(rows.end[i] - time) ? rows.start[i] : rows.end[i];
    return Math.abs(edge - time) * scale <= 5 ? edge : time;
  }

  // Selecting.

  select(i, reveal) {
    this.selected = i;
    if (i >= 0 && reveal) this.reveal(i);
    this.describe();
    if (i >= 0 && this.wasSelected) this.wasSelected();
    this.redraw();
    this.changed();
  }

  /** Moves the window as little as need be for box `i` to be seen. */
  reveal(i) {
    const { model } = this;
    const { rows } = model;
    const size = this.x1 - this.x0;
    if (rows.end[i] < this.x0 || rows.start[i] > this.x1) {
      const middle = (rows.start[i] + rows.end[i]) / 2;
      this.window(middle - size / 2, middle + size / 2);
    }
    const lane = model.laneOf && model.lanes[model.laneOf[rows.row[i]]];
    if (lane && (lane.isHidden || lane.isFolded)) {
      this.lanes.hidden.delete(lane.index);
      this.lanes.folded.delete(lane.index);
      this.placeLanes();
    }
    if (lane && lane.isPinned) return;
    const y = model.rowTop(rows.row[i]);
    const [top, bottom] = [model.pinnedHeight || 0, this.height - AXIS];
    if (y < this.scroll + top + 24) this.scroll = y - top - 24;
    if (y + model.rowHeight > this.scroll + bottom) this.scroll = y + model.rowHeight - bottom + 12;
    this.clampScroll();
  }

  describe() {
    const { model, page } = this;
    if (this.selected < 0) {
      const hint = 'Nothing is selected. Click a box, or use the arrow keys; ? lists all keys.';
      this.details.replaceChildren(make('p', { class: 'hint' }, hint));
      this.crumbs.replaceChildren(make('li', {}, make('button', { type: 'button', click: () => this.wholeView() }, 'everything')));
      return;
    }
    const said = model.describe(this.selected);
    this.details.replaceChildren(...describedAs(said, page), this.actionsOf ? this.actionsOf(said) : '');
    const chain = [];
    for (let at = this.selected; at >= 0; at = model.rows.parent[at]) chain.unshift(at);
    // Of a deep path the ends tell most.
    const shown = chain.length > 24 ? [...chain.slice(0, 8), -2, ...chain.slice(-15)] : chain;
    const crumb = (at) => {
      if (at === -2) return make('li', {}, `… ${chain.length - 23} more …`);
      const go = () => {
        this.select(at, true);
        this.zoomTo(at);
        // The button is gone with the path that it was in.
        this.canvas.focus({ preventScroll: true });
      };
      return make('li', {}, make('button', { type: 'button', click: go }, model.label(at)));
    };
    const all = make('li', {}, make('button', { type: 'button', click: () => this.wholeView() }, 'everything'));
    this.crumbs.replaceChildren(all, ...shown.map(crumb));
    this.crumbs.lastElementChild.setAttribute('aria-current', 'true');
    this.crumbs.parentElement.scrollLeft = this.crumbs.scrollWidth;
  }

  /** Moves the selection: `left`, `right`, `caller` or `callee`. */
  step(direction) {
    const { rows, below, middle } = this.model;
    const i = this.selected;
    if (i < 0) {
      const first = this.firstInSight();
      return first >= 0 && this.select(first, true);
    }
    const r = rows.row[i];
    let next = -1;
    if (direction === 'left' && i > rows.first[r]) next = i - 1;
    if (direction === 'right' && i + 1 < rows.first[r + 1]) next = i + 1;
    // Between callers and callees, callers are above and further from the middle.
    if (direction === 'caller') next = middle >= r ? widestBelow(rows, i, (r) => r - 1) : rows.parent[i];
    if (direction === 'callee') next = r < middle ? rows.parent[i] : widestBelow(rows, i, below);
    return next >= 0 && this.select(next, true);
  }

  /** The widest box of the topmost row that can be seen. */
  firstInSight() {
    const { rows, middle } = this.model;
    if (middle !== undefined) return rows.first[middle];
    for (let r = 0; r < rows.nRows; r++) {
      const y = this.model.rowTop(r);
      if (y < this.scroll || y > this.scroll + this.height) continue;
      let best = -1;
      visit(rows, r, this.x0, this.x1, this.width / (this.x1 - this.x0), (i) => {
        if (best < 0 || rows.end[i] - rows.start[i] > rows.end[best] - rows.start[best]) best = i;
      }, (from) => {
        if (best < 0) best = from;
      });
      if (best >= 0) return best;
    }
    return rows.n > 0 ? 0 : -1;
  }

  // Searching.

  /** Looks for names that match; says what it found, or what is wrong with the expression. */
  search(query) {
    this.query = query;
    this.found = null;
    this.isMapOld = true;
    this.redraw();
    if (!query || !this.model) return '';
    let expression;
    try {
      expression = new RegExp(query, 'iu');
    } catch (error) {
      return `no regular expression: ${error.message.replace(/^.*: /, '')}`;
    }
    const { model } = this;
    const names = model.names || this.page.functions.map(({ name }) => name);
    const matched = new Uint8Array(names.length);
    let n = 0;
    for (let f = 1; f < names.length; f++) {
      if (expression.test(names[f])) matched[f] = 1;
    }
    this.found = findMatches(model.rows, matched, model.weight);
    for (let f = 1; f < names.length; f++) n += matched[f];
    const atLeast = this.page.cut && model.kind === 'chart' ? 'at least ' : '';
    const things = count(this.found.n, model.noun[0], model.noun[1]);
    return `${this.placeOfMatch()}${count(n, 'function', 'functions')}, ${atLeast}${things}, ${share(this.found.sum, model.total)} of all`;
  }

  /** Which of the matches is selected: `3 of 17: `. */
  placeOfMatch() {
    const { found, selected } = this;
    const isMatch = found && selected >= 0 && found.before[selected + 1] > found.before[selected];
    return isMatch ? `${found.before[selected + 1]} of ${found.n}: ` : '';
  }

  /** Selects the next match in reading order, or the one before. */
  nextMatch(forwards) {
    const { found, model } = this;
    if (!found || found.n === 0) return;
    const isMatch = (i) => found.before[i + 1] > found.before[i];
    const n = model.rows.n;
    let i = this.selected;
    for (let k = 0; k < n; k++) {
      i = (i + (forwards ? 1 : n - 1) + (i < 0 && !forwards ? 1 : 0)) % n;
      if (isMatch(i)) return this.select(i, true);
    }
  }

  /** What is drawn at a point: a box, or a crowd as its ends. */
  hit({ x, y }) {
    const { model } = this;
    if (y < AXIS) return null;
    const r = model.rowAt(this.contentY(y));
    if (r < 0) return null;
    const scale = this.width / (this.x1 - this.x0);
    let hit = null;
    const inside = (from, to) =>
      (model.rows.start[from] - this.x0) * scale <= x + 1 && (model.rows.end[to - 1] - this.x0) * scale >= x - 1;
    const at = this.x0 + x / scale;
    visit(model.rows, r, at - 3 / scale, at + 3 / scale, scale, (i) => {
      if (inside(i, i + 1)) hit = { from: i, to: i + 1 };
    }, () => {
      // A crowd reaches further than the few pixels looked at: it is found in the whole row.
      visit(model.rows, r, this.x0, this.x1, scale, () => {}, (from, to) => {
        if (inside(from, to)) hit = { from, to };
      });
    });
    return hit;
  }

  /** Where a point of the canvas is in the rows. */
  contentY(y) {
    const at = y - AXIS;
    return at < (this.model.pinnedHeight || 0) ? at : at + this.scroll;
  }
}
