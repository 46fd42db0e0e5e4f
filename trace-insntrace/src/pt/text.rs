//! Packets as text, as `ptdump` of libipt prints them: names of the manual in lower case, and
//! numbers in hexadecimal.

use core::fmt::{self, Display, Formatter};

use super::layout::Compression;
use super::packet::{ExecMode, Ip, Packet, PtWriteValue, Tnt, TsxMode, Wake};

impl Display for Packet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(name(self))?;
        match self {
            Self::Pad | Self::Psb | Self::PsbEnd | Self::Ovf | Self::TraceStop => Ok(()),
            Self::Tnt(tnt) | Self::LongTnt(tnt) => write!(f, " {tnt}"),
            Self::Tip(ip) | Self::TipPge(ip) | Self::TipPgd(ip) | Self::Fup(ip) => {
                write!(f, " {ip}")
            }
            Self::ModeExec(mode) => flags(f, "", exec_flags(*mode)),
            Self::ModeTsx(TsxMode { in_transaction, aborted }) => {
                flags(f, "", [(*in_transaction, "intx"), (*aborted, "abrt")])
            }
            Self::Tsc(value) | Self::Cyc(value) | Self::Mnt(value) => write!(f, " {value:x}"),
            Self::Mtc(value) | Self::Cbr(value) => write!(f, " {value:x}"),
            Self::Tma { ctc, fast_counter } => write!(f, " {ctc:x}, {fast_counter:x}"),
            Self::Pip { cr3, non_root } => {
                write!(f, " {cr3:x}")?;
                flags(f, ",", [(*non_root, "nr")])
            }
            Self::Vmcs { base } => write!(f, " {base:x}"),
            Self::ExStop { ip } => flags(f, "", [(*ip, "ip")]),
            Self::Mwait { hints, extensions } => write!(f, " {hints:08x}, {extensions:08x}"),
            Self::PwrEntry { state, sub_state, hardware } => {
                write!(f, " c{state}.{sub_state}")?;
                flags(f, ",", [(*hardware, "hw")])
            }
            Self::PwrExit { last, deepest, wake } => {
                write!(f, " c{last}, c{deepest}")?;
                flags(f, ",", wake_flags(*wake))
            }
            Self::PtWrite { value, ip } => {
                match value {
                    PtWriteValue::U32(value) => write!(f, " {value:08x}")?,
                    PtWriteValue::U64(value) => write!(f, " {value:016x}")?,
                }
                flags(f, ",", [(*ip, "ip")])
            }
            Self::Cfe { event, vector, ip } => {
                write!(f, " {event}: {vector}")?;
                flags(f, ",", [(*ip, "ip")])
            }
            Self::Evd { kind, value } => write!(f, " {kind}: {value:x}"),
        }
    }
}

impl Display for Tnt {
    /// Writes `!` for each branch that was taken and `.` for each other one, the oldest first.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (bits, count) = (self.bits(), self.len());
        (0..count)
            .rev()
            .try_for_each(|bit| f.write_str(if bits >> bit & 1 == 1 { "!" } else { "." }))
    }
}

impl Display for Ip {
    /// Writes the number of the compression and the IP, with `?` for digits of the last IP.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (number, bits) = (self.compression() as u8, self.bits());
        match self.compression() {
            Compression::Suppressed => write!(f, "{number}: ????????????????"),
            Compression::Update16 => write!(f, "{number}: ????????????{bits:04x}"),
            Compression::Update32 => write!(f, "{number}: ????????{bits:08x}"),
            Compression::Update48 => write!(f, "{number}: ????{bits:012x}"),
            Compression::Extend48 | Compression::Full => {
                write!(f, "{number}: {:016x}", self.resolve(0).unwrap_or(bits))
            }
        }
    }
}

fn name(packet: &Packet) -> &'static str {
    match packet {
        Packet::Pad => "pad",
        Packet::Tnt(_) => "tnt.8",
        Packet::LongTnt(_) => "tnt.64",
        Packet::Tip(_) => "tip",
        Packet::TipPge(_) => "tip.pge",
        Packet::TipPgd(_) => "tip.pgd",
        Packet::Fup(_) => "fup",
        Packet::ModeExec(_) => "mode.exec",
        Packet::ModeTsx(_) => "mode.tsx",
        Packet::Tsc(_) => "tsc",
        Packet::Mtc(_) => "mtc",
        Packet::Tma { .. } => "tma",
        Packet::Cyc(_) => "cyc",
        Packet::Cbr(_) => "cbr",
        Packet::Pip { .. } => "pip",
        Packet::Vmcs { .. } => "vmcs",
        Packet::Psb => "psb",
        Packet::PsbEnd => "psbend",
        Packet::Ovf => "ovf",
        Packet::TraceStop => "stop",
        Packet::Mnt(_) => "mnt",
        Packet::ExStop { .. } => "exstop",
        Packet::Mwait { .. } => "mwait",
        Packet::PwrEntry { .. } => "pwre",
        Packet::PwrExit { .. } => "pwrx",
        Packet::PtWrite { .. } => "ptw",
        Packet::Cfe { .. } => "cfe",
        Packet::Evd { .. } => "evd",
    }
}

