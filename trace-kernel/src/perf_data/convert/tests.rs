use super::*;

#[test]
fn registers_are_those_of_unwinding() {
    let count = REGISTERS.count_ones() as usize;
    let all: Vec<u64> = (0..64).collect();
    let expected: Vec<u64> = (0..64).filter(|number| REGISTERS >> number & 1 != 0).collect();
    assert_eq!(selected(&all, u64::MAX), expected);
    assert_eq!(selected(&all, REGISTERS), all[..count]);
    assert_eq!(selected(&all, REGISTERS & (REGISTERS - 1)), [0; 0]);
}

#[test]
fn code_of_the_kernel_is_no_file() {
    let name = |path: &[u8]| {
        let file = MappedFile {
            process: KERNEL,
            start: 0,
            length: 1,
            offset: 0,
            protection: 5,
            build_id: [].into(),
            inode: None,
            path: path.into(),
        };
        String::from_utf8(kernel_code(&file).path.into()).unwrap()
    };
    assert_eq!(name(b"[kernel.kallsyms]_text"), "[kernel.kallsyms]");
    assert_eq!(name(b"[nf_tables]"), "[nf_tables]");
    assert_eq!(name(b"/lib/modules/6.1/kernel/net/nf_tables.ko.xz"), "[nf_tables]");
}
