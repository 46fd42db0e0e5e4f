//! Reading the options between the parentheses of `#[trace_fn(...)]`.
//!
//! Checks that do not require the function are here. `expand` checks that arguments are parameters.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{parenthesized, token, Error, Expr, LitStr, Path, Result, Token};

const KNOWN: &str =
    "`category = \"...\"`, `name = \"...\"`, `args(...)`, `args`, `skip(...)`, `ret`, `err`, \
                     `flow = id`, `flow_begin = id`, `flow_end = id`, `crate = path` or `skip`";

/// The options of one attribute; `None` if an option is missing.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) category: Option<OptionValue<LitStr>>,
    pub(crate) name: Option<OptionValue<LitStr>>,
    pub(crate) args: Option<OptionValue<Args>>,
    pub(crate) skip: Option<OptionValue<Skip>>,
    pub(crate) ret: Option<OptionValue<()>>,
    pub(crate) err: Option<OptionValue<()>>,
    /// The flow's id. The option's word selects the event of the flow.
    pub(crate) flow: Option<OptionValue<Expr>>,
    pub(crate) runtime: Option<OptionValue<Path>>,
}

/// Which arguments to record.
pub(crate) enum Args {
    /// `args`: every parameter that can be recorded.
    All,
    /// `args(...)`: the listed ones.
    List(Vec<Arg>),
}

/// What to skip.
pub(crate) enum Skip {
    /// `skip`: the whole function.
    Function,
    /// `skip(...)`: these parameters. All others are recorded.
    Parameters(Vec<Ident>),
}

/// An option's value, with its word for error messages.
pub(crate) struct OptionValue<T> {
    pub(crate) option: Ident,
    pub(crate) value: T,
}

/// One argument to record.
pub(crate) struct Arg {
    pub(crate) key: LitStr,
    pub(crate) value: Value,
}

/// The source of an argument's value.
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
        options.check_skip()?;
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
            "skip" => set(&mut self.skip, option, |o| skip(o, input)),
            "ret" => set(&mut self.ret, option, |_| Ok(())),
            "err" => set(&mut self.err, option, |_| Ok(())),
            "flow" | "flow_begin" | "flow_end" => set(&mut self.flow, option, |o| flow(o, input)),
            "crate" => set(&mut self.runtime, option, |o| path(o, input)),
            _ => {
                Err(Error::new(option.span(), format!("unknown option `{option}`: write {KNOWN}")))
            }
        }
    }

    fn check_skip(&self) -> Result<()> {
        let Some(OptionValue { option, value }) = &self.skip else { return Ok(()) };
        match (value, &self.args) {
            (Skip::Function, _) if self.options() > 1 => Err(Error::new(
                option.span(),
                "`skip` excludes the function, so it allows no other options: remove it or them; \
                 to exclude parameters write `skip(name)`",
            )),
            (Skip::Parameters(_), Some(OptionValue { value: Args::List(_), .. })) => Err(Error::new(
                option.span(),
                "`skip(...)` excludes parameters from all of them: remove it, or write `args` without a list",
            )),
            _ => Ok(()),
        }
    }

    fn options(&self) -> usize {
        [
            self.category.is_some(),
            self.name.is_some(),
            self.args.is_some(),
            self.skip.is_some(),
            self.ret.is_some(),
            self.err.is_some(),
            self.flow.is_some(),
            self.runtime.is_some(),
        ]
        .into_iter()
        .map(usize::from)
        .sum()
    }

    /// Returns whether the function is skipped.
    pub(crate) fn skips_function(&self) -> bool {
        matches!(self.skip, Some(OptionValue { value: Skip::Function, .. }))
    }
}

fn option_word(input: ParseStream<'_>) -> Result<Ident> {
    if input.peek(LitStr) {
        let text: LitStr = input.parse()?;
        let message = format!(
            "a string without an option: write `category = {0:?}` or `name = {0:?}`",
            text.value()
        );
        return Err(Error::new(text.span(), message));
    }
    // `parse_any`, because `crate` is a keyword.
    Ident::parse_any(input)
        .map_err(|error| Error::new(error.span(), format!("expected an option: write {KNOWN}")))
}

