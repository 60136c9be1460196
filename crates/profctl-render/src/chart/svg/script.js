// Zoom, search and keys of a picture. Without this script the picture is the same, only still.
'use strict';
(() => {
  const root = document.documentElement;
  const svgNamespace = 'http://www.w3.org/2000/svg';
  const plotWidth = Number(root.dataset.plot);
  const total = Number(root.dataset.total);
  const units = root.dataset.units.split(',').map((unit) => {
    const [size, label] = unit.split(' ');
    return { size: Number(size), label };
  });
  const byId = (id) => document.getElementById(id);
  const plot = byId('plot'), axis = byId('axis'), find = byId('find');
  const found = byId('found'), reset = byId('reset');
  const number = (element, name) => Number(element.getAttribute(name));
  const PADDING = 4, LEAST_LABEL = 22, LEAST_WIDTH = 0.4;

  // Every group of rectangles with its unzoomed places.
  const groups = [...plot.querySelectorAll('g.b, g.v, g.st')].map((element) => {
    const rects = [...element.querySelectorAll('rect')].map((rect) => ({
      rect, x: number(rect, 'x'), width: number(rect, 'width'),
    }));
    const title = element.querySelector('title');
    const first = rects[0];
    return {
      element, rects, x: first.x, end: first.x + first.width, y: number(first.rect, 'y'),
      height: number(first.rect, 'height'), lane: element.dataset.l,
      merged: 'm' in element.dataset, name: title ? title.textContent.split('\n')[0] : '',
      isBox: element.classList.contains('b'), text: element.querySelector('text'),
    };
  });
  const boxes = groups.filter((group) => group.isBox);
  const groupOf = new Map(boxes.map((box) => [box.element, box]));
  const uprights = [...plot.querySelectorAll('g.u')].map((element) => (
    { element, x: Number(element.dataset.x) }));
  const paths = [...plot.querySelectorAll('polyline')].map((path) => ({
    path, corners: path.getAttribute('points').trim().split(' ').map((corner) => (
      corner.split(',').map(Number))),
  }));

  // What is seen: from and to, in unzoomed places.
  let view = [0, plotWidth];
  const views = [];

  function label(box, x, width) {
    if (width < LEAST_LABEL) {
      if (box.text) { box.text.remove(); box.text = null; }
      return;
    }
    if (!box.text) {
      box.text = document.createElementNS(svgNamespace, 'text');
      box.text.setAttribute('y', box.y + box.height - 5);
      box.element.append(box.text);
    }
    const text = box.text;
    text.setAttribute('x', x + PADDING);
    text.textContent = box.name;
    const room = width - 2 * PADDING;
    if (text.getComputedTextLength() <= room) return;
    let [fits, length] = [0, box.name.length];
    while (fits + 1 < length) {
      const middle = (fits + length) >> 1;
      if (text.getSubStringLength(0, middle) <= room - 11) fits = middle; else length = middle;
    }
    text.textContent = fits > 1 ? `${box.name.slice(0, fits)}…` : '';
  }

  function draw() {
    const scale = plotWidth / (view[1] - view[0]);
    const place = (x) => (x - view[0]) * scale;
    for (const group of groups) {
      const [from, to] = [place(group.x), place(group.end)];
      const isOut = to <= 0 || from >= plotWidth;
      group.element.classList.toggle('off', isOut);
      if (isOut) continue;
      for (const { rect, x, width } of group.rects) {
        const left = Math.max(place(x), -1);
        const right = Math.min(place(x + width), plotWidth + 1);
        rect.setAttribute('x', left.toFixed(2));
        rect.setAttribute('width', Math.max(right - left, width ? LEAST_WIDTH : 0).toFixed(2));
      }
      const left = Math.max(from, 0);
      if (group.isBox) label(group, left, Math.min(to, plotWidth) - left);
    }
    for (const { element, x } of uprights) {
      element.setAttribute('transform', `translate(${place(x).toFixed(2)} 0)`);
    }
    for (const { path, corners } of paths) {
      path.setAttribute('points', corners.map(([x, y]) => `${place(x).toFixed(2)},${y}`).join(' '));
    }
    reset.classList.toggle('off', view[0] === 0 && view[1] === plotWidth);
    drawAxis(place);
  }

  function drawAxis(place) {
    const length = total * (view[1] - view[0]) / plotWidth;
    if (!(length > 0)) return;
    const least = length * 90 / plotWidth;
    const power = 10 ** Math.floor(Math.log10(least));
    const step = Math.max([1, 2, 5, 10].map((digit) => digit * power).find((s) => s >= least), 1e-3);
    const from = total * view[0] / plotWidth;
    const unit = units.find((u) => u.size <= from + length) || units[units.length - 1];
    axis.replaceChildren();
    for (let n = Math.ceil(from / step - 1e-9); n * step <= (from + length) * (1 + 1e-9); n += 1) {
      const x = place(n * step / total * plotWidth);
      const tick = document.createElementNS(svgNamespace, 'g');
      tick.setAttribute('class', 't');
      const line = document.createElementNS(svgNamespace, 'line');
      for (const [name, value] of [['x1', x], ['x2', x], ['y1', -4], ['y2', axis.dataset.height]]) {
        line.setAttribute(name, value);
      }
      const text = document.createElementNS(svgNamespace, 'text');
      const digits = Math.max(0, Math.ceil(Math.log10(unit.size / step) - 1e-9));
      text.textContent = `${(n * step / unit.size).toFixed(Math.min(digits, 12))} ${unit.label}`.trim();
      text.setAttribute('x', x);
      text.setAttribute('y', -8);
      text.setAttribute('class', x < 30 ? '' : x > plotWidth - 30 ? 'end' : 'mid');
      tick.append(line, text);
      axis.append(tick);
    }
  }

  function zoom(box) {
    if (box.end - box.x <= 0 || (view[0] === box.x && view[1] === box.end)) return;
    views.push(view);
    view = [box.x, box.end];
    draw();
  }

  function back() {
    if (views.length === 0) return;
    view = views.pop();
    draw();
  }

  function resetZoom() {
    views.length = 0;
    view = [0, plotWidth];
    draw();
  }

  // The length that boxes cover together: callees within their caller count once.
  function covered(some) {
    const lanes = new Map();
    for (const box of some) {
      if (!lanes.has(box.lane)) lanes.set(box.lane, []);
      lanes.get(box.lane).push(box);
    }
    let sum = 0;
    for (const lane of lanes.values()) {
      lane.sort((a, b) => a.x - b.x);
      let end = 0;
      for (const box of lane) {
        sum += Math.max(0, box.end - Math.max(box.x, end));
        end = Math.max(end, box.end);
      }
    }
    return sum;
  }

  let hits = [];
  function search() {
    const typed = find.value.trim().replace(/^\/(.*)\/$/, '$1');
    let expression = null;
    try {
      expression = typed === '' ? null : new RegExp(typed, 'i');
      find.removeAttribute('aria-invalid');
    } catch (error) {
      find.setAttribute('aria-invalid', 'true');
      found.textContent = 'no regular expression';
      return;
    }
    hits = [];
    for (const box of boxes) {
      const isHit = expression !== null && !box.merged && expression.test(box.name);
      box.element.classList.toggle('hit', isHit);
      if (isHit) hits.push(box);
    }
    root.classList.toggle('searching', expression !== null);
    if (expression === null) { found.textContent = ''; return; }
    const all = covered(boxes);
    const share = (length) => `${(all > 0 ? 100 * length / all : 0).toFixed(2)}%`;
    const blocks = covered(boxes.filter((box) => box.merged).concat(hits)) - covered(hits);
    const rest = blocks > 0 ? `; merged, not searched: ${share(blocks)}` : '';
    found.textContent = `${hits.length} found, ${share(covered(hits))} of all${rest}`;
  }

  let focused = boxes[0];
  function focus(box) {
    if (!box) return;
    if (focused) focused.element.removeAttribute('tabindex');
    focused = box;
    box.element.setAttribute('tabindex', '0');
    box.element.setAttribute('role', 'button');
    box.element.focus();
    box.element.scrollIntoView({ block: 'nearest' });
  }

  function next() {
    const hit = hits[(hits.indexOf(focused) + 1) % hits.length];
    if (hit.element.classList.contains('off')) resetZoom();
    focus(hit);
  }

  // The next box in a direction, among those that are seen.
  function neighbor(box, key) {
    const seen = boxes.filter((other) => !other.element.classList.contains('off') && other !== box);
    const middle = (box.x + box.end) / 2;
    const distance = (other) => Math.max(other.x - middle, middle - other.end, 0);
    const nearest = (some, of) => some.reduce((best, other) => (
      !best || of(other) < of(best) ? other : best), null);
    if (key === 'ArrowRight') return nearest(seen.filter((o) => o.y === box.y && o.x >= box.end), (o) => o.x);
    if (key === 'ArrowLeft') return nearest(seen.filter((o) => o.y === box.y && o.end <= box.x + 0.01), (o) => -o.x);
    const isDown = key === 'ArrowDown';
    const rows = seen.filter((o) => (isDown ? o.y > box.y : o.y < box.y) && distance(o) === 0);
    return nearest(rows, (o) => Math.abs(o.y - box.y));
  }

  plot.addEventListener('click', (event) => {
    const element = event.target.closest('g.b');
    if (element) { focus(groupOf.get(element)); zoom(groupOf.get(element)); }
  });
  reset.addEventListener('click', resetZoom);
  find.addEventListener('input', search);
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === find) {
      if (event.key === 'Escape') { find.value = ''; search(); if (focused) focus(focused); }
      if (event.key === 'Enter' && hits.length > 0) next();
      return;
    }
    const box = groupOf.get(document.activeElement);
    if (event.key === '/') { find.focus(); find.select(); }
    else if (event.key === 'Escape') back();
    else if (event.key === 'n' && hits.length > 0) next();
    else if (event.key === 'Enter' && document.activeElement === reset) resetZoom();
    else if (event.key === 'Enter' && box) zoom(box);
    else if (event.key.startsWith('Arrow') && box) focus(neighbor(box, event.key));
    else return;
    event.preventDefault();
  });

  if (focused) focused.element.setAttribute('tabindex', '0');
  root.classList.add('live');
  draw();
})();
