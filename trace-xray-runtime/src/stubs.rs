//! The code that patched sleds call: a stub for each function, near its object.
//!
//! A sled reaches 2 GiB, and this library may be farther. So an object gets pages near it:
//!
//! ```text
//! 14 addresses  of the trampolines
//! 14 stubs      one for each, of which exits and events use theirs: jmp [trampoline]
//! n stubs       entry of each function:                  mov r10, site; jmp [trampoline]
//! ```
//!
//! They are never freed, since a thread may be in them at any time. An object gets those that exist
//! near it, and new ones for its other functions.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::ops::Range;
use std::ptr;

use trace_runtime::foreign::Site;

use crate::sled::Kind;
use crate::sys;
use crate::trampoline::{Trampoline, TRAMPOLINES};
use crate::wide::Width;

const PAGE: u64 = 4096;
/// The distance that sleds reach, less a margin.
const REACH: u64 = (1 << 31) - (16 << 20);
/// Bytes of an address of a trampoline, and of the stub of an exit.
const ADDRESS: usize = 8;
const COMMON: usize = TRAMPOLINES.len() * 2 * ADDRESS;
/// Bytes of the stub of an entry.
const ENTRY: usize = 16;

/// All stubs of this process.
#[derive(Debug, Default)]
pub(crate) struct Stubs {
    blocks: Vec<Block>,
}

/// Pages with stubs.
#[derive(Debug)]
struct Block {
    addresses: Range<u64>,
    width: Width,
    sites: Vec<&'static Site>,
}

/// The stubs of an object.
#[derive(Debug)]
pub(crate) struct ObjectStubs {
    /// Those of the entry of each function.
    entries: Vec<u64>,
    /// Those of exits, of tail exits, of custom and of typed events.
    common: [u64; 4],
}

