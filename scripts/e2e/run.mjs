// Writes pages with profctl and tests them as a user would. `node run.mjs [FOLDER [FILTER]]`: pages and
// screenshots go to FOLDER, or to a temporary one; FILTER is part of the names of the tests to run. Figures are printed beside their targets; a machine for tests
// may be slow, so only what is far beyond the target fails.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, open } from './browser.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const folder = process.argv[2] || mkdtempSync(join(tmpdir(), 'profctl-e2e-'));
mkdirSync(folder, { recursive: true });
const program = process.env.PROFCTL || join(process.env.CARGO_TARGET_DIR || join(root, 'target'), 'debug/profctl');

/** How many times slower than its target a figure may be before that is a failure. */
const SLACK = 8;
const SPANS = 1_400_000;

function profctl(...args) {
  return execFileSync(program, args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] });
}

function write(name, ...args) {
  const file = join(folder, name);
  profctl(...args, '-o', file);
  return file;
}

const hash = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
const text = (page, selector) => page.textContent(selector);
/** How many pixels of the uppermost `height` rows of a canvas have the color of paths and ticks. */
const pathInk = (page, selector, height) => page.evaluate(([selector, height]) => {
  const canvas = document.querySelector(selector);
  const pen = new OffscreenCanvas(canvas.width, height).getContext('2d', { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  const { data } = pen.getImageData(0, 0, canvas.width, height);
  let n = 0;
  for (let i = 0; i < data.length; i += 4) n += data[i] === 0x66 && data[i + 1] === 0x35 && data[i + 2] === 0xa3 ? 1 : 0;
  return n;
}, [selector, height]);
const settle = (page) => page.waitForTimeout(250);
const shot = (page, name, options) => page.screenshot({ path: join(folder, `${name}.png`), ...options });

const tests = {
  async 'the keyboard alone suffices'(browser) {
    const { page, faults } = await open(browser, chart);
    await page.locator('.picture-canvas').focus();
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('role')), 'application');
    await page.keyboard.press('ArrowDown');
    assert.match(await text(page, '.details'), /ISAINTR/);
    await page.keyboard.press('ArrowDown');
    assert.match(await text(page, '.details'), /weintr/);
    assert.match(await text(page, '.details'), /elapsed.*us .*of all/);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await settle(page);
    const zoomed = await hash(page);
    assert.ok(Number(zoomed.to) - Number(zoomed.from) < 9086, 'Enter zooms');
    assert.ok(zoomed.sel !== undefined, 'the selection is in the address');
    await page.keyboard.press('s');
    await page.keyboard.press('d');
    await settle(page);
    const moved = await hash(page);
    assert.notDeepEqual([moved.from, moved.to], [zoomed.from, zoomed.to], 'S and D move the window');
    await page.keyboard.press('0');
    await settle(page);
    assert.equal((await hash(page)).from, undefined, '0 shows everything');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('?');
    assert.ok(await page.locator('dialog').isVisible(), '? lists the keys');
    await page.keyboard.press('Escape');
    assert.ok(!(await page.locator('dialog').isVisible()));
    await page.keyboard.press('g');
    await settle(page);
    assert.equal((await hash(page)).kind, 'graph');
    // Everything else can be reached with Tab, and shows where one is.
    for (let i = 0; i < 30; i++) {
      await page.keyboard.press('Tab');
      const seen = await page.evaluate(() => {
        const style = getComputedStyle(document.activeElement);
        return document.activeElement === document.body || style.outlineStyle !== 'none';
      });
      assert.ok(seen, 'what has the focus can be seen');
    }
    return faults;
  },

  async 'a search tells its share of the total'(browser) {
    const { page, faults } = await open(browser, chart);
    await page.keyboard.press('/');
    await page.keyboard.type('in_cksum|bcopy');
    await page.keyboard.press('Enter');
    await settle(page);
    // The same from the tree that the program prints: the paths that end in a match and pass none.
    const rows = JSON.parse(profctl('tree', mcrae, '--format', 'json')).rows;
    const total = rows.filter((row) => row.depth === 0).reduce((sum, row) => sum + row.elapsed, 0);
    let inside = -1;
    let found = 0;
    for (const row of rows) {
      if (inside >= 0 && row.depth <= inside) inside = -1;
      if (inside < 0 && /in_cksum|bcopy/.test(row.name)) {
        inside = row.depth;
        found += row.elapsed;
      }
    }
    const share = `${((found / total) * 100).toFixed(2)}% of all`;
    assert.match(await text(page, '.result'), /^1 of 10: 2 functions, 10 calls, /);
    assert.ok((await text(page, '.result')).endsWith(share), `${await text(page, '.result')}: ${share}`);
    assert.match(await text(page, '.details'), /in_cksum|bcopy/, 'Enter selects the first match');
    await shot(page, 'search');
    await page.fill('.find input', '[');
    await settle(page);
    assert.match(await text(page, '.result'), /no regular expression/);
    await page.locator('.find input').press('Escape');
    assert.equal(await text(page, '.result'), '');
    return faults;
  },

  async 'the address restores the view'(browser) {
    const first = await open(browser, chart);
    const { page } = first;
    await page.locator('.picture-canvas').click({ position: { x: 600, y: 90 } });
    await page.keyboard.press('w');
    await page.fill('.find input', 'tcp');
    await settle(page);
    const wanted = await hash(page);
    const said = await text(page, '.details');
    const address = new URL(page.url()).hash;
    const second = await open(browser, chart, { hash: address });
    await settle(second.page);
    assert.deepEqual(await hash(second.page), wanted);
    assert.equal(await text(second.page, '.details'), said);
    assert.equal(await second.page.inputValue('.find input'), 'tcp');
    return [...first.faults, ...second.faults];
  },

  async 'mouse: wheel, drag, click, tip, crumbs, map'(browser) {
    const { page, faults } = await open(browser, chart);
    const box = await page.locator('.picture-canvas').boundingBox();
    await page.mouse.move(box.x + 360, box.y + 70);
    assert.match(await text(page, '.tip'), /weintr|werint|ISAINTR/);
    await shot(page, 'tip');
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -300);
    await page.keyboard.up('Control');
    await settle(page);
    const zoomed = await hash(page);
    assert.ok(Number(zoomed.to) - Number(zoomed.from) < 5000, 'the wheel zooms with Ctrl');
    await page.mouse.down();
    await page.mouse.move(box.x + 200, box.y + 70, { steps: 4 });
    await page.mouse.up();
    await settle(page);
    const moved = await hash(page);
    assert.ok(Number(moved.from) > Number(zoomed.from), 'dragging moves');
    await page.mouse.click(box.x + 300, box.y + 70);
    await settle(page);
    const crumbs = await page.locator('.crumbs button').allTextContents();
    assert.equal(crumbs[0], 'everything');
    assert.ok(crumbs.length > 2, crumbs.join(' › '));
    await page.locator('.crumbs button').nth(1).click();
    await settle(page);
    assert.match(await text(page, '.details'), new RegExp(crumbs[1]));
    await page.locator('button', { hasText: 'Critical path' }).click();
    await settle(page);
    assert.equal((await hash(page)).path, '1');
    await shot(page, 'critical-path');
    await page.locator('.picture-canvas').focus();
    const map = await page.locator('.minimap').boundingBox();
    await page.keyboard.press('w');
    await page.keyboard.press('w');
    await page.mouse.click(map.x + map.width - 20, map.y + 10);
    await settle(page);
    assert.ok(Number((await hash(page)).to) > 8000, 'the map moves the window');
    return faults;
  },

  async 'a range has the sums of summarize'(browser) {
    const { page, faults } = await open(browser, chart);
    const box = await page.locator('.picture-canvas').boundingBox();
    await page.mouse.move(box.x + 111, box.y + 8);
    await page.mouse.down();
    await page.mouse.move(box.x + 444, box.y + 8, { steps: 3 });
    await page.mouse.up();
    await settle(page);
    const [from, to] = (await hash(page)).range.split('-').map(Number);
    assert.ok(to - from > 2000 && to < 9086, `${from} to ${to}`);
    assert.match(await text(page, '[data-tab=range] .what'), new RegExp(`^${to - from} us from ${from} us to ${to} us$`));
    const found = await page.locator('[data-tab=range] table.functions tbody tr').evaluateAll((rows) => rows.map((row) =>
      [row.cells[0].textContent, Number(row.cells[1].textContent), Number(row.cells[2].textContent)]));
    const wanted = JSON.parse(profctl('summarize', mcrae, '--from', `${from}us`, '--until', `${to}us`, '--format', 'json')).functions;
    assert.ok(wanted.length > 5);
    const byName = (rows) => rows.toSorted((a, b) => (a[0] < b[0] ? -1 : 1));
    // The profile is in nanoseconds.
    assert.deepEqual(byName(found), byName(wanted.map(({ name, net, elapsed }) => [name, net / 1000, elapsed / 1000])));
    await shot(page, 'range');
    // Measuring: M takes the selected call, and edges attract.
    await page.locator('.picture-canvas').click({ position: { x: 200, y: 60 } });
    const length = (await text(page, '.details')).match(/elapsed(\d+) us/)[1];
    await page.keyboard.press('m');
    await settle(page);
    assert.match(await text(page, '[data-tab=range] .what'), new RegExp(`^${length} us from`));
    const exact = (await hash(page)).range.split('-').map(Number);
    const scale = box.width / 9086;
    await page.keyboard.down('Shift');
    await page.mouse.move(box.x + exact[0] * scale + 3, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + exact[1] * scale - 3, box.y + 60, { steps: 3 });
    await page.mouse.up();
    await page.keyboard.up('Shift');
    await settle(page);
    assert.deepEqual((await hash(page)).range.split('-').map(Number), exact, 'edges of calls attract');
    await page.keyboard.press('Escape');
    await settle(page);
    assert.equal((await hash(page)).range, undefined);
    return faults;
  },

  async 'a range has the states of threads'(browser) {
    const { page, faults } = await open(browser, states, { hash: '#kind=chart&range=0-2000000000' });
    await settle(page);
    const sums = await page.locator('[data-tab=range] table.states tbody tr').evaluateAll((rows) =>
      Object.fromEntries(rows.map((row) => [row.cells[0].textContent, Number(row.cells[1].textContent)])));
    const threads = JSON.parse(profctl('sched', schedTrace, '--format', 'json')).threads.filter(({ tid }) => tid > 0);
    for (const [state, columns] of [['running', ['run']], ['waiting for a CPU', ['runnable']], ['sleeping', ['sleeping']]]) {
      const wanted = threads.reduce((sum, thread) => sum + columns.reduce((sum, name) => sum + thread[name], 0), 0) / 1000;
      assert.ok(Math.abs(sums[state] - wanted) < 1, `${state}: ${sums[state]}, sched says ${wanted}`);
    }
    return faults;
  },

  async 'matches are counted, and ticks show where they are'(browser) {
    const { page, faults } = await open(browser, chart);
    const ink = () => pathInk(page, '.minimap', 9);
    assert.equal(await ink(), 0);
    await page.keyboard.press('/');
    await page.keyboard.type('^in_cksum$');
    await settle(page);
    const place = async () => (await text(page, '.result')).split(': ')[0];
    await page.keyboard.press('Enter');
    assert.equal(await place(), '1 of 8');
    assert.ok(await ink() > 4, 'ticks on the overview');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    assert.equal(await place(), '3 of 8');
    await page.keyboard.press('Shift+Enter');
    assert.equal(await place(), '2 of 8');
    await page.locator('.picture-canvas').focus();
    await page.keyboard.press('n');
    assert.equal(await place(), '3 of 8');
    return faults;
  },

  async 'a function between its callers and callees'(browser) {
    const { page, faults } = await open(browser, graph, { hash: '#kind=sandwich&func=splnet' });
    await settle(page);
    const boxes = await page.evaluate(() => globalThis.profctl.boxes());
    const middle = boxes.find(({ label, above }) => label === 'splnet' && above < 0);
    const functions = JSON.parse(profctl('summarize', mcrae, '--format', 'json')).functions;
    assert.equal(middle.width * 1000, functions.find(({ name }) => name === 'splnet').elapsed);
    const tree = JSON.parse(profctl('tree', mcrae, '--callers', 'splnet', '--format', 'json')).rows;
    const wanted = tree.filter(({ depth }) => depth === 1).map(({ name, elapsed }) => [name.trim(), elapsed / 1000]);
    const callers = boxes.filter(({ row, above }) => row === middle.row - 1 && above >= 0).map(({ label, width }) => [label, width]);
    const byName = (rows) => rows.toSorted((a, b) => (a[0] < b[0] ? -1 : 1));
    assert.ok(callers.length > 1);
    assert.deepEqual(byName(callers), byName(wanted));
    // Up goes to a caller, and back down to the function.
    await page.locator('.picture-canvas').focus();
    await page.keyboard.press('ArrowUp');
    assert.match(await text(page, '.details'), /^splnet all its calls/);
    await page.keyboard.press('ArrowUp');
    assert.match(await text(page, '.details'), / caller/);
    await page.keyboard.press('ArrowDown');
    assert.match(await text(page, '.details'), /^splnet all its calls/);
    await shot(page, 'callers-and-callees');
    // F on a box of the flame graph, and back.
    await page.keyboard.press('g');
    await page.locator('.picture-canvas').click({ position: { x: 60, y: 64 } });
    await settle(page);
    const title = await text(page, '.details strong');
    await page.keyboard.press('f');
    await settle(page);
    assert.equal((await hash(page)).func, title);
    await page.goBack();
    await settle(page);
    assert.equal((await hash(page)).kind, 'graph');
    return faults;
  },

  async 'the call tree has the times of tree'(browser) {
    const { page, faults } = await open(browser, graph);
    await settle(page);
    const rows = JSON.parse(profctl('tree', mcrae, '--format', 'json')).rows;
    await page.locator('.tabs button', { hasText: 'Call tree' }).click();
    for (let open; (open = page.locator('[data-tab=tree] tr[aria-expanded=false] .open').first()) && await open.count();) await open.click();
    const found = await page.locator('[data-tab=tree] tbody tr').evaluateAll((rows) => rows.map((row) => [
      Number(row.getAttribute('aria-level')) - 1, row.querySelector('.pick').textContent, Number(row.cells[2].textContent),
      Number(row.cells[3].textContent), Number(row.cells[4].textContent)]));
    const plain = (list) => list.map((row) => row.join(' ')).toSorted();
    assert.deepEqual(plain(found), plain(rows.map(({ depth, name, elapsed, net, calls }) => [depth, name.trim(), elapsed / 1000, net / 1000, calls])));
    await page.locator('[data-tab=tree] .pick', { hasText: /^bcopy$/ }).first().click();
    await settle(page);
    assert.match(await text(page, '.details'), /^bcopy/);
    assert.ok((await hash(page)).from !== undefined, 'the path is zoomed to');
    return faults;
  },

  async 'focus, merge and fold recursion keep the sums'(browser) {
    const { page, faults } = await open(browser, recursive, { hash: '#kind=graph' });
    await settle(page);
    const state = () => page.evaluate(() => {
      const boxes = globalThis.profctl.boxes();
      return { total: boxes[0].width, labels: boxes.map(({ label }) => label).toSorted() };
    });
    const before = await state();
    assert.equal(before.labels.filter((label) => label === 'walk').length, 3);
    await page.locator('button', { hasText: 'Fold recursion' }).click();
    const folded = await state();
    assert.equal(folded.labels.filter((label) => label === 'walk').length, 1, 'recursion is one box');
    assert.equal(folded.total, before.total);
    const deep = await open(browser, graph, { hash: '#kind=graph' });
    await settle(deep.page);
    const all = JSON.parse(profctl('summarize', mcrae, '--format', 'json')).functions;
    const elapsed = (name) => all.find((one) => one.name === name).elapsed / 1000;
    const select = async (name) => {
      await deep.page.fill('.find input', `^${name}$`);
      await settle(deep.page);
      await deep.page.locator('.find input').press('Enter');
    };
    await select('tcp_input');
    await deep.page.locator('.actions button', { hasText: 'Merge' }).click();
    await settle(deep.page);
    const merged = await deep.page.evaluate(() => globalThis.profctl.boxes());
    assert.ok(!merged.some(({ label }) => label === 'tcp_input'));
    assert.equal(merged.find(({ label }) => label === 'ipintr').width, elapsed('ipintr'), 'callers keep the time');
    await select('ipintr');
    await deep.page.locator('.actions button', { hasText: 'Focus' }).click();
    await settle(deep.page);
    const focused = await deep.page.evaluate(() => globalThis.profctl.boxes());
    assert.equal(focused[0].width, elapsed('ipintr'));
    assert.equal(await deep.page.evaluate(() => new URLSearchParams(location.hash.slice(1)).getAll('do').join()), 'merge:tcp_input,focus:ipintr');
    await deep.page.reload();
    await deep.page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
    assert.equal((await deep.page.evaluate(() => globalThis.profctl.boxes()))[0].width, elapsed('ipintr'), 'steps are in the address');
    await deep.page.goBack();
    await settle(deep.page);
    assert.ok((await deep.page.evaluate(() => globalThis.profctl.boxes()))[0].width > elapsed('ipintr'), 'back reverses the focus');
    await deep.page.locator('.steps button', { hasText: 'tcp_input' }).click();
    await settle(deep.page);
    assert.ok((await deep.page.evaluate(() => globalThis.profctl.boxes())).some(({ label }) => label === 'tcp_input'));
    return [...faults, ...deep.faults];
  },

  async 'back and forward go through zooms and pictures'(browser) {
    const { page, faults } = await open(browser, chart);
    await page.locator('.picture-canvas').click({ position: { x: 300, y: 64 } });
    await page.keyboard.press('Enter');
    await settle(page);
    const zoomed = await hash(page);
    assert.ok(zoomed.from !== undefined);
    await page.keyboard.press('g');
    await settle(page);
    await page.goBack();
    await settle(page);
    assert.deepEqual(await hash(page), zoomed);
    await page.goBack();
    await settle(page);
    assert.equal((await hash(page)).from, undefined, 'back to everything');
    await page.goForward();
    await settle(page);
    assert.deepEqual(await hash(page), zoomed);
    return faults;
  },

  async 'WASD move the picture wherever the focus is'(browser) {
    const { page, faults } = await open(browser, chart);
    await page.locator('.tabs button').first().focus();
    const window = async () => {
      await settle(page);
      const { from, to } = await hash(page);
      return [Number(from), Number(to)];
    };
    await page.keyboard.press('w');
    await page.keyboard.press('w');
    const near = await window();
    await page.keyboard.press('d');
    const right = await window();
    assert.ok(right[0] > near[0]);
    await page.keyboard.press('a');
    assert.ok(Math.abs((await window())[0] - near[0]) < 1);
    await page.keyboard.press('s');
    const far = await window();
    assert.ok(far[1] - far[0] > near[1] - near[0]);
    return faults;
  },

  async 'lanes fold, hide, move and stay'(browser) {
    const { page, faults } = await open(browser, states);
    const names = () => page.locator('.lane-name .fold').evaluateAll((all) => all
      .map((one) => [one.getBoundingClientRect().top, one.textContent]).toSorted((a, b) => a[0] - b[0]).map(([, text]) => text));
    const lane = (name) => page.locator('.lane-name', { has: page.locator('.fold', { hasText: name }) });
    await settle(page);
    const first = await names();
    assert.ok(first.length > 5, first.join());
    const tall = (await lane(first[3]).boundingBox()).height;
    await lane(first[3]).locator('.fold').click();
    await settle(page);
    assert.ok((await lane(first[3]).boundingBox()).height < tall, 'folded');
    const press = async (name, what) => {
      await lane(name).hover();
      await lane(name).locator(`.tools button[title="${what}"]`).click();
      await settle(page);
    };
    await press(first[4], 'move up');
    assert.equal((await names())[3], first[4]);
    await press(first[1], 'hide');
    assert.ok(!(await names()).includes(first[1]));
    await page.locator('.hidden-lanes', { hasText: 'show 1 hidden' }).click();
    await settle(page);
    assert.ok((await names()).includes(first[1]));
    await press(first[4], 'pin on top');
    assert.equal((await names())[0], first[4]);
    const box = await page.locator('.picture-canvas').boundingBox();
    await page.mouse.move(box.x + 300, box.y + 300);
    await page.mouse.wheel(0, 400);
    await settle(page);
    assert.equal((await names())[0], first[4], 'pinned lanes stay');
    // The name of the lane at the upper edge stays in sight.
    const tops = await page.locator('.lane-name .fold').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
    assert.ok(Math.min(...tops) >= box.y, 'no name is scrolled away');
    await shot(page, 'lanes');
    // The address restores lanes, and wrong numbers in it do nothing.
    await page.mouse.wheel(0, -400);
    await settle(page);
    await press(first[2], 'hide');
    const places = (page) => page.locator('.lane-name').evaluateAll((all) => all.map((one) => {
      const { top, height } = one.getBoundingClientRect();
      return [one.textContent, top, height];
    }).toSorted((a, b) => a[1] - b[1]));
    await page.mouse.move(5, 5);
    await settle(page);
    const wanted = await places(page);
    const address = new URL(page.url()).hash;
    const again = await open(browser, states, { hash: address });
    await settle(again.page);
    const found = await places(again.page);
    assert.deepEqual(found, wanted);
    assert.equal(new URL(again.page.url()).hash, address);
    const wrong = await open(browser, states, { hash: '#kind=chart&folded=&order=9999,-1,x,1&hidden=7000-9000&pinned=--' });
    await settle(wrong.page);
    assert.equal(await wrong.page.locator('.hidden-lanes').isVisible(), false);
    return [...faults, ...again.faults, ...wrong.faults];
  },

  async 'the tip says what is under the pointer, follows it and stays in the window'(browser) {
    const { page, faults } = await open(browser, chart);
    const box = await page.locator('.picture-canvas').boundingBox();
    const size = page.viewportSize();
    const tip = page.locator('.tip');
    let before = null;
    for (const [x, y] of [[300, 45], [340, 45], [box.width - 4, 45], [2, 45]]) {
      await page.mouse.move(box.x + x, box.y + y);
      assert.ok(await tip.isVisible(), `a tip at ${x}, ${y}`);
      const at = await tip.boundingBox();
      assert.ok(at.x >= 0 && at.y >= 0 && at.x + at.width <= size.width && at.y + at.height <= size.height, 'within the window');
      const [px, py] = [box.x + x, box.y + y];
      assert.ok(px < at.x || px > at.x + at.width || py < at.y || py > at.y + at.height, 'not below the pointer');
      if (before && x === 340) assert.equal(Math.round(at.x - before.x), 40, 'follows');
      before = at;
    }
    // What it says is what a click selects.
    for (const x of [300, 500, 700]) {
      await page.mouse.move(box.x + x, box.y + 62);
      if (!(await tip.isVisible())) continue;
      const said = await tip.textContent();
      await page.mouse.click(box.x + x, box.y + 62);
      assert.ok((await text(page, '.details')).startsWith(said.slice(0, 20)), said);
    }
    // Under a pointer that rests, the picture moves and the tip changes.
    await page.mouse.move(box.x + 300, box.y + 62);
    const resting = await tip.textContent();
    const now = async () => (await tip.isVisible() ? tip.textContent() : '');
    for (let i = 0; i < 4; i++) await page.keyboard.press('w');
    for (let i = 0; i < 60 && (await now()) === resting; i++) {
      await page.keyboard.press('d');
      await page.waitForTimeout(30);
    }
    assert.notEqual(await now(), resting);
    await page.mouse.move(box.x + 300, box.y - 30);
    await settle(page);
    assert.ok(!(await tip.isVisible()), 'gone with the pointer');
    return faults;
  },

  async 'a small window is half picture, a page one window high'(browser) {
    const faults = [];
    for (const [width, height] of [[1400, 900], [800, 600], [390, 800]]) {
      const opened = await open(browser, chart, { width, height });
      const size = await opened.page.locator('.stage').boundingBox();
      assert.ok(size.height >= height / 2, `${width} x ${height}: picture of ${size.height}`);
      assert.ok(await opened.page.locator('.lane-name .fold', { hasText: 'all' }).isVisible(), 'lanes have names');
      const tall = await opened.page.evaluate(() => [document.documentElement.scrollHeight, document.documentElement.scrollWidth]);
      assert.deepEqual(tall, [height, width], 'nothing to scroll');
      faults.push(...opened.faults);
    }
    return faults;
  },

  async 'the critical path is in view'(browser) {
    const { page, faults } = await open(browser, criticalPath);
    await settle(page);
    const ink = await pathInk(page, '.picture-canvas', 900);
    assert.ok(ink > 500, `${ink} pixels of the path`);
    await shot(page, 'critical-path-opened');
    return faults;
  },

  async 'dark, light and paper'(browser) {
    const dark = await open(browser, chart, { dark: true });
    const background = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    assert.equal(await background(dark.page), 'rgb(19, 20, 21)');
    await shot(dark.page, 'chart-dark');
    await dark.page.keyboard.press('t');
    assert.equal(await background(dark.page), 'rgb(252, 253, 254)');
    await dark.page.keyboard.press('t');
    await dark.page.emulateMedia({ media: 'print' });
    assert.equal(await background(dark.page), 'rgb(252, 253, 254)', 'paper is white');
    assert.ok(!(await dark.page.locator('.bar').first().isVisible()), 'no controls in print');
    assert.ok((await dark.page.locator('.stage').boundingBox()).height > 400, 'the picture is on paper');
    const pdf = await dark.page.pdf();
    assert.ok(pdf.length > 10_000);
    writeFileSync(join(folder, 'chart.pdf'), pdf);
    return dark.faults;
  },

  async 'a report sorts, filters and shows lengths'(browser) {
    const { page, faults } = await open(browser, report);
    const column = (n) => page.locator('#table-1 tbody tr:visible').evaluateAll(
      (rows, n) => rows.map((row) => row.cells[n].textContent), n);
    const heading = (name) => page.locator('#table-1 thead th', { hasText: new RegExp(`^${name}$`) });
    assert.equal(await heading('Net').getAttribute('aria-sort'), 'descending');
    await heading('Elapsed').locator('button').click();
    const elapsed = (await column(2)).map(Number);
    assert.deepEqual(elapsed, elapsed.toSorted((a, b) => b - a));
    assert.equal(await heading('Elapsed').getAttribute('aria-sort'), 'descending');
    assert.equal(await heading('Net').getAttribute('aria-sort'), 'none');
    await heading('name').locator('button').press('Enter');
    const names = await column(0);
    assert.deepEqual(names, names.toSorted());
    await page.fill('input[data-filters="table-1"]', '^spl');
    assert.ok((await column(0)).every((name) => name.startsWith('spl')));
    assert.equal(await text(page, 'output[data-of="table-1"]'), '4 of 26 rows');
    await page.fill('input[data-filters="table-1"]', '');
    await page.locator('button.pick', { hasText: /^bcopy$/ }).click();
    assert.equal(await page.locator('#histogram select').first().evaluate((select) => select.selectedOptions[0].textContent), 'bcopy');
    const calls = await page.locator('#histogram tbody tr').evaluateAll((rows) => rows.map((row) => Number(row.cells[1].textContent)));
    assert.equal(calls.reduce((a, b) => a + b), 2, 'bcopy was called twice');
    await shot(page, 'report', { fullPage: true });
    return faults;
  },

  async 'a comparison tells verdict, changes and widths'(browser) {
    const { page, faults } = await open(browser, difference);
    assert.match(await text(page, '.verdict strong'), /^(pass|regressed|inconclusive)$/);
    const heading = (name) => page.locator('section', { has: page.locator('h2', { hasText: name }) });
    assert.match(await heading('Largest changes').locator('svg.plot').textContent(), /lapic_next_event \(net\)/);
    assert.equal(await heading('no longer than a time').locator('svg.plot').count(), 6, 'distributions of six functions');
    assert.ok(await page.locator('#histogram rect.before').count() > 0, 'lengths before');
    assert.ok(await page.locator('#histogram rect.after').count() > 0, 'lengths after');
    await page.locator('.picture-canvas').click({ position: { x: 300, y: 54 } });
    const said = await text(page, '.details');
    for (const term of ['before', 'after', 'absolute', 'relative', 'share', 'verdict']) {
      assert.ok(said.includes(term), `${term} in ${said}`);
    }
    await shot(page, 'comparison', { fullPage: true });
    await page.locator('select[aria-label="what widths show"]').selectOption('before');
    await settle(page);
    assert.equal((await hash(page)).side, 'before');
    await shot(page, 'comparison-dark');
    return faults;
  },

  async 'saved profiles are compared as far as they go'(browser) {
    const { page, faults } = await open(browser, saved);
    assert.equal(await text(page, '.verdict strong'), 'regressed');
    assert.equal(await page.locator('.verdict li').count(), 3, 'the three functions that cost most');
    assert.match(await text(page, '.verdict li'), /^schedule: net time of a call 2\.71x, \+301619\.555 us per run$/);
    assert.match(await text(page, '.sentence'), /^A run takes 215% more busy time, most of it in schedule /);
    const runs = page.locator('section', { has: page.locator('h2', { hasText: 'Each run' }) }).locator('svg.plot');
    assert.equal(await runs.first().locator('circle').count(), 11, 'a dot per run');
    const dot = () => runs.first().locator('circle').first().evaluate((dot) => getComputedStyle(dot).fill);
    const light = await dot();
    await page.locator('body').evaluate(() => { document.documentElement.dataset.theme = 'dark'; });
    assert.notEqual(await dot(), light, 'plots follow the color scheme');
    await page.locator('body').evaluate(() => { delete document.documentElement.dataset.theme; });
    assert.match(await text(page, 'main'), /the differential flame graph is omitted/);
    assert.equal(await page.locator('.picture-canvas').count(), 0);
    assert.ok(await page.locator('table.sortable tbody tr').count() > 10);
    await shot(page, 'saved');
    return faults;
  },

  async 'numbers are those of the program'(browser) {
    const { page, faults } = await open(browser, chart);
    const cases = JSON.parse(readFileSync(join(here, 'number-cases.json'), 'utf8'));
    const found = await page.evaluate(
      (cases) => cases.map(([clock, ticks]) => `${globalThis.profctl.length(ticks, clock)} ${clock.label}`), cases);
    assert.deepEqual(found, cases.map(([, , text]) => text));
    return faults;
  },

  async 'names cannot break out, little is not nothing'(browser) {
    const faults = [];
    for (const [name, lines] of Object.entries(STRANGE)) {
      const trace = join(folder, `${name}.txt`);
      writeFileSync(trace, lines);
      for (const kind of ['chart', 'graph']) {
        const opened = await open(browser, write(`${name}-${kind}.html`, 'flame', trace, '--kind', kind));
        const { page } = opened;
        await page.locator('.picture-canvas').focus();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        await page.keyboard.press('g');
        await page.keyboard.press('c');
        await settle(page);
        assert.equal(await page.locator('#trouble').textContent(), '', name);
        await shot(page, `strange-${name}-${kind}`);
        faults.push(...opened.faults);
      }
      const opened = await open(browser, write(`${name}-report.html`, 'report', trace));
      assert.equal(await opened.page.locator('#trouble').textContent(), '', name);
      faults.push(...opened.faults);
    }
    return faults;
  },

  async 'more than a million calls'(browser) {
    const trace = join(folder, 'million.txt');
    const n = await million(trace);
    const began = performance.now();
    const file = write('million.html', 'flame', trace, '--kind', 'chart');
    const took = performance.now() - began;
    const size = statSync(file).size;
    console.log(`  ${n} calls written in ${(took / 1000).toFixed(1)} s by ${program}`);
    figure('size of the file', size / 1e6, 20, 'MB');
    const { page, faults } = await open(browser, file);
    const marks = await page.evaluate(() => Object.fromEntries(
      performance.getEntriesByType('mark').map(({ name, startTime }) => [name, startTime])));
    figure('first picture', marks['profctl:outline'] / 1000, 0.5, 's');
    figure('everything read', marks['profctl:whole'] / 1000, 3, 's');
    const tasks = () => page.evaluate(() => Math.max(0, ...globalThis.longTasks.splice(0)));
    figure('longest task while it is read', await tasks(), 100, 'ms');
    await shot(page, 'million');
    const frames = await page.evaluate(zoomAndPan);
    const sorted = frames.toSorted((a, b) => a - b);
    figure('painting, median', sorted[Math.floor(sorted.length / 2)], 16.7, 'ms');
    figure('painting, 95 of 100', sorted[Math.floor(sorted.length * 0.95)], 16.7, 'ms');
    await shot(page, 'million-zoomed');
    const search = await page.evaluate(async () => {
      const field = document.querySelector('.find input');
      field.value = '^f.*1';
      const began = performance.now();
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', cancelable: true }));
      return performance.now() - began;
    });
    figure('search', search, 100, 'ms');
    assert.match(await text(page, '.result'), /of all$/);
    await shot(page, 'million-search');
    await page.keyboard.press('Escape');
    await tasks();
    await page.locator('button', { hasText: 'Flame graph' }).click();
    await page.waitForFunction(() => location.hash.includes('kind=graph'));
    figure('longest task for the flame graph', await tasks(), 100, 'ms');
    await shot(page, 'million-graph');
    return faults;
  },
};

