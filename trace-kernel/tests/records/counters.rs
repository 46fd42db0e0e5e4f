//! Lines of the log, and counters.

use super::*;

#[test]
fn lines_of_the_log_and_counters() {
    let memory = |is_own, kind, bytes| Event::ResidentMemory { space: 3, is_own, kind, bytes };
    let lines = translated(|translator, writer| {
        translator.process(7, 5);
        let events = [
            (7, Event::Log { text: "a line" }),
            (7, Event::Frequency { cpu: 1, khz: 1_800_000 }),
            // The space is not known yet, and then that of thread 7.
            (8, memory(false, "MM_ANONPAGES", 4096)),
            (7, memory(true, "MM_ANONPAGES", 8192)),
            (8, memory(false, "MM_FILEPAGES", 0)),
        ];
        for (ticks, (thread, event)) in (1..).zip(events) {
            let entry = Entry { ticks, cpu: 0, thread, context: Context::Thread, event };
            translator.entry(writer, &entry).unwrap();
        }
    });
    let expected = [
        "1 5.7 log a line",
        &format!("#{:x} is CPUs", CPU_1 - 2),
        &format!("#{CPU_1:x} is CPU 1 process=#{:x}", CPU_1 - 2),
        &format!(
            "2 {:x}.{CPU_1:x} kernel:power frequency Counter {{ id: 2 }} khz=1800000",
            CPU_1 - 2
        ),
        "4 5.5 kernel:memory resident memory Counter { id: 5 } anonymous_bytes=8192",
        "5 5.5 kernel:memory resident memory Counter { id: 5 } file_bytes=0",
    ];
    assert_eq!(lines, expected);
}

/// The kernel gives the number of an address space that is no longer used to another one.
#[test]
fn address_spaces_are_forgotten_with_their_process() {
    let memory =
        |is_own, bytes| Event::ResidentMemory { space: 3, is_own, kind: "MM_ANONPAGES", bytes };
    for last in [
        Event::Exec { thread: 7, former: 7, file: "" },
        Event::Exit { task: Task { thread: 7, name: "", priority: None } },
    ] {
        let lines = translated(|translator, writer| {
            translator.process(7, 7);
            translator.process(8, 8);
            let events = [
                (7, memory(true, 1)),
                (8, memory(false, 2)),
                (7, last),
                (8, memory(false, 3)),
                (8, memory(true, 4)),
            ];
            for (ticks, (thread, event)) in (1..).zip(events) {
                let entry = Entry { ticks, cpu: 0, thread, context: Context::Thread, event };
                translator.entry(writer, &entry).unwrap();
            }
        });
        let counter = |(ticks, process, bytes): (u64, u64, u64)| {
            format!(
                "{ticks} {process}.{process} kernel:memory resident memory \
                 Counter {{ id: {process} }} anonymous_bytes={bytes}"
            )
        };
        let expected = [(1, 7, 1), (2, 7, 2), (5, 8, 4)].map(counter);
        let counters: Vec<_> = lines.iter().filter(|line| line.contains("Counter")).collect();
        assert_eq!(counters, expected.iter().collect::<Vec<_>>(), "{last:?}");
    }
}
