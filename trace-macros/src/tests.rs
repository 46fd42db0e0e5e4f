//! Expansions compared token by token. Errors are compared as the compiler shows them, in `tests/ui`.

use proc_macro2::TokenStream;
use quote::quote;

fn expanded(options: TokenStream, item: TokenStream) -> String {
    crate::expand::trace_fn(options, item, Some("my-package".to_string())).to_string()
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
                ::trace_runtime::trace_duration!("my-package", "f");
                g();
            }
        ),
    );
}

#[test]
fn all_options() {
    check(
        quote!(category = "c", name = "n", args(a, "k" = a + 1, self), crate = crate::rt),
        quote!(
            fn f(&self, a: u32) {}
        ),
        quote!(
            fn f(&self, a: u32) {
                crate::rt::trace_duration!("c", "n", "a" => a, "k" => a + 1, "self" => self);
            }
        ),
    );
}

/// Every part of a signature must come out where it went in.
#[test]
fn the_signature_is_kept() {
    check(
        quote!(),
        quote! {
            /// Doc.
            #[inline]
            pub(in crate::a) unsafe extern "C" fn f<'a, T: ?Sized, const N: usize>(
                #[allow(unused)] mut x: &'a T, (y, _): (u8, [u8; N]), ...
            ) -> impl Iterator<Item = &'a T> + use<'a, T, N>
            where
                T: for<'b> Fn(&'b u8),
            {
                #![allow(dead_code)]
                x
            }
        },
        quote! {
            /// Doc.
            #[inline]
            pub(in crate::a) unsafe extern "C" fn f<'a, T: ?Sized, const N: usize>(
                #[allow(unused)] mut x: &'a T, (y, _): (u8, [u8; N]), ...
            ) -> impl Iterator<Item = &'a T> + use<'a, T, N>
            where
                T: for<'b> Fn(&'b u8),
            {
                #![allow(dead_code)]
                ::trace_runtime::trace_duration!("my-package", "f");
                x
            }
        },
    );
}

#[test]
fn statements_are_not_parsed() {
    check(
        quote!(),
        quote!(default fn f(self: Pin<&mut Self>) -> ! { syntax of tomorrow => { } }),
        quote!(default fn f(self: Pin<&mut Self>) -> ! {
            ::trace_runtime::trace_duration!("my-package", "f");
            syntax of tomorrow => { }
        }),
    );
}

#[test]
fn items_at_the_start_stay_before_the_trace_point() {
    check(
        quote!(),
        quote!(
            fn f() {
                use a::b;
                const C: u8 = 1;
                m! {}
                use c::d;
            }
        ),
        quote!(
            fn f() {
                use a::b;
                const C: u8 = 1;
                ::trace_runtime::trace_duration!("my-package", "f");
                m! {}
                use c::d;
            }
        ),
    );
}

#[test]
fn impl_blocks() {
    check(
        quote!(category = "c", crate = rt),
        quote! {
            #[doc = "Doc."]
            unsafe impl<T> Tr for a::Ring<{ N + 1 }, T> where T: Copy {
                const A: u8 = 1;
                type B = u8;
                m!();
                fn f(&self) { x }
                #[inline] #[trace_runtime::trace_fn(category = "d", args(a))] fn g(a: u8) {}
                #[trace_fn(skip)] async fn h() {}
            }
        },
        quote! {
            #[doc = "Doc."]
            unsafe impl<T> Tr for a::Ring<{ N + 1 }, T> where T: Copy {
                const A: u8 = 1;
                type B = u8;
                m!();
                fn f(&self) { rt::trace_duration!("c", "Ring::f"); x }
                #[inline] fn g(a: u8) { rt::trace_duration!("d", "Ring::g", "a" => a); }
                async fn h() {}
            }
        },
    );
}

#[test]
fn names_of_self_types() {
    let name = |self_type: TokenStream| {
        let expansion = expanded(quote!(), quote!(impl T for #self_type { fn f() {} }));
        expansion.split('"').nth(3).map(str::to_string)
    };
    assert_eq!(name(quote!(a::B<C>)).as_deref(), Some("B::f"));
    assert_eq!(name(quote!(&mut (B))).as_deref(), Some("B::f"));
    assert_eq!(name(quote!(r#type)).as_deref(), Some("type::f"));
    assert_eq!(name(quote!(<A as B>::C)).as_deref(), Some("C::f"));
    assert_eq!(name(quote!([u8])).as_deref(), Some("<[u8]>::f"));
    assert_eq!(name(quote!(dyn A)).as_deref(), Some("<dyn A>::f"));
}

/// One wrong function must not hide the others, nor lose the block.
#[test]
fn a_mistake_leaves_the_item_untraced_beside_its_error() {
    let expansion = expanded(
        quote!(),
        quote!(
            impl A {
                #[trace_fn(args(b))]
                fn f() {}
                #[trace_fn(what)]
                fn g() {}
                fn h() {}
            }
        ),
    );
    assert_eq!(expansion.matches("compile_error !").count(), 2, "{expansion}");
    let kept = quote!(
        impl A {
            fn f() {}
            fn g() {}
            fn h() {
                ::trace_runtime::trace_duration!("my-package", "A::h");
            }
        }
    );
    assert!(expansion.ends_with(&kept.to_string()), "{expansion}");
}

#[test]
fn without_a_package_the_category_must_be_given() {
    let expand = |options| {
        crate::expand::trace_fn(
            options,
            quote!(
                fn f() {}
            ),
            None,
        )
        .to_string()
    };
    assert!(expand(quote!()).contains("CARGO_PKG_NAME is not set"));
    assert!(!expand(quote!(category = "c")).contains("compile_error"));
}