fn set<T>(
    slot: &mut Option<OptionValue<T>>,
    option: Ident,
    value: impl FnOnce(&Ident) -> Result<T>,
) -> Result<()> {
    if let Some(first) = slot {
        let first = &first.option;
        let message = if *first == option {
            format!("`{option}` appears twice: keep one of them")
        } else {
            format!("`{first}` is already set: keep one of them")
        };
        return Err(Error::new(option.span(), message));
    }
    let value = value(&option)?;
    *slot = Some(OptionValue { option, value });
    Ok(())
}

/// Parses `= "text"` after an option.
///
/// A literal, because the trace point's strings are part of a static that exists before the program
/// runs.
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
            format!("`{option}` is empty: write a text, or remove it"),
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
    // At the end of the attribute, the option itself is the only token to report.
    let span = if input.is_empty() { option.span() } else { input.span() };
    input.parse::<Token![=]>().map(drop).map_err(|_| {
        Error::new(span, format!("`{option}` takes a value: write `{option} = {value}`"))
    })
}

fn args(option: &Ident, input: ParseStream<'_>) -> Result<Args> {
    if at_end(input) {
        return Ok(Args::All);
    }
    if !input.peek(token::Paren) {
        let message =
            "`args` takes a list: write `args(a, key = expr)`, or `args` alone for all parameters";
        return Err(Error::new(input.span(), message));
    }
    let content;
    parenthesized!(content in input);
    if content.is_empty() {
        let message = "this list is empty: name parameters in it, or write `args` for all of them";
        return Err(Error::new(option.span(), message));
    }
    let args: Vec<Arg> =
        Punctuated::<Arg, Token![,]>::parse_terminated(&content)?.into_iter().collect();
    check_keys(&args)?;
    Ok(Args::List(args))
}

fn skip(option: &Ident, input: ParseStream<'_>) -> Result<Skip> {
    if at_end(input) {
        return Ok(Skip::Function);
    }
    if !input.peek(token::Paren) {
        let message = "`skip` takes a list of parameters: write `skip(a, b)`, or `skip` alone for the function";
        return Err(Error::new(input.span(), message));
    }
    let content;
    parenthesized!(content in input);
    if content.is_empty() {
        let message = "this list is empty: name parameters in it, or remove it";
        return Err(Error::new(option.span(), message));
    }
    let names = Punctuated::<Ident, Token![,]>::parse_terminated_with(&content, |input| {
        Ident::parse_any(input).map_err(|error| {
            Error::new(error.span(), "expected a parameter's name: `skip` accepts only names")
        })
    })?;
    Ok(Skip::Parameters(names.into_iter().collect()))
}

fn flow(option: &Ident, input: ParseStream<'_>) -> Result<Expr> {
    equals(option, "id", input)?;
    if at_end(input) {
        let message =
            format!("`{option}` takes the flow's id, a `u64`: write `{option} = request.id`");
        return Err(Error::new(option.span(), message));
    }
    input.parse()
}

fn check_keys(args: &[Arg]) -> Result<()> {
    for (index, arg) in args.iter().enumerate() {
        if args.iter().take(index).any(|earlier| earlier.key.value() == arg.key.value()) {
            let message =
                format!("the key `{0}` appears twice: write `other_key = ...`", arg.key.value());
            return Err(Error::new(arg.key.span(), message));
        }
    }
    Ok(())
}

impl Parse for Arg {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        // A fork, because an expression without a key is reported as a whole.
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

/// Returns whether an argument ends here.
fn at_end(input: ParseStream<'_>) -> bool {
    input.is_empty() || input.peek(Token![,])
}

/// The next word or text as a key, and the word itself if it is one.
fn key(input: ParseStream<'_>) -> Option<(LitStr, Option<Ident>)> {
    if let Ok(text) = input.parse::<LitStr>() {
        return Some((text, None));
    }
    let word = Ident::parse_any(input).ok()?;
    Some((LitStr::new(&word.unraw().to_string(), word.span()), Some(word)))
}

fn without_key(input: ParseStream<'_>) -> Error {
    let message = "expected a parameter's name or `key = expr`: \
                   write a key before this expression, as in `args(length = text.len())`";
    match input.fork().parse::<Expr>() {
        Ok(expr) => Error::new_spanned(expr, message),
        Err(_) => Error::new(input.span(), message),
    }
}
