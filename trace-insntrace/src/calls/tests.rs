use super::*;
use crate::recording::{Mapping, Note};

const SPACE: SpaceId = SpaceId(1);
/// Code of a file without symbols.
const MAIN: u64 = 0x1000;
const CALLED: u64 = 0x2000;

fn notes() -> Vec<Note> {
    let path = "/none/stripped.so".to_owned();
    let mapping = Mapping { address: 0x1000, size: 0x2000, offset: 0, path, build_id: None };
    vec![Note::Mapping { space: SPACE, mapping }]
}

/// Executes instructions, each of one byte, and returns the functions that begin and end.
fn executed(instructions: &[(u64, InstructionKind)]) -> Vec<String> {
    changes(instructions.iter().map(|(ip, kind)| instruction(*ip, *kind)))
}

fn instruction(ip: u64, kind: InstructionKind) -> Item {
    Item::Instruction(Instruction { ip, length: 1, kind })
}

/// Returns the functions that begin and end.
fn changes(items: impl IntoIterator<Item = Item>) -> Vec<String> {
    let notes = notes();
    let mut symbols = Symbols::new(&notes);
    let mut calls = Calls::new(&mut symbols);
    let mut found = Vec::new();
    for (number, item) in items.into_iter().enumerate() {
        for change in calls.item(Some(SPACE), 1, &item, number as u64) {
            let name = change.enter.clone().unwrap_or("}".into());
            found.push(name.to_string());
        }
    }
    found
}

/// Tracing begins in a function that returns, and ends before the instruction behind its call.
fn part(ends: Option<Event>) -> Vec<Item> {
    let off = Event::Interrupted { from: MAIN, to: None, disabled: true };
    let begins = [
        Item::Event(Event::Enabled { ip: CALLED }),
        instruction(CALLED, InstructionKind::Other),
        instruction(CALLED + 1, InstructionKind::Return),
        Item::Event(off),
    ];
    begins.into_iter().chain(ends.map(Item::Event)).collect()
}

#[test]
fn a_part_of_the_execution_has_no_function_that_was_not_executed() {
    let ends = Event::Packet { packet: Packet::TraceStop, ip: None };
    let called = ["stripped.so+0x1000", "}"];
    assert_eq!(changes([part(Some(ends)), part(Some(ends))].concat()), called.repeat(2));
    let again = [Item::Event(Event::Enabled { ip: MAIN })];
    let interrupted = [part(None), again.to_vec()].concat();
    assert_eq!(changes(interrupted), [&called[..], &["stripped.so+0x0"]].concat());
}

#[test]
fn a_part_of_the_execution_is_not_called_by_the_one_before() {
    let jumps = [
        Item::Event(Event::Enabled { ip: MAIN }),
        instruction(MAIN, InstructionKind::Call),
        instruction(CALLED, InstructionKind::IndirectJump),
        Item::Event(Event::Interrupted { from: MAIN + 8, to: None, disabled: true }),
        Item::Event(Event::Packet { packet: Packet::TraceStop, ip: None }),
    ];
    let expected = ["stripped.so+0x0", "stripped.so+0x1000", "}", "}"];
    assert_eq!(changes(jumps.repeat(3)), expected.repeat(3));
}

#[test]
fn a_loop_of_calls_without_symbols_stays_in_its_function() {
    let turn = [
        (MAIN, InstructionKind::Call),
        (CALLED, InstructionKind::Other),
        (CALLED + 1, InstructionKind::Return),
        (MAIN + 1, InstructionKind::Conditional),
    ];
    let called = ["stripped.so+0x1000", "}"];
    let expected = [&["stripped.so+0x0"][..], &called, &called, &called].concat();
    assert_eq!(executed(&turn.repeat(3)), expected);
}

#[test]
fn a_return_to_an_unknown_caller_begins_one_function() {
    let instructions = [
        (CALLED, InstructionKind::Return),
        (MAIN, InstructionKind::Call),
        (CALLED, InstructionKind::Return),
        (MAIN + 1, InstructionKind::Return),
        (MAIN + 8, InstructionKind::Other),
    ];
    let called = "stripped.so+0x1000";
    let expected = [called, "}", "stripped.so+0x0", called, "}", "}", "stripped.so+0x8"];
    assert_eq!(executed(&instructions), expected);
}
