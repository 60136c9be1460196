//! One order of rows for every run: groups, distinct rows and joined rows come out as they came in,
//! and rows that a sort finds equal stay as they were. Engines are free to choose otherwise, and
//! with threads they choose differently each time.
//!
//! To keep the order of joined rows, the engine holds all rows of the right side. Where rows are
//! only counted and summed afterwards, their order has no effect but on that of the groups, which
//! then come in the order of their keys: the engine may hold the smaller side.

use std::sync::Arc;

use polars::prelude::{
    AggExpr, Expr, LazyFrame, MaintainOrderJoin, PlSmallStr, SortMultipleOptions,
};
use polars_plan::dsl::{BooleanFunction, DslPlan, FunctionExpr};
use polars_plan::frame::OptFlags;

/// The same rows, in an order that depends on the input alone.
pub(crate) fn settled(rows: LazyFrame) -> LazyFrame {
    let mut flags = rows.get_current_optimizations();
    let plan = plan(rows.logical_plan, Order::Kept);
    if joins_tables(&plan) {
        // To share the rows of a table that is joined with itself, the engine would hold them all.
        flags.remove(OptFlags::COMM_SUBPLAN_ELIM);
    }
    LazyFrame::from(plan).with_optimizations(flags)
}

/// What becomes of the order of rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// It is that of the answer, or decides which rows are in it.
    Kept,
    /// It has no effect.
    Free,
}

fn plan(mut plan: DslPlan, order: Order) -> DslPlan {
    match &mut plan {
        // A plan whose types were looked up before keeps what it was made from.
        DslPlan::IR { dsl, .. } => {
            return self::plan(Arc::unwrap_or_clone(Arc::clone(dsl)), order);
        }
        DslPlan::GroupBy { input, keys, aggs, apply: None, maintain_order, .. }
            if joins(input)
                && is_free(keys)
                && is_free(aggs)
                && keys.iter().all(|key| named(key).is_some()) =>
        {
            *maintain_order = false;
            below(input, Order::Free);
            return DslPlan::Sort {
                by_column: keys.iter().filter_map(|key| named(key).map(Expr::Column)).collect(),
                input: Arc::new(plan),
                slice: None,
                sort_options: SortMultipleOptions::new(),
            };
        }
        DslPlan::GroupBy { input, maintain_order, .. } => {
            *maintain_order = true;
            below(input, Order::Kept);
        }
        DslPlan::Distinct { input, options } => {
            options.maintain_order = true;
            below(input, Order::Kept);
        }
        DslPlan::Sort { input, sort_options, .. } => {
            sort_options.maintain_order = true;
            below(input, order);
        }
        DslPlan::Join { input_left, input_right, options, .. } => {
            let kept = &mut Arc::make_mut(options).args.maintain_order;
            if *kept == MaintainOrderJoin::None && order == Order::Kept {
                *kept = MaintainOrderJoin::LeftRight;
            }
            below(input_left, order);
            below(input_right, order);
        }
        DslPlan::Select { input, expr, .. } => below(input, order.through(expr)),
        DslPlan::HStack { input, exprs, .. } => below(input, order.through(exprs)),
        DslPlan::Filter { input, predicate } => {
            below(input, order.through(std::slice::from_ref(predicate)));
        }
        DslPlan::Gather { input, idxs, .. } => {
            below(input, Order::Kept);
            below(idxs, Order::Kept);
        }
        DslPlan::Cache { input, .. }
        | DslPlan::MatchToSchema { input, .. }
        | DslPlan::Slice { input, .. }
        | DslPlan::MapFunction { input, .. }
        | DslPlan::Sink { input, .. } => below(input, Order::Kept),
        DslPlan::ExtContext { input, contexts } => {
            below(input, Order::Kept);
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

impl Order {
    /// Of the rows that these are worked out from.
    fn through(self, expressions: &[Expr]) -> Self {
        if is_free(expressions) { self } else { Self::Kept }
    }
}

/// Whether rows come straight from a table, with conditions and columns worked out at most.
fn is_read(plan: &DslPlan) -> bool {
    match plan {
        DslPlan::Scan { .. } | DslPlan::DataFrameScan { .. } => true,
        DslPlan::IR { dsl, .. } => is_read(dsl),
        DslPlan::Select { input, .. }
        | DslPlan::HStack { input, .. }
        | DslPlan::Filter { input, .. } => is_read(input),
        _ => false,
    }
}

/// Whether rows are joined right below.
fn joins(plan: &DslPlan) -> bool {
    match plan {
        DslPlan::Join { .. } => true,
        DslPlan::IR { dsl, .. } => joins(dsl),
        DslPlan::Select { input, .. }
        | DslPlan::HStack { input, .. }
        | DslPlan::Filter { input, .. } => joins(input),
        _ => false,
    }
}

/// Whether tables are joined as they are, however the rows are used then.
fn joins_tables(plan: &DslPlan) -> bool {
    match plan {
        DslPlan::Join { input_left, input_right, .. } => {
            is_read(input_left) && is_read(input_right)
        }
        DslPlan::IR { dsl, .. } => joins_tables(dsl),
        DslPlan::Select { input, .. }
        | DslPlan::HStack { input, .. }
        | DslPlan::Filter { input, .. }
        | DslPlan::GroupBy { input, .. }
        | DslPlan::Distinct { input, .. }
        | DslPlan::Sort { input, .. }
        | DslPlan::Slice { input, .. } => joins_tables(input),
        _ => false,
    }
}

/// The column that a key becomes.
fn named(key: &Expr) -> Option<PlSmallStr> {
    polars_plan::utils::expr_output_name(key).ok()
}

/// Whether none of them depends on the order of rows. Other functions may.
fn is_free(expressions: &[Expr]) -> bool {
    let is_free = |expression: &Expr| match expression {
        Expr::Alias(..)
        | Expr::Column(_)
        | Expr::Literal(_)
        | Expr::BinaryExpr { .. }
        | Expr::Cast { .. }
        | Expr::Ternary { .. }
        | Expr::Len => true,
        // What SQL makes of sums, NOT and IS NULL.
        Expr::Function { function, .. } => matches!(
            function,
            FunctionExpr::NullCount
                | FunctionExpr::Boolean(
                    BooleanFunction::Not | BooleanFunction::IsNull | BooleanFunction::IsNotNull
                )
        ),
        Expr::Agg(sum) => matches!(
            sum,
            AggExpr::Min { .. }
                | AggExpr::Max { .. }
                | AggExpr::Median(_)
                | AggExpr::NUnique(_)
                | AggExpr::Mean(_)
                | AggExpr::Count { .. }
                | AggExpr::Sum(_)
                | AggExpr::Std(..)
                | AggExpr::Var(..)
        ),
        _ => false,
    };
    expressions.iter().all(|expression| expression.into_iter().all(is_free))
}

fn below(input: &mut Arc<DslPlan>, order: Order) {
    let taken = std::mem::take(input);
    *input = Arc::new(plan(Arc::unwrap_or_clone(taken), order));
}

fn all(inputs: &mut [DslPlan]) {
    for input in inputs {
        *input = plan(std::mem::take(input), Order::Kept);
    }
}
