// Putting a model on a canvas: boxes, labels, axis, what was lost and what is marked.

const FONT = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
const AXIS = 22;
/** Below this width a label would be a letter and dots. */
const LABEL_MIN = 26;

const widths = new Map();

function textWidth(context, text) {
  let width = widths.get(text);
  if (width === undefined) {
    width = context.measureText(text).width;
    widths.set(text, width);
  }
  return width;
}

/** As much of `text` as fits, with an ellipsis if it was cut; nothing if that would say nothing. */
function fitted(context, text, room) {
  const whole = textWidth(context, text);
  if (whole <= room) return text;
  const n = Math.floor((text.length * (room - 8)) / whole);
  return n >= 2 ? `${text.slice(0, n)}…` : '';
}

/** Rectangles by color: setting a color costs more than filling. */
class Batches {
  constructor() {
    this.byPaint = new Map();
  }

  add(paint, x, y, width, height) {
    let batch = this.byPaint.get(paint);
    if (!batch) this.byPaint.set(paint, (batch = []));
    batch.push(x, y, width, height);
  }

  fill(context, colorOf) {
    for (const [paint, batch] of this.byPaint) {
      context.fillStyle = colorOf(paint);
      for (let i = 0; i < batch.length; i += 4) {
        context.fillRect(batch[i], batch[i + 1], batch[i + 2], batch[i + 3]);
      }
    }
  }
}

/** A pattern of stripes, made once a theme. */
function stripes(context, color) {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const pen = tile.getContext('2d');
  pen.strokeStyle = color;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (const offset of [-8, 0, 8]) {
    pen.moveTo(offset, 8);
    pen.lineTo(offset + 8, 0);
  }
  pen.stroke();
  return context.createPattern(tile, 'repeat');
}

/** A pattern of dots, likewise. */
function dots(context, color) {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const pen = tile.getContext('2d');
  pen.fillStyle = color;
  pen.fillRect(0, 0, 2, 2);
  return context.createPattern(tile, 'repeat');
}

/**
 * Draws what `view` shows: `view` has the model, the window `x0`–`x1`, how far it is scrolled, its
 * size in pixels, the selected box, the search and the theme.
 */
function drawView(context, view) {
  const { model, theme, width, height, scroll } = view;
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = theme.background;
  context.fillRect(0, 0, width, height);
  const room = height - AXIS;
  const pinned = Math.min(model.pinnedHeight || 0, room);
  // Pinned lanes stay; `from` and `to` are what can be seen of the rows, unscrolled.
  drawPane(context, view, { scroll, from: scroll + pinned, to: scroll + room });
  if (pinned > 0) drawPane(context, view, { scroll: 0, from: 0, to: pinned });
  drawAxis(context, view, width / (view.x1 - view.x0));
}

