//! Names of results that would be equal.
//!
//! The engine derives the name of an expression without its casts, and refuses two equal ones. The
//! second one gets the text of its expression as its name, as in SQLite. Aggregates that differ
//! only in casts get other casts, whose functions are part of the name.

mod derived;

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, Ident, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Value, Visit, VisitMut, Visitor, VisitorMut,
};

use super::calls::function;
use derived::{derived, unqualified};

/// Names the expressions of the `SELECT`s of a query whose names would be equal. Those of queries
/// in it stay.
pub(super) fn distinguish(query: &mut Query) {
    let keys = keys(query).cloned().collect::<Vec<_>>();
    if distinguish_in(&mut query.body, &keys) {
        // Also in ORDER BY and HAVING, which repeat calls.
        let _ = VisitMut::visit(query, &mut ReplaceCasts);
    }
}

/// Returns what a query is sorted by.
fn keys(query: &Query) -> impl Iterator<Item = &Expr> {
    let keys = query.order_by.iter().flat_map(|order_by| match &order_by.kind {
        OrderByKind::Expressions(keys) => &**keys,
        OrderByKind::All(_) => &[],
    });
    keys.map(|key| &key.expr)
}

/// Returns whether there are calls of functions with equal names that differ in casts.
fn distinguish_in(body: &mut SetExpr, keys: &[Expr]) -> bool {
    match body {
        SetExpr::Select(select) => distinguish_items(select, keys),
        SetExpr::SetOperation { left, right, .. } => {
            let is_left = distinguish_in(left, &[]);
            distinguish_in(right, &[]) || is_left
        }
        _ => false,
    }
}

fn distinguish_items(select: &mut Select, keys: &[Expr]) -> bool {
    let mut calls = Calls::default();
    let _ = select.projection.visit(&mut calls);
    let _ = select.having.visit(&mut calls);
    let _: Vec<_> = keys.iter().map(|key| key.visit(&mut calls)).collect();
    let keys: Vec<Name> = keys.iter().map(Name::of).collect();
    let mut taken: HashSet<String> = select.projection.iter().filter_map(name).collect();
    let (mut seen, wildcards) = (Seen::default(), Wildcards::of(select));
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        let is_second = seen.has_or_add(expr) || wildcards.have(expr);
        let hides_key = || keys.iter().any(|key| Name::of(expr).hides(key));
        if is_second || calls.differ_in(expr) || hides_key() {
            let text = text(expr);
            if is_second {
                // It may be what the engine names the first one.
                taken.insert(text.clone());
            }
            let alias = Ident::with_quote('"', unused(&text, &mut taken));
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
    calls.has_different()
}

/// What the engine names an expression, and what it evaluates, both without tables.
struct Name {
    name: String,
    evaluated: String,
}

impl Name {
    fn of(expr: &Expr) -> Self {
        let derived = |with_casts| match expr {
            Expr::CompoundIdentifier(parts) => parts.last().map(|part| part.value.to_lowercase()),
            expr => Some(unqualified(expr, with_casts)),
        };
        let derived = |with_casts| derived(with_casts).unwrap_or_default();
        Self { name: derived(false), evaluated: derived(true) }
    }

    /// Returns whether the engine would sort by this item where its cast's value is meant.
    fn hides(&self, key: &Self) -> bool {
        self.name == key.name && self.evaluated != key.evaluated
    }
}

/// The names of the items before.
#[derive(Default)]
struct Seen {
    names: HashSet<String>,
    /// Columns that were named without their table.
    bare: HashSet<String>,
    /// Columns that were named with their table.
    qualified: HashSet<String>,
}

impl Seen {
    /// Adds an item. Returns whether one before has its name.
    fn has_or_add(&mut self, expr: &Expr) -> bool {
        let is_same_column = match expr {
            Expr::Identifier(ident) => {
                let name = ident.value.to_lowercase();
                self.bare.insert(name.clone());
                self.qualified.contains(&name)
            }
            Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|part| {
                let name = part.value.to_lowercase();
                self.qualified.insert(name.clone());
                self.bare.contains(&name)
            }),
            _ => false,
        };
        !self.names.insert(unqualified(expr, false)) || is_same_column
    }
}

/// Returns the name of a column, or the text of an expression.
fn text(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(ident) => ident.value.clone(),
        Expr::CompoundIdentifier(parts) => {
            parts.last().map(|part| part.value.clone()).unwrap_or_default()
        }
        _ => expr.to_string(),
    }
}

