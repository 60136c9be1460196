//! Tests of the tests: against R, against what must hold, and against noise.

#![allow(clippy::float_cmp, reason = "the numbers compared are exact, or the same ones")]

mod alarms;
mod checks;
mod golden;
mod parts;
mod single;
