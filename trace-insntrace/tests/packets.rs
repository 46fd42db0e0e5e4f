//! Packets compared with the manual's layout, round trips, and streams in pieces.

#[path = "common/packets.rs"]
mod common;

use common::{classic_packet, event_packet};
use proptest::collection::vec;
use proptest::prelude::*;
use trace_insntrace::pt::{
    decode, encode, Compression, DecodeError, ExecMode, Ip, Packet, PacketAt, PacketDecoder,
    PacketError, PtWriteValue, Tnt, TsxMode, Wake,
};

fn bytes_of(packets: &[Packet]) -> Vec<u8> {
    let mut bytes = Vec::new();
    packets.iter().for_each(|packet| encode::append(&mut bytes, packet));
    bytes
}

fn tnt(bits: u64, count: u8) -> Tnt {
    Tnt::new(bits, count).unwrap()
}

fn ip(compression: Compression, ip: u64) -> Ip {
    Ip::new(compression, ip)
}

#[track_caller]
fn assert_packet(packet: Packet, bytes: &[u8]) {
    assert_eq!(bytes_of(&[packet]), bytes);
    assert_eq!(decode::packet(bytes), Ok((packet, bytes.len())));
    for size in 0..bytes.len() {
        assert_eq!(decode::packet(&bytes[..size]), Err(DecodeError::Truncated), "{size} bytes");
    }
}

#[test]
fn branches() {
    assert_packet(Packet::Pad, b"\x00");
    assert_packet(Packet::Tnt(tnt(0, 1)), b"\x04");
    assert_packet(Packet::Tnt(tnt(1, 1)), b"\x06");
    assert_packet(Packet::Tnt(tnt(0b10_1100, 6)), b"\xd8");
    assert_packet(Packet::LongTnt(tnt(1, 2)), b"\x02\xa3\x05\0\0\0\0\0");
    let all = tnt(u64::MAX, 47);
    assert_packet(Packet::LongTnt(all), b"\x02\xa3\xff\xff\xff\xff\xff\xff");
}

#[test]
fn tnt_of_seven_branches_is_long() {
    assert_eq!(bytes_of(&[Packet::Tnt(tnt(1, 7))]), b"\x02\xa3\x81\0\0\0\0\0");
    assert_eq!([0, 48].map(|count| Tnt::new(0, count)), [None, None]);
}

#[test]
fn ips() {
    let full = 0x0123_4567_89ab_cdef;
    assert_packet(Packet::Tip(Ip::SUPPRESSED), b"\x0d");
    assert_packet(Packet::TipPgd(Ip::SUPPRESSED), b"\x01");
    assert_packet(Packet::Tip(ip(Compression::Update16, full)), b"\x2d\xef\xcd");
    assert_packet(Packet::TipPge(ip(Compression::Update32, full)), b"\x51\xef\xcd\xab\x89");
    assert_packet(Packet::TipPgd(ip(Compression::Extend48, full)), b"\x61\xef\xcd\xab\x89\x67\x45");
    assert_packet(Packet::Fup(ip(Compression::Update48, full)), b"\x9d\xef\xcd\xab\x89\x67\x45");
    assert_packet(
        Packet::Fup(ip(Compression::Full, full)),
        b"\xdd\xef\xcd\xab\x89\x67\x45\x23\x01",
    );
}

#[test]
fn times() {
    assert_packet(Packet::Tsc(0x12_3456_789a_bcde), b"\x19\xde\xbc\x9a\x78\x56\x34\x12");
    assert_packet(Packet::Mtc(0xab), b"\x59\xab");
    assert_packet(Packet::Tma { ctc: 0x1234, fast_counter: 0x1ff }, b"\x02\x73\x34\x12\0\xff\x01");
    assert_packet(Packet::Cbr(0x24), b"\x02\x03\x24\0");
    assert_packet(Packet::Cyc(0x1f), b"\xfb");
    assert_packet(Packet::Cyc(0x20), b"\x07\x02");
    assert_packet(Packet::Cyc(0x1000), b"\x07\x01\x02");
    let most = b"\xff\xff\xff\xff\xff\xff\xff\xff\xfe";
    assert_packet(Packet::Cyc(u64::MAX >> 3), most);
}

