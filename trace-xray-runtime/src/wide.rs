//! Objects whose functions may pass values in AVX registers.
//!
//! The handler is compiled for SSE2, which leaves the upper halves of AVX registers as they are,
//! but it may call functions of the C library that do not. So the trampolines save all of these
//! registers for the functions of an object that uses them: a function that has no instruction for
//! them may call another one with the arguments that it got. For other objects, which are nearly
//! all, they save the lower halves only: to save all costs as much as the rest of a record.

use iced_x86::{Decoder, DecoderOptions, EncodingKind};

/// Returns whether the system saves AVX registers, with the instructions that the trampolines use.
pub(crate) fn is_supported() -> bool {
    std::arch::is_x86_feature_detected!("xsave")
}

/// Returns whether code contains an instruction for AVX registers, or may do so.
pub(crate) fn is_wide(code: &[u8]) -> bool {
    // An instruction with another encoding begins with none of these, but may contain them.
    if !code.iter().any(|byte| matches!(byte, 0xc4 | 0xc5 | 0x62)) {
        return false;
    }
    let decoder = Decoder::new(64, code, DecoderOptions::NONE);
    decoder.into_iter().any(|instruction| {
        matches!(instruction.code().encoding(), EncodingKind::VEX | EncodingKind::EVEX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_told_apart_from_other_bytes() {
        assert!(is_wide(&[0x90, 0xc5, 0xfd, 0x58, 0xc1]), "vaddpd ymm0, ymm0, ymm1");
        assert!(is_wide(&[0x62, 0xf1, 0xfd, 0x48, 0x58, 0xc1]), "vaddpd zmm0, zmm0, zmm1");
        assert!(!is_wide(&[0x48, 0x89, 0xc5, 0xc3]), "mov rbp, rax; ret");
        assert!(!is_wide(&[0x66, 0x0f, 0x58, 0xc1]), "addpd xmm0, xmm1");
    }
}