function drawPane(context, view, { scroll, from: top, to: bottom }) {
  const { model, width, x0, x1, found, theme } = view;
  const { rows } = model;
  const scale = width / (x1 - x0);
  const pane = { ...view, model, theme, top, bottom, scroll, pageScroll: view.scroll };
  context.save();
  context.beginPath();
  context.rect(0, AXIS + top - scroll, width, bottom - top);
  context.clip();
  context.translate(0, AXIS - scroll);
  const isChart = model.kind === 'chart';
  if (isChart) {
    drawLanes(context, pane);
    drawStates(context, pane, scale);
  }
  const plain = new Batches();
  const pale = new Batches();
  const labels = [];
  const crowds = [];
  const edges = [];
  const bars = [];
  const hatched = [];
  const h = model.rowHeight - 1;
  const isHit = (from, to) => found && found.before[to] > found.before[from];
  const hits = [];
  for (let r = 0; r < rows.nRows; r++) {
    const y = model.rowTop(r);
    if (y + h < top || y > bottom || (isChart && model.isShort(r))) continue;
    visit(rows, r, x0, x1, scale, (i) => {
      const left = Math.max((rows.start[i] - x0) * scale, -1);
      const right = Math.min((rows.end[i] - x0) * scale, width + 1);
      const w = right - left > 3 ? right - left - 0.75 : Math.max(right - left, 1);
      const hit = isHit(i, i + 1);
      (found && !hit ? pale : plain).add(model.paint(i), left, y, w, h);
      if (hit) hits.push(left, y, w, h);
      if (w >= LABEL_MIN) labels.push(i, left, y, w, found && !hit ? 1 : 0);
      if (model.isPartial(i) && w > 3) edges.push(i, left, y, w);
      if (model.isHatched && w > 3 && model.isHatched(i)) hatched.push(left, y, w);
      const sides = model.bars && w > 6 ? model.bars(i) : null;
      if (sides) bars.push(left, y, w, sides);
    }, (from, to) => {
      const left = Math.max((rows.start[from] - x0) * scale, 0);
      const right = Math.min((rows.end[to - 1] - x0) * scale, width);
      const w = Math.max(right - left, 1);
      const hit = isHit(from, to);
      const batch = found && !hit ? pale : plain;
      if (to - from === 1) batch.add(model.paint(from), left, y, w, h);
      else crowds.push(from, to, left, y, w, found && !hit ? 1 : 0);
      if (hit) hits.push(left, y, w, h);
    });
  }
  context.globalAlpha = 1;
  plain.fill(context, (paint) => theme.fills[paint]);
  context.globalAlpha = 0.35;
  pale.fill(context, (paint) => theme.fills[paint]);
  context.globalAlpha = 1;
  drawCrowds(context, view, crowds, h);
  drawEdges(context, view, edges, h);
  context.fillStyle = theme.faintStripes;
  for (let k = 0; k < hatched.length; k += 3) context.fillRect(hatched[k], hatched[k + 1], hatched[k + 2], h);
  drawBars(context, view, bars, h);
  if (isChart) {
    drawBusy(context, pane, scale);
    drawAbsences(context, pane, scale);
    drawMoments(context, pane, scale, h);
  }
  context.fillStyle = theme.found;
  for (let k = 0; k < hits.length; k += 4) context.fillRect(hits[k], hits[k + 1] + h - 2.5, hits[k + 2], 2.5);
  // Nothing is drawn over a name.
  drawLabels(context, view, labels, model.bars ? h - BARS : h);
  drawSelection(context, view, scale, h);
  if (isChart) drawRange(context, pane, scale);
  context.restore();
}

/** Whether nothing of a lane can be seen. */
const isAway = (lane, { top, bottom }) => lane.isHidden || lane.top + lane.height < top || lane.top > bottom;

/** The upper edge of a lane, also of one in the other pane. */
function laneTop(lane, { scroll, pageScroll }) {
  return lane.isPinned ? lane.top + scroll : lane.top - pageScroll + scroll;
}

/** Crowds: as dark as they are dense, with how many there are. */
function drawCrowds(context, { model, theme }, crowds, h) {
  for (let k = 0; k < crowds.length; k += 6) {
    const [from, to, x, y, w, faint] = crowds.slice(k, k + 6);
    const { rows } = model;
    const span = rows.end[to - 1] - rows.start[from];
    const dense = span > 0 ? (rows.covered[to] - rows.covered[from]) / span : 1;
    context.globalAlpha = (0.35 + 0.65 * dense) * (faint ? 0.4 : 1);
    context.fillStyle = theme.fills[model.mergedPaint];
    context.fillRect(x, y, w, h);
    context.globalAlpha = 1;
    if (w < LABEL_MIN) continue;
    const n = model.crowdSize ? model.crowdSize(from, to) : to - from;
    const text = fitted(context, count(n, model.noun[0], model.noun[1]), w - 8);
    context.fillStyle = theme.ink;
    context.fillText(text, x + 4, y + h / 2 + 0.5);
  }
}

