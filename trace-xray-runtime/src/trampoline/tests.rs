//! Trampolines whose handler changes all registers that it may change.

/// The handlers, trampolines that call them, and functions that call a trampoline: they load all
/// registers before, and store them after.
macro_rules! of_tests {
    () => {
        "
        .macro trace_xray_clobber name
        \\name:
            .irp register, eax, ecx, edx, esi, edi, r8d, r9d, r10d, r11d
            xor \\register, \\register
            .endr
        .endm
        trace_xray_clobber trace_xray_clobber_sse
            .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
            xorps xmm\\number, xmm\\number
            .endr
            ret
        trace_xray_clobber trace_xray_clobber_avx
            vzeroall
            ret
        .macro trace_xray_of_test suffix, move, register, bytes, clobber
        trace_xray_trampolines \\suffix, \\move, \\register, \\bytes, \\clobber, \\clobber, \\clobber, \\clobber, trace_xray_of_test_own
        .globl trace_xray_run_\\suffix
        trace_xray_run_\\suffix:
            push rbx
            push r12
            push r13
            mov rbx, rdi
            mov r12, rdx
            mov r13, rsi
            .irp number, 0, 1, 2, 3, 4, 5, 6, 7
            \\move \\register\\number, [r13 + 72 + 64 * \\number]
            .endr
            mov rax, [r13]
            mov rcx, [r13 + 8]
            mov rdx, [r13 + 16]
            mov rsi, [r13 + 24]
            mov rdi, [r13 + 32]
            mov r8, [r13 + 40]
            mov r9, [r13 + 48]
            mov r11, [r13 + 56]
            mov r10, [r13 + 64]
            push qword ptr [r13 + 584]
            popfq
            call rbx
            pushfq
            pop qword ptr [r12 + 584]
            cld
            mov [r12], rax
            mov [r12 + 8], rcx
            mov [r12 + 16], rdx
            mov [r12 + 24], rsi
            mov [r12 + 32], rdi
            mov [r12 + 40], r8
            mov [r12 + 48], r9
            mov [r12 + 56], r11
            mov [r12 + 64], r10
            .irp number, 0, 1, 2, 3, 4, 5, 6, 7
            \\move [r12 + 72 + 64 * \\number], \\register\\number
            .endr
            pop r13
            pop r12
            pop rbx
            ret
        .endm
        trace_xray_of_test test_sse, movups, xmm, 16, trace_xray_clobber_sse
        trace_xray_of_test test_avx, vmovups, ymm, 32, trace_xray_clobber_avx
        trace_xray_of_test test_avx512, vmovups, zmm, 64, trace_xray_clobber_avx
        trace_xray_event trace_xray_event_test_sse, trace_xray_clobber_sse, trace_xray_of_test_own
        trace_xray_event trace_xray_event_test_avx, trace_xray_clobber_avx, trace_xray_of_test_own
        .section .rodata
        .p2align 2
        trace_xray_of_test_own:
        .long 1
        .text
        "
    };
}
pub(super) use of_tests;

/// Values of registers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C)]
struct Registers {
    /// rax, rcx, rdx, rsi, rdi, r8, r9, r11, r10.
    general: [u64; 9],
    vectors: [[u8; 64]; 8],
    flags: u64,
}

/// The flags of arithmetic instructions, of which the handlers clear some.
const ARITHMETIC: u64 = 0x8d5;
/// The flag of descending addresses, which a handler must not get.
const DESCENDING: u64 = 0x400;

type Function = unsafe extern "C" fn();
type Run = unsafe extern "C" fn(Function, &Registers, &mut Registers);

extern "C" {
    fn trace_xray_entry_test_sse();
    fn trace_xray_exit_test_sse();
    fn trace_xray_tail_exit_test_sse();
    fn trace_xray_argument_test_sse();
    fn trace_xray_entry_test_avx();
    fn trace_xray_exit_test_avx();
    fn trace_xray_tail_exit_test_avx();
    fn trace_xray_argument_test_avx();
    fn trace_xray_entry_test_avx512();
    fn trace_xray_exit_test_avx512();
    fn trace_xray_tail_exit_test_avx512();
    fn trace_xray_argument_test_avx512();
    fn trace_xray_event_test_sse();
    fn trace_xray_event_test_avx();
    fn trace_xray_run_test_sse(function: Function, values: &Registers, results: &mut Registers);
    fn trace_xray_run_test_avx(function: Function, values: &Registers, results: &mut Registers);
    fn trace_xray_run_test_avx512(function: Function, values: &Registers, results: &mut Registers);
}

/// Checks the trampolines for an entry, an exit, a tail exit, an entry with an argument, and an
/// event.
fn check(trampolines: [Function; 5], run: Run, bytes: usize) {
    let mut values = Registers {
        flags: 0,
        general: std::array::from_fn(|number| 0x0101_0101_0101_0101 * (number as u64 + 1)),
        vectors: std::array::from_fn(|number| {
            std::array::from_fn(|byte| (number * 31 + byte) as u8 | 1)
        }),
    };
    for (index, trampoline) in trampolines.into_iter().enumerate() {
        let is_event = index == 4;
        values.flags = if is_event { ARITHMETIC | DESCENDING } else { 0 };
        let mut results = Registers { general: [0; 9], vectors: [[0; 64]; 8], flags: 0 };
        // SAFETY: the handlers change no registers but those that a function may change.
        unsafe { run(trampoline, &values, &mut results) };
        let saves_r10 = matches!(index, 2 | 4);
        let general = if saves_r10 { 9 } else { 8 };
        assert_eq!(results.general[..general], values.general[..general], "{index}, {bytes}");
        for (result, value) in results.vectors.iter().zip(&values.vectors) {
            assert_eq!(result[..bytes], value[..bytes], "{index}, {bytes}");
        }
        if is_event {
            assert_eq!(results.flags & (ARITHMETIC | DESCENDING), values.flags, "{bytes}");
        }
    }
}

#[test]
fn a_handler_that_changes_all_registers_changes_no_value_of_the_program() {
    let sse: [Function; 5] = [
        trace_xray_entry_test_sse,
        trace_xray_exit_test_sse,
        trace_xray_tail_exit_test_sse,
        trace_xray_argument_test_sse,
        trace_xray_event_test_sse,
    ];
    check(sse, trace_xray_run_test_sse, 16);
    if std::arch::is_x86_feature_detected!("avx") {
        let avx: [Function; 5] = [
            trace_xray_entry_test_avx,
            trace_xray_exit_test_avx,
            trace_xray_tail_exit_test_avx,
            trace_xray_argument_test_avx,
            trace_xray_event_test_avx,
        ];
        check(avx, trace_xray_run_test_avx, 32);
    }
    if std::arch::is_x86_feature_detected!("avx512f") {
        let avx512: [Function; 5] = [
            trace_xray_entry_test_avx512,
            trace_xray_exit_test_avx512,
            trace_xray_tail_exit_test_avx512,
            trace_xray_argument_test_avx512,
            trace_xray_event_test_avx,
        ];
        check(avx512, trace_xray_run_test_avx512, 64);
    }
}
