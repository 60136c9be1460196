// A headless Chromium, and pages in it that may do nothing but show what is in their file.

import { accessSync, constants } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

/** Where Chromium is: `$CHROMIUM`, or where distributions put it. */
function executable() {
  const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  for (const place of places.filter(Boolean)) {
    try {
      accessSync(place, constants.X_OK);
      return place;
    } catch {
      // The next one, then.
    }
  }
  throw new Error(`no Chromium at ${places.filter(Boolean).join(', ')}: install it, or set CHROMIUM`);
}

export async function launch() {
  return chromium.launch({ executablePath: executable(), args: FLAGS });
}

/** Opens `file`; gives the page, and a list of whatever it did that it may not do. */
export async function open(browser, file, { hash = '', dark = false, width = 1400, height = 900 } = {}) {
  const context = await browser.newContext({
    viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  const address = pathToFileURL(file).href;
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(address) && !url.startsWith('blob:')) faults.push(`request: ${url}`);
  });
  // How long tasks took that took more than 50 ms.
  await page.addInitScript(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => {
      for (const task of list.getEntries()) globalThis.longTasks.push(task.duration);
    }).observe({ type: 'longtask', buffered: true });
  });
  await page.goto(address + hash);
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true', null, { timeout: 90_000 });
  return { page, faults };
}
