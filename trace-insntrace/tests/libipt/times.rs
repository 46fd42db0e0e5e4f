//! The time of packets by libipt and by us.

use std::path::Path;

use proptest::prelude::*;
use trace_insntrace::pt::{encode, Packet, PacketClock, PacketDecoder, Timing};

use crate::machine::{Features, Machine, NOMINAL};
use crate::random::Random;
use crate::Libipt;

/// Returns a line with the time of each TNT and TIP packet.
fn ours(trace: &[u8], timing: Timing) -> String {
    let (mut packets, mut clock) = (PacketDecoder::new(), PacketClock::new(timing));
    packets.push(trace);
    let mut lines = String::new();
    let mut line = |kind: char, clock: &PacketClock| {
        lines.push_str(&format!("{kind} {:x}\n", clock.now().unwrap()));
    };
    packets
        .visit(|at| {
            clock.packet(&at.packet);
            match at.packet {
                Packet::Tnt(_) => line('c', &clock),
                Packet::Tip(_) => line('i', &clock),
                _ => {}
            }
        })
        .unwrap();
    lines
}

fn theirs(trace: &[u8], timing: Timing) -> String {
    let libipt = Libipt::new();
    let (counter, crystal) = timing.crystal.unwrap();
    let numbers = [
        timing.mtc_period.to_string(),
        crystal.to_string(),
        counter.to_string(),
        timing.nominal.unwrap_or(0).to_string(),
    ];
    let file = libipt.file("trace", trace);
    let arguments: Vec<&Path> = [&*file].into_iter().chain(numbers.iter().map(Path::new)).collect();
    libipt.run("times", &arguments)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    #[ignore = "needs libipt-dev"]
    fn libipt_has_the_times_that_we_have(
        seed in any::<u64>(),
        mtc_period in 0..=15_u8,
        crystal in prop_oneof![Just((250, 2)), Just((84, 2)), Just((176, 2)), Just((400, 3))],
        nominal in prop_oneof![Just(None), Just(Some(NOMINAL))],
        has_mtc in any::<bool>(),
        has_cycles in any::<bool>(),
        skips in 0..4_u64,
        gaps in prop_oneof![Just(0), Just(100)],
    ) {
        let timing = Timing { mtc_period, crystal: Some(crystal), nominal };
        let features = Features { timing, has_mtc, has_cycles, skips, gaps };
        let timed = Machine::run(Random(seed), features, 2000);
        let mut bytes = Vec::new();
        timed.packets.iter().for_each(|packet| encode::append(&mut bytes, packet));
        let (ours, theirs) = (ours(&bytes, timing), theirs(&bytes, timing));
        prop_assert_eq!(ours.lines().count(), timed.branches.len());
        let first = ours.lines().zip(theirs.lines()).enumerate().find(|(_, (a, b))| a != b);
        prop_assert_eq!((first, theirs.lines().count()), (None, timed.branches.len()));
    }
}
