//! Reading the options between the parentheses of `#[trace_fn(...)]`.
//!
//! Only what can be decided without the function is checked here; whether an argument is one of
//! its parameters is `expand`'s to say.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{parenthesized, token, Error, Expr, LitStr, Path, Result, Token};

/// The most arguments that one event can have: the count has four bits in a record's header.
const MAX_ARGS: usize = 15;

const KNOWN: &str = "`category = \"...\"`, `name = \"...\"`, `args(...)`, `crate = path` or `skip`";

/// What stands in one attribute; `None` for an option that is not there.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) category: Option<Given<LitStr>>,
    pub(crate) name: Option<Given<LitStr>>,
    pub(crate) args: Option<Given<Vec<Arg>>>,
    pub(crate) runtime: Option<Given<Path>>,
    pub(crate) skip: Option<Given<()>>,
}

/// An option's value, with the option's own word for messages about it.
pub(crate) struct Given<T> {
    pub(crate) option: Ident,
    pub(crate) value: T,
}

/// One argument to record.
pub(crate) struct Arg {
    pub(crate) key: LitStr,
    pub(crate) value: Value,
}

/// Where an argument's value comes from.
pub(crate) enum Value {
    /// `args(a)`: a parameter, or `self`.
    Parameter(Ident),
    /// `args(key = expr)`.
    Expr(Box<Expr>),
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Options::default();
        while !input.is_empty() {
            options.parse_one(input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        options.check_skip_alone()?;
        Ok(options)
    }
}

impl Options {
    fn parse_one(&mut self, input: ParseStream<'_>) -> Result<()> {
        let option = option_word(input)?;
        match option.to_string().as_str() {
            "category" => set(&mut self.category, option, |o| string(o, input)),
            "name" => set(&mut self.name, option, |o| string(o, input)),
            "args" => set(&mut self.args, option, |o| args(o, input)),
            "crate" => set(&mut self.runtime, option, |o| path(o, input)),
            "skip" => set(&mut self.skip, option, |_| Ok(())),
            _ => {
                Err(Error::new(option.span(), format!("unknown option `{option}`: write {KNOWN}")))
            }
        }
    }