/** What is incomplete, or was merged in the file, is hatched there. */
function drawEdges(context, { model, theme }, edges, h) {
  context.fillStyle = theme.stripes;
  for (let k = 0; k < edges.length; k += 4) {
    const [i, x, y, w] = edges.slice(k, k + 4);
    const flags = model.isPartial(i);
    const edge = Math.min(10, w / 2);
    if (flags & NO_ENTRY) context.fillRect(x, y, edge, h);
    if (flags & NO_EXIT) context.fillRect(x + w - edge, y, edge, h);
  }
}

/** What the bars of a comparison need below the name. */
const BARS = 6;

/** Both sides of a comparison within a box: before above, after below. */
function drawBars(context, { theme }, bars, h) {
  for (let k = 0; k < bars.length; k += 4) {
    const [x, y, w, sides] = bars.slice(k, k + 4);
    context.fillStyle = theme.muted;
    context.fillRect(x, y + h - BARS, w * sides[0], 2);
    context.fillStyle = theme.ink;
    context.fillRect(x, y + h - BARS + 3, w * sides[1], 2);
  }
}

function drawLabels(context, { model, theme }, labels, h) {
  context.fillStyle = theme.ink;
  for (let k = 0; k < labels.length; k += 5) {
    const [i, left, y, w, faint] = labels.slice(k, k + 5);
    // A box that begins left of the window keeps its name in sight.
    const hatch = left >= 0 && model.isPartial(i) & NO_ENTRY ? Math.min(10, w / 2) : 0;
    const x = Math.max(left, 0) + hatch;
    const text = fitted(context, model.label(i), w - (x - left) - 8);
    if (!text) continue;
    context.globalAlpha = faint ? 0.45 : 1;
    context.fillText(text, x + 4, y + h / 2 + 0.5);
  }
  context.globalAlpha = 1;
}

function drawLanes(context, pane) {
  const { model, theme, width } = pane;
  for (const lane of model.lanes) {
    if (isAway(lane, pane)) continue;
    context.fillStyle = theme.lane;
    context.fillRect(0, lane.top, width, lane.height);
  }
}

/** The look of several states that are too short to distinguish. */
const MIXED = 5;

/** What the threads were doing: solid where one ran, stripes and dots where it did not. */
function drawStates(context, pane, scale) {
  const { model, theme, width, x0, x1 } = pane;
  const { states, interrupts } = model;
  const batches = new Batches();
  for (const lane of model.lanes) {
    if (isAway(lane, pane) || lane.states === 0) continue;
    const put = (of, from, to, look) => {
      const left = Math.max((of.start[from] - x0) * scale, 0);
      const right = Math.min((of.end[to - 1] - x0) * scale, width);
      batches.add(look, left, lane.top + lane.strip, Math.max(right - left, 1), STRIP);
    };
    visit(states, lane.index, x0, x1, scale, (i) => put(states, i, i + 1, states.looks[i]),
      (from, to) => put(states, from, to, to - from === 1 ? states.looks[from] : MIXED));
    // Interrupts too short to see would hide what the thread did.
    visit(interrupts, lane.index, x0, x1, scale, (i) => put(interrupts, i, i + 1, INTERRUPTED), () => {});
  }
  batches.fill(context, (look) => theme.looks[look]);
}

/** The look of a thread that serves an interrupt: the last one. */
const INTERRUPTED = 6;

/** Folded lanes: how busy the thread was, pixel by pixel. */
function drawBusy(context, pane, scale) {
  const { model, theme, width, x0 } = pane;
  context.fillStyle = theme.running;
  for (const lane of model.lanes) {
    if (isAway(lane, pane) || !lane.isFolded) continue;
    const bottom = lane.top + lane.height - 1;
    const room = lane.height - 2 - (lane.states > 0 ? lane.strip + STRIP + 1 : 0);
    let before = busyUntil(model, lane.index, x0);
    for (let x = 0; x < width; x++) {
      const until = busyUntil(model, lane.index, x0 + (x + 1) / scale);
      const part = Math.min((until - before) * scale, 1);
      before = until;
      // What is there is seen, however short.
      if (part > 0) context.fillRect(x, bottom - Math.max(part * room, 1), 1, Math.max(part * room, 1));
    }
  }
}

