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
    let notes = notes();
    let mut symbols = Symbols::new(&notes);
    let mut calls = Calls::new(&mut symbols);
    let mut found = Vec::new();
    for (number, (ip, kind)) in instructions.iter().enumerate() {
        let item = Item::Instruction(Instruction { ip: *ip, length: 1, kind: *kind });
        for change in calls.item(Some(SPACE), 1, &item, number as u64) {
            let name = change.enter.clone().unwrap_or("}".into());
            found.push(name.to_string());
        }
    }
    found
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
