//! Trampolines whose handler changes all registers that it may change.

use std::arch::x86_64::{__cpuid_count, _xgetbv};
use std::ops::Range;
use std::ptr;

use super::*;
use crate::wide::can_save_all;

/// The handler, trampolines that call it, and a function that calls a trampoline: it loads all
/// registers before, and stores them after. The handler stores the flags and the stack pointer that
/// it gets.
macro_rules! of_tests {
    () => {
        "
        trace_xray_clobber:
            pushfq
            pop qword ptr [rip + trace_xray_test_flags]
            mov [rip + trace_xray_test_stack], rsp
            mov eax, 0xe7
            xor edx, edx
            xrstor64 [rip + trace_xray_test_initial]
            .irp register, eax, ecx, edx, esi, edi, r8d, r9d, r10d, r11d
            xor \\register, \\register
            .endr
            ret
        .macro trace_xray_of_test suffix, move, register, bytes
        trace_xray_trampolines \\suffix, \\move, \\register, \\bytes, trace_xray_clobber, trace_xray_clobber, trace_xray_clobber, trace_xray_clobber, trace_xray_test_own
        .endm
        trace_xray_of_test test_sse, movups, xmm, 16
        trace_xray_of_test test_avx, vmovups, ymm, 32
        trace_xray_of_test test_avx512, vmovups, zmm, 64
        trace_xray_event trace_xray_custom_event_test, trace_xray_clobber, trace_xray_test_own
        trace_xray_event trace_xray_typed_event_test, trace_xray_clobber, trace_xray_test_own
        .globl trace_xray_run_test
        trace_xray_run_test:
            .irp register, rbx, rbp, r12, r13, r14, r15, rdx, rdi
            push \\register
            .endr
            mov eax, 0xe7
            xor edx, edx
            xrstor64 [rsi]
            .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
            push qword ptr [rsi + 2688 + 8 * \\number]
            .endr
            popfq
            .irp register, r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax
            pop \\register
            .endr
            call qword ptr [rsp]
            .irp register, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
            push \\register
            .endr
            pushfq
            cld
            mov rcx, [rsp + 8 * 17]
            .irp number, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
            pop qword ptr [rcx + 2688 + 8 * \\number]
            .endr
            mov eax, 0xe7
            xor edx, edx
            xsave64 [rcx]
            xrstor64 [rip + trace_xray_test_initial]
            .irp register, rdi, rdx, r15, r14, r13, r12, rbp, rbx
            pop \\register
            .endr
            ret
        .data
        .globl trace_xray_test_flags
        .globl trace_xray_test_stack
        .p2align 6
        trace_xray_test_initial:
            .zero 24
            .long 0x1f80
            .zero 2660
        trace_xray_test_flags:
            .quad 0
        trace_xray_test_stack:
            .quad 0
        trace_xray_test_own:
            .long 1
        .text
        "
    };
}
pub(super) use of_tests;

trampolines! {
    trace_xray_entry_test_sse
    trace_xray_exit_test_sse
    trace_xray_tail_exit_test_sse
    trace_xray_argument_test_sse
    trace_xray_entry_test_avx
    trace_xray_exit_test_avx
    trace_xray_tail_exit_test_avx
    trace_xray_argument_test_avx
    trace_xray_entry_test_avx512
    trace_xray_exit_test_avx512
    trace_xray_tail_exit_test_avx512
    trace_xray_argument_test_avx512
    trace_xray_custom_event_test
    trace_xray_typed_event_test
}

extern "C" {
    static trace_xray_test_flags: u64;
    static trace_xray_test_stack: u64;
    fn trace_xray_run_test(
        trampoline: unsafe extern "C" fn(),
        values: &Registers,
        results: &mut Registers,
    );
}

/// Values of registers. The assembly above has these places and sizes.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
struct Registers {
    /// What `xsave` stores.
    state: [u8; 2688],
    /// rax, rbx, rcx, rdx, rsi, rdi, rbp, r8 to r15.
    general: [u64; 15],
    flags: u64,
}

/// The place of r10 in the general registers.
const R10: usize = 9;

/// The flags of arithmetic instructions, of which the handler clears some.
const ARITHMETIC: u64 = 0x8d5;
/// The flag of descending addresses, which a handler must not get.
const DESCENDING: u64 = 0x400;

/// The modes of the x87 unit, which of its registers are in use, and the modes of SSE, with flags
/// that instructions have set.
const MODES: [(Range<usize>, &[u8]); 3] =
    [(0..2, &[0x7f, 0x03]), (4..5, &[0xff]), (24..28, &[0xa1, 0x1f, 0, 0])];

/// The bits of the parts that the state has.
const HEADER: usize = 512;

/// A part of the state: some bytes of each register of a kind.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Part {
    name: &'static str,
    bit: u32,
    /// The bytes of a register that have a value, and the distance to the next one.
    bytes: usize,
    stride: usize,
    count: usize,
}

