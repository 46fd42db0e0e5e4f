//! The time of packets is that of the processor that wrote them.

#[path = "common/machine.rs"]
mod machine;
#[path = "common/random.rs"]
mod random;

use machine::{Features, Machine, Timed, NOMINAL};
use random::Random;
use trace_insntrace::flow::{FlowDecoder, Image, Item};
use trace_insntrace::pt::{encode, Packet, PacketClock, PsbState, Timing, Writer};

const TIMING: Timing = Timing { mtc_period: 3, crystal: Some((250, 2)), nominal: None };

const FEATURES: Features =
    Features { timing: TIMING, has_mtc: true, has_cycles: false, skips: 0, gaps: 0 };

/// The ticks of a period.
const PERIOD: u64 = 8 * 125;

/// Returns the time at each branch.
fn times(timed: &Timed, timing: Timing) -> Vec<u64> {
    let mut clock = PacketClock::new(timing);
    let mut found = Vec::new();
    for packet in &timed.packets {
        clock.packet(packet);
        if matches!(packet, Packet::Tnt(_) | Packet::Tip(_)) {
            found.push(clock.now().expect("the first packet is a time stamp"));
        }
    }
    found
}

/// Returns by how much times differ from those of the processor: the sum and the most.
fn differences(features: Features, timing: Timing) -> (u64, u64) {
    let timed = Machine::run(Random(15), features, 20_000);
    let found = times(&timed, timing);
    assert_eq!(found.len(), timed.branches.len());
    let difference = found.iter().zip(&timed.branches).map(|(found, it)| found.abs_diff(*it));
    (difference.clone().sum(), difference.max().unwrap())
}

#[test]
fn mtc_packets_refine_the_time_to_their_period() {
    let (without, _) = differences(FEATURES, Timing { crystal: None, ..TIMING });
    let (with, most) = differences(FEATURES, TIMING);
    assert!(with < without / 10, "{with} and {without}");
    assert!(most <= PERIOD + 125, "{most}");
}

#[test]
fn cyc_packets_refine_the_time_to_cycles() {
    let cycles = Features { has_cycles: true, ..FEATURES };
    let (without, _) = differences(FEATURES, TIMING);
    let (with, _) = differences(cycles, TIMING);
    assert!(with < without / 4, "{with} and {without}");
    let nominal = Timing { nominal: Some(NOMINAL), ..TIMING };
    let (with, _) = differences(cycles, nominal);
    assert!(with < without / 4, "{with} and {without}");
    // Without MTC packets, they are measured by time stamps.
    let only = Features { has_mtc: false, ..cycles };
    let (stamps, _) = differences(Features { has_cycles: false, ..only }, TIMING);
    let (with, _) = differences(only, TIMING);
    assert!(with < stamps / 2, "{with} and {stamps}");
}

#[test]
fn hostile_packets_overflow_no_number() {
    let extremes = [
        Packet::Cyc(u64::MAX),
        Packet::Mtc(0),
        Packet::Tsc(u64::MAX >> 8),
        Packet::Tma { ctc: u16::MAX, fast_counter: 0x1ff },
        Packet::Mtc(255),
        Packet::Cbr(0),
        Packet::Cyc(u64::MAX),
        Packet::Cyc(1),
        Packet::Mtc(1),
        Packet::Psb,
        Packet::Tsc(0),
        Packet::PsbEnd,
        Packet::Cbr(255),
    ];
    for mtc_period in [0, 8, 15, 255] {
        for crystal in [None, Some((u32::MAX, 1)), Some((1, u32::MAX)), Some((0, 1)), Some((1, 0))]
        {
            for nominal in [None, Some(0), Some(255)] {
                let mut clock = PacketClock::new(Timing { mtc_period, crystal, nominal });
                for first in 0..extremes.len() * extremes.len() {
                    clock.packet(&extremes[first % extremes.len()]);
                    clock.packet(&extremes[first / extremes.len()]);
                }
                assert!(clock.now().is_some());
            }
        }
    }
}

