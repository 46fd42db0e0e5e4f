//! Records of `#[trace_fn]`.

use std::cell::Cell;
use std::fmt;

use trace_runtime::trace_fn;

use crate::archive::{alone, lines, Recorded, Recording};

mod shapes {
    use super::{fmt, trace_fn};

    #[trace_fn]
    pub(super) fn free() {
        #[trace_fn]
        fn inner() {}
        inner();
    }

    pub(super) struct Ring<T>(pub(super) T);

    #[trace_fn(category = "shapes")]
    impl<T: Copy> Ring<T> {
        pub(super) fn push<U>(&mut self, _with: U) -> T {
            std::iter::once_with(|| self.0).next().unwrap_or(self.0)
        }
    }

    impl<T> fmt::Display for Ring<T> {
        #[trace_fn(category = "shapes")]
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("ring")
        }
    }

    pub(super) trait Area {
        #[trace_fn(category = "shapes")]
        fn area(&self) -> u32 {
            1
        }
    }

    impl<T> Area for Ring<T> {}

    #[trace_fn(category = "shapes")]
    pub(super) async fn later(number: u8) -> u8 {
        number
    }
}

/// Returns the durations and tasks that began, in order.
fn begun(records: &[Recorded]) -> Vec<String> {
    let names = records.iter().filter_map(|record| {
        let named = record
            .text
            .strip_prefix("begin ")
            .or_else(|| record.text.split_once(") ").map(|(_, named)| named));
        named.filter(|named| named.starts_with("shapes/") || named.starts_with("recorded/"))
    });
    names.map(str::to_owned).collect()
}

#[test]
fn functions_have_their_paths_as_names() {
    use shapes::Area;
    let recording = Recording::start();
    shapes::free();
    let mut ring = shapes::Ring(1);
    ring.push(());
    assert_eq!(ring.to_string(), "ring");
    ring.area();
    assert_eq!(run(shapes::later(3)), 3);
    let mut names = begun(&recording.end());
    names.dedup();
    let names: Vec<&str> = names.iter().map(|name| name.split(' ').next().unwrap()).collect();
    let expected = [
        "recorded/attribute::shapes::free",
        "recorded/attribute::shapes::free::inner",
        "shapes/Ring::push",
        "shapes/Ring::fmt",
        "shapes/Area::area",
        "shapes/attribute::shapes::later",
    ];
    assert!(expected.iter().all(|name| names.contains(name)), "{names:?}");
}

fn run<F: std::future::Future>(future: F) -> F::Output {
    let mut future = Box::pin(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

#[derive(Debug)]
struct Debugged {
    _part: u8,
}

struct Opaque;

#[trace_fn(category = "options", name = "all", args, ret, flow = number)]
fn everything<T>(
    number: u64,
    text: &str,
    value: &Debugged,
    unknown: T,
    opaque: Opaque,
    address: std::net::Ipv4Addr,
) -> f64 {
    let _ = (text, value, unknown, opaque, address);
    number as f64
}

#[trace_fn(category = "options", args(long = "x".repeat(number).as_str(), list = vec![1; number]), err)]
fn fails(number: usize) -> Result<(), std::num::TryFromIntError> {
    let _: u8 = number.try_into()?;
    Ok(())
}

#[test]
fn values_are_typed_or_text_or_left_out() {
    let recording = Recording::start();
    everything(3, "t", &Debugged { _part: 1 }, "unknown", Opaque, [127, 0, 0, 1].into());
    let _error = fails(300);
    let records = recording.end();
    let begin = lines(&records, "options/all");
    assert!(
        begin[0]
            .ends_with("options/all number=3 text=t value=Debugged { _part: 1 } address=127.0.0.1"),
        "{begin:?}"
    );
    assert_eq!(lines(&records, "options/flow"), ["flow step(3) options/flow"]);
    assert_eq!(
        lines(&records, "options/return"),
        ["instant(Thread) options/return value=Double(3.0)"]
    );
    let begin = lines(&records, "fails");
    assert!(begin[0].contains(&format!("long={} list=[1, 1, ", "x".repeat(300))), "{begin:?}");
    assert!(begin[0].ends_with("1, 1]"), "{begin:?}");
    assert_eq!(
        lines(&records, "options/error"),
        ["instant(Thread) options/error error=out of range integral type conversion attempted"]
    );
}

thread_local! {
    static EVALUATED: Cell<u32> = const { Cell::new(0) };
}

fn evaluated() -> u64 {
    EVALUATED.with(|evaluated| evaluated.set(evaluated.get() + 1));
    1
}

/// Counts how often it is formatted.
struct Looked;

impl fmt::Display for Looked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        evaluated();
        f.write_str("looked at")
    }
}

#[trace_fn(category = "off", args(looked, number = evaluated()), flow = evaluated(), ret)]
fn plain(looked: &Looked) -> Looked {
    let _ = looked;
    Looked
}

#[trace_fn(category = "off", args, ret, err)]
fn result(looked: &Looked, fail: bool) -> Result<Looked, Looked> {
    let _ = looked;
    if fail {
        return Err(Looked);
    }
    Ok(Looked)
}

#[trace_fn(category = "off", args(looked, number = evaluated()), flow_begin = evaluated(), ret)]
async fn future(looked: &Looked) -> Looked {
    let _ = looked;
    Looked
}

#[trace_fn(category = "off", args, flow_end = evaluated(), err)]
fn returned(looked: &Looked) -> impl std::future::Future<Output = Result<(), Looked>> {
    let _ = looked;
    async { Err(Looked) }
}

#[trace_fn(category = "off", args, flow = evaluated(), ret)]
fn boxed(looked: &Looked) -> std::pin::Pin<Box<dyn std::future::Future<Output = Looked>>> {
    let _ = looked;
    let future = async { Looked };
    Box::pin(future)
}

fn call_all() -> u32 {
    EVALUATED.set(0);
    plain(&Looked);
    let _ = result(&Looked, true);
    let _ = result(&Looked, false);
    run(future(&Looked));
    let _ = run(returned(&Looked));
    run(boxed(&Looked));
    EVALUATED.get()
}

/// In every form of the attribute, values are evaluated only while the category is recorded.
#[test]
fn with_the_category_off_nothing_is_evaluated() {
    let _alone = alone();
    assert_eq!(call_all(), 0);
    let recording = Recording::with(|builder| builder.streaming().categories(["other"]));
    assert_eq!(call_all(), 0);
    assert_eq!(lines(&recording.end(), "off/"), Vec::<String>::new());
    let recording = Recording::start();
    assert_eq!(call_all(), 4 + 2 * 2 + 4 + 3 + 3);
    assert!(!lines(&recording.end(), "off/").is_empty());
}