    fn check_skip_alone(&self) -> Result<()> {
        let others = [
            self.category.is_some(),
            self.name.is_some(),
            self.args.is_some(),
            self.runtime.is_some(),
        ];
        match &self.skip {
            Some(skip) if others.contains(&true) => Err(Error::new(
                skip.option.span(),
                "`skip` stands alone: remove it, or the other options",
            )),
            _ => Ok(()),
        }
    }
}

fn option_word(input: ParseStream<'_>) -> Result<Ident> {
    if input.peek(LitStr) {
        let text: LitStr = input.parse()?;
        let message =
            format!("say what this is: write `category = {0:?}` or `name = {0:?}`", text.value());
        return Err(Error::new(text.span(), message));
    }
    // `crate` is a keyword, which an ordinary identifier may not be.
    Ident::parse_any(input)
        .map_err(|error| Error::new(error.span(), format!("expected an option: write {KNOWN}")))
}

fn set<T>(
    slot: &mut Option<Given<T>>,
    option: Ident,
    value: impl FnOnce(&Ident) -> Result<T>,
) -> Result<()> {
    if slot.is_some() {
        let message = format!("`{option}` is given twice: keep one of them");
        return Err(Error::new(option.span(), message));
    }
    let value = value(&option)?;
    *slot = Some(Given { option, value });
    Ok(())
}

/// `= "text"` behind an option.
///
/// A literal, because the trace point's strings are part of a static that exists before the program runs.
fn string(option: &Ident, input: ParseStream<'_>) -> Result<LitStr> {
    equals(option, "\"...\"", input)?;
    let span = input.span();
    let text: LitStr = input.parse().map_err(|_| {
        let message = format!(
            "`{option}` takes a string literal: write `{option} = \"...\"`, \
             or call `trace_duration!` in the body for a text that is known at run time only"
        );
        Error::new(span, message)
    })?;
    if text.value().is_empty() {
        return Err(Error::new(
            text.span(),
            format!("`{option}` is empty: give it a text, or remove it"),
        ));
    }
    Ok(text)
}

fn path(option: &Ident, input: ParseStream<'_>) -> Result<Path> {
    equals(option, "path", input)?;
    let span = input.span();
    Path::parse_mod_style(input).map_err(|_| {
        Error::new(span, "`crate` takes a path without quotes: write `crate = ::my_trace_runtime`")
    })
}

fn equals(option: &Ident, value: &str, input: ParseStream<'_>) -> Result<()> {
    // At the end of the attribute there is no token to point at but the option itself.
    let span = if input.is_empty() { option.span() } else { input.span() };
    input.parse::<Token![=]>().map(drop).map_err(|_| {
        Error::new(span, format!("`{option}` takes a value: write `{option} = {value}`"))
    })
}

fn args(option: &Ident, input: ParseStream<'_>) -> Result<Vec<Arg>> {
    if !input.peek(token::Paren) {
        let span = if input.is_empty() { option.span() } else { input.span() };
        return Err(Error::new(span, "`args` takes a list: write `args(a, key = expr)`"));
    }
    let content;
    parenthesized!(content in input);
    let args: Vec<Arg> =
        Punctuated::<Arg, Token![,]>::parse_terminated(&content)?.into_iter().collect();
    check_count(&args)?;
    check_keys(&args)?;
    Ok(args)
}

fn check_count(args: &[Arg]) -> Result<()> {
    match args.get(MAX_ARGS) {
        Some(first_too_many) => Err(Error::new(
            first_too_many.key.span(),
            format!("an event has at most {MAX_ARGS} arguments: remove {}", args.len() - MAX_ARGS),
        )),
        None => Ok(()),
    }
}

fn check_keys(args: &[Arg]) -> Result<()> {
    for (index, arg) in args.iter().enumerate() {
        if args.iter().take(index).any(|earlier| earlier.key.value() == arg.key.value()) {
            let message =
                format!("the key `{0}` is given twice: write `other_key = ...`", arg.key.value());
            return Err(Error::new(arg.key.span(), message));
        }
    }
    Ok(())
}

impl Parse for Arg {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        // Looked at from a copy: an expression without a key is reported as a whole.
        let ahead = input.fork();
        let Some((key, word)) = key(&ahead) else {
            return Err(without_key(input));
        };
        if ahead.peek(Token![=>]) {
            return Err(Error::new(
                ahead.span(),
                "expected `=`: an argument is written `key = expr` here",
            ));
        }
        if ahead.peek(Token![=]) && !ahead.peek(Token![==]) {
            input.advance_to(&ahead);
            return with_expr(key, input);
        }
        match word {
            Some(parameter) if at_end(&ahead) => {
                input.advance_to(&ahead);
                Ok(Arg { key, value: Value::Parameter(parameter) })
            }
            _ => Err(without_key(input)),
        }
    }
}

fn with_expr(key: LitStr, input: ParseStream<'_>) -> Result<Arg> {
    input.parse::<Token![=]>()?;
    if at_end(input) {
        return Err(Error::new(
            key.span(),
            "this key has no value: write an expression behind its `=`",
        ));
    }
    Ok(Arg { key, value: Value::Expr(input.parse()?) })
}

/// Whether an argument ends here.
fn at_end(input: ParseStream<'_>) -> bool {
    input.is_empty() || input.peek(Token![,])
}

/// The word or text at the front, as a key, and the word itself where it is one.
fn key(input: ParseStream<'_>) -> Option<(LitStr, Option<Ident>)> {
    if let Ok(text) = input.parse::<LitStr>() {
        return Some((text, None));
    }
    let word = Ident::parse_any(input).ok()?;
    Some((LitStr::new(&word.unraw().to_string(), word.span()), Some(word)))
}

fn without_key(input: ParseStream<'_>) -> Error {
    let message = "expected a parameter's name or `key = expr`: \
                   give this expression a key, as in `args(length = text.len())`";
    match input.fork().parse::<Expr>() {
        Ok(expr) => Error::new_spanned(expr, message),
        Err(_) => Error::new(input.span(), message),
    }
}