fn exec_flags(mode: ExecMode) -> [(bool, &'static str); 3] {
    [(mode.long(), "cs.l"), (mode.default_32(), "cs.d"), (mode.interrupts(), "if")]
}

fn wake_flags(wake: Wake) -> [(bool, &'static str); 3] {
    [(wake.interrupt, "int"), (wake.store, "st"), (wake.hardware, "hw")]
}

/// Writes the names of the bits that are set, with a comma between them, behind `before`.
fn flags<const N: usize>(
    f: &mut Formatter<'_>,
    before: &str,
    flags: [(bool, &str); N],
) -> fmt::Result {
    let mut separator = before;
    for (_, name) in flags.iter().filter(|(is_set, _)| *is_set) {
        write!(f, "{separator} {name}")?;
        separator = ",";
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(packets: &[(Packet, &str)]) {
        for (packet, text) in packets {
            assert_eq!(packet.to_string(), *text, "{packet:?}");
        }
    }

    #[test]
    fn branches() {
        let tnt = |bits, count| Tnt::new(bits, count).unwrap();
        check(&[
            (Packet::Tnt(tnt(0b101_011, 6)), "tnt.8 !.!.!!"),
            (Packet::Tnt(tnt(0, 1)), "tnt.8 ."),
            (Packet::LongTnt(tnt(1, 8)), "tnt.64 .......!"),
        ]);
    }

    #[test]
    fn ips() {
        let ip = |compression| Ip::new(compression, 0xffff_8123_4567_89ab);
        check(&[
            (Packet::Tip(Ip::SUPPRESSED), "tip 0: ????????????????"),
            (Packet::TipPge(ip(Compression::Update16)), "tip.pge 1: ????????????89ab"),
            (Packet::TipPgd(ip(Compression::Update32)), "tip.pgd 2: ????????456789ab"),
            (Packet::Fup(ip(Compression::Extend48)), "fup 3: ffff8123456789ab"),
            (Packet::Tip(ip(Compression::Update48)), "tip 4: ????8123456789ab"),
            (Packet::Tip(ip(Compression::Full)), "tip 6: ffff8123456789ab"),
            (Packet::Tip(Ip::new(Compression::Extend48, 0x10)), "tip 3: 0000000000000010"),
        ]);
    }

    #[test]
    fn times() {
        check(&[
            (Packet::Tsc(0x1f), "tsc 1f"),
            (Packet::Mtc(0xa0), "mtc a0"),
            (Packet::Tma { ctc: 0x12, fast_counter: 0x1ff }, "tma 12, 1ff"),
            (Packet::Cyc(0x20), "cyc 20"),
            (Packet::Cbr(0x18), "cbr 18"),
        ]);
    }

    #[test]
    fn states() {
        let exec = |long, default_32| Packet::ModeExec(ExecMode::new(long, default_32));
        let tsx = |in_transaction, aborted| Packet::ModeTsx(TsxMode { in_transaction, aborted });
        check(&[
            (Packet::Pad, "pad"),
            (Packet::Psb, "psb"),
            (Packet::PsbEnd, "psbend"),
            (Packet::Ovf, "ovf"),
            (Packet::TraceStop, "stop"),
            (exec(true, false), "mode.exec cs.l"),
            (exec(false, true), "mode.exec cs.d"),
            (exec(false, false), "mode.exec"),
            (Packet::ModeExec(ExecMode::LONG.with_interrupts(true)), "mode.exec cs.l, if"),
            (tsx(true, false), "mode.tsx intx"),
            (tsx(false, true), "mode.tsx abrt"),
            (tsx(false, false), "mode.tsx"),
            (Packet::Pip { cr3: 0x1000, non_root: false }, "pip 1000"),
            (Packet::Pip { cr3: 0x1000, non_root: true }, "pip 1000, nr"),
            (Packet::Vmcs { base: 0x2000 }, "vmcs 2000"),
            (Packet::Mnt(0xabc), "mnt abc"),
        ]);
    }

    #[test]
    fn events() {
        let wake = Wake { interrupt: true, store: false, hardware: true };
        let value = PtWriteValue::U64(0x1f);
        check(&[
            (Packet::ExStop { ip: false }, "exstop"),
            (Packet::ExStop { ip: true }, "exstop ip"),
            (Packet::Mwait { hints: 0x20, extensions: 1 }, "mwait 00000020, 00000001"),
            (Packet::PwrEntry { state: 2, sub_state: 1, hardware: true }, "pwre c2.1, hw"),
            (Packet::PwrEntry { state: 2, sub_state: 1, hardware: false }, "pwre c2.1"),
            (Packet::PwrExit { last: 3, deepest: 6, wake }, "pwrx c3, c6, int, hw"),
            (Packet::PtWrite { value: PtWriteValue::U32(7), ip: true }, "ptw 00000007, ip"),
            (Packet::PtWrite { value, ip: false }, "ptw 000000000000001f"),
            (Packet::Cfe { event: 1, vector: 14, ip: true }, "cfe 1: 14, ip"),
            (Packet::Evd { kind: 0, value: 0xff }, "evd 0: ff"),
        ]);
    }
}
