//! Replacements for what DataFusion lacks.
//!
//! | written | planned |
//! |---|---|
//! | `x GLOB 'pattern'` | `glob('pattern', x)` |
//! | `CAST(x AS INT)` | `CAST(x AS BIGINT)`: integers of SQLite have 64 bits |
//! | `CAST(x AS REAL)`, `CAST(x AS FLOAT)` | `CAST(x AS DOUBLE)`: so have its numbers with a fraction |
//! | `SELECT a, sum(b) / 2 … ORDER BY 2` | `SELECT * FROM (SELECT a, sum(b) / 2 …) ORDER BY 2` |
//! | `time_to_ms(x)`, `time_from_ms(x)` and so on | `x / 1000000`, `x * 1000000` |
//! | `iif(a, b, c)` | `CASE WHEN a THEN b ELSE c END` |
//! | `group_concat(x)`, `group_concat(x, s)` | `string_agg(x, ',')`, `string_agg(x, s)` |
//! | `percentile(x, 99)` | `percentile_cont(x, 0.99)` |
//! | `FROM ancestors(id)`, `FROM descendants(id)` | a query of `spans` |
//! | `FROM ancestor_slice(id)`, `FROM descendant_slice(id)` | a query of `slice` |
//!
//! Replacements consist of the parts that were written, with their places in the text, so that
//! errors can show them.

mod conversion;
mod ordinals;
mod refused;
mod related;
mod shadowed;

use std::ops::ControlFlow;

use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    self, CaseWhen, DataType, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, Query, TableFactor, UnaryOperator,
    Value, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::calls::{argument, function};
use super::names::distinguish;
use related::Related;

pub(super) use shadowed::MARK;

/// Replaces what a statement has.
pub(super) fn statement(statement: &mut Statement) -> Result<()> {
    let visited = match statement {
        Statement::Statement(statement) => {
            if let ast::Statement::Query(query) = &mut **statement {
                shadowed::rename(query);
            }
            statement.visit(&mut Rewrite)
        }
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => {
                shadowed::rename(query);
                query.visit(&mut Rewrite)
            }
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => return self::statement(&mut explain.statement),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    };
    match visited {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Rewrite;

impl VisitorMut for Rewrite {
    type Break = DataFusionError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        if let Err(error) = refused::check(&query.body) {
            return ControlFlow::Break(error);
        }
        distinguish(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        match ordinals::replace(query) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        replace(expr, replacement)
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        replace(factor, table)
    }
}

fn replace<T>(
    part: &mut T,
    replacement: impl Fn(&T) -> Result<Option<T>>,
) -> ControlFlow<DataFusionError> {
    match replacement(part) {
        Ok(Some(new)) => *part = new,
        Ok(None) => {}
        Err(error) => return ControlFlow::Break(error),
    }
    ControlFlow::Continue(())
}

fn replacement(expr: &Expr) -> Result<Option<Expr>> {
    match expr {
        Expr::RLike { negated, expr, pattern, regexp: false } => {
            Ok(Some(glob(*negated, pattern, expr)))
        }
        Expr::RLike { regexp: true, .. } => {
            plan_err!("RLIKE and REGEXP are not supported: use `text ~ 'pattern'`, or GLOB")
        }
        Expr::Cast { data_type, .. } => Ok(wide(data_type).map(|wide| {
            let mut cast = expr.clone();
            if let Expr::Cast { data_type, .. } = &mut cast {
                *data_type = wide;
            }
            cast
        })),
        Expr::Function(function) => call(function),
        _ => Ok(None),
    }
}

/// Returns the type of 64 bits for a type that has them in SQLite, and fewer in the engine.
fn wide(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Int(None) | DataType::Integer(None) => Some(DataType::BigInt(None)),
        DataType::Real | DataType::Float(_) => Some(DataType::Double(ExactNumberInfo::None)),
        _ => None,
    }
}

/// Returns `glob(pattern, text)` or its negation.
fn glob(is_negated: bool, pattern: &Expr, text: &Expr) -> Expr {
    let glob = function("glob", vec![pattern.clone(), text.clone()]);
    match is_negated {
        true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(glob) },
        false => glob,
    }
}

