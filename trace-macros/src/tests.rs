//! Expansions compared token by token. `tests/ui` compares errors as the compiler shows them, and
//! `tests/shapes` tests what expansions do.

use proc_macro2::TokenStream;
use quote::quote;

use crate::defaults::Mode;

fn expanded(options: TokenStream, item: TokenStream) -> String {
    crate::expand::trace_fn(Mode::Traced, options, item).to_string()
}

#[track_caller]
fn check(options: TokenStream, item: TokenStream, expected: TokenStream) {
    assert_eq!(expanded(options, item), expected.to_string());
}

#[test]
fn defaults() {
    check(
        quote!(),
        quote!(
            fn f() {
                g();
            }
        ),
        quote!(
            fn f() {
                let _trace_fn = ::trace_runtime::__trace_fn_begin!((
                    ::trace_runtime::__trace_category!(),
                    ::trace_runtime::__trace_function_name!()
                ));
                g();
            }
        ),
    );
}

#[test]
fn names_arguments_and_flow() {
    check(
        quote!(category = "c", name = "n", args(a, "k" = a + 1, self), flow = a, crate = crate::rt),
        quote!(
            fn f(&self, a: u32) {}
        ),
        quote!(
            fn f(&self, a: u32) {
                let _trace_fn = crate::rt::__trace_fn_begin!(
                    ("c", crate::rt::__trace_name!("n")),
                    "a" => crate::rt::__attribute::required(&a).__trace_value(),
                    "k" => crate::rt::__attribute::required(&(a + 1)).__trace_value(),
                    "self" => crate::rt::__attribute::required(&self).__trace_value()
                );
                crate::rt::__trace_fn_flow!(FlowStep, "c", a);
            }
        ),
    );
}

#[test]
fn checked_functions_keep_their_body() {
    let checked = |options, item| crate::expand::trace_fn(Mode::Checked, options, item).to_string();
    assert_eq!(
        checked(
            quote!(args(a), flow = 1, err),
            quote!(
                async fn f(a: u32) -> Done {
                    g(a).await
                }
            )
        ),
        quote!(
            async fn f(a: u32) -> Done {
                ::trace_runtime::__ntrace_fn!(
                    [1][err::trace_runtime::__attribute::never::<Done>()],
                    ::trace_runtime::__attribute::required(&a).__trace_value()
                );
                g(a).await
            }
        )
        .to_string()
    );
}

/// Each part of a signature stays in its place.
#[test]
fn the_signature_is_kept() {
    let signature = quote! {
        /// Doc.
        #[inline]
        pub(in crate::a) unsafe extern "C" fn f<'a, T: ?Sized, const N: usize>(
            #[allow(unused)] mut x: &'a T, (y, _): (u8, [u8; N]), ...
        ) -> impl Iterator<Item = &'a T> + use<'a, T, N>
        where
            T: for<'b> Fn(&'b u8),
    };
    let expansion = expanded(quote!(), quote!(#signature { #![allow(dead_code)] x }));
    let start = quote!(#signature).to_string();
    assert!(expansion.starts_with(&start), "{expansion}");
    assert!(expansion.contains("# ! [allow (dead_code)] let _trace_fn"), "{expansion}");
    assert!(expansion.ends_with("; x }"), "{expansion}");
}

#[test]
fn statements_are_not_parsed() {
    let expansion = expanded(
        quote!(),
        quote!(default fn f(self: Pin<&mut Self>) -> ! { syntax of tomorrow => { } }),
    );
    assert!(expansion.starts_with("default fn f"), "{expansion}");
    assert!(expansion.ends_with("; syntax of tomorrow => { } }"), "{expansion}");
}

#[test]
fn items_at_the_start_stay_before_the_trace_point() {
    let expansion = expanded(
        quote!(),
        quote!(
            fn f() {
                use a::b;
                const C: u8 = 1;
                m! {}
                use c::d;
            }
        ),
    );
    let position =
        |part| expansion.find(part).unwrap_or_else(|| panic!("no {part} in {expansion}"));
    assert!(position("const C") < position("__trace_fn_begin"));
    assert!(position("__trace_fn_begin") < position("m ! { }"));
}

/// Members without functions, the header and the attributes are unchanged.
#[test]
fn blocks_are_kept() {
    let block = quote! {
        #[doc = "Doc."]
        unsafe impl<T> Tr for a::Ring<{ N + 1 }, T> where T: Copy {
            #![allow(unused)]
            const A: u8 = 1;
            type B = u8;
            m!();
            const fn f() -> u8 { 1 }
        }
    };
    check(quote!(category = "c", crate = rt), block.clone(), block);
    let module = quote! {
        pub mod m {
            //! Doc.
            use a::b;
            struct S<const N: usize = { 1 }>;
            macro_rules! m { () => {}; }
            extern "C" { fn f(); }
            trait T { fn f(); const fn g() {} }
            #[naked] extern "C" fn h() { naked_asm!("") }
        }
    };
    check(quote!(), module.clone(), module);
}

/// A mistake in one function must not hide other mistakes, or remove the block.
#[test]
fn a_mistake_leaves_the_item_untraced_beside_its_error() {
    let expansion = expanded(
        quote!(category = "c"),
        quote!(
            impl A {
                #[trace_fn(args(b))]
                fn f() {}
                #[trace_fn(what)]
                fn g() {}
                #[a::trace_fn]
                fn h() {}
            }
        ),
    );
    assert_eq!(expansion.matches("compile_error !").count(), 2, "{expansion}");
    assert!(
        expansion.contains("impl A { fn f () { } fn g () { } fn h () { let _trace_fn"),
        "{expansion}"
    );
}