/** In the browser: zooms in and out and moves about; gives what each frame took to paint. */
async function zoomAndPan() {
  const canvas = document.querySelector('.picture-canvas');
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  const times = [];
  canvas.focus();
  const keys = [...'wwwwwwwwwwwwddddddddssssaaaassssssssdddwwwwwwaaaaaa'];
  for (const key of keys) {
    canvas.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    await frame();
    times.push(Number(canvas.dataset.paintMs));
  }
  return times;
}

function figure(what, value, target, unit) {
  const ratio = value / target;
  console.log(`  ${what}: ${value.toFixed(value < 10 ? 2 : 0)} ${unit}, target ${target} ${unit}, ratio ${ratio.toFixed(2)}`);
  assert.ok(ratio < SLACK, `${what} is ${ratio.toFixed(1)} times its target`);
}

/** Traces that are odd: names made to break out, no call, calls without length, endless depth, cycles. */
const STRANGE = {
  hostile: `# profctl plain 1 unit=us
1 main-1 > "</script><script>alert(1)</script>"
2 main-1 > "<img src=x onerror=alert(2)>"
5 main-1 < "<img src=x onerror=alert(2)>"
9 main-1 < "</script><script>alert(1)</script>"
`,
  instant: '# profctl plain 1 unit=us\n5 main-1 . f 0\n5 main-1 . g 0\n',
  deep: `# profctl plain 1 unit=us\n${Array.from({ length: 3000 }, (_, i) => `${i} main-1 > f`).join('\n')}\n9000 main-1 . g 1\n`,
  cycles: '# profctl plain 1 unit=cycles\n0 main-1 > f\n40 main-1 . g 20\n100 main-1 < f\n',
  kinds: readFileSync(join(root, 'fixtures/plain/every-kind.txt'), 'utf8'),
};

