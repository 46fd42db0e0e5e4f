//! Columns behind aliases of the same name in `ORDER BY`.
//!
//! In `SELECT name, sum(dur) AS dur … ORDER BY sum(dur)`, the engine takes `dur` for the alias;
//! SQLite takes names in expressions for columns. Such an alias gets another name, which the result
//! does not show. That is possible for the outermost query only. Where rows are grouped, columns
//! are used in aggregates only, and other names are those of aliases.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, Value, Visit,
    Visitor,
};

/// The end of an alias that results show without it.
pub(in crate::sql) const MARK: char = '\u{e000}';

/// Renames the aliases of a query that hide columns by which it is sorted.
pub(super) fn rename(query: &mut Query) {
    let SetExpr::Select(select) = &mut *query.body else { return };
    let Some(order_by) = &mut query.order_by else { return };
    let OrderByKind::Expressions(keys) = &mut order_by.kind else { return };
    let expressions: Vec<_> = keys.iter().map(|key| &key.expr).filter(|it| !is_plain(it)).collect();
    if expressions.is_empty() || select.distinct.is_some() {
        return;
    }
    // Their expressions may become keys.
    let has_ordinals = keys.iter().any(|key| matches!(&key.expr, Expr::Value(_)));
    let is_grouped = is_grouped(select);
    let is_hidden = |name: &Ident| {
        is_column(select, name)
            && (has_ordinals || expressions.iter().any(|key| has(*key, name)))
            && !(is_grouped && expressions.iter().any(|key| has_outside(*key, name)))
            && !has(&select.group_by, name)
            && !has(&select.having, name)
    };
    let aliases = select.projection.iter().filter_map(alias).filter(|it| is_hidden(it));
    let hidden: Vec<Ident> = aliases.cloned().collect();
    for name in hidden {
        let marked = Ident::with_quote('"', format!("{}{MARK}", value(&name)));
        for item in &mut select.projection {
            match item {
                SelectItem::ExprWithAlias { alias, .. } if *alias == name => {
                    *alias = marked.clone()
                }
                _ => {}
            }
        }
        let named =
            |key: &Expr| matches!(bare(key), Expr::Identifier(key) if value(key) == value(&name));
        for key in keys.iter_mut().filter(|key| named(&key.expr)) {
            key.expr = Expr::Identifier(marked.clone());
        }
    }
}

/// Returns an expression without parentheses around it.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => bare(inner),
        expr => expr,
    }
}

/// Returns whether a key is a name or an ordinal.
fn is_plain(key: &Expr) -> bool {
    match bare(key) {
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        key => matches!(key, Expr::Identifier(_) | Expr::CompoundIdentifier(_)),
    }
}

fn alias(item: &SelectItem) -> Option<&Ident> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias),
        _ => None,
    }
}

/// Returns whether a name is a column: what is selected, or the condition, uses it without its
/// table.
fn is_column(select: &Select, name: &Ident) -> bool {
    let uses = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => has(expr, name),
        _ => false,
    };
    select.projection.iter().any(uses) || has(&select.selection, name)
}

/// Returns whether the rows of a query are groups of rows.
fn is_grouped(select: &Select) -> bool {
    let is_empty = |group_by: &GroupByExpr| match group_by {
        GroupByExpr::All(_) => false,
        GroupByExpr::Expressions(keys, modifiers) => keys.is_empty() && modifiers.is_empty(),
    };
    !is_empty(&select.group_by) || select.projection.visit(&mut Aggregates).is_break()
}

/// Returns whether a part uses a name outside of queries in it.
fn has(part: &impl Visit, name: &Ident) -> bool {
    part.visit(&mut Find::new(name, true)).is_break()
}

/// Returns whether a part uses a name outside of queries and aggregates in it.
fn has_outside(part: &impl Visit, name: &Ident) -> bool {
    part.visit(&mut Find::new(name, false)).is_break()
}

