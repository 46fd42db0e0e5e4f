//! SQL text as statements for DataFusion.
//!
//! Queries for Perfetto are written for SQLite. What its dialect has and DataFusion's lacks is
//! replaced before planning: [`rewrite`] has the list. `INCLUDE PERFETTO MODULE` is accepted for
//! the modules whose views exist.

mod calls;
mod names;
mod results;
mod rewrite;

use std::collections::VecDeque;

use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};

pub(crate) use results::named;

/// The modules of Perfetto's library whose tables exist as views.
const MODULES: [&str; 3] = ["prelude", "slices.with_context", "time.conversion"];

pub(crate) const DIALECT: GenericDialect = GenericDialect {};

/// Returns the statements of a text.
pub(crate) fn statements(sql: &str) -> Result<VecDeque<Statement>> {
    let tokens = Tokenizer::new(&DIALECT, sql).tokenize_with_location();
    let tokens = tokens.map_err(|error| DataFusionError::from(ParserError::from(error)))?;
    let tokens = without_includes(tokens)?.into_iter().map(operator).collect::<Vec<_>>();
    let mut parser = DFParserBuilder::new(tokens).with_dialect(&DIALECT).build()?;
    let mut statements = parser.parse_statements()?;
    statements.iter_mut().try_for_each(rewrite::statement)?;
    Ok(statements)
}

/// Replaces the operator `GLOB` by `RLIKE`, which has its precedence. The parsed operator becomes a
/// call of the function `glob`. `RLIKE` becomes its synonym `REGEXP`, which is refused.
fn operator(mut token: TokenWithSpan) -> TokenWithSpan {
    if let Token::Word(word) = &mut token.token {
        if is_word(word, "GLOB") {
            word.keyword = Keyword::RLIKE;
        } else if word.keyword == Keyword::RLIKE {
            word.keyword = Keyword::REGEXP;
        }
    }
    token
}

fn is_word(word: &Word, text: &str) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text)
}

/// Removes the statements `INCLUDE PERFETTO MODULE name`.
fn without_includes(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    let mut kept = Vec::new();
    for statement in tokens.split_inclusive(|token| token.token == Token::SemiColon) {
        match included(statement) {
            None => kept.extend_from_slice(statement),
            Some(module) if MODULES.contains(&&*module) => {}
            Some(module) => {
                return Err(DataFusionError::Plan(format!(
                    "the module {module} is unknown: the modules are {}",
                    MODULES.join(", ")
                )))
            }
        }
    }
    Ok(kept)
}

