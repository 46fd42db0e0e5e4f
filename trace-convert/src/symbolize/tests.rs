use std::os::unix::fs::symlink;
use std::path::Path;

use trace_analyze::stats::Grouping;
use trace_format::{Backtrace, Mmap, Module, Process, Thread, ThreadKoids};

use super::*;
use crate::merge::{Clocks, Merger};
use crate::samples::Samples;
use crate::slice::{self, Plan, Selection};
use crate::text::{line_with_names, Names};

const PROCESS: Process = Process::Inline(7);

/// Where the program's first byte is mapped.
const START: u64 = 0x1000_0000;

/// Calls nothing that an optimized build inlines, and names beside it.
#[inline(never)]
fn known() -> u32 {
    line!()
}

/// Returns the address of a function in this program's file, whose first byte has the address 0.
fn address_of_known() -> u64 {
    let program = std::env::current_exe().unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let first = maps.lines().find(|line| line.ends_with(program.to_str().unwrap())).unwrap();
    let (start, _) = first.split_once('-').unwrap();
    known as *const () as u64 - u64::from_str_radix(start, 16).unwrap()
}

/// Returns an archive with samples of these addresses in the file at `path`.
fn archive(path: &Path, addresses: &[u64]) -> Vec<u8> {
    let build_id = &*trace_symbols::build_id(path).unwrap_or_default();
    let (module_id, name) = (3, path.to_str().unwrap().as_bytes());
    let module = Module { ticks: 1, process: PROCESS, module_id, name, build_id };
    let (flags, length, module_address) = (5, 1 << 40, 0);
    let (process, start) = (PROCESS, START);
    let mmap = Mmap { ticks: 1, process, module_id, flags, start, length, module_address };
    let frames: Vec<[u64; 1]> = addresses.iter().map(|address| [START + address]).collect();
    let thread = Thread::Inline(ThreadKoids::new(7, 8));
    let samples =
        frames.iter().map(|frames| Backtrace { ticks: 2, thread, frames: (&frames[..]).into() });
    let records: Vec<Record<'_>> =
        [module.into(), mmap.into()].into_iter().chain(samples.map(Record::from)).collect();
    crate::testing::archive(&records)
}

fn symbolized(archive: &[u8]) -> (Vec<u8>, Addresses, Summary) {
    let (mut symbols, mut output) = (Symbols::default(), Vec::new());
    let addresses = Addresses::read(Reader::new(archive), &mut symbols).unwrap();
    let summary = write(Reader::new(archive), &addresses, &mut symbols, &mut output).unwrap();
    (output, addresses, summary)
}

/// Returns an archive whose names are of a file that is gone.
fn of_missing_file() -> (Vec<u8>, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("program");
    symlink(std::env::current_exe().unwrap(), &path).unwrap();
    let archive = archive(&path, &[address_of_known()]);
    let (output, addresses, summary) = symbolized(&archive);
    assert_eq!((addresses.samples, addresses.outside, addresses.omitted), (1, 0, 0));
    assert_eq!((summary.named, summary.archived, summary.unnamed), (1, 0, 0));
    (archive, output)
}

/// Returns the only stack of the samples, which is read without files.
fn stack(archive: &[u8]) -> String {
    let mut samples = Samples::read(Reader::new(archive), None).unwrap();
    let folded = samples.folded(Grouping::Together);
    assert_eq!(samples.symbols.unusable(), [], "files are not asked for");
    assert_eq!(folded.len(), 1, "{folded:?}");
    folded.into_keys().next().unwrap()
}

fn all_bytes(archive: &[u8]) -> Vec<Vec<u8>> {
    let (mut reader, mut all) = (Reader::new(archive), Vec::new());
    while let Some(item) = reader.next().unwrap() {
        let is_names = matches!(item.record, Record::Blob(blob) if blob.name == SYMBOLS.into());
        assert!(!is_names || item.provider.id().is_some(), "some readers refuse it");
        all.extend((!is_names).then(|| item.bytes.to_vec()));
    }
    all
}