#[test]
fn states() {
    assert_packet(Packet::Psb, &[0x02, 0x82].repeat(8));
    assert_packet(Packet::PsbEnd, b"\x02\x23");
    assert_packet(Packet::Ovf, b"\x02\xf3");
    assert_packet(Packet::TraceStop, b"\x02\x83");
    assert_packet(Packet::ModeExec(ExecMode::LONG), b"\x99\x01");
    let mode = ExecMode::new(false, true).with_interrupts(true);
    assert_packet(Packet::ModeExec(mode), b"\x99\x06");
    let mode = TsxMode { in_transaction: true, aborted: false };
    assert_packet(Packet::ModeTsx(mode), b"\x99\x21");
    let mode = TsxMode { in_transaction: false, aborted: true };
    assert_packet(Packet::ModeTsx(mode), b"\x99\x22");
    let pip = Packet::Pip { cr3: 0x0002_3456_789a_bce0, non_root: true };
    assert_packet(pip, b"\x02\x43\xcf\xab\x89\x67\x45\x23");
    assert_packet(Packet::Vmcs { base: 0x12_3456_789a << 12 }, b"\x02\xc8\x9a\x78\x56\x34\x12");
    assert_packet(Packet::Mnt(0x0102), b"\x02\xc3\x88\x02\x01\0\0\0\0\0\0");
}

#[test]
fn power_events() {
    assert_packet(Packet::ExStop { ip: false }, b"\x02\x62");
    assert_packet(Packet::ExStop { ip: true }, b"\x02\xe2");
    assert_packet(Packet::Mwait { hints: 0x21, extensions: 1 }, b"\x02\xc2\x21\0\0\0\x01\0\0\0");
    let entry = Packet::PwrEntry { state: 0xa, sub_state: 0xb, hardware: true };
    assert_packet(entry, b"\x02\x22\x80\xab");
    let wake = Wake { interrupt: true, store: true, hardware: false };
    assert_packet(Packet::PwrExit { last: 3, deepest: 6, wake }, b"\x02\xa2\x36\x05\0\0\0");
    let value = PtWriteValue::U32(0x1234);
    assert_packet(Packet::PtWrite { value, ip: false }, b"\x02\x12\x34\x12\0\0");
    let value = PtWriteValue::U64(0x1234);
    assert_packet(Packet::PtWrite { value, ip: true }, b"\x02\xb2\x34\x12\0\0\0\0\0\0");
    assert_packet(Packet::Cfe { event: 1, vector: 0xe, ip: true }, b"\x02\x13\x81\x0e");
    assert_packet(Packet::Evd { kind: 2, value: 5 }, b"\x02\x53\x02\x05\0\0\0\0\0\0\0");
}

#[test]
fn malformed_packets() {
    let unknown = [0x09, 0x15, 0x79, 0xb9, 0xd9, 0xf9];
    for byte in unknown {
        assert_eq!(decode::packet(&[byte; 16]), Err(DecodeError::UnknownOpcode(byte)), "{byte:x}");
    }
    for byte in [0x00, 0x04, 0x33, 0xfe] {
        let error = DecodeError::UnknownExtendedOpcode(byte);
        assert_eq!(decode::packet(&[0x02, byte, 0, 0]), Err(error));
    }
    let malformed = |packet| Err(DecodeError::Malformed { packet });
    assert_eq!(decode::packet(b"\xad\0\0\0\0\0\0\0\0"), malformed("IP"));
    assert_eq!(decode::packet(b"\x99\x40"), malformed("MODE"));
    assert_eq!(decode::packet(b"\x02\x82\x02\x83"), malformed("PSB"));
    assert_eq!(decode::packet(b"\x02\xa3\0\0\0\0\0\0"), malformed("TNT"));
    assert_eq!(decode::packet(b"\x02\xa3\x01\0\0\0\0\0"), malformed("TNT"));
    assert_eq!(decode::packet(b"\x02\x73\0\0\x01\0\0"), malformed("TMA"));
    assert_eq!(decode::packet(b"\x02\x52\0\0\0\0\0\0\0\0"), malformed("PTW"));
    assert_eq!(decode::packet(&[0xff; 16]), malformed("CYC"));
}

#[test]
fn ips_are_restored_from_the_last_one() {
    let last = 0xffff_8000_1234_5678;
    let cases = [
        (0xffff_8000_1234_0000, Compression::Update16),
        (0xffff_8000_0000_0000, Compression::Update32),
        (0x0000_7000_1234_5678, Compression::Extend48),
        (0xffff_7000_1234_5678, Compression::Update48),
        (0x0123_4567_89ab_cdef, Compression::Full),
    ];
    for (target, compression) in cases {
        let compressed = Ip::compress(target, last);
        assert_eq!(compressed.compression(), compression);
        assert_eq!(compressed.resolve(last), Some(target));
    }
    assert_eq!(Ip::SUPPRESSED.resolve(last), None);
}

type Found = (Vec<PacketAt>, Vec<PacketError>, u64);

/// Takes the packets up to the end or an error one by one.
fn take(decoder: &mut PacketDecoder, packets: &mut Vec<PacketAt>) -> Result<(), PacketError> {
    while let Some(item) = decoder.next_packet() {
        packets.push(item?);
    }
    Ok(())
}

/// Takes the same packets at once.
fn visit(decoder: &mut PacketDecoder, packets: &mut Vec<PacketAt>) -> Result<(), PacketError> {
    decoder.visit(|packet| packets.push(packet))
}

