//! The flow decoder's cache of code never changes what is decoded.

#[path = "common/items.rs"]
mod items;
#[path = "common/random.rs"]
mod random;
#[path = "common/walk.rs"]
mod walk;

use items::ips;
use proptest::prelude::*;
use random::Random;
use trace_insntrace::flow::{FlowDecoder, FlowError, Image, Item};
use trace_insntrace::pt::{ExecMode, PsbState, Writer};
use walk::{Odds, Program, Walk, BASE};

const OFTEN: Odds = Odds { interrupt: 50, pause: 30, psb: 70, time: 20, overflow: 40 };

type Decoded = Vec<Result<Item, FlowError>>;

fn image_of(code: &[u8]) -> Image {
    let mut image = Image::new();
    image.insert(BASE, code);
    image
}

/// Decodes a trace, and clears the cache after each item for which `clears` returns true.
fn decode(code: &[u8], trace: &[u8], mut clears: impl FnMut() -> bool) -> Decoded {
    let mut flow = FlowDecoder::new(image_of(code));
    flow.push(trace);
    flow.end();
    let mut items = Vec::new();
    while let Some(item) = flow.next_item() {
        items.push(item);
        if clears() {
            flow.image_mut();
        }
    }
    items
}

/// A walk through a random program: its code, its trace, and what was executed.
fn walk(seed: u64, blocks: usize) -> (Vec<u8>, Vec<u8>, Vec<u64>) {
    let random = &mut Random(seed);
    let program = Program::new(random, blocks);
    let walk = Walk::new(&program, random, Writer::new(), 2000, OFTEN);
    let (trace, executed) = (walk.trace, walk.executed);
    (program.code, trace, executed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any code and any branches: blocks overlap, instructions overlap, code loops and ends.
    #[test]
    fn overlapping_blocks(
        code in proptest::collection::vec(
            prop_oneof![Just(0x90), Just(0x75), Just(0xeb), Just(0xff), Just(0xe0), 0u8..8, any::<u8>()],
            1..80,
        ),
        steps in proptest::collection::vec((any::<u8>(), any::<bool>()), 0..60),
    ) {
        let mut writer = Writer::new();
        let state = PsbState { tsc: None, cbr: None, mode: ExecMode::LONG, ip: Some(BASE) };
        writer.psb(state);
        for (number, taken) in steps {
            let ip = BASE + u64::from(number) % code.len() as u64;
            match number % 8 {
                0..=4 => writer.conditional(taken),
                5 => writer.indirect(ip),
                6 => writer.async_branch(ip, BASE),
                _ => writer.psb(PsbState { ip: Some(ip), ..state }),
            }
        }
        writer.disable(None);
        let trace = writer.take();
        prop_assert_eq!(decode(&code, &trace, || false), decode(&code, &trace, || true));
    }

    /// A cache that is cleared at any time, for a trace with a changed byte that ends anywhere.
    #[test]
    fn damage_and_a_cut(
        seed in any::<u64>(),
        damage in proptest::option::of((any::<proptest::sample::Index>(), 1u8..)),
        end in any::<proptest::sample::Index>(),
        clears in proptest::collection::vec(any::<bool>(), 1..50),
    ) {
        let (code, mut trace, executed) = walk(seed, 30);
        trace.truncate(end.index(trace.len()) + 1);
        let damaged = damage.map(|(at, bits)| (at.index(trace.len()), bits));
        if let Some((at, bits)) = damaged {
            trace[at] ^= bits;
        }
        let items = decode(&code, &trace, || false);
        let mut clears = clears.into_iter().cycle();
        prop_assert_eq!(&decode(&code, &trace, || clears.next().unwrap_or_default()), &items);
        if damaged.is_none() {
            prop_assert!(executed.starts_with(&ips(&items)));
        }
    }

    /// Programs that replace each other at the same addresses.
    #[test]
    fn changed_code(
        seeds in proptest::collection::vec(0u64..3, 1..8),
        blocks in 2usize..30,
        size in 1usize..500,
    ) {
        let mut flow = FlowDecoder::new(Image::new());
        let (mut items, mut expected) = (Vec::new(), Vec::new());
        for seed in seeds {
            let (code, trace, executed) = walk(seed, blocks);
            *flow.image_mut() = image_of(&code);
            for piece in trace.chunks(size) {
                flow.push(piece);
                items.extend(std::iter::from_fn(|| flow.next_item()));
            }
            expected.extend(executed);
        }
        prop_assert!(items.iter().all(Result::is_ok));
        prop_assert_eq!(ips(&items), expected);
    }
}
