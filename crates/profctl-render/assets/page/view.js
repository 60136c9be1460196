// A picture one can move about in: window, selection, search, mouse and keyboard.

const ZOOM_STEP = 1.5;
const MAP_HEIGHT = 44;

class View {
  /** A view in `host`; `changed` is called when the view to remember changes. */
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
    this.showPath = false;
    this.pending = false;
    this.isMapOld = true;
    this.canvas = make('canvas', {
      class: 'picture-canvas', tabindex: '0', role: 'application',
      'aria-roledescription': 'flame picture', 'aria-label': 'calls; arrow keys move the selection, ? lists the keys',
    });
    this.map = make('canvas', { class: 'minimap', 'aria-hidden': 'true', title: 'drag to move the window' });
    this.crumbs = make('ol', {});
    this.details = make('div', { class: 'details', role: 'status', 'aria-live': 'polite', 'aria-label': 'selection' });
    this.tip = make('div', { class: 'tip', 'aria-hidden': 'true', hidden: true });
    this.canvas.setAttribute('aria-describedby', (this.details.id = 'selection'));
    host.append(
      this.map, make('nav', { class: 'crumbs', 'aria-label': 'callers of the selection' }, this.crumbs),
      make('div', { class: 'stage' }, this.canvas), this.details, this.tip,
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
    // In the order of the looks of states: only what ran is solid.
    theme.looks = [
      theme.running, stripes(context, theme.runnable), stripes(context, `${theme.muted}90`),
      stripes(context, theme.gap), dots(context, theme.muted), stripes(context, theme.running),
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
    this.search(this.query);
    this.isMapOld = true;
    if (model.upwards && !keep) this.scroll = Infinity;
    this.describe();
    this.resize();
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    const place = this.canvas.parentElement.getBoundingClientRect();
    this.width = Math.max(place.width, 50);
    // A page with more than the picture in it gives it as much height as it needs, and no more.
    if (this.host.dataset.fit !== undefined && this.model) {
      const wanted = this.model.height + (this.model.hasAxis ? AXIS : 0) + 6;
      this.canvas.parentElement.style.height = `${Math.min(Math.max(wanted, 120), innerHeight * 0.7)}px`;
    }
    this.height = Math.max(this.canvas.parentElement.clientHeight, 60);
    for (const [canvas, height] of [[this.canvas, this.height], [this.map, MAP_HEIGHT]]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${height}px`;
    }
    this.isMapOld = true;
    this.clampScroll();
    this.redraw();
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
    const room = this.height - (this.model && this.model.hasAxis ? AXIS : 0);
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
    const x = this.x0 + ((at ?? this.width / 2) / this.width) * (this.x1 - this.x0);
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
    this.glide(rows.start[i] - margin, rows.end[i] + margin);
  }

  /** Shows the critical path from its first step to its last. */
  goToPath() {
    const { path } = this.page;
    const lane = this.model.lanes[path[0][2]];
    const [start, end] = [path[0][0], path.reduce((last, [from, size]) => Math.max(last, from + size), 0)];
    if (lane) this.scroll = lane.top;
    this.clampScroll();
    this.glide(start - (end - start) * 0.02, end + (end - start) * 0.02);
  }

  // Selecting.

  select(i, reveal) {
    this.selected = i;
    if (i >= 0 && reveal) this.reveal(i);
    this.describe();
    this.redraw();
    this.changed();
  }

  /** Moves the window as little as need be for box `i` to be seen. */
  reveal(i) {
    const { rows, hasAxis } = this.model;
    const size = this.x1 - this.x0;
    if (rows.end[i] < this.x0 || rows.start[i] > this.x1) {
      const middle = (rows.start[i] + rows.end[i]) / 2;
      this.window(middle - size / 2, middle + size / 2);
    }
    const y = this.model.rowTop(rows.row[i]);
    const room = this.height - (hasAxis ? AXIS : 0);
    if (y < this.scroll + 24) this.scroll = y - 24;
    if (y + ROW > this.scroll + room) this.scroll = y + ROW - room + 12;
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
    this.details.replaceChildren(...describedAs(model.describe(this.selected), page));
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
    const { rows, below } = this.model;
    const i = this.selected;
    if (i < 0) {
      const first = this.firstInSight();
      return first >= 0 && this.select(first, true);
    }
    const r = rows.row[i];
    let next = -1;
    if (direction === 'left' && i > rows.first[r]) next = i - 1;
    if (direction === 'right' && i + 1 < rows.first[r + 1]) next = i + 1;
    if (direction === 'caller') next = rows.parent[i];
    if (direction === 'callee') next = widestBelow(rows, i, below);
    return next >= 0 && this.select(next, true);
  }

  /** The widest box of the topmost row that can be seen. */
  firstInSight() {
    const { rows } = this.model;
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
    return `${count(n, 'function', 'functions')}, ${atLeast}${things}, ${share(this.found.sum, model.total)} of all`;
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

  // Mouse and keyboard.

  at(event) {
    const place = this.canvas.getBoundingClientRect();
    return { x: event.clientX - place.left, y: event.clientY - place.top };
  }

  /** What is drawn at a point: a box, or a crowd as its ends. */
  hit({ x, y }) {
    const { model } = this;
    const top = model.hasAxis ? AXIS : 0;
    if (y < top) return null;
    const r = model.rowAt(y - top + this.scroll);
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

  listen() {
    const { canvas, map } = this;
    canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    canvas.addEventListener('pointerdown', (event) => this.drag(event));
    canvas.addEventListener('pointermove', (event) => this.point(event));
    canvas.addEventListener('pointerleave', () => this.unpoint());
    canvas.addEventListener('keydown', (event) => this.key(event));
    map.addEventListener('pointerdown', (event) => this.dragMap(event));
    new ResizeObserver(() => this.resize()).observe(this.host);
  }

  wheel(event) {
    if (!this.model) return;
    const unit = event.deltaMode === 1 ? 16 : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.zoom(Math.exp(-dy * (event.deltaMode === 1 ? 0.008 : 0.004)), this.at(event).x);
      return;
    }
    const sideways = event.shiftKey ? dy || dx : dx;
    if (sideways) {
      event.preventDefault();
      this.pan(sideways / this.width);
      return;
    }
    const most = this.clampScroll();
    const wanted = Math.min(Math.max(this.scroll + dy, 0), most);
    if (wanted !== this.scroll) {
      event.preventDefault();
      this.scroll = wanted;
      this.redraw();
      this.changed();
    }
  }

  drag(event) {
    if (event.button !== 0 || !this.model) return;
    const { canvas } = this;
    const from = { x: event.clientX, y: event.clientY, x0: this.x0, x1: this.x1, scroll: this.scroll };
    let moved = false;
    canvas.setPointerCapture(event.pointerId);
    const move = (event) => {
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
      if (!moved && Math.abs(dx) + Math.abs(dy) < 4) return;
      moved = true;
      this.tip.hidden = true;
      const size = from.x1 - from.x0;
      this.scroll = from.scroll - dy;
      this.clampScroll();
      this.window(from.x0 - (dx / this.width) * size, from.x1 - (dx / this.width) * size);
    };
    const up = (event) => {
      canvas.removeEventListener('pointermove', move);
      canvas.removeEventListener('pointerup', up);
      canvas.removeEventListener('pointercancel', up);
      if (moved || event.type === 'pointercancel') return;
      this.click(this.hit(this.at(event)));
    };
    canvas.addEventListener('pointermove', move);
    canvas.addEventListener('pointerup', up);
    canvas.addEventListener('pointercancel', up);
  }

  /** A click selects; on what is selected, or in a graph, it zooms. */
  click(hit) {
    if (!hit) return this.select(-1);
    const { rows, kind } = this.model;
    if (hit.to - hit.from > 1) {
      const margin = (rows.end[hit.to - 1] - rows.start[hit.from]) * 0.05;
      this.select(hit.from, false);
      return this.glide(rows.start[hit.from] - margin, rows.end[hit.to - 1] + margin);
    }
    const again = this.selected === hit.from;
    this.select(hit.from, false);
    if (again || kind !== 'chart') this.zoomTo(hit.from);
  }

  point(event) {
    if (!this.model || event.buttons > 0) return;
    const hit = this.hit(this.at(event));
    const hover = hit && hit.to - hit.from === 1 ? hit.from : -1;
    if (hover !== this.hover) {
      this.hover = hover;
      this.redraw();
    }
    this.canvas.style.cursor = hit ? 'pointer' : 'default';
    if (!hit) {
      this.tip.hidden = true;
      return;
    }
    const key = `${hit.from}-${hit.to}`;
    if (this.tip.dataset.of !== key || this.tip.hidden) {
      const { model } = this;
      const said = hit.to - hit.from === 1 ? model.describe(hit.from) : model.describeCrowd(hit.from, hit.to);
      this.tip.replaceChildren(...describedAs(said, this.page));
      this.tip.dataset.of = key;
      this.tip.hidden = false;
    }
    const box = this.tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const below = event.clientY + 18;
    const y = below + box.height > innerHeight ? event.clientY - box.height - 12 : below;
    this.tip.style.transform = `translate(${Math.max(x, 4)}px, ${Math.max(y, 4)}px)`;
  }

  unpoint() {
    this.tip.hidden = true;
    if (this.hover >= 0) {
      this.hover = -1;
      this.redraw();
    }
  }

  dragMap(event) {
    if (!this.model) return;
    const { map, model } = this;
    map.setPointerCapture(event.pointerId);
    const size = this.x1 - this.x0;
    const go = (event) => {
      const place = map.getBoundingClientRect();
      const x = model.x0 + ((event.clientX - place.left) / place.width) * (model.x1 - model.x0);
      this.window(x - size / 2, x + size / 2);
    };
    const done = () => {
      map.removeEventListener('pointermove', go);
      map.removeEventListener('pointerup', done);
      map.removeEventListener('pointercancel', done);
    };
    map.addEventListener('pointermove', go);
    map.addEventListener('pointerup', done);
    map.addEventListener('pointercancel', done);
    go(event);
  }

  key(event) {
    if (!this.model || event.ctrlKey || event.metaKey || event.altKey) return;
    const up = this.model.upwards ? 'callee' : 'caller';
    const down = this.model.upwards ? 'caller' : 'callee';
    const actions = {
      ArrowLeft: () => this.step('left'),
      ArrowRight: () => this.step('right'),
      ArrowUp: () => this.step(up),
      ArrowDown: () => this.step(down),
      Enter: () => this.selected >= 0 && this.zoomTo(this.selected),
      ' ': () => this.selected >= 0 && this.zoomTo(this.selected),
      w: () => this.zoom(ZOOM_STEP),
      '+': () => this.zoom(ZOOM_STEP),
      '=': () => this.zoom(ZOOM_STEP),
      s: () => this.zoom(1 / ZOOM_STEP),
      '-': () => this.zoom(1 / ZOOM_STEP),
      a: () => this.pan(-0.2),
      d: () => this.pan(0.2),
      PageUp: () => this.scrollBy(-0.8),
      PageDown: () => this.scrollBy(0.8),
      Home: () => this.wholeView(),
      0: () => this.wholeView(),
    };
    const action = actions[event.key] || actions[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  scrollBy(part) {
    this.scroll += part * this.height;
    this.clampScroll();
    this.redraw();
    this.changed();
  }
}
