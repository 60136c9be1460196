// The picture of a page with its bar: which kind of picture, of what, and where to look in it.

const KINDS = { chart: 'Flame chart', graph: 'Flame graph', diff: 'Comparison' };

const KEYS = [
  ['← → ↑ ↓', 'select the sibling, the caller or the callee'],
  ['Enter', 'zoom to the selection'],
  ['W S or + −', 'zoom in, out'],
  ['A D', 'move left, right'],
  ['Page Up, Page Down', 'scroll through the rows'],
  ['0 or Home', 'show everything'],
  ['/', 'search by regular expression'],
  ['N, Shift N', 'select the next match, the one before'],
  ['C, G', 'flame chart, flame graph'],
  ['T', 'dark or light'],
  ['Esc', 'clear the search, then the selection'],
  ['?', 'this list'],
  ['mouse', 'drag moves, Ctrl and wheel zooms, a click selects, another one zooms'],
];

/** Fills the section `host`; gives an object that takes what is decoded later. */
function startPicture(host, page) {
  const blocks = {};
  const state = { ...page.begin, ...readFragment() };
  const kinds = page.kinds;
  let kind = kinds.includes(state.kind) ? state.kind : kinds[0];
  let restored = false;
  let timer = 0;

  const view = new View(host, page, remember);
  view.showPath = state.path === '1';
  const result = make('output', { class: 'result', 'aria-live': 'polite' });
  const field = make('input', {
    type: 'search', placeholder: 'Search (regular expression)', 'aria-label': 'search names by regular expression',
    spellcheck: 'false', autocomplete: 'off', value: state.q || '',
    input: () => {
      clearTimeout(timer);
      timer = setTimeout(search, 80);
    },
    keydown: (event) => {
      if (event.key === 'Enter') {
        event.preventDefault();
        clearTimeout(timer);
        search();
        view.nextMatch(!event.shiftKey);
      } else if (event.key === 'Escape') {
        event.preventDefault();
        event.stopPropagation();
        field.value = '';
        search();
        view.canvas.focus();
      }
    },
  });
  const kindButtons = kinds.map((one) => make('button', { type: 'button', click: () => choose(one) }, KINDS[one]));
  const trees = page.trees;
  const thread = make('select', { 'aria-label': 'whose calls are merged', change: rebuild },
    make('option', { value: '-1' }, 'all threads'), trees.map((label, t) => make('option', { value: t }, label)));
  const side = make('select', { 'aria-label': 'what widths show', change: rebuild },
    Object.entries(SIDES).map(([value, label]) => make('option', { value }, `width: ${label}`)));
  side.value = state.side in SIDES ? state.side : 'both';
  if (trees[state.thread] !== undefined) thread.value = state.thread;
  const reverse = toggle('Callers', 'turn around: from each function to its callers', state.rev === '1', rebuild);
  const upwards = toggle('Upwards', 'callers below, as flames rise', state.up === '1', rebuild);
  const path = toggle('Critical path', 'mark the chain of calls that bounds the time', view.showPath, () => {
    view.showPath = isOn(path);
    if (view.showPath) view.goToPath();
    view.redraw();
    remember();
  });
  const help = make('dialog', { 'aria-label': 'keys' },
    make('h2', {}, 'Keys'),
    make('dl', { class: 'keys' }, KEYS.map(([keys, what]) => [make('dt', {}, keys), make('dd', {}, what)])),
    make('form', { method: 'dialog' }, make('button', { type: 'submit' }, 'Close')));
  const bar = make('div', { class: 'bar', role: 'toolbar', 'aria-label': 'picture' },
    make('div', { class: 'group' }, kindButtons),
    make('div', { class: 'group' }, trees.length > 1 ? thread : null, side, reverse, upwards, path),
    make('div', { class: 'group find' }, field, result),
    make('div', { class: 'group end' },
      make('button', { type: 'button', click: () => view.wholeView(), title: 'show everything (0)' }, 'Reset'),
      make('button', { type: 'button', click: switchTheme, title: 'dark or light (T)', 'aria-label': 'dark or light' }, '◐'),
      make('button', { type: 'button', click: () => help.showModal(), title: 'keys (?)', 'aria-label': 'keys' }, '?')));
  const legend = make('p', { class: 'legend' });
  host.prepend(bar);
  view.details.before(legend);
  host.append(help);

  document.addEventListener('keydown', (event) => {
    const typing = event.target.closest('input, select, textarea, dialog');
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      '/': () => field.focus(),
      '?': () => help.showModal(),
      n: () => view.nextMatch(true),
      N: () => view.nextMatch(false),
      c: () => kinds.includes('chart') && choose('chart'),
      g: () => kinds.includes('graph') && choose('graph'),
      t: switchTheme,
      Escape: () => {
        if (field.value) {
          field.value = '';
          search();
        } else view.select(-1);
      },
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => restyle());
  addEventListener('beforeprint', () => {
    printing = true;
    view.retheme();
    view.paint();
  });
  addEventListener('afterprint', () => {
    printing = false;
    restyle();
  });
  addEventListener('hashchange', () => {
    Object.assign(state, { kind: undefined }, readFragment());
    if (kinds.includes(state.kind)) kind = state.kind;
    restored = false;
    show();
  });

  function restyle() {
    view.retheme();
    drawLegend();
    dispatchEvent(new Event('profctl-theme'));
  }

  function switchTheme() {
    chooseTheme(isDark() ? 'light' : 'dark');
    restyle();
  }

  function search() {
    result.textContent = view.search(field.value);
    result.classList.toggle('wrong', result.textContent.startsWith('no regular'));
    remember();
  }

  function choose(one) {
    if (one === kind) return;
    kind = one;
    show();
    remember();
  }

  function rebuild() {
    show();
    remember();
  }

  /** Builds the model for what is asked for and shows it, if its block is there yet. */
  function show(keep) {
    kindButtons.forEach((button, i) => button.setAttribute('aria-pressed', String(kinds[i] === kind)));
    thread.hidden = kind !== 'graph';
    reverse.hidden = kind !== 'graph';
    side.hidden = kind !== 'diff';
    upwards.hidden = kind === 'chart';
    path.hidden = kind !== 'chart' || page.path.length === 0;
    const up = isOn(upwards);
    let model = null;
    if (kind === 'chart' && (blocks.calls || blocks.overview)) {
      model = chartModel(page, blocks.calls || blocks.overview, blocks.moments);
    } else if (kind === 'graph' && blocks.graph) {
      const options = { thread: Number(thread.value), reverse: isOn(reverse), upwards: up };
      model = graphModel(page, blocks.graph, options);
    } else if (kind === 'diff' && blocks.diff) {
      model = diffModel(page, blocks.diff, { side: side.value, upwards: up });
    }
    if (!model) return;
    view.show(model, keep === true);
    drawLegend();
    restore();
    result.textContent = view.search(field.value);
  }

  /** Goes where the address says, once the picture that it means is whole. */
  function restore() {
    const isWhole = kind !== 'chart' || blocks.calls;
    if (restored) return;
    const { model } = view;
    const [x0, x1] = [Number(state.from), Number(state.to)];
    if (state.from !== undefined && x1 > x0) {
      view.x0 = Math.max(x0, model.x0);
      view.x1 = Math.min(x1, model.x1);
    }
    view.scroll = Number(state.y) || view.scroll;
    view.clampScroll();
    if (state.q !== undefined) field.value = state.q;
    if (!isWhole) return;
    const selected = Number(state.sel);
    if (state.sel !== undefined && selected < model.rows.n) view.selected = selected;
    view.describe();
    view.redraw();
    restored = true;
  }

  let remembering = 0;
  function remember() {
    if (!restored) return;
    clearTimeout(remembering);
    remembering = setTimeout(() => {
      const { model } = view;
      const parts = { kind };
      if (view.x0 !== model.x0 || view.x1 !== model.x1) [parts.from, parts.to] = [view.x0, view.x1];
      if (view.scroll > 0) parts.y = Math.round(view.scroll);
      if (field.value) parts.q = field.value;
      if (view.selected >= 0) parts.sel = view.selected;
      if (kind === 'graph' && thread.value !== '-1') parts.thread = thread.value;
      if (kind === 'graph' && (isOn(reverse) || page.begin.rev)) parts.rev = isOn(reverse) ? '1' : '0';
      if (kind !== 'chart' && (isOn(upwards) || page.begin.up)) parts.up = isOn(upwards) ? '1' : '0';
      if (kind === 'diff' && side.value !== 'both') parts.side = side.value;
      if (kind === 'chart' && (view.showPath || page.begin.path)) parts.path = view.showPath ? '1' : '0';
      history.replaceState(null, '', `#${new URLSearchParams(parts)}`);
    }, 120);
  }

  function drawLegend() {
    const theme = view.theme;
    const swatch = (paint, text) => [make('i', { style: `background:${theme.fills[paint]}` }), `${text} `];
    const line = (color, text, style) => [make('i', { style: `${style}:2px dashed ${color};background:none` }), `${text} `];
    const parts = [];
    if (kind === 'diff') {
      parts.push(...page.changes.flatMap(([paint, text]) => swatch(paint, text)));
    } else {
      parts.push(...page.legend.flatMap(([paint, text]) => swatch(paint, text)));
    }
    const hatched = (color, text) => [make('i', { style: `background:repeating-linear-gradient(135deg,${color} 0 2px,transparent 2px 5px)` }), `${text} `];
    if (kind === 'diff') parts.push(...hatched(theme.hatch, 'tested, not significant'));
    parts.push(...swatch(page.mergedPaint, kind === 'chart' ? 'calls too short to draw apart' : 'paths too narrow to draw apart'));
    if (kind === 'chart') {
      if (page.lanes.some((lane) => lane.states > 0)) {
        parts.push([make('i', { style: `background:${theme.running}` }), `${page.looks[0]} `]);
        const colors = [theme.runnable, theme.muted, theme.gap];
        for (const [n, color] of colors.entries()) parts.push(...hatched(color, page.looks[n + 1]));
        parts.push(...line(theme.muted, page.looks[4], 'border-top'));
      }
      if (page.lanes.some((lane) => lane.away > 0)) parts.push(...hatched(theme.off_cpu, 'switched out'));
      if (page.hasPartial) parts.push(...hatched(theme.hatch, 'entry or exit not recorded'));
      if (page.lanes.some((lane) => lane.gaps.length > 0)) parts.push(...line(theme.gap, 'events lost', 'border-left'));
    }
    legend.replaceChildren(...parts.flat());
    if (kind === 'chart' && page.cut) legend.append(make('span', { class: 'cut' }, page.cut));
  }

  show();
  return {
    take(name, block) {
      blocks[name] = block;
      const mine = { calls: 'chart', overview: 'chart', moments: 'chart', graph: 'graph', diff: 'diff' }[name];
      if (mine !== kind) return;
      if (name === 'moments' && !blocks.calls) return;
      show(view.model !== null);
    },
    search(text) {
      field.value = text;
      search();
    },
  };
}

/** A button that is on or off. */
function toggle(text, title, on, changed) {
  const button = make('button', { type: 'button', title, 'aria-pressed': String(on) }, text);
  button.addEventListener('click', () => {
    button.setAttribute('aria-pressed', String(!isOn(button)));
    changed();
  });
  return button;
}

function isOn(button) {
  return button.getAttribute('aria-pressed') === 'true';
}

function readFragment() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}
