//! Recordings with and without function records.

use proptest::prelude::*;
use trace_format::layout::event;
use trace_format::layout::EventType::DurationBegin;
use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::buffer::producer::{OpenScope, Slot};

use super::{function, scopes, Scopes, MODES};
use crate::harness::{header, Harness, PATIENCE};

/// What one of two recorders does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Enter(u16),
    End,
    Instant,
    Save,
}

fn steps() -> impl Strategy<Value = Vec<(Step, u64)>> {
    let step = prop_oneof![
        6 => (0u16..2).prop_map(Step::Enter),
        6 => Just(Step::End),
        1 => Just(Step::Instant),
        1 => Just(Step::Save),
    ];
    let ticks = prop_oneof![20 => 1u64..100, 1 => Just(1 << 29), 1 => Just((1 << 29) + 7)];
    proptest::collection::vec((step, ticks), 1..300)
}

/// Returns the scopes of a recording of these steps.
fn run(
    mut harness: Harness,
    steps: &[(Step, u64)],
    begin: impl Fn(&Harness, &Slot, u16, u64) -> OpenScope,
) -> Scopes {
    let slot = harness.attach(1);
    let (mut now, mut open, mut out, mut wrap) = (1000, Vec::new(), Vec::new(), 0);
    for (step, ticks) in steps {
        now += ticks;
        match step {
            Step::Enter(number) => open.push(begin(&harness, slot, *number, now)),
            Step::End => {
                if let Some(scope) = open.pop() {
                    harness.end_at(slot, &scope, now);
                }
            }
            Step::Instant => drop(harness.instant(slot, now)),
            Step::Save => {
                harness.recorder.flush();
                while harness.recorder.current() > Some(wrap) {
                    match harness.layout.mode() {
                        BufferingMode::Streaming => harness.save(wrap, &mut out),
                        _ => {
                            harness.recorder.quiesce(PATIENCE);
                            harness.recorder.mark_saved(wrap);
                        }
                    }
                    wrap += 1;
                }
            }
        }
    }
    harness.finish(&mut out);
    assert_eq!(harness.collector.stats().rejections(), 0);
    assert_eq!(harness.collector.dropped(), 0);
    scopes(&out)
}

fn begin_with_record(harness: &Harness, slot: &Slot, number: u16, at: u64) -> OpenScope {
    let Some(open) = slot.open(harness.recorder, 3) else { return OpenScope::NOT_RECORDED };
    open.words()[1].store(at, std::sync::atomic::Ordering::Relaxed);
    let header = header(DurationBegin, 3);
    let header = event::NameRef::set(header, u64::from(101 + number));
    OpenScope::begin(open, header, at)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// The scopes of a recording do not depend on the form of its records in the buffer.
    #[test]
    fn both_forms_have_the_same_scopes(steps in steps(), mode in 0usize..3) {
        let (mode, size) = (MODES[mode], 4 << 20);
        let plain = run(Harness::new(mode, size), &steps, begin_with_record);
        let functions = run(
            Harness::with_functions(mode, size, true),
            &steps,
            |harness, slot, number, at| harness.enter(slot, function(number), at),
        );
        prop_assert_eq!(functions, plain);
    }
}