impl Stubs {
    /// Returns stubs for functions of an object that has this text, near it, all of one width.
    /// Only those that are not there yet are made: a library may be loaded any number of times.
    ///
    /// # Errors
    /// There is no free memory near the object.
    pub(crate) fn of_object(
        &mut self,
        text: &Range<u64>,
        sites: &[&'static Site],
        width: Width,
    ) -> io::Result<ObjectStubs> {
        let near = self.near(text, width);
        let mut known: HashSet<_> = near.flat_map(|block| &block.sites).map(address_of).collect();
        let missing: Vec<_> =
            sites.iter().copied().filter(|site| known.insert(address_of(site))).collect();
        if !missing.is_empty() || self.near(text, width).next().is_none() {
            self.blocks.push(Block::new(text, missing, width)?);
        }
        let entries: HashMap<_, _> = self.near(text, width).flat_map(Block::entries).collect();
        let entries: Option<_> =
            sites.iter().map(|site| entries.get(&address_of(site)).copied()).collect();
        let common = self.near(text, width).next().map(Block::common);
        let stubs = entries.zip(common).map(|(entries, common)| ObjectStubs { entries, common });
        stubs.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Returns the blocks that all of `text` reaches.
    fn near(&self, text: &Range<u64>, width: Width) -> impl Iterator<Item = &Block> {
        let reached = reached(text);
        self.blocks.iter().filter(move |block| {
            block.width == width
                && reached.start <= block.addresses.start
                && block.addresses.end <= reached.end
        })
    }
}

impl ObjectStubs {
    /// Returns the address of the stub for a sled of the function with this index.
    pub(crate) fn stub(&self, index: usize, kind: Kind) -> Option<u64> {
        let [exit, tail_exit, custom_event, typed_event] = self.common;
        match kind {
            Kind::Entry | Kind::ArgumentEntry => self.entries.get(index).copied(),
            Kind::Exit => Some(exit),
            Kind::TailExit => Some(tail_exit),
            Kind::CustomEvent => Some(custom_event),
            Kind::TypedEvent => Some(typed_event),
        }
    }
}

impl Block {
    fn new(text: &Range<u64>, sites: Vec<&'static Site>, width: Width) -> io::Result<Self> {
        let code = code(&sites, width);
        let bytes = (code.len() as u64).next_multiple_of(PAGE);
        let start = map_near(text, bytes, || fs::read_to_string("/proc/self/maps"))?;
        // SAFETY: the mapping is new, writable, and at least as large as the code.
        unsafe { ptr::copy_nonoverlapping(code.as_ptr(), start, code.len()) };
        // SAFETY: nothing writes to it from here on.
        if let Err(error) = unsafe { sys::make_executable(start, bytes as usize) } {
            // SAFETY: the mapping was made above, and nothing has its address.
            unsafe { sys::unmap(start, bytes as usize) };
            return Err(error);
        }
        let start = start.expose_provenance() as u64;
        Ok(Self { addresses: start..start + bytes, width, sites })
    }

    /// Returns the stub of each trace point's entry.
    fn entries(&self) -> impl Iterator<Item = (*const Site, u64)> + '_ {
        let entry = |index: usize| self.addresses.start + (COMMON + index * ENTRY) as u64;
        self.sites.iter().enumerate().map(move |(index, site)| (address_of(site), entry(index)))
    }

    fn common(&self) -> [u64; 4] {
        let kinds = [Kind::Exit, Kind::TailExit, Kind::CustomEvent, Kind::TypedEvent];
        kinds.map(|kind| {
            let index = TRAMPOLINES.len() + Trampoline::index(kind, self.width);
            self.addresses.start + (index * ADDRESS) as u64
        })
    }
}

fn address_of(site: &&'static Site) -> *const Site {
    ptr::from_ref(*site)
}

/// Returns the machine code of the stubs, which does not depend on its address.
fn code(sites: &[&'static Site], width: Width) -> Vec<u8> {
    let mut code = Vec::with_capacity(COMMON + sites.len() * ENTRY);
    for trampoline in &TRAMPOLINES {
        code.extend((trampoline.address() as u64).to_le_bytes());
    }
    for index in 0..TRAMPOLINES.len() {
        jump(&mut code, index);
        code.extend([0xcc; ADDRESS - JUMP_BYTES]);
    }
    for site in sites {
        // mov r10, site
        code.extend([0x49, 0xba]);
        code.extend(((&raw const **site).expose_provenance() as u64).to_le_bytes());
        let kind = if site.has_arguments() { Kind::ArgumentEntry } else { Kind::Entry };
        jump(&mut code, Trampoline::index(kind, width));
    }
    code
}

const JUMP_BYTES: usize = 6;

/// Appends a jump to the trampoline with this index.
fn jump(code: &mut Vec<u8>, index: usize) {
    let distance = (index * ADDRESS) as i64 - (code.len() + JUMP_BYTES) as i64;
    // jmp [rip + distance]
    code.extend([0xff, 0x25]);
    code.extend((distance as i32).to_le_bytes());
}

/// The most tries to get a range that no other thread takes first.
const TRIES: usize = 100;

/// Maps memory that all of `text` reaches. `maps` reads `/proc/self/maps`: another thread may take
/// a free range before this one does, so it is read again then.
fn map_near(
    text: &Range<u64>,
    bytes: u64,
    mut maps: impl FnMut() -> io::Result<String>,
) -> io::Result<*mut u8> {
    let mut tried = 0;
    loop {
        let address = free_range(text, bytes, &maps()?).ok_or(io::ErrorKind::OutOfMemory)?;
        tried += 1;
        let mapped = sys::map(address as usize, bytes as usize);
        let is_taken = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::AddrInUse)
        };
        if tried == TRIES || !mapped.as_ref().is_err_and(is_taken) {
            return mapped;
        }
    }
}

/// Returns the address of a free range of memory that all of `text` reaches: the nearest one below
/// it, else above it, by `/proc/self/maps`. Below a program, no heap grows into it.
fn free_range(text: &Range<u64>, bytes: u64, maps: &str) -> Option<u64> {
    let mut gaps = Vec::new();
    let mut end = 16 * PAGE;
    for mapped in maps.lines().filter_map(range) {
        gaps.push(end..mapped.start);
        end = end.max(mapped.end);
    }
    gaps.push(end..1 << 47);
    let reached = reached(text);
    let is_free = |start: u64, gap: &Range<u64>| {
        start >= gap.start.max(reached.start)
            && start.saturating_add(bytes) <= gap.end.min(reached.end)
    };
    let below = gaps.iter().rev().filter(|gap| gap.end <= text.start).find_map(|gap| {
        let start = gap.end.checked_sub(bytes)?;
        is_free(start, gap).then_some(start)
    });
    below.or_else(|| {
        let mut above = gaps.iter().filter(|gap| gap.start >= text.end);
        above.find(|gap| is_free(gap.start, gap)).map(|gap| gap.start)
    })
}

