//! One order of rows for every run: groups, distinct rows and joined rows come out as they came in,
//! and rows that a sort finds equal stay as they were. Engines are free to choose otherwise, and
//! with threads they choose differently each time.

use std::sync::Arc;

use polars::prelude::{LazyFrame, MaintainOrderJoin};
use polars_plan::dsl::DslPlan;

/// The same rows, in an order that depends on the input alone.
pub(crate) fn settled(rows: LazyFrame) -> LazyFrame {
    plan(rows.logical_plan).into()
}

fn plan(mut plan: DslPlan) -> DslPlan {
    match &mut plan {
        // A plan whose types were looked up before keeps what it was made from.
        DslPlan::IR { dsl, .. } => return self::plan(Arc::unwrap_or_clone(Arc::clone(dsl))),
        DslPlan::GroupBy { input, maintain_order, .. } => {
            *maintain_order = true;
            below(input);
        }
        DslPlan::Distinct { input, options } => {
            options.maintain_order = true;
            below(input);
        }
        DslPlan::Sort { input, sort_options, .. } => {
            sort_options.maintain_order = true;
            below(input);
        }
        DslPlan::Join { input_left, input_right, options, .. } => {
            let order = &mut Arc::make_mut(options).args.maintain_order;
            if *order == MaintainOrderJoin::None {
                *order = MaintainOrderJoin::LeftRight;
            }
            below(input_left);
            below(input_right);
        }
        DslPlan::Gather { input, idxs, .. } => {
            below(input);
            below(idxs);
        }
        DslPlan::Filter { input, .. }
        | DslPlan::Cache { input, .. }
        | DslPlan::Select { input, .. }
        | DslPlan::HStack { input, .. }
        | DslPlan::MatchToSchema { input, .. }
        | DslPlan::Slice { input, .. }
        | DslPlan::MapFunction { input, .. }
        | DslPlan::Sink { input, .. } => below(input),
        DslPlan::ExtContext { input, contexts } => {
            below(input);
            all(contexts);
        }
        DslPlan::Union { inputs, .. }
        | DslPlan::HConcat { inputs, .. }
        | DslPlan::SinkMultiple { inputs } => all(inputs),
        // Sources, and what SQL does not make.
        _ => {}
    }
    plan
}

fn below(input: &mut Arc<DslPlan>) {
    let taken = std::mem::take(input);
    *input = Arc::new(plan(Arc::unwrap_or_clone(taken)));
}

fn all(inputs: &mut [DslPlan]) {
    for input in inputs {
        *input = plan(std::mem::take(input));
    }
}