/** A trace of a million calls on four threads, by the same rule every time. */
async function million(file) {
  const out = createWriteStream(file);
  let seed = 1;
  const random = (n) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >>> 8) % n;
  };
  let lines = ['# profctl plain 1 unit=ns'];
  let calls = 0;
  for (let thread = 1; thread <= 4; thread++) {
    const stack = [];
    let now = random(1000);
    for (let made = 0; made < SPANS / 4 || stack.length > 0;) {
      now += 20 + random(400);
      const isFull = stack.length >= 4 + random(16) || made >= SPANS / 4;
      if (stack.length > 0 && (isFull || random(100) < 45)) {
        lines.push(`${now} cpu${thread - 1} worker-${thread} < ${stack.pop()}`);
      } else {
        const name = `f${stack.length * 7 + random(40)}_${random(100) < 3 ? 'slow' : 'step'}`;
        stack.push(name);
        lines.push(`${now} cpu${thread - 1} worker-${thread} > ${name}`);
        made++;
        calls++;
      }
      if (lines.length > 50_000) {
        if (!out.write(`${lines.join('\n')}\n`)) await once(out, 'drain');
        lines = [];
      }
    }
  }
  out.end(`${lines.join('\n')}\n`);
  await once(out, 'finish');
  return calls;
}

