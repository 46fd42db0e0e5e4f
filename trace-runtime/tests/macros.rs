//! The forms that the macros accept. Nothing is recorded here: all trace points are off.
#![cfg_attr(
    feature = "ntrace",
    allow(clippy::assertions_on_constants, reason = "constant is what it is then")
)]

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use trace_runtime::{
    raise_alert, trace_alert, trace_async_begin, trace_async_end, trace_async_instant,
    trace_category_enabled, trace_counter, trace_duration, trace_duration_begin,
    trace_duration_end, trace_enabled, trace_flow_begin, trace_flow_end, trace_flow_step,
    trace_future_args, trace_instant, ArgValue, InstantScope, Koid, Pointer, TraceFutureExt,
};

const KEY: &str = "constant key";
const NAME: &str = "constant name";

#[test]
fn arguments_are_not_evaluated_while_off() {
    let evaluated = Cell::new(0);
    let count = || {
        evaluated.set(evaluated.get() + 1);
        1u64
    };
    trace_duration!("test", "duration", "a" => count());
    trace_duration_begin!("test", "begin", "a" => count());
    trace_duration_end!("test", "begin", "a" => count());
    trace_instant!("test", "instant", "a" => count());
    trace_instant!("test", "instant", InstantScope::Global, "a" => count());
    trace_counter!("test", "counter", count(), "a" => count());
    trace_async_begin!("test", "async", count(), "a" => count());
    trace_async_instant!("test", "async", count(), "a" => count());
    trace_async_end!("test", "async", count(), "a" => count());
    trace_flow_begin!("test", "flow", count(), "a" => count());
    trace_flow_step!("test", "flow", count(), "a" => count());
    trace_flow_end!("test", "flow", count(), "a" => count());
    trace_instant!("test", format!("name {}", count()), "a" => count());
    drop(std::future::ready(()).trace(trace_future_args!("test", "future", "a" => count())));
    drop(
        std::future::ready(())
            .trace(trace_future_args!("test", format!("{}", count()), "a" => count())),
    );
    assert_eq!(evaluated.get(), 0);
}

#[test]
fn macros_have_short_names_by_path() {
    trace_runtime::duration!("test", "duration", "a" => 1u64);
    trace_runtime::instant!("test", "instant", "a" => ?Some(1));
    trace_runtime::counter!("test", "counter", 0, "a" => 1u64);
    trace_runtime::log!("test", "{} {}", 1, 2);
    assert!(!trace_runtime::enabled!());
    assert_ne!(
        trace_runtime::nonce!(),
        trace_runtime::nonce!() + u64::from(cfg!(feature = "ntrace"))
    );
}

#[test]
fn alerts_are_raised_only_while_recorded() {
    trace_alert!("alert");
    trace_alert!("test", "fourteen bytes",);
    assert!(!raise_alert("alert"));
}

#[test]
fn nothing_is_enabled_without_a_recording() {
    assert!(!trace_enabled!());
    assert!(!trace_category_enabled!("test"));
    assert!(!trace_category_enabled!(String::from("test")));
}

/// The borrow of an argument ends with the macro's call, although the duration continues.
#[test]
fn arguments_can_be_changed_in_the_scope() {
    let mut text = String::from("before");
    let mut list = vec![1u64];
    trace_duration!("test", "scope", "text" => text, "reference" => &text, "length" => list.len());
    text.push_str(" and after");
    list.push(2);
    drop(text);
    drop(list);
}

#[test]
fn every_type_and_form_is_accepted() {
    struct Own;
    impl ArgValue for Own {
        type Arg<'a> = &'a str;

        fn arg(&self) -> &str {
            "own"
        }
    }
    let (boxed, shared, counted) = (Box::new(1u8), Arc::new(2u16), Rc::new(-3i8));
    let text: Cow<'_, str> = Cow::Owned("owned".to_owned());
    trace_instant!("test", "one", "a" => (), "b" => true, "c" => 1u8, "d" => 1u16, "e" => 1u32, "f" => 1u64, "g" => 1usize,);
    trace_instant!("test", "two", "a" => 1i8, "b" => 1i16, "c" => 1i32, "d" => 1i64, "e" => 1isize, "f" => 1f32, "g" => 1f64);
    trace_instant!("test", "three", "a" => "text", "b" => String::new(), "c" => text, "d" => &&"text", "e" => &mut 1);
    trace_instant!("test", "four", "a" => &raw const boxed, "b" => std::ptr::null_mut::<u8>(), "c" => Pointer(1));
    trace_instant!("test", "five", "a" => Koid(1), "b" => Some("x"), "c" => None::<u64>, "d" => Own, "e" => boxed);
    trace_instant!("test", "six", "a" => shared, "b" => counted, KEY => 1u64);
    trace_instant!("test", NAME, InstantScope::Process);
    trace_instant!(String::from("category"), "name", InstantScope::Process, "a" => 1u64);
    trace_duration!("test", NAME, "a" => 1u64);
    trace_duration!(KEY, NAME);
    trace_counter!("test", "counter", u64::MAX, "a" => 1, "b" => 0.5);
}

/// Fifteen arguments are the maximum.
#[test]
fn fifteen_arguments_are_accepted() {
    trace_duration!(
        "test", "many", "1" => 1, "2" => 2, "3" => 3, "4" => 4, "5" => 5, "6" => 6, "7" => 7, "8" => 8, "9" => 9,
        "10" => 10, "11" => 11, "12" => 12, "13" => 13, "14" => 14, "15" => 15
    );
}

/// One argument of a future is reserved for its parent.
#[test]
fn fourteen_arguments_of_a_future_are_accepted() {
    drop(std::future::ready(()).trace(trace_future_args!(
        "test", "many", "1" => 1, "2" => 2, "3" => 3, "4" => 4, "5" => 5, "6" => 6, "7" => 7, "8" => 8, "9" => 9,
        "10" => 10, "11" => 11, "12" => 12, "13" => 13, "14" => String::new(),
    )));
}

/// Statics of a trace point do not conflict with names of the application.
#[test]
fn statics_do_not_conflict_with_the_application() {
    const SITE: u64 = 1;
    const KEYS: u64 = 2;
    let _trace_duration = 3;
    trace_duration!("test", "hygiene", "site" => SITE, "keys" => KEYS, "own" => _trace_duration);
    trace_duration!("test", "twice in one block");
    assert_eq!(_trace_duration, 3);
}
