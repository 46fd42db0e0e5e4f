//! Packets with an opcode of two bytes.

use super::{malformed, payload, DecodeError, Decoded};
use crate::pt::layout::{
    cbr, cfe, evd, extended, mwait, payload_bytes, pip, pwre, pwrx, tma, vmcs, PSB, PSB_BYTES,
};
use crate::pt::packet::{Packet, PtWriteValue, Tnt, Wake};

/// Decodes a packet that starts with [`EXTENDED`](crate::pt::layout::opcode::EXTENDED).
pub(super) fn packet(bytes: &[u8]) -> Decoded {
    let byte = *bytes.get(1).ok_or(DecodeError::Truncated)?;
    match byte {
        extended::TNT => long_tnt(bytes),
        extended::PSB => psb(bytes),
        extended::PSBEND => Ok((Packet::PsbEnd, 2)),
        extended::OVF => Ok((Packet::Ovf, 2)),
        extended::TRACE_STOP => Ok((Packet::TraceStop, 2)),
        extended::CBR => {
            extend(bytes, payload_bytes::CBR, |payload| Packet::Cbr(cbr::Ratio::get(payload) as u8))
        }
        extended::TMA => tma_packet(bytes),
        extended::PIP => extend(bytes, payload_bytes::PIP, |payload| Packet::Pip {
            cr3: pip::Cr3::get(payload) << pip::CR3_SHIFT,
            non_root: pip::NonRoot::get(payload) == 1,
        }),
        extended::VMCS => extend(bytes, payload_bytes::VMCS, |payload| Packet::Vmcs {
            base: vmcs::Base::get(payload) << vmcs::BASE_SHIFT,
        }),
        extended::MORE => mnt(bytes),
        _ => event_packet(bytes, byte),
    }
}

fn event_packet(bytes: &[u8], byte: u8) -> Decoded {
    match byte {
        extended::EXSTOP => Ok((Packet::ExStop { ip: false }, 2)),
        extended::EXSTOP_IP => Ok((Packet::ExStop { ip: true }, 2)),
        extended::MWAIT => extend(bytes, payload_bytes::MWAIT, |payload| Packet::Mwait {
            hints: mwait::Hints::get(payload) as u32,
            extensions: mwait::Extensions::get(payload) as u32,
        }),
        extended::PWRE => extend(bytes, payload_bytes::PWRE, |payload| Packet::PwrEntry {
            state: pwre::State::get(payload) as u8,
            sub_state: pwre::SubState::get(payload) as u8,
            hardware: pwre::Hardware::get(payload) == 1,
        }),
        extended::PWRX => extend(bytes, payload_bytes::PWRX, |payload| Packet::PwrExit {
            last: pwrx::Last::get(payload) as u8,
            deepest: pwrx::Deepest::get(payload) as u8,
            wake: wake(payload),
        }),
        extended::CFE => extend(bytes, payload_bytes::CFE, |payload| Packet::Cfe {
            event: cfe::Type::get(payload) as u8,
            vector: cfe::Vector::get(payload) as u8,
            ip: cfe::Ip::get(payload) == 1,
        }),
        extended::EVD => evd_packet(bytes),
        _ if extended::PtwKind::get(byte.into()) == extended::PTW => pt_write(bytes, byte.into()),
        _ => Err(DecodeError::UnknownExtendedOpcode(byte)),
    }
}

fn long_tnt(bytes: &[u8]) -> Decoded {
    let (payload, size) = payload(bytes, 2, payload_bytes::TNT)?;
    let tnt = Tnt::from_payload(payload).ok_or(malformed("TNT"))?;
    Ok((Packet::LongTnt(tnt), size))
}

/// A truncated PSB and a malformed one are different errors.
fn psb(bytes: &[u8]) -> Decoded {
    let found = bytes.get(..PSB_BYTES).unwrap_or(bytes);
    if !PSB.starts_with(found) {
        return Err(malformed("PSB"));
    }
    if found.len() < PSB_BYTES {
        return Err(DecodeError::Truncated);
    }
    Ok((Packet::Psb, PSB_BYTES))
}

fn tma_packet(bytes: &[u8]) -> Decoded {
    let (payload, size) = payload(bytes, 2, payload_bytes::TMA)?;
    if tma::Reserved::get(payload) != 0 || tma::ReservedEnd::get(payload) != 0 {
        return Err(malformed("TMA"));
    }
    let ctc = tma::Ctc::get(payload) as u16;
    let fast_counter = tma::FastCounter::get(payload) as u16;
    Ok((Packet::Tma { ctc, fast_counter }, size))
}

fn mnt(bytes: &[u8]) -> Decoded {
    let byte = *bytes.get(2).ok_or(DecodeError::Truncated)?;
    if byte != extended::MNT {
        return Err(DecodeError::UnknownExtendedOpcode(extended::MORE));
    }
    let (payload, size) = payload(bytes, 3, payload_bytes::MNT)?;
    Ok((Packet::Mnt(payload), size))
}

fn evd_packet(bytes: &[u8]) -> Decoded {
    let (kind, at) = payload(bytes, 2, payload_bytes::EVD_TYPE)?;
    let (value, size) = payload(bytes, at, payload_bytes::EVD_VALUE)?;
    Ok((Packet::Evd { kind: evd::Type::get(kind) as u8, value }, size))
}

fn pt_write(bytes: &[u8], second: u64) -> Decoded {
    let ip = extended::PtwIp::get(second) == 1;
    let (value, size) = match extended::PtwSize::get(second) {
        extended::PTW_4_BYTES => {
            let (payload, size) = payload(bytes, 2, 4)?;
            (PtWriteValue::U32(payload as u32), size)
        }
        extended::PTW_8_BYTES => {
            let (payload, size) = payload(bytes, 2, 8)?;
            (PtWriteValue::U64(payload), size)
        }
        _ => return Err(malformed("PTW")),
    };
    Ok((Packet::PtWrite { value, ip }, size))
}

fn wake(payload: u64) -> Wake {
    Wake {
        interrupt: pwrx::Interrupt::get(payload) == 1,
        store: pwrx::Store::get(payload) == 1,
        hardware: pwrx::Hardware::get(payload) == 1,
    }
}

/// Decodes a packet with an opcode of two bytes.
fn extend(bytes: &[u8], count: usize, packet: impl FnOnce(u64) -> Packet) -> Decoded {
    let (payload, size) = payload(bytes, 2, count)?;
    Ok((packet(payload), size))
}