/** When the threads were switched out, or what they did is unknown: a veil over what they had open. */
function drawAbsences(context, pane, scale) {
  const { model, theme, width, x0, x1 } = pane;
  const { absences, states } = model;
  const fills = [[theme.awayStripes, []], [theme.looks[UNKNOWN], []]];
  for (const lane of model.lanes) {
    if (isAway(lane, pane) || lane.isFolded) continue;
    const put = (of, from, to, kind) => {
      const left = Math.max((of.start[from] - x0) * scale, 0);
      const right = Math.min((of.end[to - 1] - x0) * scale, width);
      fills[kind][1].push([left, lane.top + lane.head, Math.max(right - left, 1), lane.height - lane.head - 1]);
    };
    visit(absences, lane.index, x0, x1, scale, (i) => put(absences, i, i + 1, 0), (from, to) => put(absences, from, to, 0));
    visit(states, lane.index, x0, x1, scale, (i) => states.looks[i] === UNKNOWN && put(states, i, i + 1, 1), () => {});
  }
  for (const [fill, stretches] of fills) {
    context.fillStyle = theme.awayVeil;
    for (const stretch of stretches) context.fillRect(...stretch);
    context.fillStyle = fill;
    for (const stretch of stretches) context.fillRect(...stretch);
  }
}

/** What happened between calls and across them: losses, instants, the critical path. */
function drawMoments(context, pane, scale, h) {
  const { model, theme, width, x0 } = pane;
  const x = (time) => (time - x0) * scale;
  drawWakes(context, pane, x);
  for (const lane of model.lanes) {
    if (isAway(lane, pane)) continue;
    if (!lane.isFolded) drawMarks(context, lane, model.marks[lane.index], pane, x);
    context.strokeStyle = theme.gap;
    context.fillStyle = theme.gap;
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    let free = 0;
    for (const [time, lost] of lane.gaps) {
      const at = Math.round(x(time)) + 0.5;
      if (at < -0.5 || at > width) continue;
      context.beginPath();
      context.moveTo(at, lane.top + 1);
      context.lineTo(at, lane.top + lane.height);
      context.stroke();
      if (lane.isFolded) continue;
      const text = lost === null ? 'lost events' : count(lost, 'event lost', 'events lost');
      const w = textWidth(context, text);
      // Beside the line, on the side where there is room.
      const left = at + 4 + w <= width ? at + 4 : at - 4 - w;
      if (left < free) continue;
      context.fillText(text, left, lane.top + GAP_ROOM / 2);
      free = Math.max(left + w, at) + 8;
    }
    context.setLineDash([]);
  }
  if (pane.showPath && pane.page.path.length > 0) drawPath(context, pane, x, h);
}

/** Instants: a small triangle on the call in which they were. */
function drawMarks(context, lane, marks, { theme, width }, x) {
  context.fillStyle = theme.ink;
  let drawn = -10;
  for (let k = 0; k < marks.time.length; k++) {
    const at = x(marks.time[k]);
    if (at < 0 || at > width || at - drawn < 3) continue;
    drawn = at;
    const y = lane.top + lane.head + Math.min(marks.depth[k], lane.levels - 1) * ROW;
    context.beginPath();
    context.moveTo(at - 3, y);
    context.lineTo(at + 3, y);
    context.lineTo(at, y + 5);
    context.fill();
  }
}

/** Between two arrows to one lane, at least. */
const WAKES_APART = 5;

