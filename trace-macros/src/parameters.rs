//! The names bound by a function's parameters.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, ToTokens};
use syn::{Error, FnArg, Pat, Result, Signature, Type};

/// All names bound by a signature, in order.
pub(crate) struct Parameters<'a> {
    function: &'a Ident,
    bound: Vec<Bound>,
    /// Whether a pattern is a macro call, which may bind any name.
    opaque: bool,
}

/// A bound name: `self` or a name in a parameter's pattern.
struct Bound {
    word: Ident,
    /// Whether its type may have a destructor.
    may_drop: bool,
    /// Whether a `#[cfg(...)]`, which the attribute cannot evaluate, may remove it.
    may_be_absent: bool,
}

impl<'a> Parameters<'a> {
    pub(crate) fn of(signature: &'a Signature) -> Self {
        let mut parameters =
            Parameters { function: &signature.ident, bound: Vec::new(), opaque: false };
        for input in &signature.inputs {
            match input {
                FnArg::Receiver(receiver) => parameters.bound.push(Bound {
                    word: Ident::new("self", receiver.self_token.span),
                    may_drop: may_drop(&receiver.ty),
                    may_be_absent: false,
                }),
                FnArg::Typed(typed) => {
                    let first = parameters.bound.len();
                    parameters.add(&typed.pat, may_drop(&typed.ty));
                    let is_cfg = |attribute: &syn::Attribute| attribute.path().is_ident("cfg");
                    let may_be_absent = typed.attrs.iter().any(is_cfg);
                    parameters
                        .bound
                        .iter_mut()
                        .skip(first)
                        .for_each(|bound| bound.may_be_absent = may_be_absent);
                }
            }
        }
        parameters
    }

    /// Returns `word` if it is one of the names, else an error.
    pub(crate) fn check<'w>(&self, word: &'w Ident) -> Result<&'w Ident> {
        if self.opaque || self.bound.iter().any(|bound| bound.word == *word) {
            return Ok(word);
        }
        Err(Error::new(word.span(), self.unknown(word)))
    }

    /// The parameters that `args` without a list records: all but `self` and unused ones, whose
    /// names begin with an underscore.
    pub(crate) fn recordable(&self) -> impl Iterator<Item = &Ident> {
        let words = self.bound.iter().filter(|bound| !bound.may_be_absent).map(|bound| &bound.word);
        words.filter(|word| *word != "self" && !word.to_string().starts_with('_'))
    }

    /// A statement that makes a moving closure or async block capture every parameter that may have
    /// a destructor, as a whole. They are then dropped at its end, in the order of the function:
    /// captures are dropped in the order of their first mention, parameters from the last to the
    /// first.
    pub(crate) fn capture(&self) -> TokenStream {
        let words: Vec<&Ident> = self
            .bound
            .iter()
            .rev()
            .filter(|bound| bound.may_drop && !bound.may_be_absent)
            .map(|bound| &bound.word)
            .collect();
        if words.is_empty() {
            return TokenStream::new();
        }
        quote!(#[allow(clippy::used_underscore_binding)] let _ = (#(&#words,)*);)
    }

    fn unknown(&self, word: &Ident) -> String {
        let function = self.function;
        if self.bound.is_empty() {
            return format!(
                "`{function}` has no parameter to name: write `{word} = expr` for an expression"
            );
        }
        let names: Vec<String> = self.bound.iter().map(|bound| bound.word.to_string()).collect();
        let names = names.join("`, `");
        format!(
            "`{word}` is no parameter of `{function}`, which has `{names}`: \
             write one of these, or `{word} = expr` for an expression"
        )
    }

    fn add(&mut self, pattern: &Pat, may_drop: bool) {
        match pattern {
            Pat::Ident(ident) => {
                let may_drop = may_drop && ident.by_ref.is_none();
                self.bound.push(Bound {
                    word: ident.ident.clone(),
                    may_drop,
                    may_be_absent: false,
                });
                if let Some((_, inner)) = &ident.subpat {
                    self.add(inner, may_drop);
                }
            }
            Pat::Paren(paren) => self.add(&paren.pat, may_drop),
            Pat::Reference(reference) => self.add(&reference.pat, may_drop),
            Pat::Slice(slice) => self.add_all(&slice.elems, may_drop),
            Pat::Struct(fields) => {
                self.add_all(fields.fields.iter().map(|field| &*field.pat), may_drop);
            }
            Pat::Tuple(tuple) => self.add_all(&tuple.elems, may_drop),
            Pat::TupleStruct(tuple) => self.add_all(&tuple.elems, may_drop),
            // All alternatives bind the same names.
            Pat::Or(or) => self.add_all(or.cases.first(), may_drop),
            Pat::Macro(_) | Pat::Verbatim(_) => self.opaque = true,
            _ => {}
        }
    }

    fn add_all<'p>(&mut self, patterns: impl IntoIterator<Item = &'p Pat>, may_drop: bool) {
        for pattern in patterns {
            self.add(pattern, may_drop);
        }
    }
}

/// Returns whether values of a type may have a destructor. References and numbers have none.
fn may_drop(of: &Type) -> bool {
    match of {
        Type::Group(group) => may_drop(&group.elem),
        Type::Paren(paren) => may_drop(&paren.elem),
        Type::Reference(_) | Type::Ptr(_) | Type::BareFn(_) => false,
        Type::Path(path) => !is_number(&path.to_token_stream().to_string()),
        _ => true,
    }
}

fn is_number(name: &str) -> bool {
    let numbers = [
        "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
        "f32", "f64", "bool", "char",
    ];
    numbers.contains(&name)
}
