//! Objects whose functions may pass values in AVX registers.
//!
//! The handler is compiled for SSE2, which leaves the upper bits of AVX registers as they are, but
//! it may call functions of the C library that do not. So the trampolines save these registers for
//! the functions of an object that uses them: a function that has no instruction for them may call
//! another one with the arguments that it got. For other objects they save the lower 16 bytes only.

use iced_x86::{Code, Decoder, DecoderOptions, EncodingKind};

/// The width of the vector registers that are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    /// 16 bytes.
    Sse,
    /// 32 bytes.
    Avx,
    /// 64 bytes.
    Avx512,
}

impl Width {
    /// Returns the largest width of the registers of instructions in `code`, or more.
    pub(crate) fn of(code: &[u8]) -> Self {
        // An instruction with another encoding begins with none of these, but may contain them.
        if !code.iter().any(|byte| matches!(byte, 0xc4 | 0xc5 | 0x62 | 0x8f)) {
            return Self::Sse;
        }
        let decoder = Decoder::new(64, code, DecoderOptions::NONE);
        let widths = decoder.into_iter().map(|instruction| Self::of_code(instruction.code()));
        widths.max().unwrap_or(Self::Sse)
    }

    fn of_code(code: Code) -> Self {
        match code.encoding() {
            EncodingKind::EVEX => Self::Avx512,
            EncodingKind::VEX | EncodingKind::XOP => Self::Avx,
            _ => Self::Sse,
        }
    }

    /// Returns this width, or the largest one that the processor and the system have: a program may
    /// have code for other processors.
    pub(crate) fn supported(self) -> Self {
        if std::arch::is_x86_feature_detected!("avx512f") {
            self
        } else if std::arch::is_x86_feature_detected!("avx") {
            self.min(Self::Avx)
        } else {
            Self::Sse
        }
    }
}

/// Returns whether the processor and the system can save all registers by one instruction.
pub(crate) fn can_save_all() -> bool {
    std::arch::is_x86_feature_detected!("xsave")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_told_apart_from_other_bytes() {
        let vaddpd_ymm = [0xc5, 0xfd, 0x58, 0xc1];
        let vaddpd_zmm = [0x62, 0xf1, 0xfd, 0x48, 0x58, 0xc1];
        assert_eq!(Width::of(&vaddpd_ymm), Width::Avx);
        assert_eq!(Width::of(&[&vaddpd_zmm[..], &vaddpd_ymm].concat()), Width::Avx512);
        let vfrczps = [0x8f, 0xe9, 0x78, 0x80, 0xc1];
        assert_eq!(Width::of(&vfrczps), Width::Avx, "an instruction of XOP");
        assert_eq!(Width::of(&[0x48, 0x89, 0xc5, 0xc3]), Width::Sse, "mov rbp, rax; ret");
        assert_eq!(Width::of(&[0x66, 0x0f, 0x58, 0xc1]), Width::Sse, "addpd xmm0, xmm1");
    }
}