/** Wakings: an arrow from the strip of the waker to that of the woken. */
function drawWakes(context, pane, x) {
  const { model, theme, width, page } = pane;
  const last = new Map();
  const strip = (lane) => laneTop(lane, pane) + lane.strip + STRIP / 2;
  context.strokeStyle = theme.muted;
  context.fillStyle = theme.ink;
  context.lineWidth = 1;
  for (const [time, from, to] of page.wakes || []) {
    const at = Math.round(x(time)) + 0.5;
    if (at < 0 || at > width || at - (last.get(to) ?? -WAKES_APART) < WAKES_APART) continue;
    const woken = model.lanes[to];
    if (woken.isHidden) continue;
    last.set(to, at);
    const end = strip(woken);
    const waker = from < 0 ? null : model.lanes[from];
    const start = waker && !waker.isHidden ? strip(waker) : end - 10;
    const back = start < end ? -4 : 4;
    context.globalAlpha = 0.6;
    context.beginPath();
    context.moveTo(at, start);
    context.lineTo(at, end);
    context.stroke();
    context.globalAlpha = 1;
    context.beginPath();
    context.moveTo(at, end);
    context.lineTo(at - 2.5, end + back);
    context.lineTo(at + 2.5, end + back);
    context.fill();
  }
}

/** The critical path: a line below each segment, where its call is drawn. */
function drawPath(context, pane, x, h) {
  const { model, theme, width, page } = pane;
  context.fillStyle = theme.path;
  let lastX = -1;
  let lastY = -1;
  for (const [start, length, index, depth, waits] of page.path) {
    const lane = model.lanes[index];
    const left = Math.max(x(start), 0);
    const right = Math.min(x(start + length), width);
    if (lane.isHidden || right < 0 || left > width) continue;
    // The middle of the line: below a call, or along the strip of a thread.
    const y = laneTop(lane, pane) + (depth < 0 || lane.isFolded
      ? lane.strip + STRIP / 2
      : lane.head + Math.min(depth, lane.levels - 1) * ROW + h - 1.5);
    if (right < lastX && y === lastY) continue;
    if (waits) {
      // No thread runs there: a broken line.
      for (let at = left; at < right; at += 6) context.fillRect(at, y - 1, Math.min(3, right - at), 2);
    } else {
      context.fillRect(left, y - 1.5, Math.max(right - left, 1.5), 3.5);
    }
    if (lastY >= 0 && lastY !== y && (right - left > 1 || depth < 0)) {
      context.fillRect(left, Math.min(y, lastY), 1, Math.abs(y - lastY));
    }
    [lastX, lastY] = [right, y];
  }
}

/** The range that was selected: what is outside is dimmed. */
function drawRange(context, { theme, width, x0, range, top, bottom }, scale) {
  if (!range) return;
  const [left, right] = range.map((time) => (time - x0) * scale);
  context.fillStyle = theme.outside;
  if (left > 0) context.fillRect(0, top, Math.min(left, width), bottom - top);
  if (right < width) context.fillRect(Math.max(right, 0), top, width - Math.max(right, 0), bottom - top);
  context.fillStyle = theme.path;
  for (const x of [left, right]) context.fillRect(Math.round(x) - 0.5, top, 1, bottom - top);
}

function drawSelection(context, { model, theme, selected, x0, width, hover }, scale, h) {
  const { rows } = model;
  const outline = (i, line) => {
    if (i < 0 || i >= rows.n) return;
    const left = Math.max((rows.start[i] - x0) * scale, -4);
    const right = Math.min((rows.end[i] - x0) * scale, width + 4);
    if (right < 0 || left > width) return;
    context.strokeStyle = theme.ink;
    context.lineWidth = line;
    context.strokeRect(left + line / 2, model.rowTop(rows.row[i]) + line / 2, Math.max(right - left - line, 2), h - line);
  };
  if (hover >= 0 && hover !== selected) outline(hover, 1);
  outline(selected, 2);
}

