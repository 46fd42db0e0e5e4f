//! Instruction flows against walks whose instructions are known.

#[path = "common/items.rs"]
mod items;
#[path = "common/random.rs"]
mod random;
#[path = "common/walk.rs"]
mod walk;

use items::ips;
use proptest::prelude::*;
use random::Random;
use trace_insntrace::flow::{
    disassemble, Event, FlowDecoder, FlowError, FlowErrorKind, Image, Item, Part,
};
use trace_insntrace::pt::{encode, Compression, ExecMode, Ip, Packet, PsbState, Tnt, Writer};
use walk::{Odds, Program, Walk, BASE};

const OFTEN: Odds = Odds { interrupt: 50, pause: 30, psb: 70, time: 20, overflow: 40 };

fn image_of(code: &[u8]) -> Image {
    let mut image = Image::new();
    image.insert(BASE, code);
    image
}

fn decode_in_pieces(code: &[u8], trace: &[u8], size: usize) -> Vec<Result<Item, FlowError>> {
    let mut flow = FlowDecoder::new(image_of(code));
    let mut items = Vec::new();
    for piece in trace.chunks(size) {
        flow.push(piece);
        items.extend(std::iter::from_fn(|| flow.next_item()));
    }
    flow.end();
    items.extend(std::iter::from_fn(|| flow.next_item()));
    items
}

fn decode(code: &[u8], trace: &[u8]) -> Vec<Result<Item, FlowError>> {
    let items = timed_items(code, trace);
    assert_eq!(timed_items_of_parts(code, trace), items);
    assert_eq!(visited_items(code, trace), items);
    items.into_iter().map(|(item, _)| item).collect()
}

type TimedItem = (Result<Item, FlowError>, Option<u64>);

fn whole(code: &[u8], trace: &[u8]) -> FlowDecoder {
    let mut flow = FlowDecoder::new(image_of(code));
    flow.push(trace);
    flow.end();
    flow
}

fn timed_items(code: &[u8], trace: &[u8]) -> Vec<TimedItem> {
    let mut flow = whole(code, trace);
    std::iter::from_fn(|| flow.next_item().map(|item| (item, flow.tsc()))).collect()
}

fn items_of(part: Part<'_>) -> Vec<Item> {
    match part {
        Part::Instructions(part) => part.iter().map(|it| Item::Instruction(*it)).collect(),
        Part::Event(event) => vec![Item::Event(event)],
    }
}