/// Returns the replacement of a function. What it has beside its name and arguments stays.
fn call(function: &Function) -> Result<Option<Expr>> {
    let FunctionArguments::List(list) = &function.args else { return Ok(None) };
    let Some(arguments) = plain(&list.args) else { return Ok(None) };
    let name = function.name.to_string().to_lowercase();
    Ok(match (&*name, &arguments[..]) {
        ("iif", [condition, then, otherwise]) => Some(case(condition, then, otherwise)),
        ("group_concat", [value]) => {
            let comma = Expr::value(Value::SingleQuotedString(",".to_owned()));
            Some(renamed(function, list, "string_agg", [(*value).clone(), comma]))
        }
        ("group_concat", [value, separator]) => {
            let arguments = [(*value).clone(), (*separator).clone()];
            Some(renamed(function, list, "string_agg", arguments))
        }
        ("percentile", _) if list.duplicate_treatment.is_some() => {
            return plan_err!("percentile has no DISTINCT");
        }
        ("percentile", [value, percentile]) => {
            let share = Value::Number(format!("{:?}", share(percentile)?), false);
            let arguments = [(*value).clone(), Expr::value(share)];
            Some(renamed(function, list, "percentile_cont", arguments))
        }
        (name, [time]) => conversion::of(name, time),
        _ => None,
    })
}

/// Returns a `CASE` with one condition.
fn case(condition: &Expr, then: &Expr, otherwise: &Expr) -> Expr {
    let (condition, result) = (condition.clone(), then.clone());
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition, result }],
        else_result: Some(Box::new(otherwise.clone())),
    }
}

/// Returns a call with another name and other arguments.
fn renamed(
    function: &Function,
    list: &FunctionArgumentList,
    name: &str,
    arguments: [Expr; 2],
) -> Expr {
    let args = arguments.map(argument).to_vec();
    let list = FunctionArgumentList { args, ..list.clone() };
    let name = ObjectName::from(vec![Ident::with_span(span(&function.name), name)]);
    let args = FunctionArguments::List(list);
    Expr::Function(Function { name, args, ..function.clone() })
}

fn span(name: &ObjectName) -> Span {
    let first = name.0.first().and_then(|part| part.as_ident());
    first.map_or_else(Span::empty, |ident| ident.span)
}

/// Returns a percentile as a number from 0 to 1.
fn share(percentile: &Expr) -> Result<f64> {
    let number = match percentile {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => Some(number),
            _ => None,
        },
        _ => None,
    };
    // Of the text, because 99.9 / 100.0 is not 0.999. A number with an exponent is divided.
    let shifted = |number: &String| format!("{number}e-2").parse::<f64>().ok();
    let divided = |number: &String| number.parse::<f64>().ok().map(|number| number / 100.0);
    let share = number.and_then(|number| shifted(number).or_else(|| divided(number)));
    share.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| {
        DataFusionError::Plan(format!("the percentile {percentile} is not a number from 0 to 100"))
    })
}

/// Returns arguments that have no names.
fn plain(arguments: &[FunctionArg]) -> Option<Vec<&Expr>> {
    let plain = arguments.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    plain.collect()
}

/// Returns the replacement of a table function.
fn table(factor: &TableFactor) -> Result<Option<TableFactor>> {
    let TableFactor::Table { name, alias, args: Some(arguments), .. } = factor else {
        return Ok(None);
    };
    let name = name.to_string().to_lowercase();
    let Some(related) = Related::named(&name) else { return Ok(None) };
    let plain = plain(&arguments.args);
    let Some([id]) = plain.as_deref() else {
        return plan_err!("{name} has one argument, the id");
    };
    let (lateral, subquery, alias) = (false, related.query(id)?, alias.clone());
    Ok(Some(TableFactor::Derived { lateral, subquery, alias, sample: None }))
}
