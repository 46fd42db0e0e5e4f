//! The traces that are measured.

use std::fs;
use std::path::{Path, PathBuf};

use trace_insntrace::flow::Image;
use trace_insntrace::pt::{encode, Packet, Writer};

use crate::decoders::packets;
use crate::random::Random;
use crate::walk::{Odds, Program, Walk, BASE};

/// A trace, and what is required to decode it.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) image: Image,
    pub(crate) trace: Vec<u8>,
    pub(crate) packets: Vec<Packet>,
}

const NAMES: [&str; 3] = ["random program", "sort, with time stamps", "sort"];

impl Sample {
    fn new(name: &'static str, image: Image, trace: Vec<u8>) -> Self {
        Self { name, image, packets: packets(&trace), trace }
    }

    /// Writes the trace and the code into `folder`. The name of a file with code is its address.
    pub(crate) fn write(&self, folder: &Path) {
        fs::write(folder.join("trace"), &self.trace).expect("a file");
        for (address, code) in self.image.sections() {
            fs::write(folder.join(format!("{address:x}")), code).expect("a file");
        }
    }

    /// Returns the files that [`write`](Self::write) writes, and the address after each with code.
    pub(crate) fn files(&self, folder: &Path) -> Vec<PathBuf> {
        let addresses = self.image.sections().map(|(address, _)| format!("{address:x}"));
        let code = addresses.flat_map(|address| [folder.join(&address), address.into()]);
        [folder.join("trace")].into_iter().chain(code).collect()
    }

    fn read(name: &'static str, folder: &Path) -> Self {
        let mut image = Image::new();
        for file in fs::read_dir(folder).expect("a folder") {
            let file = file.expect("a file");
            let name = file.file_name().into_string().expect("text");
            if let Ok(address) = u64::from_str_radix(&name, 16) {
                image.insert(address, &fs::read(file.path()).expect("code"));
            }
        }
        Self::new(name, image, fs::read(folder.join("trace")).expect("a trace"))
    }
}

/// Returns the samples of `folder`, or new ones, which are then kept there.
pub(crate) fn all(folder: Option<&Path>) -> Vec<Sample> {
    let of = |name: &str| folder.map(|folder| folder.join(name));
    let has = |name: &&str| of(name).is_some_and(|folder| folder.exists());
    if NAMES.iter().any(has) {
        let kept = NAMES.into_iter().filter(has);
        return kept.filter_map(|name| Some(Sample::read(name, &of(name)?))).collect();
    }
    let samples = new();
    for sample in &samples {
        if let Some(folder) = of(sample.name) {
            fs::create_dir_all(&folder).expect("a folder");
            sample.write(&folder);
        }
    }
    samples
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn new() -> Vec<Sample> {
    let (image, trace) = crate::sort::run();
    let mut untimed = Vec::new();
    let is_time = |packet: &&Packet| matches!(packet, Packet::Tsc(_));
    let packets = packets(&trace);
    let others = packets.iter().filter(|packet| !is_time(packet));
    others.for_each(|packet| encode::append(&mut untimed, packet));
    let [_, timed_name, name] = NAMES;
    vec![walk(), Sample::new(timed_name, image.clone(), trace), Sample::new(name, image, untimed)]
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn new() -> Vec<Sample> {
    vec![walk()]
}

fn walk() -> Sample {
    let random = &mut Random(1);
    let program = Program::new(random, 2000);
    let odds = Odds { interrupt: 20_000, pause: 20_000, psb: 30_000, time: 2_000, overflow: 0 };
    let walk = Walk::new(&program, random, Writer::new(), 4_000_000, odds);
    let mut image = Image::new();
    image.insert(BASE, &program.code);
    Sample::new(NAMES[0], image, walk.trace)
}
