//! A sweep as a document: `profctl.sweep/1`, described in `docs/schemas/sweep-1.md`.

use serde_json::{Value, json};

use super::{Judged, Point, Quantity, Sweep};

/// The document. Times are nanoseconds.
pub fn document(sweep: &Sweep) -> String {
    let value = |value: f64| match sweep.quantity {
        Quantity::Time => json!((value * 1e9).round() as u64),
        Quantity::Count => json!(value),
    };
    let cell = |point: &Point| -> Value {
        let cell = sweep
            .cells
            .iter()
            .find(|cell| (cell.variant, cell.condition) == (point.variant, point.condition));
        let values = cell.iter().flat_map(|cell| &cell.values);
        json!({
            "variant": sweep.variants[point.variant],
            "condition": sweep.conditions[point.condition],
            "runs": point.runs,
            "values": values.map(|one| value(*one)).collect::<Vec<_>>(),
            "mean": value(point.mean),
            "factor": point.factor,
            "ci_low": point.interval.map(|interval| interval.low),
            "ci_high": point.interval.map(|interval| interval.high),
        })
    };
    let claim = |judged: &Judged<'_>| -> Value {
        json!({
            "text": judged.claim.text,
            "variant": sweep.variants[judged.claim.variant],
            "condition": sweep.conditions[judged.claim.condition],
            "factor": judged.claim.factor,
            "tolerance": judged.claim.tolerance,
            "found": judged.found,
            "holds": judged.holds,
        })
    };
    let document = json!({
        "schema": "profctl.sweep/1",
        "title": sweep.title,
        "measure": sweep.measure,
        "unit": match sweep.quantity {
            Quantity::Time => "ns",
            Quantity::Count => "count",
        },
        "reference": sweep.conditions[sweep.reference],
        "variants": sweep.variants,
        "conditions": sweep.conditions,
        "cells": sweep.points().iter().map(cell).collect::<Vec<_>>(),
        "claims": sweep.judged().iter().map(claim).collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}
