// Numbers as the program prints them: a copy of number.rs; a test compares them.

/** `ticks`, a whole number below 2^53, in the unit of the page, without the unit's name. */
function length(ticks, clock) {
  const below = BigInt(clock.below);
  const ten = 10n ** BigInt(clock.decimals);
  const exact = BigInt(Math.round(Math.abs(ticks))) * BigInt(clock.above) * ten;
  const rounded = (2n * exact + below) / (2n * below);
  let digits = (rounded / ten).toString();
  if (clock.decimals > 0) digits += `.${(rounded % ten).toString().padStart(clock.decimals, '0')}`;
  return ticks < 0 ? `-${digits}` : digits;
}

/** Digits of a time in running text; what is finer does not matter beside the whole. */
const DIGITS = 7;

/** `ticks` in the unit of the page, with as many decimals as matter. */
function rounded(ticks, clock) {
  const whole = Math.floor(Math.abs(ticks) * (Number(clock.above) / Number(clock.below)));
  const room = Math.max(DIGITS - (whole > 0 ? String(whole).length : 0), 0);
  return length(ticks, { ...clock, decimals: Math.min(clock.decimals, room) });
}

/** The same followed by the name of the unit, as in running text. */
function lengthWithUnit(ticks, clock) {
  return `${rounded(ticks, clock)} ${clock.label}`;
}

/** A difference of lengths, with its sign and unit. */
function change(ticks, clock) {
  return `${ticks > 0 ? '+' : ''}${lengthWithUnit(ticks, clock)}`;
}

/** A share with two decimals and its sign. */
function percent(share) {
  return `${share.toFixed(2)}%`;
}

/** A part of a whole, as a share; nothing is no share of nothing. */
function share(part, whole) {
  return whole > 0 ? percent((part / whole) * 100) : '-';
}

/** A number of things, with the noun in the form that goes with it. */
function count(n, one, many) {
  return `${n} ${n === 1 ? one : many}`;
}

/** Marks for an axis from `from` to `to` (ticks), at most one in `least` ticks. */
function axisMarks(from, to, least, clock) {
  const nanosPerTick = clock.isTime ? clock.nanosPerTick : 1;
  const wanted = Math.max(least * nanosPerTick, Number.MIN_VALUE);
  let step = 10 ** Math.floor(Math.log10(wanted));
  while (step < wanted) step *= step * 2 >= wanted ? 2 : step * 5 >= wanted ? 5 : 10;
  step = Math.max(step, 1e-6);
  const unit = (clock.isTime && { s: 1e9, ms: 1e6, us: 1e3 }[clock.label]) || 1;
  const digits = step >= unit ? 0 : Math.min(9, Math.ceil(-Math.log10(step / unit)));
  const marks = [];
  const first = Math.ceil((from * nanosPerTick) / step);
  const last = Math.floor((to * nanosPerTick) / step);
  for (let k = first; k <= last && marks.length < 200; k++) {
    marks.push({ at: (k * step) / nanosPerTick, text: `${((k * step) / unit).toFixed(digits)} ${clock.label}` });
  }
  return marks;
}
