//! The code between a stub and the handler: it saves what the traced function needs.
//!
//! At a sled every register may have a value that is needed: arguments, or results. The handler
//! preserves what the calling convention has it preserve; the trampolines save the rest: rax, rcx,
//! rdx, rsi, rdi, r8, r9, r11, and the vector registers for arguments and results, which are the
//! first eight, as wide as the object uses them ([`wide`](crate::wide)). A tail exit also saves
//! r10, which may have the address of the other function; at an entry, it has the trace point.
//!
//! An event may be between any two instructions, so its trampoline saves the flags and all vector
//! registers, by `xsave`.
//!
//! Without a session it returns at once: in a forked child, sleds are those of its parent.
//!
//! A trampoline knows the frame by the address of the return address of the traced function.

use std::arch::global_asm;

use crate::sled::Kind;
use crate::wide::Width;
use crate::{handler, own};

/// A trampoline: one of the kinds of sleds, for registers of a width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trampoline(unsafe extern "C" fn());

/// Declares trampolines, and the table of them.
macro_rules! trampolines {
    ($($name:ident)*) => {
        extern "C" {
            $(fn $name();)*
        }

        /// All trampolines, by [`Trampoline::index`].
        pub(crate) const TRAMPOLINES: [Trampoline; 14] = [$(Trampoline($name)),*];
    };
}

trampolines! {
    trace_xray_entry_sse
    trace_xray_exit_sse
    trace_xray_tail_exit_sse
    trace_xray_argument_sse
    trace_xray_entry_avx
    trace_xray_exit_avx
    trace_xray_tail_exit_avx
    trace_xray_argument_avx
    trace_xray_entry_avx512
    trace_xray_exit_avx512
    trace_xray_tail_exit_avx512
    trace_xray_argument_avx512
    trace_xray_custom_event
    trace_xray_typed_event
}

impl Trampoline {
    /// Returns the index of the trampoline for a sled.
    pub(crate) fn index(kind: Kind, width: Width) -> usize {
        let index = match kind {
            Kind::Entry => 0,
            Kind::Exit => 1,
            Kind::TailExit => 2,
            Kind::ArgumentEntry => 3,
            Kind::CustomEvent => return 12,
            Kind::TypedEvent => return 13,
        };
        let first = match width {
            Width::Sse => 0,
            Width::Avx => 4,
            Width::Avx512 => 8,
        };
        first + index
    }

    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }
}

#[cfg(not(test))]
macro_rules! of_tests {
    () => {
        ""
    };
}
#[cfg(test)]
use tests::of_tests;

// The macros' frame: rbp, then the general registers below it, then, aligned, vector registers. The
// upper bits of the others are dead: they have neither arguments nor results. An event has r10 and
// the flags below the general registers: no instruction before that changes the flags.
global_asm!(
    ".macro trace_xray_begin name
        .globl \\name
        .hidden \\name
        .type \\name, @function
        .p2align 4
    \\name:
        .cfi_startproc
        endbr64
    .endm
    .macro trace_xray_end name
        .cfi_endproc
        .size \\name, . - \\name
    .endm
    .macro trace_xray_save_general
        push rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        mov rbp, rsp
        .cfi_def_cfa_register rbp
        .irp register, rax, rcx, rdx, rsi, rdi, r8, r9, r11
        push \\register
        .endr
    .endm
    .macro trace_xray_restore_general
        mov r11, [rbp - 64]
        mov r9, [rbp - 56]
        mov r8, [rbp - 48]
        mov rdi, [rbp - 40]
        mov rsi, [rbp - 32]
        mov rdx, [rbp - 24]
        mov rcx, [rbp - 16]
        mov rax, [rbp - 8]
        leave
        .cfi_def_cfa rsp, 8
        ret
    .endm
    .macro trace_xray_call handler, move, register, bytes
        sub rsp, 8 * \\bytes
        and rsp, -\\bytes
        .irp number, 0, 1, 2, 3, 4, 5, 6, 7
        \\move [rsp + \\bytes * \\number], \\register\\number
        .endr
        call \\handler
        .irp number, 0, 1, 2, 3, 4, 5, 6, 7
        \\move \\register\\number, [rsp + \\bytes * \\number]
        .endr
    .endm
    .macro trace_xray_trampoline name, own
        trace_xray_begin \\name
        cmp dword ptr [rip + \\own], 0
        jne 2f
        ret
    2:
        trace_xray_save_general
    .endm
    .macro trace_xray_trampolines suffix, move, register, bytes, entry, exit, tail_exit, argument, own
        trace_xray_trampoline trace_xray_entry_\\suffix, \\own
        mov rdi, r10
        lea rsi, [rbp + 16]
        trace_xray_call \\entry, \\move, \\register, \\bytes
        trace_xray_restore_general
        trace_xray_end trace_xray_entry_\\suffix
        trace_xray_trampoline trace_xray_tail_exit_\\suffix, \\own
        push r10
        lea rdi, [rbp + 16]
        trace_xray_call \\tail_exit, \\move, \\register, \\bytes
        mov r10, [rbp - 72]
        trace_xray_restore_general
        trace_xray_end trace_xray_tail_exit_\\suffix
        trace_xray_trampoline trace_xray_exit_\\suffix, \\own
        lea rdi, [rbp + 8]
        trace_xray_call \\exit, \\move, \\register, \\bytes
        trace_xray_restore_general
        trace_xray_end trace_xray_exit_\\suffix
        trace_xray_trampoline trace_xray_argument_\\suffix, \\own
        mov rdx, rdi
        mov rdi, r10
        lea rsi, [rbp + 16]
        trace_xray_call \\argument, \\move, \\register, \\bytes
        trace_xray_restore_general
        trace_xray_end trace_xray_argument_\\suffix
    .endm
    .macro trace_xray_event name, handler, own
        trace_xray_begin \\name
        trace_xray_save_general
        push r10
        pushfq
        cmp dword ptr [rip + \\own], 0
        je 3f
        sub rsp, 2688
        and rsp, -64
        xor eax, eax
        .irp word, 0, 1, 2, 3, 4, 5, 6, 7
        mov [rsp + 512 + 8 * \\word], rax
        .endr
        mov eax, 0xe7
        xor edx, edx
        xsave64 [rsp]
        cld
        mov rdx, [rbp - 24]
        lea rcx, [rbp + 8]
        call \\handler
        mov eax, 0xe7
        xor edx, edx
        xrstor64 [rsp]
    3:
        lea rsp, [rbp - 80]
        popfq
        mov r10, [rbp - 72]
        trace_xray_restore_general
        trace_xray_end \\name
    .endm
    .text
    trace_xray_event trace_xray_custom_event, {custom_event}, {own}
    trace_xray_event trace_xray_typed_event, {typed_event}, {own}
    trace_xray_trampolines sse, movups, xmm, 16, {entry}, {exit}, {tail_exit}, {argument}, {own}
    trace_xray_trampolines avx, vmovups, ymm, 32, {entry}, {exit}, {tail_exit}, {argument}, {own}
    trace_xray_trampolines avx512, vmovups, zmm, 64, {entry}, {exit}, {tail_exit}, {argument}, {own}",
    of_tests!(),
    entry = sym handler::entry,
    exit = sym handler::exit,
    tail_exit = sym handler::tail_exit,
    argument = sym handler::entry_with_argument,
    custom_event = sym handler::custom_event,
    typed_event = sym handler::typed_event,
    own = sym own::OWN,
);

#[cfg(test)]
mod tests;