#[test]
fn cycles_are_counted_on_at_mtc_packets_without_the_ratio_of_the_crystal_clock() {
    for crystal in [None, Some((250, 0))] {
        let timing = Timing { mtc_period: 3, crystal, nominal: Some(NOMINAL) };
        let mut clock = PacketClock::new(timing);
        let mut times = Vec::new();
        for packet in [
            Packet::Tsc(1000),
            Packet::Tma { ctc: 8, fast_counter: 0 },
            Packet::Cbr(NOMINAL),
            Packet::Cyc(100),
            Packet::Mtc(2),
            Packet::Cyc(10),
            Packet::Mtc(3),
            Packet::Cyc(1),
        ] {
            clock.packet(&packet);
            times.push(clock.now().unwrap());
        }
        assert_eq!(times, [1000, 1000, 1000, 1100, 1100, 1110, 1110, 1111], "{crystal:?}");
    }
}

#[test]
fn instructions_have_the_refined_time() {
    // dec ecx; jnz -4; syscall
    let mut image = Image::new();
    image.insert(0x1000, &[0xff, 0xc9, 0x75, 0xfc, 0x0f, 0x05]);
    let mut writer = Writer::new();
    let mode = trace_insntrace::pt::ExecMode::LONG;
    writer.psb(PsbState { tsc: Some(1_000_000), cbr: None, mode, ip: Some(0x1000) });
    writer.packet(Packet::Tsc(2_000_000));
    writer.packet(Packet::Tma { ctc: 0, fast_counter: 0 });
    writer.conditional(true);
    writer.packet(Packet::Mtc(1));
    writer.conditional(true);
    writer.packet(Packet::Mtc(3));
    writer.conditional(false);
    writer.disable(None);
    let trace = writer.take();
    let decode = |timing: Option<Timing>| {
        let mut flow = FlowDecoder::new(image.clone());
        if let Some(timing) = timing {
            flow = flow.with_timing(timing);
        }
        flow.push(&trace);
        flow.end();
        let mut times = Vec::new();
        while let Some(item) = flow.next_item() {
            if let Item::Instruction(_) = item.unwrap() {
                times.push(flow.tsc().unwrap());
            }
        }
        times
    };
    let stamp = 2_000_000;
    assert_eq!(decode(None), [stamp; 7]);
    let (one, three) = (stamp + PERIOD, stamp + 3 * PERIOD);
    assert_eq!(decode(Some(TIMING)), [stamp, stamp, one, one, three, three, three]);
}

#[test]
fn times_do_not_go_back_at_a_time_stamp() {
    // dec ecx; jnz -4; syscall
    let mut image = Image::new();
    image.insert(0x1000, &[0xff, 0xc9, 0x75, 0xfc, 0x0f, 0x05]);
    let mut writer = Writer::new();
    let mode = trace_insntrace::pt::ExecMode::LONG;
    let begin = PsbState { tsc: Some(1_000_000), cbr: Some(NOMINAL), mode, ip: Some(0x1000) };
    writer.psb(begin);
    // The core has become faster since the last CBR packet.
    writer.packet(Packet::Cyc(5000));
    writer.conditional(true);
    writer.packet(Packet::Tsc(1_003_000));
    writer.conditional(true);
    writer.packet(Packet::Cyc(1000));
    writer.conditional(true);
    writer.packet(Packet::Cyc(5000));
    writer.conditional(false);
    writer.disable(None);
    let trace = writer.take();
    for (timing, expected) in [
        (None, [1_000_000, 1_003_000, 1_003_000, 1_003_000]),
        (
            Some(Timing { nominal: Some(NOMINAL), ..TIMING }),
            [1_005_000, 1_005_000, 1_005_000, 1_009_000],
        ),
    ] {
        let mut flow = FlowDecoder::new(image.clone());
        if let Some(timing) = timing {
            flow = flow.with_timing(timing);
        }
        flow.push(&trace);
        flow.end();
        let mut times = Vec::new();
        while let Some(item) = flow.next_item() {
            if let Item::Instruction(instruction) = item.unwrap() {
                times.extend((instruction.ip == 0x1002).then(|| flow.tsc().unwrap()));
            }
        }
        assert_eq!(times, expected, "{timing:?}");
    }
}

#[test]
fn packets_of_the_machine_can_be_written() {
    let timed = Machine::run(
        Random(1),
        Features { has_cycles: true, skips: 3, gaps: 100, ..FEATURES },
        1000,
    );
    let mut bytes = Vec::new();
    timed.packets.iter().for_each(|packet| encode::append(&mut bytes, packet));
    let mut packets = trace_insntrace::pt::PacketDecoder::new();
    packets.push(&bytes);
    let mut found = Vec::new();
    packets.visit(|at| found.push(at.packet)).unwrap();
    assert_eq!(found, timed.packets);
}
