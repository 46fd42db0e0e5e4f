//! Random packets of every kind.

use proptest::prelude::*;
use trace_insntrace::pt::{Compression, ExecMode, Ip, Packet, PtWriteValue, Tnt, TsxMode, Wake};

/// Any packet except PSB and those of event tracing, which older decoders do not support.
pub(crate) fn classic_packet() -> impl Strategy<Value = Packet> {
    prop_oneof![branch(), time(), state(), power()]
}

/// Packets of event tracing.
#[allow(dead_code)] // Not every test uses it.
pub(crate) fn event_packet() -> impl Strategy<Value = Packet> {
    let cfe = (0u8..32, any::<u8>(), any::<bool>());
    let evd = (0u8..64, any::<u64>());
    prop_oneof![
        cfe.prop_map(|(event, vector, ip)| Packet::Cfe { event, vector, ip }),
        evd.prop_map(|(kind, value)| Packet::Evd { kind, value }),
    ]
}

fn ip() -> impl Strategy<Value = Ip> {
    (proptest::sample::select(&Compression::ALL[..]), any::<u64>())
        .prop_map(|(compression, ip)| Ip::new(compression, ip))
}

fn tnt(max: u8) -> impl Strategy<Value = Tnt> {
    (any::<u64>(), 1..=max).prop_map(|(bits, count)| Tnt::new(bits, count).unwrap())
}

fn branch() -> impl Strategy<Value = Packet> {
    prop_oneof![
        tnt(6).prop_map(Packet::Tnt),
        tnt(47).prop_map(Packet::LongTnt),
        ip().prop_map(Packet::Tip),
        ip().prop_map(Packet::TipPge),
        ip().prop_map(Packet::TipPgd),
        ip().prop_map(Packet::Fup),
    ]
}

fn time() -> impl Strategy<Value = Packet> {
    prop_oneof![
        any::<u64>().prop_map(|ticks| Packet::Tsc(ticks >> 8)),
        any::<u8>().prop_map(Packet::Mtc),
        (any::<u16>(), 0u16..512).prop_map(|(ctc, fast_counter)| Packet::Tma { ctc, fast_counter }),
        (any::<u64>(), 3u32..64).prop_map(|(cycles, shift)| Packet::Cyc(cycles >> shift)),
        any::<u8>().prop_map(Packet::Cbr),
    ]
}

fn state() -> impl Strategy<Value = Packet> {
    let empty = [Packet::Pad, Packet::PsbEnd, Packet::Ovf, Packet::TraceStop];
    let pip = (any::<u64>(), any::<bool>());
    prop_oneof![
        proptest::sample::select(empty.to_vec()),
        (any::<bool>(), any::<bool>())
            .prop_map(|(long, default_32)| { Packet::ModeExec(ExecMode::new(long, default_32)) }),
        (any::<bool>(), any::<bool>()).prop_map(|(in_transaction, aborted)| {
            Packet::ModeTsx(TsxMode { in_transaction, aborted })
        }),
        pip.prop_map(|(cr3, non_root)| Packet::Pip { cr3: cr3 >> 17 << 5, non_root }),
        any::<u64>().prop_map(|base| Packet::Vmcs { base: base >> 24 << 12 }),
        any::<u64>().prop_map(Packet::Mnt),
    ]
}

fn power() -> impl Strategy<Value = Packet> {
    let nibbles = (0u8..16, 0u8..16);
    prop_oneof![
        any::<bool>().prop_map(|ip| Packet::ExStop { ip }),
        any::<(u32, u32)>().prop_map(|(hints, extensions)| Packet::Mwait { hints, extensions }),
        (nibbles.clone(), any::<bool>()).prop_map(|((state, sub_state), hardware)| {
            Packet::PwrEntry { state, sub_state, hardware }
        }),
        (nibbles, any::<[bool; 3]>()).prop_map(|((last, deepest), [a, b, c])| {
            let wake = Wake { interrupt: a, store: b, hardware: c };
            Packet::PwrExit { last, deepest, wake }
        }),
        (any::<u32>(), any::<bool>())
            .prop_map(|(value, ip)| Packet::PtWrite { value: PtWriteValue::U32(value), ip }),
        (any::<u64>(), any::<bool>())
            .prop_map(|(value, ip)| Packet::PtWrite { value: PtWriteValue::U64(value), ip }),
    ]
}
