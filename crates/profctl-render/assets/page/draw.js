// Putting a model on a canvas: boxes, labels, axis, what was lost and what is marked.

const FONT = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
const AXIS = 22;
/** Below this width a label would be a letter and dots. */
const LABEL_MIN = 26;

/** The middle of the words in the head of a lane. */
const LANE_TEXT = 10;

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
  const { model, theme, width, height, x0, x1, scroll, found } = view;
  const { rows } = model;
  const scale = width / (x1 - x0);
  const top = model.hasAxis ? AXIS : 0;
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = theme.background;
  context.fillRect(0, 0, width, height);
  context.save();
  context.beginPath();
  context.rect(0, top, width, height - top);
  context.clip();
  context.translate(0, top - scroll);
  drawLanes(context, view, scale);
  if (model.kind === 'chart') drawStates(context, view, scale);
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
    if (y + h < scroll || y > scroll + height - top) continue;
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
  if (model.kind === 'chart') drawAbsences(context, view, scale);
  drawLabels(context, view, labels, h);
  if (model.kind === 'chart') drawMoments(context, view, scale, h);
  context.fillStyle = theme.found;
  for (let k = 0; k < hits.length; k += 4) context.fillRect(hits[k], hits[k + 1] + h - 2.5, hits[k + 2], 2.5);
  drawSelection(context, view, scale, h);
  context.restore();
  if (model.hasAxis) drawAxis(context, view, scale);
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

