// Checks a file by speedscope's own schema, and adds up the frames of its profiles: name, calls and
// net time, with tabs.
//
// usage: NODE_PATH=… node speedscope.js FILE
'use strict';
const fs = require('fs');
const path = require('path');
const Ajv = require('ajv');

const file = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const root = path.dirname(require.resolve('speedscope/package.json'));
const schema = JSON.parse(
  fs.readFileSync(path.join(root, 'dist/release/file-format-schema.json'), 'utf8'));
const ajv = new Ajv({ strict: false });
if (!ajv.validate(schema, file)) {
  console.error(ajv.errorsText());
  process.exit(3);
}
const inNanoseconds = { nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9, none: 1 };
const sums = new Map();
for (const profile of file.profiles) {
  const open = [];
  let now = profile.startValue;
  for (const event of profile.events) {
    if (event.at < now) throw new Error(`time steps back from ${now} to ${event.at}`);
    now = event.at;
    if (event.type === 'O') {
      open.push({ frame: event.frame, since: now, below: 0 });
      continue;
    }
    const call = open.pop();
    if (call === undefined || call.frame !== event.frame) throw new Error(`at ${now}: not nested`);
    const length = now - call.since;
    if (open.length) open[open.length - 1].below += length;
    const name = file.shared.frames[call.frame].name;
    const sum = sums.get(name) ?? { calls: 0, net: 0 };
    sum.calls += 1;
    sum.net += (length - call.below) * inNanoseconds[profile.unit];
    sums.set(name, sum);
  }
  if (open.length) throw new Error(`${open.length} frames are still open at the end`);
}
for (const [name, { calls, net }] of sums) console.log(`${name}\t${calls}\t${Math.round(net)}`);
