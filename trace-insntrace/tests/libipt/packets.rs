//! libipt reads and writes the same packets. Malformed bytes are errors for both.

#[path = "../common/packets.rs"]
mod common;

use std::fmt::Write;

use common::classic_packet;
use proptest::collection::vec;
use proptest::prelude::*;
use trace_insntrace::pt::{encode, Ip, Packet, PacketDecoder, PtWriteValue, Tnt};

use crate::Libipt;

fn bytes_of(packets: &[Packet]) -> Vec<u8> {
    let mut bytes = Vec::new();
    packets.iter().for_each(|packet| encode::append(&mut bytes, packet));
    bytes
}

/// The text of packets that libipt 2.0 does not support.
const NEWER: &str = "newer";

/// Returns a packet as the driver prints it.
fn text(packet: Packet) -> String {
    match packet {
        Packet::Pad => "pad".into(),
        Packet::Psb => "psb".into(),
        Packet::PsbEnd => "psbend".into(),
        Packet::Ovf => "ovf".into(),
        Packet::TraceStop => "stop".into(),
        Packet::Tnt(tnt) => tnt_text("tnt", tnt),
        Packet::LongTnt(tnt) => tnt_text("longtnt", tnt),
        Packet::Tip(ip) => ip_text("tip", ip),
        Packet::TipPge(ip) => ip_text("pge", ip),
        Packet::TipPgd(ip) => ip_text("pgd", ip),
        Packet::Fup(ip) => ip_text("fup", ip),
        Packet::ModeExec(mode) => format!("exec {} {}", mode.long() as u8, mode.default_32() as u8),
        Packet::ModeTsx(mode) => {
            format!("tsx {} {}", mode.in_transaction as u8, mode.aborted as u8)
        }
        Packet::Tsc(ticks) => format!("tsc {ticks:x}"),
        Packet::Mtc(ctc) => format!("mtc {ctc:x}"),
        Packet::Tma { ctc, fast_counter } => format!("tma {ctc:x} {fast_counter:x}"),
        Packet::Cyc(cycles) => format!("cyc {cycles:x}"),
        Packet::Cbr(ratio) => format!("cbr {ratio:x}"),
        Packet::Pip { cr3, non_root } => format!("pip {cr3:x} {}", non_root as u8),
        Packet::Vmcs { base } => format!("vmcs {base:x}"),
        Packet::Mnt(value) => format!("mnt {value:x}"),
        _ => power_text(packet),
    }
}

fn power_text(packet: Packet) -> String {
    match packet {
        Packet::ExStop { ip } => format!("exstop {}", ip as u8),
        Packet::Mwait { hints, extensions } => format!("mwait {hints:x} {extensions:x}"),
        Packet::PwrEntry { state, sub_state, .. } => format!("pwre {state:x} {sub_state:x}"),
        Packet::PwrExit { last, deepest, wake } => {
            let by = [wake.interrupt, wake.store, wake.hardware].map(u8::from);
            format!("pwrx {last:x} {deepest:x} {} {} {}", by[0], by[1], by[2])
        }
        Packet::PtWrite { value: PtWriteValue::U32(value), ip } => {
            format!("ptw 0 {value:x} {}", ip as u8)
        }
        Packet::PtWrite { value: PtWriteValue::U64(value), ip } => {
            format!("ptw 1 {value:x} {}", ip as u8)
        }
        _ => NEWER.into(),
    }
}

fn tnt_text(name: &str, tnt: Tnt) -> String {
    format!("{name} {} {:x}", tnt.len(), tnt.bits())
}

fn ip_text(name: &str, ip: Ip) -> String {
    format!("{name} {} {:x}", ip.compression().bits(), ip.bits())
}

/// Returns our results in the driver's format.
fn ours(bytes: &[u8]) -> String {
    let mut decoder = PacketDecoder::new();
    decoder.push(bytes);
    decoder.end();
    let mut lines = String::new();
    while let Some(item) = decoder.next_packet() {
        match item {
            Ok(found) => writeln!(lines, "{:x} {}", found.offset, text(found.packet)).unwrap(),
            Err(error) => writeln!(lines, "{:x} error", error.offset).unwrap(),
        }
    }
    lines
}

fn theirs(bytes: &[u8]) -> String {
    let libipt = Libipt::new();
    libipt.run("packets", &[&libipt.file("trace", bytes)])
}

/// Returns the first lines that are not the same.
fn first_difference(ours: &str, theirs: &str) -> Option<(String, String)> {
    let (mut ours, mut theirs) = (ours.lines(), theirs.lines());
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return None,
            (our, their) if our == their => {}
            (our, their) => return Some((format!("{our:?}"), format!("{their:?}"))),
        }
    }
}

/// Adds padding, so that a malformed packet does not include bytes of the next PSB, to which libipt
/// would return.
fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend([0; 16]);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    #[ignore = "needs libipt-dev"]
    fn libipt_reads_what_we_write(packets in vec(classic_packet(), 300)) {
        let bytes = bytes_of(&[&[Packet::Psb], &packets[..]].concat());
        prop_assert_eq!(first_difference(&ours(&bytes), &theirs(&bytes)), None);
    }

    #[test]
    #[ignore = "needs libipt-dev"]
    fn libipt_writes_what_we_write(packets in vec(classic_packet(), 300)) {
        // libipt 2.0 has another position for the bit "hardware" than the manual.
        let same = |packet: &Packet| !matches!(packet, Packet::PwrEntry { hardware: true, .. });
        let packets: Vec<_> = packets.into_iter().filter(same).collect();
        let bytes = bytes_of(&[&[Packet::Psb], &packets[..]].concat());
        let libipt = Libipt::new();
        let out = libipt.directory.path().join("out");
        libipt.run("encode", &[&libipt.file("trace", &bytes), &out]);
        prop_assert_eq!(std::fs::read(out).unwrap(), bytes);
    }

    #[test]
    #[ignore = "needs libipt-dev"]
    fn malformed_bytes_are_errors_for_libipt(
        pieces in vec(prop_oneof![
            4 => classic_packet().prop_map(|packet| bytes_of(&[packet])),
            // libipt continues at the last one of several. Behind a packet that ends with a part of
            // a PSB, there would be two.
            1 => Just(bytes_of(&[Packet::Pad, Packet::Psb, Packet::PsbEnd])),
            1 => vec(any::<u8>(), 1..8).prop_map(padded),
        ], 300),
    ) {
        let bytes = pieces.concat();
        let ours = ours(&bytes);
        prop_assume!(!ours.contains(NEWER));
        prop_assert_eq!(first_difference(&ours, &theirs(&bytes)), None);
    }
}