/** Both sides of a comparison within a box: before above, after below. */
function drawBars(context, { theme }, bars, h) {
  for (let k = 0; k < bars.length; k += 4) {
    const [x, y, w, sides] = bars.slice(k, k + 4);
    context.fillStyle = theme.muted;
    context.fillRect(x, y + h - 4, w * sides[0], 1.5);
    context.fillStyle = theme.ink;
    context.fillRect(x, y + h - 2, w * sides[1], 1.5);
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

function drawLanes(context, { model, theme, width, scroll, height }, scale) {
  for (const lane of model.lanes) {
    if (lane.top + lane.height < scroll || lane.top > scroll + height) continue;
    context.fillStyle = theme.lane;
    context.fillRect(0, lane.top, width, lane.height);
    context.fillStyle = theme.ink;
    context.font = `600 ${FONT}`;
    context.fillText(lane.label, 6, lane.top + LANE_TEXT);
    const after = 12 + context.measureText(lane.label).width;
    context.font = FONT;
    context.fillStyle = theme.muted;
    if (lane.note) context.fillText(lane.note, after, lane.top + LANE_TEXT);
  }
}

/** The look of several states that are too short to distinguish. */
const MIXED = 5;

/** What the threads were doing: solid where one ran, stripes and dots where it did not. */
function drawStates(context, { model, theme, width, height, x0, x1, scroll }, scale) {
  const { states } = model;
  const batches = new Batches();
  for (const lane of model.lanes) {
    if (lane.top + lane.height < scroll || lane.top > scroll + height) continue;
    const put = (from, to) => {
      const left = Math.max((states.start[from] - x0) * scale, 0);
      const right = Math.min((states.end[to - 1] - x0) * scale, width);
      const look = to - from === 1 ? states.looks[from] : MIXED;
      batches.add(look, left, lane.top + STRIP_TOP, Math.max(right - left, 1), STRIP);
    };
    visit(states, lane.index, x0, x1, scale, (i) => put(i, i + 1), put);
  }
  batches.fill(context, (look) => theme.looks[look]);
}

/** When the threads were switched out: a veil over whatever they had open. */
function drawAbsences(context, { model, theme, width, height, x0, x1, scroll }, scale) {
  const x = (time) => (time - x0) * scale;
  const stretches = [];
  for (const lane of model.lanes) {
    if (lane.top + lane.height < scroll || lane.top > scroll + height) continue;
    const away = (from, to) => {
      const left = Math.max(x(model.absences.start[from]), 0);
      const right = Math.min(x(model.absences.end[to - 1]), width);
      stretches.push([left, lane.top + LANE_HEAD, Math.max(right - left, 1), lane.height - LANE_HEAD - 1]);
    };
    visit(model.absences, lane.index, x0, x1, scale, (i) => away(i, i + 1), away);
  }
  for (const fill of [theme.awayVeil, theme.awayStripes]) {
    context.fillStyle = fill;
    for (const stretch of stretches) context.fillRect(...stretch);
  }
}

/** What happened between calls and across them: losses, instants, the critical path. */
function drawMoments(context, view, scale, h) {
  const { model, theme, width, height, x0, x1, scroll } = view;
  const x = (time) => (time - x0) * scale;
  for (const lane of model.lanes) {
    if (lane.top + lane.height < scroll || lane.top > scroll + height) continue;
    const top = lane.top + LANE_HEAD;
    const marks = model.marks[lane.index];
    context.fillStyle = theme.ink;
    let drawn = -10;
    for (let k = 0; k < marks.time.length; k++) {
      const at = x(marks.time[k]);
      if (at < 0 || at > width || at - drawn < 3) continue;
      drawn = at;
      const y = top + Math.min(marks.depth[k], lane.levels - 1) * ROW;
      context.beginPath();
      context.moveTo(at - 3, y);
      context.lineTo(at + 3, y);
      context.lineTo(at, y + 5);
      context.fill();
    }
    context.strokeStyle = theme.gap;
    context.fillStyle = theme.gap;
    context.setLineDash([3, 3]);
    let lastText = -1000;
    for (const [time, lost] of lane.gaps) {
      const at = Math.round(x(time)) + 0.5;
      if (at < 0 || at > width) continue;
      context.beginPath();
      context.moveTo(at, lane.top + 2);
      context.lineTo(at, lane.top + lane.height);
      context.stroke();
      const text = lost === null ? 'lost events' : count(lost, 'event lost', 'events lost');
      if (at - lastText > 110) {
        context.fillText(text, at + 4, lane.top + LANE_TEXT);
        lastText = at;
      }
    }
    context.setLineDash([]);
  }
  drawWakes(context, view, x);
  if (view.showPath && view.page.path.length > 0) drawPath(context, view, x, h);
}

/** Between two arrows to one lane, at least. */
const WAKES_APART = 5;

/** Wakings: an arrow from the strip of the waker to that of the woken. */
function drawWakes(context, { model, theme, width, page }, x) {
  const last = new Map();
  context.strokeStyle = theme.muted;
  context.fillStyle = theme.ink;
  context.lineWidth = 1;
  for (const [time, from, to] of page.wakes || []) {
    const at = Math.round(x(time)) + 0.5;
    if (at < 0 || at > width || at - (last.get(to) ?? -WAKES_APART) < WAKES_APART) continue;
    last.set(to, at);
    const end = model.lanes[to].top + STRIP_TOP + 2;
    const start = from < 0 ? end - 10 : model.lanes[from].top + STRIP_TOP + 2;
    const back = start < end ? -4 : 4;
    context.beginPath();
    context.moveTo(at, start);
    context.lineTo(at, end);
    context.stroke();
    context.beginPath();
    context.moveTo(at, end);
    context.lineTo(at - 2.5, end + back);
    context.lineTo(at + 2.5, end + back);
    context.fill();
  }
}

/** The critical path: a line below each segment, where its call is drawn. */
function drawPath(context, { model, theme, width, page }, x, h) {
  context.fillStyle = theme.path;
  let lastX = -1;
  let lastY = -1;
  for (const [start, length, index, depth, waits] of page.path) {
    const lane = model.lanes[index];
    const left = Math.max(x(start), 0);
    const right = Math.min(x(start + length), width);
    if (right < 0 || left > width) continue;
    // The middle of the line: below a call, or along the strip of a thread.
    const y = depth < 0
      ? lane.top + STRIP_TOP + STRIP / 2
      : lane.top + LANE_HEAD + Math.min(depth, lane.levels - 1) * ROW + h - 1.5;
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

function drawAxis(context, { theme, width, height, x0, x1, page }, scale) {
  context.fillStyle = theme.background;
  context.fillRect(0, 0, width, AXIS);
  context.fillStyle = theme.muted;
  context.strokeStyle = theme.grid;
  context.lineWidth = 1;
  context.beginPath();
  let free = 0;
  for (const mark of axisMarks(x0, x1, 96 / scale, page.clock)) {
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
  context.globalAlpha = 1;
}

/** The whole picture in a strip, rows pressed together. */
function drawMinimap(context, view, width, height) {
  const { model, theme } = view;
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
    if (y === lastY) continue;
    lastY = y;
    visit(rows, r, model.x0, model.x1, scale, (i) => put(model.paint(i), i, i + 1, y),
      (from, to) => put(to - from === 1 ? model.paint(from) : model.mergedPaint, from, to, y));
  }
  batches.fill(context, (paint) => theme.fills[paint]);
}
