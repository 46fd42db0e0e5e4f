//! The names that a function's parameters bind, for `args(name)`.

use proc_macro2::Ident;
use syn::{Error, FnArg, Pat, Result, Signature};

/// Every name that a signature binds, in its order.
pub(crate) struct Parameters<'a> {
    function: &'a Ident,
    names: Vec<String>,
    /// A pattern that cannot be looked into (a macro call) may bind any name.
    opaque: bool,
}

impl<'a> Parameters<'a> {
    pub(crate) fn of(signature: &'a Signature) -> Self {
        let mut parameters =
            Parameters { function: &signature.ident, names: Vec::new(), opaque: false };
        for input in &signature.inputs {
            match input {
                FnArg::Receiver(_) => parameters.names.push("self".to_string()),
                FnArg::Typed(typed) => parameters.add(&typed.pat),
            }
        }
        parameters
    }

    /// Gives `word` back when it is one of the names.
    pub(crate) fn check<'w>(&self, word: &'w Ident) -> Result<&'w Ident> {
        if self.opaque || self.names.iter().any(|name| word == name) {
            return Ok(word);
        }
        Err(Error::new(word.span(), self.unknown(word)))
    }

    fn unknown(&self, word: &Ident) -> String {
        let function = self.function;
        if self.names.is_empty() {
            return format!(
                "`{function}` has no parameter to name: write `{word} = expr` for an expression"
            );
        }
        let names = self.names.join("`, `");
        format!(
            "`{word}` is no parameter of `{function}`, which has `{names}`: \
             write one of these, or `{word} = expr` for an expression"
        )
    }

    fn add(&mut self, pattern: &Pat) {
        match pattern {
            Pat::Ident(ident) => {
                self.names.push(ident.ident.to_string());
                if let Some((_, inner)) = &ident.subpat {
                    self.add(inner);
                }
            }
            Pat::Paren(paren) => self.add(&paren.pat),
            Pat::Reference(reference) => self.add(&reference.pat),
            Pat::Slice(slice) => self.add_all(&slice.elems),
            Pat::Struct(fields) => self.add_all(fields.fields.iter().map(|field| &*field.pat)),
            Pat::Tuple(tuple) => self.add_all(&tuple.elems),
            Pat::TupleStruct(tuple) => self.add_all(&tuple.elems),
            // All alternatives bind the same names.
            Pat::Or(or) => self.add_all(or.cases.first()),
            Pat::Macro(_) | Pat::Verbatim(_) => self.opaque = true,
            _ => {}
        }
    }

    fn add_all<'p>(&mut self, patterns: impl IntoIterator<Item = &'p Pat>) {
        for pattern in patterns {
            self.add(pattern);
        }
    }
}