const PARTS: [Part; 6] = [
    Part { name: "x87", bit: 0, bytes: 10, stride: 16, count: 8 },
    Part { name: "xmm", bit: 1, bytes: 16, stride: 16, count: 16 },
    Part { name: "upper half of ymm", bit: 2, bytes: 16, stride: 16, count: 16 },
    Part { name: "mask", bit: 5, bytes: 8, stride: 8, count: 8 },
    Part { name: "upper half of zmm0 to zmm15", bit: 6, bytes: 32, stride: 32, count: 16 },
    Part { name: "zmm16 to zmm31", bit: 7, bytes: 64, stride: 64, count: 16 },
];

impl Part {
    /// Returns whether the processor and the system have it.
    fn is_enabled(&self) -> bool {
        // SAFETY: the caller has checked that there is `xsave`.
        unsafe { _xgetbv(0) >> self.bit & 1 != 0 }
    }

    /// Returns the place of each register in the state.
    #[allow(unused_unsafe, reason = "`__cpuid_count` is unsafe in older versions of Rust")]
    fn registers(self) -> impl Iterator<Item = Range<usize>> {
        let start = match self.bit {
            0 => 32,
            1 => 160,
            // SAFETY: a processor with `xsave` has this leaf.
            bit => unsafe { __cpuid_count(0xd, bit) }.ebx as usize,
        };
        let places = (0..self.count).map(move |number| start + number * self.stride);
        places.map(move |start| start..start + self.bytes)
    }

    /// Returns how many registers a trampoline of a call preserves.
    fn preserved(&self, width: Width) -> usize {
        match self.bit {
            1 => 8,
            2 if width >= Width::Avx => 8,
            6 if width >= Width::Avx512 => 8,
            _ => 0,
        }
    }
}

/// Returns registers with a different value each.
fn values(parts: &[Part]) -> Registers {
    let general = std::array::from_fn(|number| 0x0101_0101_0101_0101 * (number as u64 + 1));
    let mut values = Registers { state: [0; 2688], general, flags: 0 };
    for part in parts {
        values.state[HEADER] |= 1 << part.bit;
        for (number, register) in part.registers().enumerate() {
            for (byte, place) in values.state[register].iter_mut().enumerate() {
                *place = (part.bit as usize * 67 + number * 31 + byte * 3) as u8 | 1;
            }
        }
    }
    for (place, bytes) in MODES {
        values.state[place].copy_from_slice(bytes);
    }
    values
}

/// Calls a trampoline, and returns the registers after it.
fn run(trampoline: Trampoline, values: &Registers) -> Registers {
    let mut results = Registers { state: [0; 2688], general: [0; 15], flags: 0 };
    // SAFETY: the trampoline preserves what a function must preserve, and the values of the state
    // are valid.
    unsafe { trace_xray_run_test(trampoline.0, values, &mut results) };
    // SAFETY: the handler has stored it, on this thread.
    let flags = unsafe { ptr::read_volatile(&raw const trace_xray_test_flags) };
    assert_eq!(flags & DESCENDING, 0, "{trampoline:?}");
    // SAFETY: as above.
    let stack = unsafe { ptr::read_volatile(&raw const trace_xray_test_stack) };
    assert_eq!(stack % 16, 8, "{trampoline:?}");
    results
}

fn assert_equal(results: &Registers, values: &Registers, part: Part, count: usize, case: &str) {
    for (number, place) in part.registers().enumerate().take(count) {
        let [result, value] = [results, values].map(|it| &it.state[place.clone()]);
        assert_eq!(result, value, "{case}: {} {number}", part.name);
    }
}

#[test]
fn a_handler_that_changes_all_registers_changes_no_value_of_the_program() {
    if !can_save_all() {
        eprintln!("not tested: the processor has no xsave");
        return;
    }
    let (parts, others): (Vec<_>, Vec<_>) = PARTS.into_iter().partition(Part::is_enabled);
    for part in others {
        eprintln!("not tested, since the processor does not have it: {}", part.name);
    }
    let mut values = values(&parts);
    let widths = [Width::Sse, Width::Avx, Width::Avx512];
    for width in widths.into_iter().filter(|width| width.supported() == *width) {
        for kind in [Kind::Entry, Kind::Exit, Kind::TailExit, Kind::ArgumentEntry] {
            let case = format!("{kind:?}, {width:?}");
            let mut results = run(TRAMPOLINES[Trampoline::index(kind, width)], &values);
            if kind != Kind::TailExit {
                results.general[R10] = values.general[R10];
            }
            assert_eq!(results.general, values.general, "{case}");
            for part in &parts {
                assert_equal(&results, &values, *part, part.preserved(width), &case);
            }
        }
    }
    values.flags = ARITHMETIC | DESCENDING;
    for kind in [Kind::CustomEvent, Kind::TypedEvent] {
        let case = format!("{kind:?}");
        let results = run(TRAMPOLINES[Trampoline::index(kind, Width::Sse)], &values);
        assert_eq!(results.general, values.general, "{case}");
        assert_eq!(results.flags & (ARITHMETIC | DESCENDING), values.flags, "{case}");
        for (place, bytes) in MODES {
            assert_eq!(&results.state[place.clone()], bytes, "{case}: modes at {place:?}");
        }
        for part in &parts {
            assert_equal(&results, &values, *part, part.count, &case);
        }
    }
}
