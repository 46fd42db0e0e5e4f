//! `ORDER BY 2` where the second item calls functions.
//!
//! The engine looks for a column of this name in what is selected from, where an expression over
//! aggregates is none, and another item's alias may be one. So the selected rows become a query of
//! their own, whose columns the ordinals are.

use std::ops::ControlFlow;

use datafusion::error::Result;
use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor,
    Value, Visit, Visitor,
};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Tokenizer;

use crate::sql::DIALECT;

/// Replaces a query with ordinals that need it. If it is sorted by something else, too, their
/// expressions replace these ordinals.
pub(super) fn replace(query: &mut Query) -> Result<()> {
    let SetExpr::Select(select) = &*query.body else { return Ok(()) };
    let Some(order_by) = &mut query.order_by else { return Ok(()) };
    let OrderByKind::Expressions(keys) = &mut order_by.kind else { return Ok(()) };
    let items = &select.projection;
    if keys.iter().all(|key| item(items, &key.expr).is_none()) {
        return Ok(());
    }
    let is_of_items = |key: &OrderByExpr| {
        ordinal(&key.expr).is_some() || items.iter().any(|item| is_name_of(item, &key.expr))
    };
    // The first row of those that DISTINCT ON takes is found by the order.
    let takes_first = matches!(select.distinct, Some(Distinct::On(_)));
    if keys.iter().all(is_of_items) && !joins_by_name(select) && !takes_first {
        return enclose(query);
    }
    for key in keys {
        let expr = item(items, &key.expr);
        if let Some(expr) = expr.filter(|expr| expr.visit(&mut Aliases(items)).is_continue()) {
            key.expr = expr.clone();
        }
    }
    Ok(())
}

/// Makes `SELECT * FROM (query)` of a query, with its order and limits.
fn enclose(query: &mut Query) -> Result<()> {
    let tokens = Tokenizer::new(&DIALECT, "SELECT * FROM (SELECT 1)").tokenize();
    let mut parser = Parser::new(&DIALECT).with_tokens(tokens.map_err(ParserError::from)?);
    let mut outer = *parser.parse_query()?;
    if let SetExpr::Select(select) = &mut *outer.body {
        for table in &mut select.from {
            if let TableFactor::Derived { subquery, .. } = &mut table.relation {
                std::mem::swap(&mut subquery.body, &mut query.body);
            }
        }
    }
    query.body = outer.body;
    Ok(())
}

/// Returns whether tables may be joined by the names of columns, of which `*` has only one. The
/// words may also be in names and texts.
fn joins_by_name(select: &Select) -> bool {
    let from = select.from.iter().map(|table| table.to_string().to_uppercase());
    from.into_iter().any(|from| from.contains("USING") || from.contains("NATURAL"))
}

/// Returns whether an expression is the name of an item.
fn is_name_of(item: &SelectItem, expr: &Expr) -> bool {
    let Expr::Identifier(name) = expr else { return false };
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(column)) => column.value == name.value,
        SelectItem::ExprWithAlias { alias, .. } => alias.value == name.value,
        _ => false,
    }
}

fn ordinal(key: &Expr) -> Option<usize> {
    let Expr::Value(value) = key else { return None };
    let Value::Number(number, _) = &value.value else { return None };
    number.parse().ok()
}

/// Returns the expression of an ordinal that needs to be replaced. With a wildcard before it, its
/// item is unknown.
fn item<'a>(items: &'a [SelectItem], key: &Expr) -> Option<&'a Expr> {
    let place = ordinal(key)?.checked_sub(1)?;
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

/// Ends at a name that is also the alias of an item.
struct Aliases<'a>(&'a [SelectItem]);

impl Visitor for Aliases<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let is_alias = |item: &SelectItem| {
            matches!(item, SelectItem::ExprWithAlias { .. }) && is_name_of(item, expr)
        };
        match self.0.iter().any(is_alias) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
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
