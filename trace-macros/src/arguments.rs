//! The recorded arguments of a function: keys and values, as tokens.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned, ToTokens};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, Expr, LitStr, Path, Result};

use crate::attr::{Arg, Args, OptionValue, Options, Skip, Value};
use crate::defaults::Defaults;
use crate::parameters::Parameters;
use crate::shape::Shape;

/// The most arguments that an event can have: the count has four bits in a record's header.
const MAX_ARGS: usize = 15;

/// The most arguments of a task: one key is the task's own.
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
        Some(OptionValue { value: Args::List(list), .. }) => {
            listed(list, parameters, most, runtime)
        }
        Some(OptionValue { value: Args::All, .. }) => {
            Ok(all(parameters, skipped(options, parameters)?, most, runtime))
        }
        None if defaults.all_args => {
            Ok(all(parameters, skipped(options, parameters)?, most, runtime))
        }
        None => match &options.skip {
            Some(OptionValue { option, .. }) => Err(Error::new(
                option.span(),
                "`skip(...)` excludes parameters from `args`, which is missing: \
                 write `args, skip(...)`, or remove it",
            )),
            None => Ok(Vec::new()),
        },
    }
}

fn skipped<'o>(options: &'o Options, parameters: &Parameters<'_>) -> Result<&'o [Ident]> {
    let Some(OptionValue { value: Skip::Parameters(words), .. }) = &options.skip else {
        return Ok(&[]);
    };
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
            "at most {most} arguments{} are recorded: remove {}",
            if most == MAX_TASK_ARGS { " of a traced future" } else { "" },
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

/// The runtime's path with the span for errors about its use. A path from the option `crate` keeps
/// its spans, because its names may resolve only there.
pub(crate) fn at(runtime: &Path, span: Span) -> TokenStream {
    let is_default = runtime.to_token_stream().to_string() == ":: trace_runtime";
    if is_default {
        quote_spanned!(span=> ::trace_runtime)
    } else {
        runtime.to_token_stream()
    }
}

/// An expression in a form that can follow an operator.
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

/// A span for errors in generated code, which lints recognize as such.
pub(crate) fn ours(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}