/// Returns a name that no other item has, as `dur_1`.
pub(super) fn unused(text: &str, taken: &mut HashSet<String>) -> String {
    let numbered = (1..).map(|number| format!("{text}_{number}"));
    let mut names = std::iter::once(text.to_owned()).chain(numbered);
    let name = names.find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(name.clone());
    name
}

/// Returns the name that an item has without a change.
fn name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(ident)) => Some(ident.value.clone()),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            parts.last().map(|part| part.value.clone())
        }
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        _ => None,
    }
}

/// The calls of functions outside of queries, by what their names are derived from.
#[derive(Default)]
struct Calls {
    texts: HashMap<String, HashSet<String>>,
    /// The number of queries around the expression that is visited.
    depth: usize,
}

impl Calls {
    /// Returns whether calls have the same name and are not the same.
    fn has_different(&self) -> bool {
        self.texts.values().any(|texts| texts.len() > 1)
    }

    /// Returns whether an expression has such a call.
    fn differ_in(&self, expr: &Expr) -> bool {
        let mut own = Self::default();
        let _ = expr.visit(&mut own);
        own.texts.keys().any(|call| self.texts.get(call).is_some_and(|texts| texts.len() > 1))
    }
}

impl Visitor for Calls {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.depth == 0 && matches!(expr, Expr::Function(_)) {
            let texts = self.texts.entry(derived(expr, false)).or_default();
            texts.insert(derived(expr, true));
        }
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

/// Replaces casts by calls of `arrow_cast`.
struct ReplaceCasts;

impl VisitorMut for ReplaceCasts {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Cast { kind, expr: inner, data_type, .. } = expr {
            if let Some(name) = arrow_type(data_type) {
                let cast = match kind {
                    CastKind::TryCast | CastKind::SafeCast => "arrow_try_cast",
                    CastKind::Cast | CastKind::DoubleColon => "arrow_cast",
                };
                let name = Expr::value(Value::SingleQuotedString(name.to_owned()));
                *expr = function(cast, vec![(**inner).clone(), name]);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the engine's name of a type of SQLite.
fn arrow_type(data_type: &DataType) -> Option<&'static str> {
    match data_type {
        DataType::Real | DataType::Float(_) | DataType::Double(_) | DataType::DoublePrecision => {
            Some("Float64")
        }
        DataType::Int(None) | DataType::Integer(None) | DataType::BigInt(None) => Some("Int64"),
        DataType::Text
        | DataType::Varchar(_)
        | DataType::CharVarying(_)
        | DataType::Char(_)
        | DataType::String(_) => Some("Utf8"),
        _ => None,
    }
}

/// The columns that wildcards have.
struct Wildcards {
    has_all: bool,
    tables: HashSet<String>,
}

impl Wildcards {
    fn of(select: &Select) -> Self {
        let is_all = |item: &SelectItem| matches!(item, SelectItem::Wildcard(options) if *options == Default::default());
        let table = |item: &SelectItem| match item {
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                options,
            ) if *options == Default::default() => Some(name.to_string().to_lowercase()),
            _ => None,
        };
        let items = &select.projection;
        let tables = items.iter().filter_map(table).collect();
        Self { has_all: items.iter().any(is_all), tables }
    }

