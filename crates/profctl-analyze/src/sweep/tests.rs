//! Factors, intervals and claims of sweeps made by hand.

use expect_test::expect;

use super::*;
use crate::testing::show;

fn sweep(cells: &[(usize, usize, &[f64])], claims: &[(f64, f64)]) -> Sweep {
    let claim = |(n, (factor, tolerance)): (usize, &(f64, f64))| Claim {
        text: format!("claim {n}"),
        variant: 0,
        condition: 1,
        factor: *factor,
        tolerance: *tolerance,
    };
    Sweep {
        title: "I/O".into(),
        measure: "real".into(),
        quantity: Quantity::Time,
        reference: 0,
        variants: vec!["100 ms".into(), "18 ms".into()],
        conditions: vec!["idle".into(), "loaded".into()],
        cells: cells
            .iter()
            .map(|(variant, condition, values)| Measured {
                variant: *variant,
                condition: *condition,
                values: values.to_vec(),
            })
            .collect(),
        claims: claims.iter().enumerate().map(claim).collect(),
    }
}

#[test]
fn factors_are_of_the_same_variant() {
    let cells: [(usize, usize, &[f64]); 4] =
        [(1, 0, &[16.0]), (0, 1, &[85.0]), (0, 0, &[15.0]), (1, 1, &[30.0])];
    let sweep = sweep(&cells, &[(5.67, 0.01), (1.5, 0.05)]);
    expect![[r#"
        variant|condition|runs|mean|factor|ci_low|ci_high
        100 ms|idle|1|15000000000|-|-|-
        100 ms|loaded|1|85000000000|5.67x|-|-
        18 ms|idle|1|16000000000|-|-|-
        18 ms|loaded|1|30000000000|1.88x|-|-
        # I/O: factors of `idle`
        # no intervals: they need two runs of both conditions
        # holds: claim 0 (factor 5.667)
        # does not hold: claim 1 (factor 5.667, claimed 1.500)
    "#]]
    .assert_eq(&show(&sweep.table()));
}

#[test]
fn repeats_give_intervals_and_nothing_gives_none() {
    let cells: [(usize, usize, &[f64]); 3] =
        [(0, 0, &[10.0, 10.2]), (0, 1, &[20.0, 20.4, 20.2]), (1, 1, &[3.0])];
    let sweep = sweep(&cells, &[]);
    let points = sweep.points();
    let interval = points[1].interval.unwrap();
    assert!(interval.low < 2.0 && 2.0 < interval.high, "{interval:?}");
    assert_eq!(points[1].factor, Some(interval.ratio));
    assert_eq!((points[2].factor, points[2].interval), (None, None), "no reference");
}

#[test]
fn the_document_is_as_described() {
    let page = include_str!("../../../../docs/schemas/sweep-1.md");
    let sweep = sweep(&[(0, 0, &[1.0]), (0, 1, &[2.0])], &[(2.0, 0.1)]);
    let json = serde_json::from_str(&document(&sweep)).unwrap();
    let parts = [("cells", "## `cells[]`"), ("claims", "## `claims[]`")];
    crate::schemas::check_document(&json, page, &parts);
}
