//! What the engine derives the name of an expression from.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, SelectItem, SetExpr, Visit, VisitMut, Visitor, VisitorMut,
};

/// Returns what the engine derives a name from: equal texts have equal names. With casts, and
/// parentheses, it is what the engine evaluates.
pub(super) fn derived(expr: &Expr, with_casts: bool) -> String {
    derive(expr.clone(), with_casts)
}

/// Returns the same without the tables of the columns in an expression: the engine adds them where
/// they are not written. A column alone keeps its table.
pub(super) fn unqualified(expr: &Expr, with_casts: bool) -> String {
    let mut expr = expr.clone();
    if !matches!(expr, Expr::CompoundIdentifier(_)) {
        let _ = VisitMut::visit(&mut expr, &mut RemoveTables);
    }
    derive(expr, with_casts)
}

fn derive(mut expr: Expr, with_casts: bool) -> String {
    let _ = VisitMut::visit(&mut expr, &mut Derive { with_casts });
    match expr {
        Expr::Nested(inner) => inner.to_string(),
        expr => expr.to_string(),
    }
}

/// Removes the tables of columns.
struct RemoveTables;

impl VisitorMut for RemoveTables {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let column = match expr {
            Expr::CompoundIdentifier(parts) => parts.last().cloned(),
            _ => None,
        };
        if let Some(column) = column {
            *expr = Expr::Identifier(column);
        }
        ControlFlow::Continue(())
    }
}

/// Removes what names do not have.
struct Derive {
    with_casts: bool,
}

impl VisitorMut for Derive {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Cast { expr: inner, .. } | Expr::Nested(inner) if !self.with_casts => {
                *expr = (**inner).clone();
            }
            Expr::Nested(inner) if is_simple(inner) => *expr = (**inner).clone(),
            Expr::Subquery(query) => {
                if let Some(value) = value(query) {
                    *expr = value;
                }
            }
            Expr::Identifier(ident) if ident.quote_style.is_none() => {
                ident.value = ident.value.to_lowercase();
            }
            Expr::Function(function) => {
                let name = function.name.to_string().to_lowercase();
                function.name = vec![Ident::new(name)].into();
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Returns whether an expression needs no parentheses.
fn is_simple(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::Function(_)
            | Expr::Nested(_)
            | Expr::Value(_)
    )
}

/// Returns what a query of one value is named by: its expression, with the tables of its columns.
fn value(query: &Query) -> Option<Expr> {
    let SetExpr::Select(select) = &*query.body else { return None };
    let name = match &select.projection[..] {
        [SelectItem::UnnamedExpr(expr)] if expr.visit(&mut Columns).is_break() => {
            let tables: Vec<String> = select.from.iter().map(ToString::to_string).collect();
            format!("{expr} of {}", tables.join(", "))
        }
        [SelectItem::UnnamedExpr(expr)] => expr.to_string(),
        [SelectItem::ExprWithAlias { alias, .. }] => alias.to_string(),
        _ => return None,
    };
    Some(Expr::Identifier(Ident::new(name)))
}

/// Ends at a column.
struct Columns;

impl Visitor for Columns {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}