/// Returns whether an expression is an aggregate of rows, with a name of the engine or of SQLite.
fn is_aggregate(expr: &Expr) -> bool {
    const NAMES: [&str; 22] = [
        "any_value",
        "approx_distinct",
        "approx_median",
        "approx_percentile_cont",
        "array_agg",
        "avg",
        "bool_and",
        "bool_or",
        "count",
        "first_value",
        "group_concat",
        "last_value",
        "max",
        "mean",
        "median",
        "min",
        "percentile",
        "percentile_cont",
        "stddev",
        "string_agg",
        "sum",
        "var",
    ];
    match expr {
        Expr::Function(function) => {
            let name = function.name.to_string().to_lowercase();
            function.over.is_none() && NAMES.contains(&&*name)
        }
        _ => false,
    }
}

/// Ends at an aggregate.
struct Aggregates;

impl Visitor for Aggregates {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match is_aggregate(expr) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Returns a name as the engine compares it.
fn value(name: &Ident) -> String {
    match name.quote_style {
        None => name.value.to_lowercase(),
        Some(_) => name.value.clone(),
    }
}

/// Ends at a name.
struct Find {
    name: String,
    /// Whether it may be in an aggregate.
    in_aggregates: bool,
    /// The number of queries and aggregates around the expression that is visited.
    depth: usize,
}

impl Find {
    fn new(name: &Ident, in_aggregates: bool) -> Self {
        Self { name: value(name), in_aggregates, depth: 0 }
    }
}

impl Visitor for Find {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.depth += usize::from(!self.in_aggregates && is_aggregate(expr));
        match expr {
            Expr::Identifier(name) if self.depth == 0 && value(name) == self.name => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.depth -= usize::from(!self.in_aggregates && is_aggregate(expr));
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{archive, complete, query};

    #[test]
    fn names_in_expressions_are_columns() {
        let bytes = archive(&[complete("b", 0, 9), complete("a", 10, 20), complete("c", 20, 28)]);
        for (sql, expected) in [
            ("SELECT name, sum(dur) AS dur FROM slice GROUP BY name ORDER BY sum(dur) DESC LIMIT 2",
                &["a|10", "b|9"][..]),
            ("SELECT name, avg(dur) AS dur FROM slice GROUP BY name ORDER BY SUM(dur), name",
                &["c|8.0", "b|9.0", "a|10.0"]),
            ("SELECT name, -dur AS dur FROM slice ORDER BY dur + 0", &["c|-8", "b|-9", "a|-10"]),
            ("SELECT name, -dur AS dur FROM slice ORDER BY dur, name || ''",
                &["a|-10", "b|-9", "c|-8"]),
            ("SELECT name, dur * 2 AS d FROM slice ORDER BY d + 1", &["c|16", "b|18", "a|20"]),
            ("SELECT upper(name), min(dur) AS name FROM slice GROUP BY slice.name ORDER BY 1, max(id)",
                &["A|10", "B|9", "C|8"]),
            ("SELECT name, -dur AS dur FROM slice ORDER BY (dur), -dur", &["a|-10", "b|-9", "c|-8"]),
            ("SELECT name, sum(dur) AS dur FROM slice GROUP BY name ORDER BY -dur, (dur)",
                &["a|10", "b|9", "c|8"]),
            ("SELECT name, max(dur) AS dur FROM slice GROUP BY name ORDER BY dur IS NULL, dur DESC",
                &["a|10", "b|9", "c|8"]),
            ("SELECT upper(name) AS name, count(*) FROM slice GROUP BY 1 ORDER BY length(name), name",
                &["A|1", "B|1", "C|1"]),
            ("SELECT DISTINCT -dur AS dur FROM slice ORDER BY abs(dur)", &["-8", "-9", "-10"]),
            ("SELECT DISTINCT ON (upper('x')) upper('x'), dur FROM slice ORDER BY 1, 2 DESC",
                &["X|10"]),
        ] {
            assert_eq!(query(&bytes, sql), expected, "{sql}");
        }
    }
}