/// Code of a just-in-time compiler gets the names of its map, as the call of a return address has.
#[test]
fn code_without_a_file_has_the_names_of_its_map() {
    let (module_id, name) = (3, b"//anon");
    let module = Module { ticks: 1, process: PROCESS, module_id, name, build_id: &[] };
    let (flags, start, length, module_address) = (7, START, 0x1000, START);
    let process = PROCESS;
    let mmap = Mmap { ticks: 1, process, module_id, flags, start, length, module_address };
    let thread = Thread::Inline(ThreadKoids::new(7, 8));
    let frames = [START + 0x10, START + 0x20, START + 0x80];
    let sample = Backtrace { ticks: 2, thread, frames: (&frames[..]).into() };
    let archive = crate::testing::archive(&[module.into(), mmap.into(), sample.into()]);

    let directory = tempfile::tempdir().unwrap();
    let map = directory.path().join("perf-7.map");
    let lines = format!("{:x} 20 leaf\n{:x} 20 caller\n", START, START + 0x20);
    std::fs::write(&map, lines).unwrap();
    let user = std::os::unix::fs::MetadataExt::uid(&map.metadata().unwrap());
    let (mut symbols, mut output) = (Symbols::of_archive(), Vec::new());
    let mut addresses = Addresses::read(Reader::new(&*archive), &mut symbols).unwrap();
    assert_eq!(Vec::from_iter(addresses.jit_processes()), [7]);
    addresses.read_jit_map(7, &map, user).unwrap();
    let summary = write(Reader::new(&*archive), &addresses, &mut symbols, &mut output).unwrap();
    assert_eq!((summary.jit, summary.unnamed, summary.named), (2, 1, 0));
    // The return address 0x20 is behind the last byte of `leaf`, which has called.
    assert_eq!(stack(&output), format!("anon+{:#x};leaf;leaf", START + 0x7f));
    let again = Addresses::read(Reader::new(&*output), &mut Symbols::of_archive()).unwrap();
    assert_eq!(again.jit_processes().len(), 1, "one address has no name yet");
}

#[test]
fn names_do_not_need_the_files_any_more() {
    let (archive, output) = of_missing_file();
    assert_eq!(all_bytes(&archive), all_bytes(&output));
    assert_eq!(stack(&output), "trace_convert::symbolize::tests::known");
    // It changes nothing to add them again.
    let (again, _, summary) = symbolized(&output);
    assert_eq!((summary.named, summary.archived, summary.unnamed), (0, 1, 0));
    assert_eq!(again, output);
    // Without the file and the names, there is only the address.
    let (same, _, summary) = symbolized(&archive);
    assert_eq!((summary.named, summary.archived, summary.unnamed), (0, 0, 1));
    assert_eq!(same, archive);
}

#[test]
fn text_has_the_functions_with_their_lines() {
    let (_, output) = of_missing_file();
    let (mut reader, mut names) = (Reader::new(&output[..]), Names::default());
    let mut lines = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let mut line = String::new();
        line_with_names(&mut line, &item, &mut names).unwrap();
        lines.push(line);
    }
    let blob = &lines[2];
    assert!(blob.contains(" 1 blob \"trace symbols\" data "), "{blob}");
    assert!(blob.contains(" bytes module \"/") && blob.ends_with(" addresses 1"), "{blob}");
    let sample = lines.last().unwrap();
    let address = START + address_of_known();
    let name = format!(" where {address:#x} is \"trace_convert::symbolize::tests::known\" (");
    let (_, place) = sample.split_once(&name).unwrap();
    let (file, line) = place.strip_suffix(')').unwrap().rsplit_once(':').unwrap();
    assert!(file.ends_with("trace-convert/src/symbolize/tests.rs"), "{sample}");
    assert!(line.parse::<u32>().unwrap().abs_diff(known()) <= 1, "{sample}");
}

#[test]
fn slices_and_merges_keep_names() {
    let (archive, named) = of_missing_file();
    let selection = Selection { processes: Some(&[7]), from: 2, ..Selection::default() };
    let plan = Plan::read(Reader::new(&named[..]), &selection).unwrap();
    let mut part = Vec::new();
    slice::write(Reader::new(&named[..]), &plan, &mut part).unwrap();
    assert_eq!(stack(&part), "trace_convert::symbolize::tests::known");
    let (mut merged, archives) = (Vec::new(), [&archive, &named, &named]);
    let clocks = archives.map(|archive| Clocks::read(Reader::new(&archive[..])).unwrap());
    let mut merger = Merger::new(&mut merged, &clocks).unwrap();
    for archive in archives {
        merger.add("one", Reader::new(&archive[..])).unwrap();
    }
    let summary = merger.finish().unwrap();
    assert_eq!((summary.providers, summary.without_anchor.len()), (3, 3));
    assert_eq!(stack(&merged), "trace_convert::symbolize::tests::known");
    let (_, addresses, summary) = symbolized(&merged);
    assert_eq!((addresses.samples, summary.archived), (3, 1));
}

#[test]
fn addresses_beyond_the_limit_are_counted() {
    let addresses: Vec<u64> = (0..MAX_ADDRESSES as u64 + 10).map(|number| number / 2 * 2).collect();
    let all = archive(Path::new("/no/such/file"), &addresses);
    let (_, found, summary) = symbolized(&all);
    assert_eq!((found.addresses.len(), found.omitted), (MAX_ADDRESSES / 2 + 5, 0));
    assert_eq!(summary.unnamed, found.addresses.len() as u64);
    let addresses: Vec<u64> = (0..MAX_ADDRESSES as u64 + 10).collect();
    let all = archive(Path::new("/no/such/file"), &[&addresses[..], &addresses].concat());
    let (_, found, summary) = symbolized(&all);
    assert_eq!((found.addresses.len(), found.omitted), (MAX_ADDRESSES, 20));
    assert_eq!(summary.unnamed, MAX_ADDRESSES as u64);
}
