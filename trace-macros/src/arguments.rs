//! What is recorded of a function's arguments: keys and values, as tokens.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned, ToTokens};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, Expr, LitStr, Path, Result};

use crate::attr::{Arg, Args, Given, Options, Skip, Value};
use crate::defaults::Defaults;
use crate::parameters::Parameters;
use crate::shape::Shape;

/// The most arguments that an event can have: the count has four bits in a record's header.
const MAX_ARGS: usize = 15;

/// Those of a task, which has one of its own.
const MAX_TASK_ARGS: usize = MAX_ARGS - 1;

/// Keys and values.
pub(crate) fn arguments(
    options: &Options,
    defaults: &Defaults,
    parameters: &Parameters<'_>,
    shape: Shape,
    runtime: &Path,
) -> Result<Vec<(LitStr, TokenStream)>> {
    let most = if shape == Shape::Plain { MAX_ARGS } else { MAX_TASK_ARGS };
    match &options.args {
        Some(Given { value: Args::List(list), .. }) => listed(list, parameters, most, runtime),
        Some(Given { value: Args::All, .. }) => {
            Ok(all(parameters, skipped(options, parameters)?, most, runtime))
        }
        None if defaults.all_args => Ok(all(parameters, skipped(options, parameters)?, most, runtime)),
        None => match &options.skip {
            Some(Given { option, .. }) => Err(Error::new(
                option.span(),
                "`skip(...)` leaves parameters out of all, and none is recorded: write `args, skip(...)`, \
                 or remove it",
            )),
            None => Ok(Vec::new()),
        },
    }
}

fn skipped<'o>(options: &'o Options, parameters: &Parameters<'_>) -> Result<&'o [Ident]> {
    let Some(Given { value: Skip::Parameters(words), .. }) = &options.skip else { return Ok(&[]) };
    for word in words {
        parameters.check(word)?;
    }
    Ok(words)
}

fn listed(
    list: &[Arg],
    parameters: &Parameters<'_>,
    most: usize,
    runtime: &Path,
) -> Result<Vec<(LitStr, TokenStream)>> {
    if let Some(first_too_many) = list.get(most) {
        let message = format!(
            "there are at most {most} arguments{}: remove {}",
            if most == MAX_TASK_ARGS { " where a future is traced" } else { "" },
            list.len() - most
        );
        return Err(Error::new(first_too_many.key.span(), message));
    }
    let value = |arg: &Arg| {
        let (value, span) = match &arg.value {
            Value::Parameter(word) => (parameters.check(word)?.to_token_stream(), word.span()),
            Value::Expr(expr) => (operand(expr), expr.span()),
        };
        let span = ours(span);
        let runtime = at(runtime, span);
        Ok((
            arg.key.clone(),
            quote_spanned!(span=> #runtime::__attribute::required(&#value).__trace_value()),
        ))
    };
    list.iter().map(value).collect()
}

/// The runtime's path where errors about what is written with it are to be shown. A path that was
/// given stays: its words may be known only where they stand.
pub(crate) fn at(runtime: &Path, span: Span) -> TokenStream {
    let is_default = runtime.to_token_stream().to_string() == ":: trace_runtime";
    if is_default {
        quote_spanned!(span=> ::trace_runtime)
    } else {
        runtime.to_token_stream()
    }
}

/// An expression as what an operator can stand before.
fn operand(expr: &Expr) -> TokenStream {
    match expr {
        Expr::Binary(_) | Expr::Cast(_) | Expr::Range(_) | Expr::Closure(_) | Expr::Assign(_) => {
            quote!((#expr))
        }
        _ => expr.to_token_stream(),
    }
}

fn all(
    parameters: &Parameters<'_>,
    skipped: &[Ident],
    most: usize,
    runtime: &Path,
) -> Vec<(LitStr, TokenStream)> {
    let value = |word: &Ident| {
        let key = LitStr::new(&word.unraw().to_string(), word.span());
        (key, quote!(#runtime::__attribute::optional(&#word).__trace_value()))
    };
    let words = parameters.recordable().filter(|word| !skipped.contains(word));
    words.take(most).map(value).collect()
}

/// A place for errors about what is not the user's code, which lints are to know.
pub(crate) fn ours(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}