/// Returns the addresses that all of `text` reaches.
fn reached(text: &Range<u64>) -> Range<u64> {
    text.end.saturating_sub(REACH)..text.start.saturating_add(REACH)
}

/// Returns the addresses of a line of `/proc/self/maps`.
fn range(line: &str) -> Option<Range<u64>> {
    let (start, rest) = line.split_once('-')?;
    let (end, _) = rest.split_once(' ')?;
    Some(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sites::Sites;

    #[test]
    fn stubs_are_made_once_for_each_function_and_place() {
        let here = reached as fn(&Range<u64>) -> Range<u64> as usize as u64;
        let text = here..here + 1;
        let mut sites = Sites::default();
        let [a, b, c] = ["a", "b", "c"].map(|name| sites.of(name, false));
        let mut stubs = Stubs::default();
        let mut entries = |text: &Range<u64>, sites: &[&'static Site], width| {
            let object = stubs.of_object(text, sites, width).unwrap();
            (object.entries, stubs.blocks.len())
        };
        let (first, blocks) = entries(&text, &[a, b, a], Width::Sse);
        assert_eq!((first.len(), first[0], blocks), (3, first[2], 1));
        assert_eq!(entries(&text, &[a, b, a], Width::Sse), (first.clone(), 1), "loaded again");
        let (second, blocks) = entries(&text, &[c, b], Width::Sse);
        assert_eq!((second[1], blocks), (first[1], 2), "a function more");
        assert_eq!(entries(&text, &[], Width::Avx).1, 3, "wide ones");
        let library = libc::getpid as unsafe extern "C" fn() -> i32 as usize as u64;
        assert_eq!(entries(&(library..library + 1), &[a], Width::Sse).1, 4, "out of reach");
    }

    /// The first maps lack what another thread has mapped since.
    #[test]
    fn a_range_that_another_thread_takes_is_no_end() {
        let here = reached as fn(&Range<u64>) -> Range<u64> as usize as u64;
        let text = here..here + 1;
        let read = || fs::read_to_string("/proc/self/maps");
        let before = read().unwrap();
        let taken = map_near(&text, PAGE, read).unwrap();
        let mut reads = 0;
        let mut maps = || {
            reads += 1;
            if reads < 3 {
                Ok(before.clone())
            } else {
                read()
            }
        };
        let other = map_near(&text, PAGE, &mut maps).unwrap();
        assert!(other != taken && reads >= 3, "{other:?} {taken:?} {reads}");
        let error = map_near(&text, PAGE, || Ok(before.clone())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        for start in [taken, other] {
            // SAFETY: the mapping was made above, and nothing uses it.
            unsafe { sys::unmap(start, PAGE as usize) };
        }
    }

    const MAPS: &str = "00400000-00500000 r-xp 0 0 0 /a\n\
                        00500000-00600000 rw-p 0 0 0 /a\n\
                        7f0000000000-7f0000100000 r-xp 0 0 0 /b\n\
                        7f0000101000-7f0000200000 r-xp 0 0 0 /c\n";

    #[test]
    fn the_nearest_range_below_is_taken() {
        assert_eq!(free_range(&(0x40_0000..0x50_0000), 0x2000, MAPS), Some(0x3f_e000));
        let c = 0x7f00_0010_1000..0x7f00_0020_0000;
        assert_eq!(free_range(&c, 0x1000, MAPS), Some(0x7f00_0010_0000), "the gap of a page");
        assert_eq!(free_range(&c, 0x2000, MAPS), Some(0x7eff_ffff_e000));
    }

    #[test]
    fn a_range_above_is_taken_if_there_is_none_below() {
        assert_eq!(free_range(&(0x40_0000..0x50_0000), 0x40_0000, MAPS), Some(0x60_0000));
    }

    #[test]
    fn a_range_out_of_reach_is_none() {
        assert_eq!(free_range(&(0x40_0000..0x50_0000), 1 << 32, MAPS), None);
    }
}
