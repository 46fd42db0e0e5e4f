//! Blobs, objects, instaflows and virtual threads.

use std::collections::HashMap;
use std::path::Path;

use trace_format::layout::ARTIFICIAL_KOID_BIT;
use trace_format::{Arguments, Item, Reader, Record, Value};

use crate::workshop::Workshop;

/// The records of `records.h`, except the names of virtual threads.
const RECORDS: [&str; 28] = [
    "blob blob BlobType(1) 5 bytes",
    "blob own type BlobType(9) 0 bytes",
    "blob large BlobType(1) 32000 bytes",
    "blob large BlobType(1) 8000 bytes",
    "large data/event 5 bytes",
    "large data/with arguments 5 bytes number=Int32(1) text=t",
    "large data/large event 32704 bytes number=Int32(1) part=Uint32(1) parts=Uint32(3)",
    "large data/large event 32704 bytes number=Int32(1) part=Uint32(2) parts=Uint32(3)",
    "large data/large event 4592 bytes number=Int32(1) part=Uint32(3) parts=Uint32(3)",
    "large data/13 arguments 0 bytes 1=Int32(1) 2=Int32(2) 3=Int32(3) 4=Int32(4) 5=Int32(5) 6=Int32(6) 7=Int32(7) 8=Int32(8) 9=Int32(9) 10=Int32(10) 11=Int32(11) 12=Int32(12) 13=Int32(13)",
    "large data/attachment 5 bytes",
    "large data/large attachment (1/3) 32688 bytes",
    "large data/large attachment (2/3) 32688 bytes",
    "large data/large attachment (3/3) 4624 bytes",
    "object 0x1230 object",
    "object 0x1230 object 2 size=Int32(4) text=t",
    "ObjectType(100) 77 socket port=Int32(80)",
    "ObjectType(100) 1 gr?n",
    "ObjectType(100) 78 ",
    "flow/pushed DurationBegin length=Int32(3)",
    "flow/job FlowBegin { id: 7 }",
    "flow/pushed DurationEnd",
    "flow/scheduled DurationBegin",
    "flow/job FlowStep { id: 7 }",
    "flow/scheduled DurationEnd",
    "flow/done DurationBegin result=Bool(true)",
    "flow/job FlowEnd { id: 7 }",
    "flow/done DurationEnd",
];

/// Events on a virtual thread after the begin of a duration.
const ON_A_VTHREAD: [&str; 5] = [
    "vthread/arrow FlowBegin { id: 1 }",
    "vthread/arrow FlowStep { id: 1 } number=Int32(1)",
    "vthread/arrow FlowEnd { id: 1 }",
    "vthread/memory Counter { id: 5 } bytes=Int32(4096)",
    "vthread/draw DurationEnd",
];

fn arguments<'a>(item: &Item<'a>, arguments: Arguments<'a>) -> String {
    let one = |value| match value {
        Value::String(text) => item.text(text).into_owned(),
        other => format!("{other:?}"),
    };
    let all = arguments.iter();
    all.map(|argument| format!(" {}={}", item.text(argument.name), one(argument.value))).collect()
}

fn line(item: &Item<'_>) -> Option<(u64, String)> {
    let mut thread = 0;
    let line = match item.record {
        Record::Event(event) if item.text(event.category) != "trace" => {
            thread = item.thread(event.thread).thread;
            format!("{}/{} {:?}", item.text(event.category), item.text(event.name), event.kind)
        }
        Record::Blob(blob) => format!("blob {} {:?}", item.text(blob.name), blob.blob_type),
        Record::LargeBlob(blob) => {
            format!("large {}/{}", item.text(blob.category), item.text(blob.name))
        }
        Record::UserspaceObject(object) => {
            format!("object {:#x} {}", object.pointer, item.text(object.name))
        }
        Record::KernelObject(object) if object.object_type.0 > 2 => {
            format!("{:?} {} {}", object.object_type, object.koid, item.text(object.name))
        }
        _ => return None,
    };
    let size = match item.record {
        Record::Blob(blob) => format!(" {} bytes", blob.payload.len()),
        Record::LargeBlob(blob) => format!(" {} bytes", blob.payload.len()),
        _ => String::new(),
    };
    Some((thread, format!("{line}{size}{}", arguments(item, item.record.arguments()))))
}

/// The records of this process's threads, and those of each virtual thread.
fn records(path: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let bytes = std::fs::read(path).unwrap();
    let (mut own, mut by_koid) = (Vec::new(), HashMap::<u64, Vec<String>>::new());
    let mut names = HashMap::new();
    let mut reader = Reader::new(bytes.as_slice());
    while let Some(item) = reader.next().expect("the archive is well-formed") {
        match line(&item) {
            Some((koid, line)) if koid & ARTIFICIAL_KOID_BIT != 0 => {
                by_koid.entry(koid).or_default().push(line);
            }
            Some((_, line)) => own.push(line),
            None => {}
        }
        if let Record::KernelObject(object) = item.record {
            names.insert(object.koid, item.text(object.name).into_owned());
        }
    }
    assert_eq!(reader.stats().bad_records, 0);
    assert!(by_koid.keys().all(|koid| names[koid] == "queue"));
    (own, by_koid.into_values().collect())
}

fn recorded(source: &str, flags: &[&'static str]) {
    let workshop = Workshop::new(flags);
    let (said, _) = workshop.run(&[source], &[]);
    assert_eq!(said, "1\n", "only recorded arguments are evaluated");
    let (mut own, mut on_vthreads) = records(&workshop.path("trace.fxt"));
    let long = format!("ObjectType(100) 79 {}", "n".repeat(1800));
    assert_eq!(own.iter().position(|line| *line == long).map(|at| own.remove(at)), Some(long));
    assert_eq!(own, RECORDS);
    on_vthreads.sort_by_key(Vec::len);
    let draws = |queues: &[u64]| -> Vec<String> {
        let draw = |queue| format!("vthread/draw DurationBegin queue=Uint64({queue})");
        let all = queues.iter().map(draw);
        all.flat_map(|draw| [draw].into_iter().chain(ON_A_VTHREAD.map(str::to_owned))).collect()
    };
    assert_eq!(on_vthreads, [draws(&[1]), draws(&[0, 2])], "one thread for each id");
}

#[test]
fn in_c() {
    recorded("records.c", &[]);
}

#[test]
fn in_cxx() {
    recorded("records.cc", &["-O2"]);
}