/** The scale: time from the beginning, or the sum that widths show. */
function drawAxis(context, { model, theme, width, x0, x1, page, range }, scale) {
  context.fillStyle = theme.background;
  context.fillRect(0, 0, width, AXIS);
  context.fillStyle = theme.muted;
  context.strokeStyle = theme.grid;
  context.lineWidth = 1;
  context.beginPath();
  let free = 0;
  for (const mark of axisMarks(x0, x1, 96 / scale, model.clock || page.clock)) {
    const x = Math.round((mark.at - x0) * scale) + 0.5;
    context.moveTo(x, AXIS - 6);
    context.lineTo(x, AXIS);
    const w = context.measureText(mark.text).width;
    const left = Math.min(Math.max(x - w / 2, 2), width - w - 2);
    // At the edges texts are moved inwards, and may meet.
    if (left < free) continue;
    free = left + w + 6;
    context.fillText(mark.text, left, AXIS / 2 - 2);
  }
  context.moveTo(0, AXIS - 0.5);
  context.lineTo(width, AXIS - 0.5);
  context.stroke();
  if (range && model.kind === 'chart') drawMeasure(context, range, { theme, width, x0, page }, scale);
}

/** How long the selected range is, on the scale. */
function drawMeasure(context, range, { theme, width, x0, page }, scale) {
  const [left, right] = range.map((time) => (time - x0) * scale);
  if (right < 0 || left > width) return;
  const text = lengthWithUnit(range[1] - range[0], page.clock);
  const w = textWidth(context, text) + 12;
  const middle = (Math.max(left, 0) + Math.min(right, width)) / 2;
  const at = Math.min(Math.max(middle - w / 2, 0), Math.max(width - w, 0));
  context.fillStyle = theme.path;
  context.fillRect(Math.max(left, 0), AXIS - 4, Math.min(right, width) - Math.max(left, 0), 4);
  context.fillRect(at, 0, w, AXIS - 3);
  context.fillStyle = theme.background;
  context.fillText(text, at + 6, AXIS / 2 - 1);
}

/** The whole picture in a strip, rows pressed together, with a tick where a search found something. */
function drawMinimap(context, view, width, height) {
  const { model, theme, found } = view;
  const { rows } = model;
  context.fillStyle = theme.lane;
  context.fillRect(0, 0, width, height);
  const scale = width / (model.x1 - model.x0);
  const squeeze = Math.min(height / model.height, 3 / model.rowHeight);
  const h = Math.max(model.rowHeight * squeeze, 1);
  const batches = new Batches();
  const put = (paint, from, to, y) => {
    const left = (rows.start[from] - model.x0) * scale;
    batches.add(paint, left, y, Math.max((rows.end[to - 1] - model.x0) * scale - left, 1), h);
  };
  let lastY = -1;
  for (let r = 0; r < rows.nRows; r++) {
    const y = Math.floor(model.rowTop(r) * squeeze);
    // Rows that fall on the same pixels add nothing to them.
    if (y < 0 || y === lastY) continue;
    lastY = y;
    visit(rows, r, model.x0, model.x1, scale, (i) => put(model.paint(i), i, i + 1, y),
      (from, to) => put(to - from === 1 ? model.paint(from) : model.mergedPaint, from, to, y));
  }
  batches.fill(context, (paint) => theme.fills[paint]);
  if (!found || found.n === 0) return;
  const hit = new Uint8Array(Math.ceil(width) + 1);
  for (let i = 0; i < rows.n; i++) {
    if (found.before[i + 1] > found.before[i]) hit[Math.round((rows.start[i] - model.x0) * scale)] = 1;
  }
  context.fillStyle = theme.path;
  for (let x = 0; x < hit.length; x++) {
    if (hit[x]) context.fillRect(x - 0.5, 0, 2, TICK);
  }
}

/** The ticks of what a search found. */
const TICK = 9;
