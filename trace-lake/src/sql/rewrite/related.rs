//! The spans around and in a span, as a recursive query.
//!
//! Each step of the recursion is one level of spans, for which the archive is read again.

use std::ops::ControlFlow;

use datafusion::error::Result;
use datafusion::sql::sqlparser::ast::{Expr, Query, VisitMut, VisitorMut};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Tokenizer;

use crate::sql::DIALECT;

/// The place of the id in the query.
const ID: &str = "trace query id";

/// A table function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Related {
    table: &'static str,
    is_up: bool,
}

impl Related {
    /// Returns the function of a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let (table, is_up) = match name {
            "ancestors" => ("spans", true),
            "descendants" => ("spans", false),
            "ancestor_slice" => ("slice", true),
            "descendant_slice" => ("slice", false),
            _ => return None,
        };
        Some(Self { table, is_up })
    }

    /// Returns the query of the spans around the span `id`, or in it. It has `id` once: a query for
    /// it can have another result each time. The name of its rows is not one that users choose.
    pub(super) fn query(self, id: &Expr) -> Result<Box<Query>> {
        let table = self.table;
        let (own, other) = if self.is_up { ("id", "parent_id") } else { ("parent_id", "id") };
        let sql = format!(
            "WITH RECURSIVE \"trace query related\" AS (
                SELECT id, parent_id, 0 AS level FROM {table} WHERE id = \"{ID}\"
                UNION ALL
                SELECT s.id, s.parent_id, r.level + 1 AS level
                FROM {table} s JOIN \"trace query related\" r ON s.{own} = r.{other}
            )
            SELECT * FROM {table}
            WHERE id IN (SELECT id FROM \"trace query related\" WHERE level > 0)"
        );
        // Without places: they are not those of the user's text.
        let tokens = Tokenizer::new(&DIALECT, &sql).tokenize().map_err(ParserError::from)?;
        let mut query = Parser::new(&DIALECT).with_tokens(tokens).parse_query()?;
        let _: ControlFlow<()> = query.visit(&mut Insert(id));
        Ok(query)
    }
}

/// Inserts the id.
struct Insert<'a>(&'a Expr);

impl VisitorMut for Insert<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Identifier(name) if name.value == ID) {
            *expr = self.0.clone();
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{archive, complete, query};
    use datafusion::sql::sqlparser::ast::Value;

    #[test]
    fn relatives_are_those_of_one_span_at_any_depth() {
        let bytes = archive(&[
            complete("a", 10, 100),
            complete("b", 20, 50),
            complete("c", 30, 40),
            complete("d", 60, 70),
        ]);
        let sql = "WITH related AS (SELECT id FROM spans WHERE name = 'b') \
            SELECT name FROM descendants((SELECT id FROM related)) ORDER BY name";
        assert_eq!(query(&bytes, sql), ["c"]);
        let sql = "SELECT name FROM ancestors((SELECT id FROM spans WHERE name = 'c')) ORDER BY 1";
        assert_eq!(query(&bytes, sql), ["a", "b"]);
        let sql = "SELECT name FROM descendant_slice((SELECT min(id) FROM slice)) ORDER BY name";
        assert_eq!(query(&bytes, sql), ["b", "c", "d"]);
    }

    #[test]
    fn a_query_of_the_id_is_there_once() {
        let id = Expr::value(Value::Number("77".to_owned(), false));
        let query = Related::named("ancestors").unwrap().query(&id).unwrap().to_string();
        assert_eq!(query.matches("77").count(), 1, "{query}");
    }
}
