//! Putting the trace point into a function, or into the functions of an `impl` block.
//!
//! A mistake never takes the item away: it is emitted untraced beside the error, so that the compiler does
//! not go on to report every use of it.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, ToTokens};
use syn::ext::IdentExt;
use syn::{parse_quote, Attribute, Error, LitStr, Meta, Path, Result, Type};

use crate::attr::{Arg, Given, Options, Value};
use crate::item::{Function, Impl, Item, Member};
use crate::parameters::Parameters;

/// The attribute as a function of tokens; `package` is the name of the package that is being compiled.
pub(crate) fn trace_fn(
    options: TokenStream,
    item: TokenStream,
    package: Option<String>,
) -> TokenStream {
    let mut parsed: Item = match syn::parse2(item.clone()) {
        Ok(parsed) => parsed,
        Err(error) => return beside(error, item),
    };
    let result = match &mut parsed {
        Item::Function(function) => trace_function(options, function, package),
        Item::Impl(block) => trace_impl(options, block, package),
    };
    match result {
        Ok(()) => parsed.into_token_stream(),
        Err(error) => beside(error, parsed),
    }
}

fn beside(error: Error, item: impl ToTokens) -> TokenStream {
    let error = error.to_compile_error();
    quote!(#error #item)
}

fn trace_function(
    options: TokenStream,
    function: &mut Function,
    package: Option<String>,
) -> Result<()> {
    let second = take_attribute(function);
    let options: Options = syn::parse2(options)?;
    if let Some(skip) = &options.skip {
        let message = "`skip` leaves a function out of an `impl` block that has `#[trace_fn]`: remove the attribute";
        return Err(Error::new(skip.option.span(), message));
    }
    match second {
        Some(second) => Err(twice(&second)),
        None => insert(function, &options, &Defaults { package, ..Defaults::default() }),
    }
}

fn trace_impl(options: TokenStream, block: &mut Impl, package: Option<String>) -> Result<()> {
    let own = take_attributes(block);
    let options: Options = syn::parse2(options)?;
    check_impl_options(&options)?;
    let defaults = Defaults {
        package,
        owner: Some(type_name(&block.self_type)),
        category: options.category.map(|given| given.value),
        runtime: options.runtime.map(|given| given.value),
    };
    let results =
        functions(block).zip(own).map(|(function, own)| trace_member(function, own, &defaults));
    match results.filter_map(Result::err).reduce(combined) {
        Some(errors) => Err(errors),
        None => Ok(()),
    }
}

fn combined(mut first: Error, second: Error) -> Error {
    first.combine(second);
    first
}

fn trace_member(
    function: &mut Function,
    own: Option<Attribute>,
    defaults: &Defaults,
) -> Result<()> {
    if let Some(second) = take_attribute(function) {
        return Err(twice(&second));
    }
    let options = match own {
        Some(attribute) => attribute_options(&attribute)?,
        None => Options::default(),
    };
    if options.skip.is_some() {
        return Ok(());
    }
    insert(function, &options, defaults)
}

fn functions(block: &mut Impl) -> impl Iterator<Item = &mut Function> {
    block.members.iter_mut().filter_map(|member| match member {
        Member::Function(function) => Some(&mut **function),
        Member::Other(_) => None,
    })
}

/// Takes the functions' own attributes out, before anything can fail: what stays there is expanded again.
fn take_attributes(block: &mut Impl) -> Vec<Option<Attribute>> {
    functions(block).map(take_attribute).collect()
}

fn take_attribute(function: &mut Function) -> Option<Attribute> {
    let position = function.attributes.iter().position(is_trace_fn)?;
    Some(function.attributes.remove(position))
}

/// By the last word of the path, since `use` may have brought it in as `trace_fn` or `trace_runtime::trace_fn`.
fn is_trace_fn(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == "trace_fn")
}

fn attribute_options(attribute: &Attribute) -> Result<Options> {
    match &attribute.meta {
        Meta::Path(_) => Ok(Options::default()),
        _ => attribute.parse_args(),
    }
}

fn twice(second: &Attribute) -> Error {
    Error::new_spanned(second, "this function has `#[trace_fn]` twice: keep one of them")
}

