//! Where a function may end, by its statements, which are known as tokens only.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

/// Macros that do not return from the function around them: those of the standard library, and of
/// logging crates.
const STAYING: [&str; 43] = [
    "addr_of",
    "addr_of_mut",
    "assert",
    "assert_eq",
    "assert_ne",
    "cfg",
    "column",
    "concat",
    "dbg",
    "debug",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "env",
    "eprint",
    "eprintln",
    "error",
    "file",
    "format",
    "format_args",
    "include_bytes",
    "include_str",
    "info",
    "line",
    "log",
    "matches",
    "module_path",
    "offset_of",
    "option_env",
    "panic",
    "pin",
    "print",
    "println",
    "span",
    "stringify",
    "todo",
    "trace",
    "unimplemented",
    "unreachable",
    "vec",
    "warn",
    "write",
    "writeln",
];

/// Keywords that are no macro although `!` and parentheses follow: there `!` is an operator.
const BEFORE_NOT: [&str; 7] = ["break", "else", "if", "in", "match", "return", "while"];

/// Returns whether a body may return early: by `return`, `?`, or a macro that may contain one of
/// them. Those inside an async block only end that block.
pub(crate) fn may_return_early(body: TokenStream) -> bool {
    returns(body, |_| false)
}

/// Like `may_return_early`. Macros for which `stays` is false may return.
fn returns(body: TokenStream, stays: fn(&Ident) -> bool) -> bool {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    tokens.iter().enumerate().any(|(position, token)| {
        let (before, from_here) = tokens.split_at(position);
        match token {
            TokenTree::Group(group) => {
                !is_async_block(before, group) && returns(group.stream(), stays)
            }
            TokenTree::Ident(word) => {
                word == "return" || (is_macro_call(from_here) && !stays(word))
            }
            TokenTree::Punct(mark) => mark.as_char() == '?',
            TokenTree::Literal(_) => false,
        }
    })
}

fn is_async_block(before: &[TokenTree], group: &Group) -> bool {
    let is_async = ends_with(before, &["async"]) || ends_with(before, &["async", "move"]);
    is_async && group.delimiter() == Delimiter::Brace
}

fn is_macro_call(tokens: &[TokenTree]) -> bool {
    match tokens {
        [TokenTree::Ident(word), TokenTree::Punct(mark), TokenTree::Group(input), ..] => {
            let may_name = !BEFORE_NOT.iter().any(|other| word == other);
            may_name && mark.as_char() == '!' && input.delimiter() != Delimiter::None
        }
        _ => false,
    }
}

/// Returns whether a macro of this name is assumed not to return from the function.
fn stays(name: &Ident) -> bool {
    let text = name.to_string();
    STAYING.contains(&text.as_str()) || text.starts_with("trace_") || text.ends_with("_span")
}

/// Splits a body that ends with `Box::pin(future)`, and does not return early, into the tokens
/// before the parentheses and the group. Well-known macros are trusted: otherwise the future of a
/// function that logs would not be traced.
pub(crate) fn boxed_tail(body: &TokenStream) -> Option<(TokenStream, Group)> {
    let mut tokens: Vec<TokenTree> = body.clone().into_iter().collect();
    let Some(TokenTree::Group(boxed)) = tokens.pop() else { return None };
    let is_call = boxed.delimiter() == Delimiter::Parenthesis
        && ends_with(&tokens, &["Box", ":", ":", "pin"]);
    (is_call && !returns(body.clone(), stays)).then(|| (tokens.into_iter().collect(), boxed))
}

fn ends_with(tokens: &[TokenTree], words: &[&str]) -> bool {
    let last = tokens.iter().rev().map(ToString::to_string);
    tokens.len() >= words.len() && last.zip(words.iter().rev()).all(|(token, word)| token == *word)
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    #[test]
    fn returns_are_seen_through_macros() {
        for early in [
            quote!(if a { return b } c),
            quote!(let a = b?; c),
            quote!(bail!("no"); c),
            quote!({ anyhow::ensure![a]; } c),
            quote!(async_stream! { a } c),
            quote!(vec![f(a?)]),
            quote!(async { 1 }; leave! {}),
        ] {
            assert!(returns(early.clone(), stays), "{early}");
        }
    }

    #[test]
    fn macros_are_recognized_by_name() {
        assert!(may_return_early(quote!(error!("no"); c)));
        assert!(!may_return_early(quote!(if !(a) { b } else { c })));
    }

    #[test]
    fn bodies_without_return_run_to_their_end() {
        for whole in [
            quote!(a != (b)),
            quote!(if !(a) { b } else { c }),
            quote!(while !(a) {} match !(b) { _ => c }),
            quote!(std::println!("a"); log::debug!("b"); trace_instant!("c", "d"); e),
            quote!(async move {
                a?;
                return b;
                leave!()
            }),
            quote!(async { leave!() }.instrument(tracing::info_span!("a"))),
        ] {
            assert!(!returns(whole.clone(), stays), "{whole}");
        }
    }
}
