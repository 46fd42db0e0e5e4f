//! Encoding of single packets.

use super::layout::{
    cbr, cfe, cyc_next, evd, extended, first, mode, mwait, opcode, payload_bytes, pip, pwre, pwrx,
    tma, tsc, vmcs, CYC_FIRST_BITS, CYC_MAX_BITS, CYC_NEXT_BITS, PSB,
};
use super::packet::{ExecMode, Ip, Packet, PtWriteValue, Tnt, TsxMode, Wake};

/// Appends `packet` to `out`.
///
/// A [`Packet::Tnt`] of more than six branches is written as the long packet.
pub fn append(out: &mut Vec<u8>, packet: &Packet) {
    match *packet {
        Packet::Pad => out.push(opcode::PAD),
        Packet::Tnt(tnt) if tnt.is_short() => short_tnt(out, tnt),
        Packet::Tnt(tnt) | Packet::LongTnt(tnt) => {
            extend(out, extended::TNT, tnt.to_payload(), payload_bytes::TNT);
        }
        Packet::Tip(target) => ip(out, first::TIP, target),
        Packet::TipPge(target) => ip(out, first::TIP_PGE, target),
        Packet::TipPgd(target) => ip(out, first::TIP_PGD, target),
        Packet::Fup(source) => ip(out, first::FUP, source),
        Packet::ModeExec(mode) => plain(out, opcode::MODE, exec_mode(mode), payload_bytes::MODE),
        Packet::ModeTsx(mode) => plain(out, opcode::MODE, tsx_mode(mode), payload_bytes::MODE),
        Packet::Tsc(ticks) => plain(out, opcode::TSC, tsc::Value::make(ticks), payload_bytes::TSC),
        Packet::Mtc(ctc) => plain(out, opcode::MTC, ctc.into(), payload_bytes::MTC),
        Packet::Cyc(cycles) => cyc(out, cycles),
        _ => extended_packet(out, packet),
    }
}

/// Appends a packet that starts with [`opcode::EXTENDED`], other than TNT.
fn extended_packet(out: &mut Vec<u8>, packet: &Packet) {
    match *packet {
        Packet::Psb => out.extend_from_slice(&PSB),
        Packet::PsbEnd => extend(out, extended::PSBEND, 0, 0),
        Packet::Ovf => extend(out, extended::OVF, 0, 0),
        Packet::TraceStop => extend(out, extended::TRACE_STOP, 0, 0),
        Packet::Tma { ctc, fast_counter } => {
            let payload = tma::Ctc::make(ctc.into()) | tma::FastCounter::make(fast_counter.into());
            extend(out, extended::TMA, payload, payload_bytes::TMA);
        }
        Packet::Cbr(ratio) => {
            extend(out, extended::CBR, cbr::Ratio::make(ratio.into()), payload_bytes::CBR);
        }
        Packet::Pip { cr3, non_root } => {
            let payload =
                pip::Cr3::make(cr3 >> pip::CR3_SHIFT) | pip::NonRoot::make(non_root.into());
            extend(out, extended::PIP, payload, payload_bytes::PIP);
        }
        Packet::Vmcs { base } => {
            let payload = vmcs::Base::make(base >> vmcs::BASE_SHIFT);
            extend(out, extended::VMCS, payload, payload_bytes::VMCS);
        }
        Packet::Mnt(value) => {
            out.extend_from_slice(&[opcode::EXTENDED, extended::MORE, extended::MNT]);
            out.extend_from_slice(&value.to_le_bytes());
        }
        _ => event_packet(out, packet),
    }
}

