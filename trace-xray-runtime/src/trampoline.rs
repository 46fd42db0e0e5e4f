//! The code between a stub and the handler: it saves what the traced function needs.
//!
//! At a sled every register may have a value that is needed: arguments, or results. The handler
//! preserves what the calling convention has it preserve; the trampolines save the rest: rax, rcx,
//! rdx, rsi, rdi, r8, r9, r11, and the vector registers for arguments. r10 is used by sleds, in
//! LLVM's runtime, too. Those for *wide* functions save all vector registers with `xsave`
//! ([`wide`](crate::wide)).
//!
//! Without a session it returns at once: in a forked child, sleds are those of its parent.
//!
//! A trampoline knows the frame by the address of the return address of the traced function.

use std::arch::global_asm;

use crate::sled::Kind;
use crate::{handler, own};

/// A trampoline: entry, exit or tail exit, narrow or wide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trampoline(unsafe extern "C" fn());

/// All trampolines, by [`Trampoline::index`].
pub(crate) const TRAMPOLINES: [Trampoline; 6] = [
    Trampoline(trace_xray_entry),
    Trampoline(trace_xray_exit),
    Trampoline(trace_xray_tail_exit),
    Trampoline(trace_xray_entry_wide),
    Trampoline(trace_xray_exit_wide),
    Trampoline(trace_xray_tail_exit_wide),
];

impl Trampoline {
    /// Returns the index of the trampoline for a sled.
    pub(crate) fn index(kind: Kind, is_wide: bool) -> usize {
        let index = match kind {
            Kind::Entry => 0,
            Kind::Exit => 1,
            Kind::TailExit => 2,
        };
        index + if is_wide { TRAMPOLINES.len() / 2 } else { 0 }
    }

    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }
}

extern "C" {
    fn trace_xray_entry();
    fn trace_xray_exit();
    fn trace_xray_tail_exit();
    fn trace_xray_entry_wide();
    fn trace_xray_exit_wide();
    fn trace_xray_tail_exit_wide();
}

// The macros' frame: rbp, then the general registers below it, then, aligned, vector registers.
// The state that `xsave` stores is at most 2,688 bytes without AMX, whose bits are not in the mask
// (x87, SSE, AVX, AVX-512). Its header must be 0.
global_asm!(
    ".macro trace_xray_save_general
        push rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        mov rbp, rsp
        .cfi_def_cfa_register rbp
        push rax
        push rcx
        push rdx
        push rsi
        push rdi
        push r8
        push r9
        push r11
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
    .macro trace_xray_call_narrow handler
        sub rsp, 192
        and rsp, -16
        movups [rsp], xmm0
        movups [rsp + 16], xmm1
        movups [rsp + 32], xmm2
        movups [rsp + 48], xmm3
        movups [rsp + 64], xmm4
        movups [rsp + 80], xmm5
        movups [rsp + 96], xmm6
        movups [rsp + 112], xmm7
        call \\handler
        movups xmm0, [rsp]
        movups xmm1, [rsp + 16]
        movups xmm2, [rsp + 32]
        movups xmm3, [rsp + 48]
        movups xmm4, [rsp + 64]
        movups xmm5, [rsp + 80]
        movups xmm6, [rsp + 96]
        movups xmm7, [rsp + 112]
    .endm
    .macro trace_xray_call_wide handler
        sub rsp, 2816
        and rsp, -64
        mov r8, rdi
        mov r9, rsi
        lea rdi, [rsp + 512]
        xor eax, eax
        mov ecx, 8
        rep stosq
        mov eax, 0xe7
        xor edx, edx
        xsave64 [rsp]
        mov rdi, r8
        mov rsi, r9
        call \\handler
        mov eax, 0xe7
        xor edx, edx
        xrstor64 [rsp]
    .endm
    .macro trace_xray_trampoline name
        .globl \\name
        .hidden \\name
        .type \\name, @function
        .p2align 4
    \\name:
        .cfi_startproc
        endbr64
        cmp dword ptr [rip + {own}], 0
        jne 2f
        ret
    2:
        trace_xray_save_general
    .endm
    .macro trace_xray_end name
        .cfi_endproc
        .size \\name, . - \\name
    .endm
    .macro trace_xray_entries suffix, call
        trace_xray_trampoline trace_xray_entry\\suffix
        mov rdi, r10
        lea rsi, [rbp + 16]
        \\call {entry}
        trace_xray_restore_general
        trace_xray_end trace_xray_entry\\suffix
        trace_xray_trampoline trace_xray_tail_exit\\suffix
        lea rdi, [rbp + 16]
        \\call {exit}
        trace_xray_restore_general
        trace_xray_end trace_xray_tail_exit\\suffix
        trace_xray_trampoline trace_xray_exit\\suffix
        lea rdi, [rbp + 8]
        \\call {exit}
        trace_xray_restore_general
        trace_xray_end trace_xray_exit\\suffix
    .endm
    .text
    trace_xray_entries suffix=, call=trace_xray_call_narrow
    trace_xray_entries suffix=_wide, call=trace_xray_call_wide",
    entry = sym handler::entry,
    exit = sym handler::exit,
    own = sym own::OWN,
);
