// Begins as soon as the outline of the data is there; the rest is taken as it is read.

async function main() {
  if (typeof DecompressionStream === 'undefined') {
    document.getElementById('trouble').textContent = 'This browser is too old to unpack the data of this page.';
    return;
  }
  recallTheme();
  const page = await jsonBlock('data-page');
  const host = document.getElementById('picture');
  const picture = host && page ? startPicture(host, page) : null;
  const loaded = document.readyState === 'loading'
    ? new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve))
    : Promise.resolve();
  const chartOf = async (calls, moments) => inSlices(chartModel(page, await inSlices(decodeCalls(calls)), moments));
  if (picture) {
    const overview = await columnBlock('data-overview');
    if (overview) await picture.take('chart', await chartOf(overview, null));
    performance.mark('profctl:outline');
    await loaded;
    for (const name of ['diff', 'graph']) {
      const block = await columnBlock(`data-${name}`);
      if (block) await picture.take(name, block);
    }
    const calls = await columnBlock('data-calls');
    if (calls) await picture.take('chart', await chartOf(calls, await columnBlock('data-moments')), true);
  }
  await loaded;
  startTables();
  const histograms = await jsonBlock('data-histograms');
  const place = document.getElementById('histogram');
  const histogram = histograms && place ? startHistogram(place, histograms, histograms.clock) : null;
  for (const button of document.querySelectorAll('button.pick')) {
    button.addEventListener('click', () => {
      if (histogram) histogram.choose(button.textContent);
      if (picture) picture.search(button.textContent);
    });
  }
  globalThis.profctl.boxes = () => picture.boxes();
  performance.mark('profctl:whole');
  document.documentElement.dataset.ready = 'true';
}

main().catch((error) => {
  document.getElementById('trouble').textContent = `The page cannot be shown: ${error.message}`;
  throw error;
});

// For tests and extensions of the page.
globalThis.profctl = { length, percent };
