//! `ORDER BY 2` as the expression of the second item.
//!
//! The engine looks for a column of this name, which an expression over aggregates does not become
//! before it is sorted.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, OrderByKind, Query, SelectItem, SetExpr, Value, Visit, Visitor,
};

/// Replaces the ordinals of expressions that need it.
pub(super) fn replace(query: &mut Query) {
    let SetExpr::Select(select) = &*query.body else { return };
    let Some(order_by) = &mut query.order_by else { return };
    let OrderByKind::Expressions(keys) = &mut order_by.kind else { return };
    for key in keys {
        if let Some(expr) = item(&select.projection, &key.expr) {
            key.expr = expr.clone();
        }
    }
}

/// Returns the expression of an ordinal. With a wildcard before it, its item is unknown.
fn item<'a>(items: &'a [SelectItem], key: &Expr) -> Option<&'a Expr> {
    let Expr::Value(value) = key else { return None };
    let Value::Number(number, _) = &value.value else { return None };
    let place = number.parse::<usize>().ok()?.checked_sub(1)?;
    let is_one = |item: &SelectItem| {
        matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
    };
    match items.get(place)? {
        SelectItem::UnnamedExpr(expr) if items[..place].iter().all(is_one) => {
            (expr.visit(&mut Calls).is_break() && expr.visit(&mut Others).is_continue())
                .then_some(expr)
        }
        _ => None,
    }
}

/// Ends at a call of a function.
struct Calls;

impl Visitor for Calls {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Ends at what is not evaluated twice: a query, or a function of a window.
struct Others;

impl Visitor for Others {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) if function.over.is_some() => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}