/// Appends packets of power events, PTWRITE and event tracing.
fn event_packet(out: &mut Vec<u8>, packet: &Packet) {
    match *packet {
        Packet::ExStop { ip: false } => extend(out, extended::EXSTOP, 0, 0),
        Packet::ExStop { ip: true } => extend(out, extended::EXSTOP_IP, 0, 0),
        Packet::Mwait { hints, extensions } => {
            let payload =
                mwait::Hints::make(hints.into()) | mwait::Extensions::make(extensions.into());
            extend(out, extended::MWAIT, payload, payload_bytes::MWAIT);
        }
        Packet::PwrEntry { state, sub_state, hardware } => {
            let payload = pwre::State::make(state.into())
                | pwre::SubState::make(sub_state.into())
                | pwre::Hardware::make(hardware.into());
            extend(out, extended::PWRE, payload, payload_bytes::PWRE);
        }
        Packet::PwrExit { last, deepest, wake: by } => {
            let payload =
                pwrx::Last::make(last.into()) | pwrx::Deepest::make(deepest.into()) | wake(by);
            extend(out, extended::PWRX, payload, payload_bytes::PWRX);
        }
        Packet::PtWrite { value, ip } => pt_write(out, value, ip),
        Packet::Cfe { event, vector, ip } => {
            let payload = cfe::Type::make(event.into())
                | cfe::Ip::make(ip.into())
                | cfe::Vector::make(vector.into());
            extend(out, extended::CFE, payload, payload_bytes::CFE);
        }
        Packet::Evd { kind, value } => {
            extend(out, extended::EVD, evd::Type::make(kind.into()), payload_bytes::EVD_TYPE);
            out.extend_from_slice(&value.to_le_bytes());
        }
        _ => unreachable!("append takes all other packets"),
    }
}

fn short_tnt(out: &mut Vec<u8>, tnt: Tnt) {
    out.push(first::Tnt::make(tnt.to_payload()) as u8);
}

fn ip(out: &mut Vec<u8>, kind: u64, ip: Ip) {
    let compression = ip.compression();
    let opcode = first::IpKind::make(kind) | first::IpCompression::make(compression.bits());
    plain(out, opcode as u8, ip.bits(), compression.bytes());
}

fn exec_mode(exec: ExecMode) -> u64 {
    mode::Leaf::make(mode::EXEC) | exec.to_payload()
}

fn tsx_mode(tsx: TsxMode) -> u64 {
    mode::Leaf::make(mode::TSX)
        | mode::InTransaction::make(tsx.in_transaction.into())
        | mode::Aborted::make(tsx.aborted.into())
}

fn wake(by: Wake) -> u64 {
    pwrx::Interrupt::make(by.interrupt.into())
        | pwrx::Store::make(by.store.into())
        | pwrx::Hardware::make(by.hardware.into())
}

fn pt_write(out: &mut Vec<u8>, value: PtWriteValue, ip: bool) {
    let (size, payload, bytes) = match value {
        PtWriteValue::U32(value) => (extended::PTW_4_BYTES, value.into(), 4),
        PtWriteValue::U64(value) => (extended::PTW_8_BYTES, value, 8),
    };
    let second = extended::PtwKind::make(extended::PTW)
        | extended::PtwSize::make(size)
        | extended::PtwIp::make(ip.into());
    extend(out, second as u8, payload, bytes);
}

fn cyc(out: &mut Vec<u8>, cycles: u64) {
    let cycles = cycles & (u64::MAX >> (u64::BITS - CYC_MAX_BITS));
    let mut rest = cycles >> CYC_FIRST_BITS;
    let byte = first::IsCyc::make(first::CYC)
        | first::CycMore::make((rest != 0).into())
        | first::CycLow::make(cycles);
    out.push(byte as u8);
    while rest != 0 {
        let bits = cyc_next::Bits::make(rest);
        rest >>= CYC_NEXT_BITS;
        out.push((bits | cyc_next::More::make((rest != 0).into())) as u8);
    }
}

/// Appends a packet with an opcode of one byte.
fn plain(out: &mut Vec<u8>, opcode: u8, payload: u64, bytes: usize) {
    out.push(opcode);
    // A copy of eight bytes is one store, one of fewer bytes is a call.
    let end = out.len() + bytes;
    out.extend_from_slice(&payload.to_le_bytes());
    out.truncate(end);
}

/// Appends a packet with an opcode of two bytes.
fn extend(out: &mut Vec<u8>, second: u8, payload: u64, bytes: usize) {
    out.push(opcode::EXTENDED);
    plain(out, second, payload, bytes);
}
