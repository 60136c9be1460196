// Writes pages and takes pictures of them for a person to look at: `node pictures.mjs [FOLDER]`. Twelve cases,
// each in the light and the dark scheme, at the sizes of a desktop, a small window and a phone.

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, open } from './browser.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = process.argv[2] || join(root, 'target/pictures');
mkdirSync(folder, { recursive: true });
const program = process.env.PROFCTL || join(process.env.CARGO_TARGET_DIR || join(root, 'target'), 'debug/profctl');

const SIZES = { desktop: [1400, 900], small: [800, 600], phone: [390, 844] };
const mcrae = 'fixtures/mcrae/trace.txt';
const states = 'fixtures/sched/fgraph_chain.trace.txt.zst';
const kernels = ['fixtures/function_graph/default-6.1.txt', 'fixtures/function_graph/default-7.3.txt'];
const runs = ['fixtures/diff/6.1.170', 'fixtures/diff/6.1.192-slub-debug'];

/** What is written, and where in it to look. */
const CASES = {
  chart: [['flame', mcrae, '--kind', 'chart']],
  graph: [['flame', mcrae]],
  states: [['flame', states, '--kind', 'chart']],
  'critical-path': [['flame', states, '--kind', 'chart', '--critical-path']],
  range: [['flame', states, '--kind', 'chart'], '#kind=chart&range=200000000-600000000'],
  search: [['flame', states, '--kind', 'chart'], '#kind=chart&q=schedule&sel=300'],
  callers: [['flame', mcrae], '#kind=sandwich&func=splnet'],
  losses: [['flame', 'fixtures/plain/lost-events.txt', '--kind', 'chart']],
  report: [['report', mcrae]],
  comparison: [['report', ...kernels]],
  difference: [['flame', '--diff', ...kernels]],
  runs: [['report', ...runs]],
};

const browser = await launch();
let wrong = 0;
for (const [name, [command, hash]] of Object.entries(CASES)) {
  const file = join(folder, `${name}.html`);
  execFileSync(program, [...command, '-o', file], { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  for (const [size, [width, height]] of Object.entries(SIZES)) {
    for (const dark of [false, true]) {
      const { page, faults } = await open(browser, file, { hash, dark, width, height });
      await page.waitForTimeout(200);
      await page.screenshot({ path: join(folder, `${name}-${size}-${dark ? 'dark' : 'light'}.png`) });
      for (const fault of faults) console.log(`${name}, ${size}: ${fault}`);
      wrong += faults.length;
      await page.context().close();
    }
  }
}
await browser.close();
console.log(`pictures: ${folder}`);
process.exit(wrong > 0 ? 1 : 0);
