//! The attribute on a module, a trait or an `impl` block, and `args` without a list.

use std::fmt::Debug;

use trace_macros::trace_fn;

use crate::fake::{self, recorded};

#[trace_fn(crate = fake, category = "outer", args)]
mod outer {
    //! Inner attributes stay.
    #![allow(dead_code)]

    use super::fake;

    pub(super) const LIMIT: u8 = 3;

    pub(super) fn free(number: u8) -> u8 {
        number + capacity()
    }

    pub(super) const fn capacity() -> u8 {
        LIMIT
    }

    #[super::trace_fn(skip)]
    pub(super) fn left_out() {}

    pub(super) struct Thing;

    impl Thing {
        pub(super) fn method(&self, text: &str) -> usize {
            text.len()
        }

        #[super::trace_fn(category = "own", name = "named", args(twice = number * 2))]
        pub(super) fn with_own(&self, number: u8) {
            let _ = number;
        }
    }

    #[super::trace_fn(category = "inner")]
    pub(super) mod inner {
        use super::fake;

        pub(in super::super) fn nested() {}

        pub(in super::super) trait Greets {
            fn name(&self) -> String;

            fn greet(&self) -> String {
                format!("hello {}", self.name())
            }
        }
    }

    #[super::trace_fn(skip)]
    impl inner::Greets for Thing {
        fn name(&self) -> String {
            "thing".to_string()
        }
    }

    #[super::trace_fn(skip)]
    pub(super) mod quiet {
        use super::super::fake;

        pub(in super::super) fn in_skipped_block() {}

        #[trace_macros::trace_fn]
        pub(in super::super) fn marked_in_skipped_block() {}
    }

    macro_rules! made {
        () => {
            pub(super) fn by_macro() {}
        };
    }
    made!();

    unsafe extern "C" {
        pub(super) safe fn abs(number: i32) -> i32;
    }
}

#[test]
fn a_module_traces_all_functions_in_it() {
    use outer::inner::Greets;
    let (_, lines) = recorded(|| {
        outer::free(1);
        outer::left_out();
        outer::Thing.method("text");
        outer::Thing.with_own(4);
        outer::inner::nested();
        outer::Thing.greet();
        outer::quiet::in_skipped_block();
        outer::quiet::marked_in_skipped_block();
        outer::by_macro();
    });
    let begins: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("begin ")).collect();
    let expected = [
        "outer free number=1",
        r#"outer method text="text""#,
        "own named twice=8",
        "inner nested",
        "inner greet",
        "outer marked_in_skipped_block",
    ];
    assert_eq!(begins, expected);
}

#[trace_fn(crate = fake, category = "trait")]
trait Area<T: Copy + Into<f64> = f64> {
    const SIDES: u32;
    type Unit;

    fn side(&self) -> T;

    fn area(&self) -> f64 {
        let side: f64 = self.side().into();
        side * side
    }

    async fn later(&self) -> f64 {
        self.area()
    }
}

struct Square(f32);

impl Area<f32> for Square {
    const SIDES: u32 = 4;
    type Unit = ();

    fn side(&self) -> f32 {
        self.0
    }
}

#[test]
fn a_trait_traces_its_default_methods() {
    let (area, lines) = recorded(|| fake::run(Square(3.0).later()));
    assert!((area - 9.0).abs() < f64::EPSILON);
    let expected =
        ["task trait later", "poll later", "begin trait area", "end area", "ready later"];
    assert_eq!(lines, expected);
    assert_eq!(
        (<Square as Area<f32>>::SIDES, std::any::TypeId::of::<<Square as Area<f32>>::Unit>()),
        (4, std::any::TypeId::of::<()>())
    );
}

#[test]
fn all_formattable_arguments_are_recorded() {
    struct Opaque;
    #[allow(clippy::too_many_arguments)]
    #[trace_fn(crate = fake, category = "c", args)]
    fn everything<T, D: Debug, const N: usize>(
        number: u64,
        text: &str,
        unknown: T,
        shown: D,
        (left, right): (char, [u8; N]),
        opaque: &Opaque,
        call: impl Fn(),
        some: Option<&str>,
        _unused: u8,
    ) {
        let _ = (unknown, shown, opaque);
        call();
    }
    let (_, lines) =
        recorded(|| everything(1, "t", Opaque, Some(2), ('l', [3]), &Opaque, || {}, Some("s"), 4));
    let begin = r#"begin c everything number=1 text="t" shown="Some(2)" left='l' right="[3]" some=Some("s")"#;
    assert_eq!(lines[0], begin);
}

#[test]
fn skipped_parameters_are_left_out() {
    #[trace_fn(crate = fake, category = "c", args, skip(password, r#type))]
    fn login(user: &str, password: &str, r#type: u8) -> bool {
        user.len() == password.len() + usize::from(r#type)
    }
    assert_eq!(
        recorded(|| login("me", "x", 1)),
        (true, vec![r#"begin c login user="me""#.into(), "end login".into()])
    );
}

#[test]
fn arguments_beyond_the_limit_are_not_recorded() {
    #[allow(clippy::too_many_arguments)]
    #[trace_fn(crate = fake, category = "c", args)]
    fn many(
        a: u8,
        b: u8,
        c: u8,
        d: u8,
        e: u8,
        f: u8,
        g: u8,
        h: u8,
        i: u8,
        j: u8,
        k: u8,
        l: u8,
        m: u8,
        n: u8,
        o: u8,
        p: u8,
    ) -> u8 {
        a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p
    }
    let (_, lines) = recorded(|| many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
    assert!(lines[0].ends_with(" n=14 o=15"), "{lines:?}");
}

#[test]
fn flows_are_within_the_function() {
    #[trace_fn(crate = fake, category = "c", flow = id + 1)]
    fn step(id: u64) {
        let _ = id;
    }
    #[trace_fn(crate = fake, category = "c", flow_end = *id)]
    fn last(id: &u64) {
        let _ = id;
    }
    assert_eq!(recorded(|| step(1)).1, ["begin c step", "FlowStep c flow id=2", "end step"]);
    assert_eq!(recorded(|| last(&7)).1, ["begin c last", "FlowEnd c flow id=7", "end last"]);
}

/// A parameter with `#[cfg]` is not recorded.
#[test]
fn parameters_by_configuration() {
    #[trace_fn(crate = fake, category = "c", args, ret)]
    fn configured(first: u8, #[cfg(not(test))] second: String, #[cfg(test)] third: String) -> u8 {
        drop(third);
        first
    }
    let (_, lines) = recorded(|| configured(1, String::new()));
    assert_eq!(lines, ["begin c configured first=1", "instant c return value=1", "end configured"]);
}