const mcrae = 'fixtures/mcrae/trace.txt';
const chart = write('chart.html', 'flame', mcrae, '--kind', 'chart');
const report = write('report.html', 'report', mcrae);
const difference = write('comparison.html', 'report', 'fixtures/function_graph/default-6.1.txt', 'fixtures/function_graph/default-7.3.txt');
const graph = write('graph.html', 'flame', mcrae);
const recursive = write('recursion.html', 'flame', 'fixtures/plain/recursion.txt');
const schedTrace = 'fixtures/sched/fgraph_chain.trace.txt.zst';
const states = write('states.html', 'flame', schedTrace, '--kind', 'chart');
const criticalPath = write('critical-path.html', 'flame', schedTrace, '--kind', 'chart', '--critical-path');
const saved = write('saved.html', 'report', 'fixtures/diff/6.1.170', 'fixtures/diff/6.1.192-slub-debug');
const browser = await launch();
let failed = 0;
const filter = process.argv[3] || '';
for (const [name, test] of Object.entries(tests)) {
  if (!name.includes(filter)) continue;
  const began = performance.now();
  try {
    const faults = await test(browser);
    assert.deepEqual(faults, [], 'no errors, no requests');
    console.log(`ok    ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}\n${error.stack}`);
  }
  await Promise.all(browser.contexts().map((context) => context.close()));
}
await browser.close();
console.log(`pages and screenshots: ${folder}`);
process.exit(failed > 0 ? 1 : 0);