    /// Returns whether an expression is one of the columns.
    fn have(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Identifier(_) => self.has_all,
            Expr::CompoundIdentifier(parts) => {
                let table = parts.iter().rev().nth(1);
                self.has_all
                    || table.is_some_and(|it| self.tables.contains(&it.value.to_lowercase()))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{archive, complete, query};

    #[test]
    fn equal_names_are_accepted() {
        let bytes = archive(&[complete("a", 1, 3), complete("b", 3, 6)]);
        for (sql, expected) in [
            ("SELECT sum(cast(dur AS real)), sum(dur) FROM slice", "5.0|5"),
            ("SELECT sum(dur) / 2, avg(CAST(dur AS INT)), sum(CAST(dur AS REAL)) / 2, avg(dur) \
                FROM slice ORDER BY sum(CAST(dur AS REAL)) / 2", "2|2.5|2.5|2.5"),
            ("SELECT (SELECT count(*) FROM slice), (SELECT count(*) FROM spans WHERE name = 'a')", "2|1"),
            ("SELECT dur, Dur, slice.dur FROM slice WHERE dur = 2", "2|2|2"),
            ("SELECT slice.name, name FROM slice WHERE dur = 2", "a|a"),
            ("SELECT 1, 1, dur AS \"1_1\" FROM slice WHERE dur = 2", "1|1|2"),
            ("SELECT time_to_us(dur * 1000), time_from_s(dur), time_to_ns(dur) FROM slice WHERE dur = 2", "2|2000000000|2"),
            ("SELECT name, sum(dur) * 2 FROM slice GROUP BY name ORDER BY 2 DESC LIMIT 1", "b|6"),
            ("SELECT CAST(16777217 AS REAL), CAST(16777217 AS FLOAT)", "16777217.0|16777217.0"),
            ("SELECT count(*) FROM (SELECT sum(dur), sum(CAST(dur AS REAL)), sum(dur) FROM slice)", "1"),
            ("SELECT sum(dur) FROM slice HAVING sum(CAST(dur AS REAL)) > 4.5", "5"),
            ("SELECT count(*), count(*), NULL, NULL FROM slice", "2|2||"),
            ("SELECT 1 + 2 * 3, (1 + 2) * 3", "7|9"),
            ("SELECT length(max(CAST(dur AS VARCHAR(20)))), max(dur) FROM slice", "1|3"),
            ("SELECT sum(CAST(dur / 2.0 AS BIGINT)) - sum(dur / 2.0) FROM slice", "-0.5"),
            ("SELECT upper(name), upper(slice.name) FROM slice WHERE dur = 2", "A|A"),
            ("SELECT sum(dur), sum(CAST(dur AS REAL)) FROM slice UNION ALL \
                SELECT 7, 7.0 FROM slice WHERE dur = 9", "5|5.0"),
        ] {
            assert_eq!(query(&bytes, sql), [expected], "{sql}");
        }
        assert_eq!(query(&bytes, "SELECT *, dur FROM slice").len(), 2);
        assert_eq!(query(&bytes, "SELECT s.*, s.dur FROM slice s").len(), 2);
    }

    /// Durations of one digit and of two sort in another way as texts.
    #[test]
    fn rows_are_sorted_by_what_is_written() {
        let bytes = archive(&[complete("b", 0, 9), complete("a", 10, 20), complete("c", 20, 28)]);
        for (sql, expected) in [
            (
                "SELECT name, CAST(sum(dur) AS TEXT) FROM slice GROUP BY name ORDER BY sum(dur)",
                ["c|8", "b|9", "a|10"],
            ),
            ("SELECT CAST(dur AS TEXT) FROM slice ORDER BY dur", ["8", "9", "10"]),
            ("SELECT CAST(slice.dur AS TEXT) FROM slice ORDER BY dur DESC", ["10", "9", "8"]),
            ("SELECT upper(name), dur AS name FROM slice ORDER BY 1", ["A|10", "B|9", "C|8"]),
            ("SELECT DISTINCT upper(name) FROM slice ORDER BY 1", ["A", "B", "C"]),
            (
                "SELECT round(sum(dur)), count(*) AS dur FROM slice GROUP BY name ORDER BY 1",
                ["8|1", "9|1", "10|1"],
            ),
            (
                "SELECT name, sum(dur) FROM slice GROUP BY name ORDER BY 2 DESC, name",
                ["a|10", "b|9", "c|8"],
            ),
        ] {
            assert_eq!(query(&bytes, sql), expected, "{sql}");
        }
    }

    fn texts(sql: &str) -> String {
        crate::sql::statements(sql).unwrap()[0].to_string()
    }

    #[test]
    fn the_second_one_has_the_text_of_its_expression() {
        assert_eq!(texts("SELECT dur, dur FROM t"), "SELECT dur, dur AS \"dur_1\" FROM t");
        let expected = "SELECT count(*), count(*) AS \"count(*)_1\" FROM t";
        assert_eq!(texts("SELECT count(*), count(*) FROM t"), expected);
    }

    #[test]
    fn other_names_stay() {
        for sql in [
            "SELECT a.dur, b.dur FROM a JOIN b ON a.id = b.id",
            "SELECT a.*, b.* FROM a JOIN b ON a.id = b.id",
            "SELECT sum(dur), SUM(dur) / 2, (a + b) * c FROM t",
            "SELECT (SELECT max(x) FROM a), (SELECT max(x) FROM b)",
            "SELECT dur AS a, dur AS b FROM t",
        ] {
            assert_eq!(texts(sql), sql);
        }
    }
}
