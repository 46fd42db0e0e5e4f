//! Custom and typed events of libraries that clang has compiled.

use std::fs::File;
use std::io::BufReader;

use trace_format::{Reader, Record, Value};

use super::*;

/// The first number of the calls whose events are known. Those of threads are less.
const KNOWN: u64 = 1 << 40;

fn clang(source: &str, output: &Path, arguments: &[&Path]) {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/programs/sleds");
    let mut clang = Command::new("clang++-19");
    clang.args(["-O2", "-fPIC", "-shared", "-fxray-instrument", "-fno-xray-link-deps"]);
    clang.arg(Path::new(sources).join(source)).args(arguments).arg("-o").arg(output);
    assert!(clang.status().expect("clang is installed; .ci/xray does it").success());
}

/// Returns the numbers of the events in an archive: custom ones, and typed ones, whose types are
/// the lowest bits of their numbers.
fn events(archive: &Path) -> [Vec<u64>; 2] {
    let mut reader = Reader::new(BufReader::new(File::open(archive).unwrap()));
    let mut numbers = [Vec::new(), Vec::new()];
    while let Some(item) = reader.next().unwrap() {
        let Record::Event(event) = &item.record else { continue };
        let arguments: Vec<_> = event.arguments.iter().map(|argument| argument.value).collect();
        let number = |payload| {
            let text = item.text(payload);
            text.strip_prefix("event ").and_then(|number| number.parse::<u64>().ok()).expect(&text)
        };
        match (&*item.text(event.name), &arguments[..]) {
            ("custom event", [Value::String(payload)]) => numbers[0].push(number(*payload)),
            ("typed event", [Value::Uint32(event_type), Value::String(payload)]) => {
                let number = number(*payload);
                assert_eq!(*event_type, (number & 0xffff) as u32);
                numbers[1].push(number);
            }
            (name, _) => assert!(!name.ends_with(" event"), "{arguments:?}"),
        }
    }
    numbers
}

/// One library is loaded by the program, and another one with a library that is linked with it.
#[test]
#[ignore = "requires clang: run .ci/xray"]
fn events_are_turned_on_and_off_while_threads_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (loaded, linked, user) = (path("loaded.so"), path("linked.so"), path("user.so"));
    clang("library.cpp", &loaded, &[]);
    clang("library.cpp", &linked, &[]);
    clang("linked.cpp", &user, &[&linked]);
    let mut libraries = [
        Library::new(&loaded, &loaded, c"library_function"),
        Library::new(&linked, &user, c"linked_function"),
    ];
    let archive = path("app.fxt");
    recorded(&archive, || {
        turn_on_and_off_while_threads_run(&mut libraries);
        for (library, first) in libraries.iter_mut().zip([KNOWN, 2 * KNOWN]) {
            library.patcher.patch(true).unwrap();
            (first..first + 100)
                .for_each(|number| assert_eq!((library.called)(number), number + 1));
            library.patcher.patch(false).unwrap();
            (library.called)(first + 100);
        }
    });
    for mut numbers in events(&archive) {
        assert!(numbers.iter().any(|number| *number < KNOWN));
        numbers.retain(|number| *number >= KNOWN);
        let known = [KNOWN, 2 * KNOWN].into_iter().flat_map(|first| first..first + 100);
        assert!(numbers.iter().copied().eq(known), "{numbers:?}");
    }
}
