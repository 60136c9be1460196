// Mouse and keyboard of the picture.

Object.assign(View.prototype, {
  at(event) {
    const place = this.canvas.getBoundingClientRect();
    return { x: event.clientX - place.left, y: event.clientY - place.top };
  },

  listen() {
    const { canvas, map, stage } = this;
    stage.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    canvas.addEventListener('pointerdown', (event) => this.drag(event));
    canvas.addEventListener('pointermove', (event) => this.point(event));
    canvas.addEventListener('pointerleave', () => this.unpoint());
    canvas.addEventListener('keydown', (event) => this.key(event));
    map.addEventListener('pointerdown', (event) => this.dragMap(event));
    new ResizeObserver(() => this.resize()).observe(this.place);
  },

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
  },

  /** Calls `move` while the pointer is down, then `up` with whether it moved. */
  follow(element, event, move, up) {
    const from = { x: event.clientX, y: event.clientY };
    let moved = false;
    element.setPointerCapture(event.pointerId);
    const moving = (event) => {
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
      if (!moved && Math.abs(dx) + Math.abs(dy) < 4) return;
      moved = true;
      this.tip.hidden = true;
      move(event, dx, dy);
    };
    const done = (event) => {
      for (const [name, listener] of listeners) element.removeEventListener(name, listener);
      if (event.type === 'pointerup') up(event, moved);
    };
    const listeners = [['pointermove', moving], ['pointerup', done], ['pointercancel', done]];
    for (const [name, listener] of listeners) element.addEventListener(name, listener);
  },

  drag(event) {
    if (event.button !== 0 || !this.model) return;
    const point = this.at(event);
    if (this.model.kind === 'chart' && (event.shiftKey || point.y < AXIS)) {
      const from = this.snapped(point);
      this.follow(this.canvas, event, (event) => this.selectRange(from, this.snapped(this.at(event))), (_, moved) => {
        if (!moved) this.selectRange(0, 0);
        this.rangeChanged();
      });
      return;
    }
    const { x0, x1, scroll } = this;
    const size = x1 - x0;
    this.follow(this.canvas, event, (_, dx, dy) => {
      this.scroll = scroll - dy;
      this.clampScroll();
      this.window(x0 - (dx / this.width) * size, x1 - (dx / this.width) * size);
    }, (event, moved) => {
      if (!moved) this.click(this.hit(this.at(event)));
    });
  },

  /** A click selects; on what is selected, or in a graph, it zooms. */
  click(hit) {
    if (!hit) return this.select(-1);
    const { rows, kind } = this.model;
    if (hit.to - hit.from > 1) {
      const margin = (rows.end[hit.to - 1] - rows.start[hit.from]) * 0.05;
      this.select(hit.from, false);
      this.changed(true);
      return this.glide(rows.start[hit.from] - margin, rows.end[hit.to - 1] + margin);
    }
    const again = this.selected === hit.from;
    this.select(hit.from, false);
    if (again || kind !== 'chart') this.zoomTo(hit.from);
  },

  point(event) {
    if (!this.model || event.buttons > 0) return;
    this.pointer = { ...this.at(event), clientX: event.clientX, clientY: event.clientY };
    this.showTip();
  },

  /** Says what is below the pointer. */
  showTip() {
    const { pointer, model } = this;
    const hit = this.hit(pointer);
    const hover = hit && hit.to - hit.from === 1 ? hit.from : -1;
    if (hover !== this.hover) {
      this.hover = hover;
      this.redraw();
    }
    const isAxis = model.kind === 'chart' && pointer.y < AXIS;
    this.canvas.style.cursor = hit ? 'pointer' : isAxis ? 'col-resize' : 'default';
    if (!hit) {
      this.tip.hidden = true;
      return;
    }
    const key = `${model.kind}-${hit.from}-${hit.to}`;
    if (this.tip.dataset.of !== key || this.tip.hidden) {
      const said = hit.to - hit.from === 1 ? model.describe(hit.from) : model.describeCrowd(hit.from, hit.to);
      this.tip.replaceChildren(...describedAs(said, this.page));
      this.tip.dataset.of = key;
      this.tip.hidden = false;
    }
    const box = this.tip.getBoundingClientRect();
    const x = Math.min(pointer.clientX + 14, innerWidth - box.width - 8);
    const below = pointer.clientY + 18;
    const y = below + box.height > innerHeight ? pointer.clientY - box.height - 12 : below;
    this.tip.style.transform = `translate(${Math.max(x, 4)}px, ${Math.max(y, 4)}px)`;
  },

  unpoint() {
    this.pointer = null;
    this.tip.hidden = true;
    if (this.hover >= 0) {
      this.hover = -1;
      this.redraw();
    }
  },

  dragMap(event) {
    if (!this.model) return;
    const { map, model } = this;
    const size = this.x1 - this.x0;
    const go = (event) => {
      const place = map.getBoundingClientRect();
      const x = model.x0 + ((event.clientX - place.left) / place.width) * (model.x1 - model.x0);
      this.window(x - size / 2, x + size / 2);
    };
    this.follow(map, event, go, () => {});
    go(event);
  },

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
      m: () => this.measureSelection(),
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
  },

  /** Selects the time of the selected call as the range; without one, the window. */
  measureSelection() {
    const { model, selected } = this;
    if (model.kind !== 'chart') return;
    const { start, end } = model.rows;
    const [from, to] = selected >= 0 ? [start[selected], end[selected]] : [this.x0, this.x1];
    this.selectRange(from, to);
    this.rangeChanged();
  },

  scrollBy(part) {
    this.scroll += part * this.height;
    this.clampScroll();
    this.redraw();
    this.changed();
  },
});
