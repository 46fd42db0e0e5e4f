use trace_format::layout::ObjectType;
use trace_format::{Argument, KernelObject, Reader, Record, Value};

use super::*;
use crate::testing::archive;

fn name<'a>(
    object_type: ObjectType,
    koid: u64,
    name: &'a str,
    arguments: &'a [Argument<'a>],
) -> Record<'a> {
    KernelObject { object_type, koid, name: name.into(), arguments: arguments.into() }.into()
}

fn catalog(records: &[Record<'_>]) -> Catalog {
    let mut catalog = Catalog::default();
    let archive = archive(records);
    crate::Damage::of_all(Reader::new(&*archive), |item| catalog.note(item)).unwrap();
    catalog
}

#[test]
fn a_process_without_a_name_has_that_of_its_first_thread() {
    let of = |process| [Argument::new("process", Value::Koid(process))];
    let (of_5, of_6) = (of(5), of(6));
    let catalog = catalog(&[
        name(ObjectType::THREAD, 5, "sh", &of_5),
        name(ObjectType::THREAD, 5, "server", &of_5),
        name(ObjectType::THREAD, 7, "worker", &of_5),
        name(ObjectType::THREAD, 6, "main", &of_6),
        name(ObjectType::PROCESS, 6, "app", &[]),
        name(ObjectType::THREAD, 8, "loose", &[]),
        name(ObjectType::THREAD, 9, "elsewhere", &of_5),
        name(ObjectType::THREAD, 0, "idle", &[]),
    ]);
    let names = [5, 6, 8, 9, 7, 0].map(|process| catalog.process_name(process));
    assert_eq!(names, ["server", "app", "loose", "", "", ""]);
    assert_eq!(catalog.names_of_first_threads().collect::<Vec<_>>(), [(5, "server")]);
}

#[test]
fn a_thread_is_partial_until_it_gets_a_name_without_the_mark() {
    let partial = [Argument::new("partial", Value::Bool(true))];
    let [other, before] = [9, 5].map(|koid| name(ObjectType::THREAD, koid, "before", &partial));
    let after = name(ObjectType::THREAD, 5, "after", &[]);
    assert!(catalog(&[other, before]).is_partial(5));
    let catalog = catalog(&[other, before, after, before]);
    assert_eq!([5, 9, 7].map(|thread| catalog.is_partial(thread)), [false, true, false]);
}
