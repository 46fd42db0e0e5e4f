# A shared library with sleds of version 1: their addresses are absolute, so that they are relocations.
    .text
    .globl first
    .type first, @function
first:
    nop
.Lfirst_exit:
    ret
    .size first, . - first
    .globl second
    .type second, @function
second:
    ret
    .size second, . - second

    .section xray_instr_map, "aw", @progbits
    .macro sled address, function, kind
    .quad \address
    .quad \function
    .byte \kind, 1, 1
    .zero 13
    .endm
    sled first, first, 0
    sled .Lfirst_exit, first, 1
    sled second, second, 0
