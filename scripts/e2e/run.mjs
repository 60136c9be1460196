// Writes pages with profctl and tests them as a user would. `node run.mjs [FOLDER]`: pages and screenshots
// go to FOLDER, or to a temporary one. Figures are printed beside their targets; a machine for tests
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
const SPANS = 1_000_000;

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
    assert.match(await text(page, '.result'), /^2 functions, 10 calls, /);
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
    await page.locator('.picture-canvas').click({ position: { x: 900, y: 90 } });
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
    await page.mouse.move(box.x + 400, box.y + 70);
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
    assert.ok(await page.locator('#histogram rect.before').count() > 0, 'lengths before');
    assert.ok(await page.locator('#histogram rect.after').count() > 0, 'lengths after');
    await page.locator('.picture-canvas').click({ position: { x: 300, y: 24 } });
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

  async 'a million calls'(browser) {
    const trace = join(folder, 'million.txt');
    const n = await million(trace);
    const began = performance.now();
    const file = write('million.html', 'flame', trace, '--kind', 'chart');
    const took = performance.now() - began;
    const size = statSync(file).size;
    console.log(`  ${n} calls written in ${(took / 1000).toFixed(1)} s by ${program}`);
    figure('size of the file', size / 1e6, 15, 'MB');
    assert.ok(size < 15e6, 'less than 15 MB');
    const { page, faults } = await open(browser, file);
    const marks = await page.evaluate(() => Object.fromEntries(
      performance.getEntriesByType('mark').map(({ name, startTime }) => [name, startTime])));
    figure('first picture', marks['profctl:outline'] / 1000, 1, 's');
    figure('everything read', marks['profctl:whole'] / 1000, 2, 's');
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
const saved = write('saved.html', 'report', 'fixtures/diff/6.1.170', 'fixtures/diff/6.1.192-slub-debug');
const browser = await launch();
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
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
