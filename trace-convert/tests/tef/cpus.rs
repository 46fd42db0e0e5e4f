//! Scheduling records of archives: converted to lines of ftrace and durations on CPUs in JSON, and
//! back.

use proptest::collection::vec;
use proptest::prelude::*;
use trace_format::layout::ThreadState;
use trace_format::{
    Argument, Arguments, ContextSwitch, Reader, Record, ThreadWakeup, Value, Writer,
};

use crate::documents::merged;
use crate::json::parse;
use crate::system::{with_text, SWITCH};
use crate::{archive, document};

/// Time, CPU, outgoing and incoming thread, the outgoing state, whether it is a wakeup instead, and
/// the weight.
type Moment = (u32, u16, u64, u64, usize, bool, i32);

fn native(moments: &[Moment]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    for (ticks, cpu, from, to, state, is_wakeup, weight) in moments {
        let (ticks, cpu, weight) = (u64::from(*ticks), *cpu, Value::Int32(*weight));
        if *is_wakeup {
            let kind = ["hard", "soft"].get(*state);
            let name = if kind.is_some() { "interrupted" } else { "waker" };
            let kind = kind.map(|kind| Argument::new("interrupt", Value::String((*kind).into())));
            let thread = (*from != 0).then(|| Argument::new(name, Value::Koid(*from)));
            let weight = [Argument::new("weight", weight)];
            let arguments: Vec<_> = weight.into_iter().chain(kind).chain(thread).collect();
            let arguments = (&*arguments).into();
            writer.record(&ThreadWakeup { ticks, cpu, thread: to + 1, arguments }.into()).unwrap();
        } else {
            let arguments =
                ["outgoing_weight", "incoming_weight"].map(|name| Argument::new(name, weight));
            let (outgoing_thread, incoming_thread) = (*from, *to);
            let (outgoing_state, arguments) = (STATES[*state], (&arguments).into());
            let switch = ContextSwitch {
                ticks,
                cpu,
                outgoing_state,
                outgoing_thread,
                incoming_thread,
                arguments,
            };
            writer.record(&switch.into()).unwrap();
        }
    }
    writer.into_inner()
}

/// Returns the scheduling records as text. Events are not allowed.
fn scheduling(archive: &[u8]) -> Vec<String> {
    let mut reader = Reader::new(archive);
    let mut found = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let named = |arguments: &Arguments<'_>, name| {
            let mut named = arguments.iter().filter(|argument| item.text(argument.name) == name);
            named.next().map(|argument| match argument.value {
                Value::String(text) => item.text(text).into_owned(),
                other => format!("{other:?}"),
            })
        };
        match &item.record {
            Record::ContextSwitch(switch) => {
                let ContextSwitch { ticks, cpu, outgoing_state, arguments, .. } = switch;
                let (outgoing, incoming) = (switch.outgoing_thread, switch.incoming_thread);
                let weights =
                    ["outgoing_weight", "incoming_weight"].map(|name| named(arguments, name));
                found.push(format!(
                    "{ticks} {cpu} {outgoing_state:?} {outgoing} {incoming} {weights:?}"
                ));
            }
            Record::ThreadWakeup(ThreadWakeup { ticks, cpu, thread, arguments }) => {
                let more = ["weight", "waker", "interrupt", "interrupted"];
                let more = more.map(|name| named(arguments, name));
                found.push(format!("{ticks} {cpu} {thread} {more:?}"));
            }
            Record::Event(event) => panic!("{event:?}"),
            Record::KernelObject(object) => {
                assert_ne!(object.koid, u64::from(u32::MAX), "the process of CPUs is artificial");
            }
            _ => {}
        }
    }
    found
}

const STATES: [ThreadState; 5] = [
    ThreadState::RUNNING,
    ThreadState::SUSPENDED,
    ThreadState::BLOCKED,
    ThreadState::DYING,
    ThreadState::DEAD,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Durations on CPUs are converted back only to scheduling records, and these to the same JSON.
    #[test]
    fn scheduling_survives_the_round_trip(
        moments in vec((any::<u32>(), 0u16..4, 0u64..6, 0u64..6, 0usize..5, any::<bool>(), -20i32..140), 0..30),
    ) {
        let native = native(&moments);
        let json = document(&native);
        let (archive, _) = archive(json.as_bytes());
        prop_assert_eq!(scheduling(&archive), scheduling(&native));
        prop_assert_eq!(parse(&document(&archive)), parse(&json));
    }
}

#[test]
fn scheduling_among_other_archives() {
    let (text, _) = archive(with_text("", SWITCH).as_bytes());
    let (plain, _) = archive(br#"{"traceEvents":[]}"#);
    let switch = native(&[(1_000_000_000, 3, 4, 5, 0, false, 120)]);
    let cpus = |json: &str| ["CPU 0", "CPU 3"].map(|cpu| json.matches(cpu).count());
    let lines = |json: &str| json.matches("sched_switch: ").count();

    // Viewers do not read the text of a document within an archive.
    let both = merged(&[switch.clone(), text.clone()]);
    assert_eq!((lines(&both), cpus(&both)), (3, [1, 1]), "{both}");
    // A document keeps its own text, which does not have the other's CPU.
    let both = merged(&[text, switch.clone()]);
    assert_eq!((lines(&both), cpus(&both)), (1, [0, 1]), "{both}");
    assert!(!both.contains("tef:added"), "{both}");
    let both = merged(&[plain, switch]);
    assert_eq!((lines(&both), cpus(&both)), (0, [0, 1]), "{both}");
}