fn timed_items_of_parts(code: &[u8], trace: &[u8]) -> Vec<TimedItem> {
    let mut flow = whole(code, trace);
    let mut items = Vec::new();
    while let Some(part) = flow.next_part() {
        let part = match part {
            Ok(part) => items_of(part).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        items.extend(part.into_iter().map(|item| (item, flow.tsc())));
    }
    items
}

fn visited_items(code: &[u8], trace: &[u8]) -> Vec<TimedItem> {
    let mut flow = whole(code, trace);
    let mut items = Vec::new();
    while let Err(error) = flow.visit(|part, tsc| {
        items.extend(items_of(part).into_iter().map(|item| (Ok(item), tsc)));
    }) {
        items.push((Err(error), flow.tsc()));
    }
    items
}

fn events(items: &[Result<Item, FlowError>]) -> Vec<Event> {
    let event = |item: &Result<Item, FlowError>| match item {
        Ok(Item::Event(event)) => Some(*event),
        _ => None,
    };
    items.iter().filter_map(event).collect()
}

fn errors(items: &[Result<Item, FlowError>]) -> Vec<FlowError> {
    items.iter().filter_map(|item| item.as_ref().err().copied()).collect()
}

fn psb(writer: &mut Writer, ip: Option<u64>) {
    writer.psb(PsbState { tsc: Some(7), cbr: None, mode: ExecMode::LONG, ip });
}

/// Returns the trace of a writer that starts at the beginning of the code.
fn traced(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new();
    psb(&mut writer, Some(BASE));
    write(&mut writer);
    writer.flush();
    writer.take()
}

#[test]
fn events_are_at_their_positions() {
    // nop; nop; syscall; nop; jmp rax
    let code = b"\x90\x90\x0f\x05\x90\xff\xe0";
    let trace = traced(|writer| {
        writer.async_branch(BASE + 1, BASE);
        writer.disable(None);
        writer.enable(BASE + 4, ExecMode::LONG);
        writer.indirect(BASE);
        writer.async_disable(BASE + 1, Some(1));
        writer.overflow(None);
        writer.enable(BASE + 4, ExecMode::LONG);
        writer.disable(Some(2));
        writer.packet(Packet::TraceStop);
    });
    let items = decode(code, &trace);
    assert_eq!(errors(&items), []);
    let expected = [0, 0, 1, 2, 4, 5, 0, 4, 5].map(|at| BASE + at);
    assert_eq!(ips(&items), expected);
    let expected = [
        Event::Synchronized { ip: Some(BASE) },
        Event::Interrupted { from: BASE + 1, to: Some(BASE), disabled: false },
        Event::Disabled { to: None },
        Event::Enabled { ip: BASE + 4 },
        Event::Interrupted { from: BASE + 1, to: Some(1), disabled: true },
        Event::Overflow { ip: None },
        Event::Enabled { ip: BASE + 4 },
        Event::Disabled { to: Some(2) },
        Event::Packet { packet: Packet::TraceStop, ip: None },
    ];
    assert_eq!(events(&items), expected);
    assert!(matches!(items[2], Ok(Item::Event(Event::Interrupted { .. }))));
}

#[test]
fn a_fup_belongs_to_the_packet_that_announced_it() {
    // nop; nop; jmp rax
    let code = b"\x90\x90\xff\xe0";
    let fup = Packet::Fup(Ip::new(Compression::Full, BASE + 1));
    let write = Packet::PtWrite { value: trace_insntrace::pt::PtWriteValue::U32(5), ip: true };
    let mode = trace_insntrace::pt::TsxMode { in_transaction: true, aborted: false };
    let trace = traced(|writer| {
        writer.packet(write);
        writer.packet(fup);
        writer.packet(Packet::ModeTsx(mode));
        writer.packet(fup);
        writer.indirect(BASE + 2);
        writer.indirect(BASE + 9);
    });
    let items = decode(code, &trace);
    assert_eq!(errors(&items), []);
    assert_eq!(ips(&items), [0, 1, 2, 2].map(|at| BASE + at));
    let ip = Some(BASE + 1);
    let packets = [write, Packet::ModeTsx(mode)].map(|packet| Event::Packet { packet, ip });
    assert_eq!(events(&items)[1..], packets);
}

#[test]
fn several_packets_may_share_a_fup() {
    let mwait = Packet::Mwait { hints: 1, extensions: 2 };
    let entry = Packet::PwrEntry { state: 1, sub_state: 2, hardware: false };
    let stop = Packet::ExStop { ip: true };
    let trace = traced(|writer| {
        [mwait, entry, stop].iter().for_each(|packet| writer.packet(*packet));
        writer.packet(Packet::Fup(Ip::new(Compression::Full, BASE + 1)));
        writer.indirect(BASE);
    });
    let items = decode(b"\x90\xff\xe0", &trace);
    let ip = Some(BASE + 1);
    let expected = [(entry, None), (mwait, ip), (stop, ip)];
    let expected = expected.map(|(packet, ip)| Event::Packet { packet, ip });
    assert_eq!(events(&items)[1..], expected);
}

#[test]
fn packets_whose_fup_is_missing_have_no_ip() {
    let stop = Packet::ExStop { ip: true };
    let trace = traced(|writer| {
        (0..20).for_each(|_| writer.packet(stop));
        writer.indirect(BASE);
    });
    let items = decode(b"\x90\xff\xe0", &trace);
    assert_eq!(events(&items)[1..], [Event::Packet { packet: stop, ip: None }; 20]);
}

#[test]
fn an_aborted_transaction_is_an_interrupt() {
    let code = b"\x90\x90\x90\xff\xe0";
    let mode = trace_insntrace::pt::TsxMode { in_transaction: false, aborted: true };
    let trace = traced(|writer| {
        writer.packet(Packet::ModeTsx(mode));
        writer.async_branch(BASE + 2, BASE + 3);
        writer.indirect(BASE);
    });
    let items = decode(code, &trace);
    assert_eq!(ips(&items), [0, 1, 3].map(|at| BASE + at));
    let interrupted = Event::Interrupted { from: BASE + 2, to: Some(BASE + 3), disabled: false };
    let packet = Event::Packet { packet: Packet::ModeTsx(mode), ip: None };
    assert_eq!(events(&items)[1..], [packet, interrupted]);
}

#[test]
fn targets_may_be_deferred_behind_branches() {
    // jnz +0; jmp rax; jnz +0; jnz +0; jmp rax
    let code = b"\x75\x00\xff\xe0\x75\x00\x75\x00\xff\xe0";
    let tip = |ip| Packet::Tip(Ip::new(Compression::Full, ip));
    let trace = traced(|writer| {
        writer.packet(Packet::Tnt(Tnt::new(0b101, 3).unwrap()));
        writer.packet(tip(BASE + 4));
        writer.packet(tip(BASE));
    });
    let items = decode(code, &trace);
    assert_eq!(errors(&items), []);
    assert_eq!(ips(&items), [0, 2, 4, 6, 8].map(|at| BASE + at));
}

#[test]
fn code_of_32_bits_is_decoded() {
    // inc eax; jmp eax: in 64-bit code a prefix of jmp rax
    let code = b"\x40\xff\xe0";
    let mode = ExecMode::new(false, true);
    let trace = traced(|writer| {
        writer.disable(Some(BASE));
        writer.enable(BASE, mode);
        writer.indirect(BASE);
        writer.packet(Packet::ModeExec(ExecMode::LONG));
        writer.indirect(BASE);
        writer.indirect(BASE);
    });
    let items = decode(code, &trace);
    assert_eq!(errors(&items), []);
    assert_eq!(ips(&items), [0, 1, 0, 1, 0].map(|at| BASE + at));
    let mut flow = whole(code, &trace);
    let mut texts = Vec::new();
    while let Some(item) = flow.next_item() {
        if let Item::Instruction(instruction) = item.unwrap() {
            texts.push(disassemble(instruction.ip, flow.bitness(), flow.image()));
        }
    }
    assert_eq!(texts, ["inc eax", "jmp eax", "inc eax", "jmp eax", "jmp rax"]);
}

#[test]
fn code_behind_the_last_instruction_may_be_missing() {
    // nop, and the first byte of a call
    let trace = traced(|writer| writer.async_disable(BASE + 1, None));
    let items = decode(b"\x90\xe8", &trace);
    assert_eq!(errors(&items), []);
    assert_eq!(ips(&items), [BASE]);
}

#[test]
fn changed_code_is_decoded_anew() {
    let mut flow = FlowDecoder::new(image_of(b"\x90\xff\xe0"));
    flow.push(&traced(|writer| writer.indirect(BASE)));
    assert_eq!(ips(&std::iter::from_fn(|| flow.next_item()).collect::<Vec<_>>()).len(), 2);
    flow.image_mut().insert(BASE, b"\xff\xe0");
    let mut writer = Writer::new();
    writer.indirect(BASE);
    flow.push(&writer.take());
    let item = flow.next_item().unwrap().unwrap();
    assert!(matches!(item, Item::Instruction(instruction) if instruction.length == 2));
}

#[test]
fn instructions_to_be_returned_survive_a_change_of_the_code() {
    let mut flow = FlowDecoder::new(image_of(b"\x90\x90\x90\xff\xe0"));
    flow.push(&traced(|writer| writer.indirect(BASE + 1)));
    let mut items = vec![flow.next_item().unwrap(), flow.next_item().unwrap()];
    flow.image_mut().insert(BASE, &[0xcc; 5]);
    items.extend(std::iter::from_fn(|| flow.next_item()));
    assert_eq!(ips(&items), [0, 1, 2, 3].map(|at| BASE + at));
}

/// Asserts that each trace contradicts the code, and that decoding continues at the next PSB.
#[track_caller]
fn assert_desynchronized(
    code: &[u8],
    kind: FlowErrorKind,
    at: u64,
    write: impl FnOnce(&mut Writer),
) {
    let mut offset = 0;
    let trace = traced(|writer| {
        offset = writer.bytes_since_psb();
        write(writer);
        psb(writer, Some(BASE));
        writer.async_disable(BASE, None);
    });
    let items = decode(code, &trace);
    assert_eq!(errors(&items), [FlowError { offset, ip: Some(BASE + at), kind }]);
    let events = events(&items);
    let [.., resynchronized, end] = &events[..] else { panic!("{events:?}") };
    assert_eq!(*resynchronized, Event::Synchronized { ip: Some(BASE) });
    assert_eq!(*end, Event::Interrupted { from: BASE, to: None, disabled: true });
}

#[test]
fn contradictions_are_errors_with_their_offset() {
    let indirect = |writer: &mut Writer| writer.indirect(BASE);
    let branch = |taken| move |writer: &mut Writer| writer.conditional(taken);
    let branches = |writer: &mut Writer| {
        writer.conditional(true);
        writer.conditional(true);
    };
    assert_desynchronized(b"\x90", FlowErrorKind::NoCode, 1, indirect);
    assert_desynchronized(b"\x90\x0f", FlowErrorKind::NoCode, 1, indirect);
    assert_desynchronized(b"\x90\x06\0\0", FlowErrorKind::BadInstruction, 1, indirect);
    assert_desynchronized(b"\x90\x75\0", FlowErrorKind::NoBranch, 1, indirect);
    assert_desynchronized(b"\xff\xe0", FlowErrorKind::NoTarget, 0, |writer| {
        writer.packet(Packet::TipPgd(Ip::SUPPRESSED));
    });
    assert_desynchronized(b"\xc3", FlowErrorKind::ReturnWithoutCall, 0, branch(true));
    assert_desynchronized(b"\xc3", FlowErrorKind::ReturnNotTaken, 0, branch(false));
    assert_desynchronized(b"\xeb\xfe", FlowErrorKind::NoProgress, 0, indirect);
    assert_desynchronized(b"\xeb\xfe", FlowErrorKind::NoProgress, 0, branches);
    assert_desynchronized(b"\x90", FlowErrorKind::UnexpectedPacket, 0, |writer| {
        writer.packet(Packet::TipPge(Ip::new(Compression::Full, BASE)));
    });
    assert_desynchronized(b"\x90", FlowErrorKind::NoIp, 0, |writer| {
        writer.packet(Packet::Tip(Ip::SUPPRESSED));
    });
}

#[test]
fn an_error_in_the_bytes_is_an_error_of_the_flow() {
    let mut bytes = traced(|writer| writer.indirect(BASE));
    let offset = bytes.len() as u64;
    bytes.extend(b"\xd9\xd9");
    bytes.extend(traced(|writer| writer.indirect(BASE)));
    let items = decode(b"\xff\xe0", &bytes);
    let [error] = errors(&items)[..] else { panic!("{items:?}") };
    assert_eq!((error.offset, error.ip), (offset, Some(BASE)));
    assert_eq!(
        error.to_string(),
        format!("offset 0x{offset:x}, ip 0x{BASE:x}: unknown opcode 0xd9")
    );
    assert_eq!(ips(&items), [BASE; 2]);
}

#[test]
fn decoding_continues_at_a_psb_that_cannot_be_reached() {
    let trace = traced(|writer| {
        psb(writer, Some(BASE + 2));
        writer.indirect(BASE);
    });
    let items = decode(b"\xff\xe0\xff\xe0", &trace);
    assert_eq!(errors(&items).len(), 1);
    assert_eq!(ips(&items), [BASE, BASE + 2]);
}

fn bytes_of(packets: &[Packet]) -> Vec<u8> {
    let mut bytes = Vec::new();
    packets.iter().for_each(|packet| encode::append(&mut bytes, packet));
    bytes
}

#[test]
fn no_instructions_before_the_first_psb_or_after_the_last_packet() {
    let tip = bytes_of(&[Packet::Tip(Ip::new(Compression::Full, BASE))]);
    let trace = [tip.clone(), traced(|_| ()), tip].concat();
    let items = decode(b"\xff\xe0", &trace);
    assert_eq!(errors(&items), []);
    assert_eq!(ips(&items), [BASE]);
}

fn writer(compress: bool, long: bool) -> Writer {
    Writer::new().compress_returns(compress).long_tnt(long)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn walks_are_reconstructed(
        seed in any::<u64>(),
        blocks in 2usize..60,
        steps in 0usize..3000,
        compress in any::<bool>(),
        long in any::<bool>(),
        size in 1usize..100,
    ) {
        let random = &mut Random(seed);
        let program = Program::new(random, blocks);
        let walk = Walk::new(&program, random, writer(compress, long), steps, OFTEN);
        let items = decode(&program.code, &walk.trace);
        prop_assert_eq!(errors(&items), []);
        prop_assert_eq!(ips(&items), &walk.executed[..]);
        prop_assert_eq!(decode_in_pieces(&program.code, &walk.trace, size), items);
    }

    /// A changed byte may be detected or not. Decoding after the second PSB that follows it is
    /// unaffected.
    #[test]
    fn walks_are_reconstructed_after_damage(
        seed in any::<u64>(),
        at in any::<proptest::sample::Index>(),
        damage in 1u8..,
    ) {
        let random = &mut Random(seed);
        let program = Program::new(random, 30);
        let walk = Walk::new(&program, random, writer(true, false), 3000, OFTEN);
        let mut trace = walk.trace.clone();
        let at = at.index(trace.len());
        trace[at] ^= damage;
        let items = decode(&program.code, &trace);
        let psbs = trace.windows(16).enumerate().skip(at + 1);
        let psb = psbs.filter(|(_, bytes)| *bytes == [2, 130].repeat(8)).nth(1);
        let Some((psb, _)) = psb else { return Ok(()) };
        let tail = ips(&decode(&program.code, &walk.trace[psb..]));
        prop_assert!(ips(&items).ends_with(&tail));
    }

    #[test]
    fn any_trace_of_any_code_ends(
        code in proptest::collection::vec(any::<u8>(), 0..64),
        trace in proptest::collection::vec(any::<u8>(), 0..256),
    ) {
        let trace = [traced(|_| ()), trace].concat();
        let items = decode(&code, &trace);
        prop_assert_eq!(decode_in_pieces(&code, &trace, 7), items);
    }
}

#[test]
fn calls_have_times_of_their_own() {
    // call 11; nop; syscall; int3 ×3; (11) nop; ret
    let code = [0xe8, 6, 0, 0, 0, 0x90, 0x0f, 0x05, 0xcc, 0xcc, 0xcc, 0x90, 0xc3];
    let mut writer = Writer::new();
    psb(&mut writer, Some(BASE));
    writer.packet(Packet::Tsc(10));
    writer.call(BASE + 5);
    writer.packet(Packet::Tsc(20));
    writer.ret(BASE + 5);
    writer.packet(Packet::Tsc(30));
    writer.disable(None);
    let mut flow = FlowDecoder::new(image_of(&code));
    flow.push(&writer.take());
    flow.end();
    let mut times = Vec::new();
    while let Some(item) = flow.next_item() {
        if let Item::Instruction(instruction) = item.unwrap() {
            times.push((instruction.ip - BASE, flow.tsc().unwrap()));
        }
    }
    assert_eq!(times, [(0, 10), (11, 20), (12, 20), (5, 30), (6, 30)]);
}

#[test]
fn time_stamps_that_no_instruction_takes_pass() {
    // jz 2; jz 4; syscall
    let code = [0x74, 0, 0x74, 0, 0x0f, 0x05];
    let mut writer = Writer::new();
    psb(&mut writer, Some(BASE));
    let not_taken = Packet::Tnt(Tnt::new(0, 1).unwrap());
    writer.packet(Packet::Tsc(10));
    writer.packet(Packet::Tsc(20));
    writer.packet(not_taken);
    writer.packet(not_taken);
    writer.packet(Packet::Tsc(30));
    writer.disable(None);
    let mut flow = FlowDecoder::new(image_of(&code));
    flow.push(&writer.take());
    flow.end();
    let mut times = Vec::new();
    while let Some(item) = flow.next_item() {
        if let Item::Instruction(instruction) = item.unwrap() {
            times.push((instruction.ip - BASE, flow.tsc().unwrap()));
        }
    }
    assert_eq!(times, [(0, 10), (2, 20), (4, 30)]);
}
