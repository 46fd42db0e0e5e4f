//! Sites of several translation units, and of shared libraries that are loaded and unloaded.

use std::path::Path;

use crate::events::{count, events};
use crate::harness::Run;
use crate::workshop::Workshop;

#[test]
fn every_translation_unit_has_its_sites() {
    for flags in [&["-O0"][..], &["-O2"], &["-O2", "-ffunction-sections", "-Wl,--gc-sections"]] {
        let sources = ["units_first.cc", "units_second.cc", "units_third.c", "units_empty.c"];
        let (_, events) = Workshop::new(flags).run(&sources, &[]);
        let unit = |unit: u32| {
            [
                format!("units/instance Instant {{ scope: Some(Thread) }} unit=Int32({unit})"),
                format!("units/member Complete unit=Int32({unit})"),
                format!("units/inlined Instant {{ scope: Some(Thread) }} unit=Int32({unit})"),
                format!("units/copied Instant {{ scope: Some(Thread) }} unit=Int32({unit})"),
            ]
        };
        let expected: Vec<String> = unit(1)
            .into_iter()
            .chain(unit(2))
            .chain([
                "units/instance Instant { scope: Some(Thread) } unit=Double(2.0)".to_owned(),
                "units/in C Instant { scope: Some(Thread) } unit=Int32(3)".to_owned(),
            ])
            .collect();
        assert_eq!(events, expected, "{flags:?}");
    }
}

fn number_of(events: &[String], number: u32) -> (usize, usize) {
    let scope = format!("plugin/work Complete number=Int32({number})");
    let moment = format!("plugin/moment Instant {{ scope: Some(Thread) }} number=Int32({number})");
    (count(events, &scope), count(events, &moment))
}

fn libraries_are_loaded_and_unloaded(plugins: [&str; 2], flags: &[&'static str]) {
    let workshop = Workshop::new(flags);
    let [one, other] = ["one.so", "other.so"].map(|name| {
        let path = workshop.shared_library(name, &[plugins[usize::from(name != "one.so")]]);
        path.to_str().expect("it is UTF-8").to_owned()
    });
    let host = workshop.program("host", &["host.c"]);
    let run = Run::of(&mut workshop.traced(&host, &[&one, &other]));
    assert_eq!(run.code(), 0, "{run:?}");
    let first = events(&workshop.path("trace.fxt"));
    let numbers: Vec<_> = (1..=6).map(|number| number_of(&first, number)).collect();
    assert_eq!(numbers, [(0, 0), (1, 1), (1, 1), (50, 50), (1, 1), (0, 0)], "{plugins:?}");
    assert_eq!((count(&first, "off/"), count(&first, "host/")), (0, 1));
    let second = events(Path::new(&workshop.path("second.fxt")));
    assert_eq!(number_of(&second, 6), (1, 1));
    assert_eq!(second.len(), 3, "{second:?}");
}

#[test]
fn libraries_in_c() {
    libraries_are_loaded_and_unloaded(["plugin.c", "plugin.c"], &[]);
}

#[test]
fn libraries_in_cxx() {
    libraries_are_loaded_and_unloaded(["plugin.cc", "plugin.cc"], &["-O2"]);
}

#[test]
fn libraries_in_both() {
    libraries_are_loaded_and_unloaded(["plugin.c", "plugin.cc"], &["-O2"]);
}

#[test]
fn libraries_are_loaded_while_recordings_start_and_stop() {
    let workshop = Workshop::new(&["-O1", "-pthread"]);
    let plugin = workshop.shared_library("plugin.so", &["plugin.c"]);
    let storm = workshop.program("storm", &["storm.c"]);
    let mut command = workshop.traced(&storm, &[plugin.to_str().expect("it is UTF-8")]);
    let run = Run::of(command.env("TRACE_BUFFER_SIZE", "64K"));
    assert_eq!(run.code(), 0, "{run:?}");
    assert_eq!(count(&events(&workshop.path("trace.fxt")), "storm/over"), 1);
}

/// The library's threads, and its functions for the end of a thread, run after `dlclose`.
#[test]
fn a_library_with_a_provider_stays_loaded() {
    let workshop = Workshop::new(&["-O1", "-pthread"]);
    let library = workshop.library_with_provider("provider.so", "provider.c");
    let host = workshop.program_alone("host", &["provider_host.c"]);
    for how in ["stop", "leave"] {
        let command = || workshop.traced(&host, &[library.to_str().expect("it is UTF-8"), how]);
        let unobserved = Run::of(command().env_remove("TRACE_OUTPUT"));
        assert_eq!(unobserved.code(), 0, "{how}: {unobserved:?}");
        let run = Run::of(&mut command());
        assert_eq!(run.code(), 0, "{how}: {run:?}");
        let found = events(&workshop.path("trace.fxt"));
        let of = |number| count(&found, &format!("provider/work Complete number=Int32({number})"));
        let numbers = [0, 1, 2, 3, 4].map(of);
        // Each recording of the same process replaces the archive of the one before.
        let expected = if how == "stop" { [0, 0, 0, 0, 1] } else { [1; 5] };
        assert_eq!(numbers, expected, "{how}");
    }
}
