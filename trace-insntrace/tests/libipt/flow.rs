//! libipt's instruction decoder finds the same instructions as ours, and as were executed.

#[path = "../common/walk.rs"]
mod walk;

use proptest::prelude::*;
use trace_insntrace::flow::{FlowDecoder, Image, Item};
use trace_insntrace::pt::Writer;
use walk::{Odds, Program, Random, Walk, BASE};

use crate::Libipt;

fn ours(code: &[u8], trace: &[u8]) -> Vec<u64> {
    let mut image = Image::new();
    image.insert(BASE, code);
    let mut flow = FlowDecoder::new(image);
    flow.push(trace);
    flow.end();
    let mut ips = Vec::new();
    while let Some(item) = flow.next_item() {
        if let Item::Instruction(instruction) = item.unwrap() {
            ips.push(instruction.ip);
        }
    }
    ips
}

fn theirs(code: &[u8], trace: &[u8]) -> Vec<u64> {
    let libipt = Libipt::new();
    let files = [libipt.file("trace", trace), libipt.file("code", code)];
    let base = format!("{BASE:x}");
    let lines = libipt.run("insns", &[&files[0], &files[1], base.as_ref()]);
    let ip = |line: &str| u64::from_str_radix(line, 16).expect(line);
    lines.lines().map(ip).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    #[ignore = "needs libipt-dev"]
    fn libipt_finds_the_instructions_that_we_find(
        seed in any::<u64>(),
        blocks in 2usize..60,
        compress in any::<bool>(),
        long in any::<bool>(),
    ) {
        let random = &mut Random(seed);
        let program = Program::new(random, blocks);
        let writer = Writer::new().compress_returns(compress).long_tnt(long);
        let odds = Odds { interrupt: 50, pause: 30, psb: 70, time: 20, overflow: 40 };
        let walk = Walk::new(&program, random, writer, 3000, odds);
        prop_assert_eq!(ours(&program.code, &walk.trace), &walk.executed[..]);
        prop_assert_eq!(theirs(&program.code, &walk.trace), &walk.executed[..]);
    }
}