/// Returns the module that a statement includes.
fn included(statement: &[TokenWithSpan]) -> Option<String> {
    let is_space = |token: &Token| matches!(token, Token::Whitespace(_) | Token::SemiColon);
    let tokens = statement.iter().map(|token| &token.token);
    let mut tokens = tokens.filter(|token| !is_space(token) && **token != Token::EOF);
    for expected in ["INCLUDE", "PERFETTO", "MODULE"] {
        match tokens.next()? {
            Token::Word(word) if is_word(word, expected) => {}
            _ => return None,
        }
    }
    Some(tokens.map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sql: &str) -> Vec<String> {
        statements(sql).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn glob_becomes_a_function() {
        let found = texts("SELECT a FROM t WHERE a GLOB 'x*' AND NOT b NOT GLOB '?'");
        let expected = "SELECT a FROM t WHERE glob('x*', a) AND NOT NOT glob('?', b)";
        assert_eq!(found, [expected]);
        // It is no keyword.
        assert_eq!(texts("SELECT glob('x*', a), \"glob\" FROM t").len(), 1);
    }

    #[test]
    fn integers_have_64_bits_and_functions_of_sqlite_are_replaced() {
        let found = texts("SELECT CAST(a AS INT), iif(a > 1, 'x', 'y'), percentile(a, 99) FROM t");
        let expected = "SELECT CAST(a AS BIGINT), CASE WHEN a > 1 THEN 'x' ELSE 'y' END, \
            percentile_cont(a, 0.99) FROM t";
        assert_eq!(found, [expected]);
        for (percentile, share) in [("99.9", "0.999"), ("0", "0.0"), ("5e1", "0.5"), ("100", "1.0")]
        {
            let found = texts(&format!("SELECT percentile(a, {percentile}) FROM t"));
            assert_eq!(found, [format!("SELECT percentile_cont(a, {share}) FROM t")]);
        }
    }

    #[test]
    fn numbers_with_a_fraction_have_64_bits() {
        let found = texts("SELECT CAST(a AS REAL), CAST(b AS FLOAT), c::REAL FROM t");
        let expected = "SELECT CAST(a AS DOUBLE), CAST(b AS DOUBLE), c::DOUBLE FROM t";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn ordinals_of_calls_are_those_of_a_query_of_its_own() {
        for order in ["2 DESC, 1", "2, n LIMIT 3", "n, 2"] {
            let sql = "SELECT n, sum(d) / 1e6 FROM t GROUP BY n";
            let expected = format!("SELECT * FROM ({sql}) ORDER BY {order}");
            assert_eq!(texts(&format!("{sql} ORDER BY {order}")), [expected]);
        }
        let sql = "SELECT n, sum(d) FROM t GROUP BY n ORDER BY 2, max(d)";
        assert_eq!(texts(sql), [sql.replace('2', "sum(d)")]);
        for kept in [
            "SELECT *, max(d) FROM t ORDER BY 2",
            "SELECT n, max(d) AS m FROM t ORDER BY 2",
            "SELECT n, rank() OVER (ORDER BY n) FROM t ORDER BY 2",
            "SELECT n, (SELECT max(d) FROM t) FROM t ORDER BY 2",
            "SELECT n, 1 FROM t ORDER BY 2, 3",
            "SELECT upper(n), k AS n FROM t ORDER BY 1, m",
        ] {
            assert_eq!(texts(kept), [kept]);
        }
    }

    #[test]
    fn a_replaced_function_keeps_its_clauses() {
        let found = texts(
            "SELECT group_concat(DISTINCT a ORDER BY b DESC) FILTER (WHERE c), \
            group_concat(a, ';' ORDER BY b), percentile(a, 50) FILTER (WHERE c) FROM t",
        );
        let expected = "SELECT string_agg(DISTINCT a, ',' ORDER BY b DESC) FILTER (WHERE c), \
            string_agg(a, ';' ORDER BY b), percentile_cont(a, 0.5) FILTER (WHERE c) FROM t";
        assert_eq!(found, [expected]);
        let error = statements("SELECT percentile(DISTINCT a, 50) FROM t").unwrap_err();
        assert!(error.to_string().contains("percentile has no DISTINCT"), "{error}");
    }

    #[test]
    fn operators_of_regular_expressions_are_refused() {
        for operator in ["RLIKE", "rlike", "REGEXP", "NOT RLIKE"] {
            let error = statements(&format!("SELECT a {operator} '^b' FROM t")).unwrap_err();
            assert!(error.to_string().contains("are not supported: use"), "{error}");
        }
        // They are no keywords.
        assert_eq!(texts("SELECT rlike FROM t"), ["SELECT rlike FROM t"]);
    }

    #[test]
    fn known_modules_are_included() {
        let sql = "INCLUDE PERFETTO MODULE slices.with_context;\nSELECT 1; SELECT 2";
        assert_eq!(texts(sql), ["SELECT 1", "SELECT 2"]);
        let error = statements("include perfetto module android.startup; SELECT 1").unwrap_err();
        assert!(error.to_string().contains("android.startup is unknown"), "{error}");
    }

    #[test]
    fn an_error_has_its_place() {
        let error = statements("SELECT a\nFROM t WHERE >").unwrap_err();
        assert!(error.to_string().contains("Line: 2, Column: 14"), "{error}");
        let error = statements("SELECT 'open").unwrap_err();
        assert!(error.to_string().contains("Column: 8"), "{error}");
    }
}