fn check_impl_options(options: &Options) -> Result<()> {
    let name = options.name.as_ref().map(|given| (&given.option, "name = \"...\""));
    let args = options.args.as_ref().map(|given| (&given.option, "args(...)"));
    let skip = options.skip.as_ref().map(|given| (&given.option, "skip"));
    match name.or(args).or(skip) {
        Some((word, form)) => {
            let message = format!(
                "`{word}` is for one function: write `#[trace_fn({form})]` on it, inside the block"
            );
            Err(Error::new(word.span(), message))
        }
        None => Ok(()),
    }
}

/// The name that the functions of `impl ... for TYPE` are recorded under: `Vec` for `a::Vec<T>`, also behind `&`.
fn type_name(self_type: &Type) -> String {
    match self_type {
        Type::Group(group) => type_name(&group.elem),
        Type::Paren(paren) => type_name(&paren.elem),
        Type::Reference(reference) => type_name(&reference.elem),
        Type::Path(path) => match path.path.segments.last() {
            Some(segment) => segment.ident.unraw().to_string(),
            None => path.to_token_stream().to_string(),
        },
        other => format!("<{}>", other.to_token_stream()),
    }
}

/// What holds where the function's own attribute says nothing.
#[derive(Default)]
struct Defaults {
    package: Option<String>,
    /// The type that the function belongs to, where it is known.
    owner: Option<String>,
    category: Option<LitStr>,
    runtime: Option<Path>,
}

fn insert(function: &mut Function, options: &Options, defaults: &Defaults) -> Result<()> {
    check_qualifiers(function, defaults)?;
    let arguments = match &options.args {
        Some(Given { value, .. }) => arguments(value, function)?,
        None => TokenStream::new(),
    };
    let category = category(options, defaults)?;
    let name = name(&function.signature.ident, options, defaults);
    let runtime = runtime(options, defaults);
    function.prepend(quote!(#runtime::trace_duration!(#category, #name #arguments);));
    Ok(())
}

fn check_qualifiers(function: &Function, defaults: &Defaults) -> Result<()> {
    let (span, problem, instead) = match function.signature {
        syn::Signature { asyncness: Some(word), .. } => (
            word.span,
            "an `async fn` cannot be traced: it leaves its thread at every `.await`",
            "write `trace_async_begin!` and `trace_async_end!` with one `trace_nonce!()` as id in its body",
        ),
        syn::Signature { constness: Some(word), .. } => (
            word.span,
            "a `const fn` cannot be traced: it may run in the compiler",
            "remove `const`, or put `#[trace_fn]` on its caller",
        ),
        _ => return Ok(()),
    };
    let skip =
        if defaults.owner.is_some() { ", or leave it out with `#[trace_fn(skip)]`" } else { "" };
    Err(Error::new(span, format!("{problem}; {instead}{skip}")))
}

fn category(options: &Options, defaults: &Defaults) -> Result<LitStr> {
    if let Some(Given { value, .. }) = &options.category {
        return Ok(value.clone());
    }
    if let Some(category) = &defaults.category {
        return Ok(category.clone());
    }
    match &defaults.package {
        Some(package) => Ok(LitStr::new(package, Span::call_site())),
        None => Err(Error::new(
            Span::call_site(),
            "no package name to use as the category (CARGO_PKG_NAME is not set): write `category = \"...\"`",
        )),
    }
}

fn name(function: &Ident, options: &Options, defaults: &Defaults) -> LitStr {
    if let Some(Given { value, .. }) = &options.name {
        return value.clone();
    }
    let function = function.unraw();
    let name = match &defaults.owner {
        Some(owner) => format!("{owner}::{function}"),
        None => function.to_string(),
    };
    LitStr::new(&name, function.span())
}

fn runtime(options: &Options, defaults: &Defaults) -> Path {
    let own = options.runtime.as_ref().map(|given| &given.value);
    match own.or(defaults.runtime.as_ref()) {
        Some(path) => path.clone(),
        None => parse_quote!(::trace_runtime),
    }
}

fn arguments(args: &[Arg], function: &Function) -> Result<TokenStream> {
    let parameters = Parameters::of(&function.signature);
    let mut tokens = TokenStream::new();
    for Arg { key, value } in args {
        let value = match value {
            Value::Parameter(word) => parameters.check(word)?.to_token_stream(),
            Value::Expr(expr) => expr.to_token_stream(),
        };
        tokens.extend(quote!(, #key => #value));
    }
    Ok(tokens)
}
