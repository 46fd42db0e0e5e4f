//! The kind of a function, by its signature: whether its work is done in the call, or later in a
//! future.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{GenericArgument, PathArguments, ReturnType, Signature, Type, TypeParamBound};

use crate::body::boxed_tail;

/// When a function does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// In the call.
    Plain,
    /// In the polls of an `async fn`.
    Async,
    /// In the polls of the returned `impl Future`.
    Future,
    /// In the polls of the future that the body boxes at its end.
    BoxedFuture,
}

impl Shape {
    pub(crate) fn of(signature: &Signature, body: &TokenStream) -> Self {
        if signature.asyncness.is_some() {
            return Shape::Async;
        }
        match &signature.output {
            ReturnType::Default => Shape::Plain,
            ReturnType::Type(_, output) => match Shape::of_output(output) {
                Shape::BoxedFuture if boxed_tail(body).is_none() => Shape::Plain,
                shape => shape,
            },
        }
    }

    fn of_output(output: &Type) -> Self {
        match output {
            Type::Group(group) => Shape::of_output(&group.elem),
            Type::Paren(paren) => Shape::of_output(&paren.elem),
            Type::ImplTrait(of) if is_future(&of.bounds) => Shape::Future,
            Type::Path(_) if is_named_box(output) || is_pinned_box(output) => Shape::BoxedFuture,
            _ => Shape::Plain,
        }
    }
}

/// Returns whether the bounds are a future, and traits that a wrapped future implements too.
///
/// The bound must name its `Output`. Without it, `Future` may be another trait, such as that of
/// `futures` before 0.2.
fn is_future<'a>(bounds: impl IntoIterator<Item = &'a TypeParamBound>) -> bool {
    let mut future = false;
    for bound in bounds {
        if let TypeParamBound::Trait(of) = bound {
            let Some(last) = of.path.segments.last() else { return false };
            match last.ident.to_string().as_str() {
                "Future" if has_output(&last.arguments) => future = true,
                "Send" | "Sync" | "Unpin" => {}
                _ => return false,
            }
        }
    }
    future
}

fn has_output(arguments: &PathArguments) -> bool {
    let PathArguments::AngleBracketed(list) = arguments else { return false };
    let mut names = list.args.iter().filter_map(|argument| match argument {
        GenericArgument::AssocType(of) => Some(&of.ident),
        GenericArgument::Constraint(of) => Some(&of.ident),
        _ => None,
    });
    names.any(|name| name == "Output")
}

/// The names that the crate `futures` gave to boxed futures.
fn is_named_box(of: &Type) -> bool {
    last_segment(of).is_some_and(|(name, _)| name == "BoxFuture" || name == "LocalBoxFuture")
}

/// `Pin<Box<dyn Future>>`, with any paths before the names.
fn is_pinned_box(of: &Type) -> bool {
    let boxed =
        last_segment(of).filter(|(name, _)| name == "Pin").and_then(|(_, argument)| argument);
    let inner = boxed
        .and_then(last_segment)
        .filter(|(name, _)| name == "Box")
        .and_then(|(_, argument)| argument);
    matches!(inner, Some(Type::TraitObject(of)) if is_future(&of.bounds))
}

/// The last name of a path, and its first argument that is a type.
fn last_segment(of: &Type) -> Option<(String, Option<&Type>)> {
    let Type::Path(path) = of else { return None };
    let last = path.path.segments.last()?;
    let argument = match &last.arguments {
        PathArguments::AngleBracketed(list) => {
            list.args.iter().find_map(|argument| match argument {
                GenericArgument::Type(of) => Some(of),
                _ => None,
            })
        }
        _ => None,
    };
    Some((last.ident.to_string(), argument))
}

/// The output of a function or its future, as a type that is valid in a body: `_` replaces types
/// without a name. `None` if there is no output.
pub(crate) fn nameable_output(signature: &Signature) -> Option<TokenStream> {
    match &signature.output {
        ReturnType::Default => Some(quote::quote!(())),
        ReturnType::Type(..) if never_returns(signature) => None,
        ReturnType::Type(_, output) => {
            let mut output = (**output).clone();
            leave_to_inference(&mut output);
            let tokens = output.to_token_stream();
            (!has_word(tokens.clone(), "impl")).then_some(tokens)
        }
    }
}

/// The output of a function or its future, if all of its types have names. `_` requires a value to
/// infer from.
pub(crate) fn named_output(signature: &Signature) -> Option<TokenStream> {
    let has_impl = has_word(signature.output.to_token_stream(), "impl");
    nameable_output(signature).filter(|_| !has_impl)
}

/// Replaces every `impl Trait` by `_`.
fn leave_to_inference(of: &mut Type) {
    match of {
        Type::ImplTrait(_) => *of = syn::parse_quote!(_),
        Type::Array(array) => leave_to_inference(&mut array.elem),
        Type::Group(group) => leave_to_inference(&mut group.elem),
        Type::Paren(paren) => leave_to_inference(&mut paren.elem),
        Type::Reference(reference) => leave_to_inference(&mut reference.elem),
        Type::Slice(slice) => leave_to_inference(&mut slice.elem),
        Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(leave_to_inference),
        Type::Path(path) => {
            let lists =
                path.path.segments.iter_mut().filter_map(|segment| match &mut segment.arguments {
                    PathArguments::AngleBracketed(list) => Some(list),
                    _ => None,
                });
            for argument in lists.flat_map(|list| &mut list.args) {
                if let GenericArgument::Type(of) = argument {
                    leave_to_inference(of);
                }
            }
        }
        _ => {}
    }
}

/// Returns whether the function's type is `!`.
pub(crate) fn never_returns(signature: &Signature) -> bool {
    matches!(&signature.output, ReturnType::Type(_, output) if matches!(**output, Type::Never(_)))
}

fn has_word(tokens: TokenStream, expected: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => has_word(group.stream(), expected),
        TokenTree::Ident(word) => word == expected,
        _ => false,
    })
}
