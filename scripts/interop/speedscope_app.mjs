// Opens a file in speedscope itself, as `speedscope FILE` does, and writes what its importer made of it in
// speedscope's own format. Fails if the importer warns.
//
// usage: node speedscope_app.mjs SPEEDSCOPE FILE OUT
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from '../e2e/browser.mjs';

const [speedscope, file, out] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'profctl-speedscope-'));
const script = join(folder, 'profile.js');
writeFileSync(script, `speedscope.loadFileFromBase64('trace', '${readFileSync(file).toString('base64')}')`);
const browser = await launch();
const page = await browser.newPage();
const warnings = [];
page.on('console', (message) => {
  // Not of the importer: the driver of the graphics card.
  if (['warning', 'error'].includes(message.type()) && !message.text().startsWith('[.WebGL')) warnings.push(message.text());
});
page.on('pageerror', (error) => warnings.push(error.message));
await page.goto(`${pathToFileURL(join(speedscope, 'dist/release/index.html')).href}#localProfilePath=${script}`);
await page.waitForSelector('text=Export', { timeout: 60_000 });
const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Export')]);
await download.saveAs(out);
await browser.close();
rmSync(folder, { recursive: true });
if (warnings.length > 0) {
  console.error(`${warnings.length} warnings, the first: ${warnings[0]}`);
  process.exit(1);
}