type Take = fn(&mut PacketDecoder, &mut Vec<PacketAt>) -> Result<(), PacketError>;

/// Decodes `bytes` in pieces of these sizes, over and over.
fn stream(bytes: &[u8], sizes: &[usize], take: Take) -> Found {
    let mut decoder = PacketDecoder::new();
    let (mut packets, mut errors) = (Vec::new(), Vec::new());
    let mut rest = bytes;
    let mut sizes = sizes.iter().cycle();
    loop {
        while let Err(error) = take(&mut decoder, &mut packets) {
            errors.push(error);
        }
        if rest.is_empty() {
            break;
        }
        let size = sizes.next().map_or(rest.len(), |size| *size.min(&rest.len()));
        let (piece, behind) = rest.split_at(size);
        decoder.push(piece);
        rest = behind;
        if rest.is_empty() {
            decoder.end();
        }
    }
    assert_eq!(decoder.offset(), bytes.len() as u64);
    (packets, errors, decoder.skipped_bytes())
}

fn whole(bytes: &[u8]) -> Found {
    stream(bytes, &[bytes.len().max(1)], take)
}

#[test]
fn a_stream_begins_at_its_first_psb_and_continues_at_the_next_one() {
    let mut bytes = b"\x06\x02\x82\x02\x82\x19".to_vec();
    bytes.extend(bytes_of(&[Packet::Psb, Packet::Mtc(1)]));
    bytes.extend(b"\xd9\x59\x02");
    bytes.extend(bytes_of(&[Packet::Psb, Packet::Mtc(2)]));
    bytes.extend(b"\x19\x01");
    let (packets, errors, skipped) = whole(&bytes);
    let found: Vec<_> = packets.iter().map(|at| (at.offset, at.packet)).collect();
    let expected =
        [(6, Packet::Psb), (22, Packet::Mtc(1)), (27, Packet::Psb), (43, Packet::Mtc(2))];
    assert_eq!(found, expected);
    let unknown = PacketError { offset: 24, error: DecodeError::UnknownOpcode(0xd9) };
    let truncated = PacketError { offset: 45, error: DecodeError::Truncated };
    assert_eq!(errors, [unknown, truncated]);
    assert_eq!(skipped, 6 + 3 + 2);
    assert_eq!(unknown.to_string(), "offset 0x18: unknown opcode 0xd9");
}

#[test]
fn of_seventeen_bytes_of_the_pattern_the_last_psb_is_used() {
    let mut bytes = vec![0x02];
    bytes.extend([0x02, 0x82].repeat(8));
    let (packets, errors, skipped) = whole(&bytes);
    assert_eq!((packets[0].offset, packets.len(), errors.len(), skipped), (1, 1, 0, 1));
}

fn any_packet() -> impl Strategy<Value = Packet> {
    prop_oneof![8 => classic_packet(), 1 => event_packet(), 1 => Just(Packet::Psb)]
}

proptest! {
    #[test]
    fn encoded_packets_are_decoded(packets in vec(any_packet(), 0..40)) {
        let bytes = bytes_of(&packets);
        let mut at = 0;
        for packet in packets {
            let (decoded, size) = decode::packet(&bytes[at..]).unwrap();
            prop_assert_eq!(decoded, packet);
            at += size;
        }
        prop_assert_eq!(at, bytes.len());
    }

    #[test]
    fn decoded_packets_are_encoded(bytes in vec(any::<u8>(), 16)) {
        if let Ok((packet, _)) = decode::packet(&bytes) {
            let encoded = bytes_of(&[packet]);
            prop_assert_eq!(decode::packet(&encoded), Ok((packet, encoded.len())));
        }
    }

    #[test]
    fn any_ip_is_restored(ip in any::<u64>(), last in any::<u64>(), keep in 0u32..64) {
        let near = ip >> keep << keep | last & ((1 << keep) - 1);
        prop_assert_eq!(Ip::compress(near, last).resolve(last), Some(near));
        prop_assert_eq!(Ip::compress(last, near).resolve(near), Some(last));
    }

    /// The result does not depend on the pieces, or on garbage between PSBs.
    #[test]
    fn streams_in_pieces(
        packets in vec(prop_oneof![
            any_packet().prop_map(|packet| bytes_of(&[packet])),
            vec(any::<u8>(), 1..6),
        ], 0..40),
        sizes in vec(1usize..40, 1..5),
    ) {
        let bytes = [bytes_of(&[Packet::Psb]), packets.concat()].concat();
        let found = whole(&bytes);
        prop_assert_eq!(&stream(&bytes, &sizes, take), &found);
        prop_assert_eq!(&stream(&bytes, &[1], take), &found);
        prop_assert_eq!(&stream(&bytes, &sizes, visit), &found);
        prop_assert_eq!(&stream(&bytes, &[bytes.len()], visit), &found);
    }
}
