//! Patching of an object's sleds.

use std::io;
use std::ops::Range;

use crate::functions::{Function, Functions, Section};
use crate::objects::Object;
use crate::sled::{self, Kind, Preparation, State};
use crate::stubs::{ObjectStubs, Stubs};
use crate::sys;
use crate::text::{self, Text, Way};
use crate::wide::Width;

/// An object with sleds.
#[derive(Debug)]
pub(crate) struct Patcher {
    object: Object,
    functions: Vec<Function>,
    section: Section,
    stubs: ObjectStubs,
    /// Whether each function was to be on when sleds were last patched.
    done: Option<Vec<bool>>,
    patched: Patched,
}

/// What was patched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patched {
    /// The functions and sleds that are on now.
    pub(crate) functions: u64,
    pub(crate) sleds: u64,
    /// Sleds that cannot be patched: their code is not what compilers emit.
    pub(crate) refused: u64,
    pub(crate) way: Way,
}

impl Patched {
    pub(crate) const NONE: Self = Self { functions: 0, sleds: 0, refused: 0, way: Way::Memory };

    /// Adds what was patched in another object.
    pub(crate) fn add(&mut self, other: Self) {
        self.functions += other.functions;
        self.sleds += other.sleds;
        self.refused += other.refused;
        if other.way == Way::Protection {
            self.way = other.way;
        }
    }
}

const OTHER_RUNTIME: &str = "it has LLVM's runtime: link it with -fno-xray-link-deps";

/// A sled in memory.
#[derive(Clone, Copy, Debug)]
struct Sled {
    address: u64,
    kind: Kind,
    preparation: Preparation,
}

impl Patcher {
    /// Makes stubs for the functions of a loaded object.
    ///
    /// # Errors
    /// There is no memory near it, or it has LLVM's runtime: two may not patch the same sleds.
    pub(crate) fn new(object: Object, functions: Functions, stubs: &mut Stubs) -> io::Result<Self> {
        if functions.has_runtime {
            return Err(io::Error::other(OTHER_RUNTIME));
        }
        let width = width_of(&object, &functions.code).supported();
        let Functions { list: functions, section, .. } = functions;
        let sites: Vec<_> = functions.iter().map(|function| function.site).collect();
        let stubs = stubs.of_object(&span(&object), &sites, width)?;
        Ok(Self { object, functions, section, stubs, done: None, patched: Patched::NONE })
    }

    /// Returns whether this object is one of those that are loaded, and not another one in its
    /// place.
    pub(crate) fn is_among(&self, loaded: &[Object]) -> bool {
        loaded.contains(&self.object) && self.section.is_in(&self.object)
    }

    pub(crate) fn object(&self) -> &Object {
        &self.object
    }

    /// Returns what was patched last.
    pub(crate) fn patched(&self) -> Patched {
        self.patched
    }

    /// Has sleds compared again with what they are to be.
    pub(crate) fn forget(&mut self) {
        self.done = None;
    }

    /// Returns whether sleds are as [`patch`](Self::patch) would leave them.
    pub(crate) fn is_done(&self, is_recording: bool) -> bool {
        let done = self.done.as_ref();
        done.is_some_and(|done| self.wanted(is_recording).eq(done.iter().copied()))
    }

    /// Returns whether each function is to be on.
    fn wanted(&self, is_recording: bool) -> impl Iterator<Item = bool> + '_ {
        self.functions.iter().map(move |function| is_recording && function.site.is_on())
    }

    /// Turns the sleds on of each function whose trace point is on, and those of the others off.
    /// After an error it is not tried again before something changes. All other sleds are patched.
    ///
    /// The object must be loaded.
    ///
    /// # Errors
    /// The text cannot be written.
    pub(crate) fn patch(&mut self, is_recording: bool) -> io::Result<()> {
        let wanted: Vec<bool> = self.wanted(is_recording).collect();
        self.patched = Patched::NONE;
        let result = self.patch_to(&wanted);
        self.done = Some(wanted);
        result
    }

    fn patch_to(&mut self, wanted: &[bool]) -> io::Result<()> {
        let mut text = Text::open();
        let mut patched = Patched::NONE;
        let mut switches = Vec::new();
        let mut is_new = false;
        // After an error the others are patched, too: a sled must not stay on.
        let mut result = Ok(());
        for (index, (function, on)) in self.functions.iter().zip(wanted.iter().copied()).enumerate()
        {
            patched.functions += u64::from(on);
            for (address, kind) in &function.sleds {
                let sled = self.sled(index, *address, *kind);
                let Some((sled, state)) = sled.and_then(|sled| Some((sled, sled.state()?))) else {
                    patched.refused += 1;
                    continue;
                };
                if on && state == State::Original {
                    let place = sled.address + sled.preparation.start() as u64;
                    if let Err(error) = text.write(place, sled.preparation.bytes()) {
                        result = result.and(Err(error));
                        continue;
                    }
                    is_new = true;
                }
                match on == (state == State::On) {
                    true => patched.sleds += u64::from(on),
                    false => switches.push((sled, on)),
                }
            }
        }
        if is_new {
            sys::synchronize_code();
        }
        switches.sort_by_key(|(sled, on)| sled.kind.turn(*on));
        for (sled, on) in switches {
            let (index, byte) = sled.kind.switch(on);
            let written = text.write(sled.address + index as u64, &[byte]);
            // A sled that cannot be turned off stays on.
            patched.sleds += u64::from(written.is_ok() == on);
            result = result.and(written);
        }
        self.patched = Patched { way: text.way(), ..patched };
        result
    }

    /// Returns a sled of the function with this index, if its stub is near and the sled is text.
    fn sled(&self, index: usize, address: u64, kind: Kind) -> Option<Sled> {
        let address = self.object.base.wrapping_add(address);
        let stub = self.stubs.stub(index, kind)?;
        let range = address..address.checked_add(kind.length() as u64)?;
        if !self.object.contains(&range) {
            return None;
        }
        Some(Sled { address, kind, preparation: kind.preparation(address, stub)? })
    }
}

impl Sled {
    /// Returns the address of the instruction behind it.
    fn next(&self) -> u64 {
        self.address + self.kind.bytes() as u64
    }

    /// Returns its state, or `None` if the code is another, or the code behind it does not permit
    /// that the sled is on.
    fn state(&self) -> Option<State> {
        if self.kind == Kind::TailExit && sled::is_conditional(text::read(self.next())) {
            return None;
        }
        let mut code = [0; sled::MOST_BYTES];
        let code = code.get_mut(..self.kind.bytes())?;
        for (address, byte) in (self.address..).zip(&mut *code) {
            [*byte] = text::read(address);
        }
        self.kind.state(code, &self.preparation)
    }
}

/// Returns the addresses from the first to the last text of an object.
fn span(object: &Object) -> Range<u64> {
    let start = object.text.iter().map(|text| text.start).min().unwrap_or(0);
    start..object.text.iter().map(|text| text.end).max().unwrap_or(start)
}

/// Returns the largest width of the vector registers that code of the object uses, or that there is
/// if it cannot be read. The object may be unloaded meanwhile.
fn width_of(object: &Object, code: &[Range<u64>]) -> Width {
    let mut bytes = Vec::new();
    let widths = code.iter().filter_map(|code| {
        let start = object.base.wrapping_add(code.start);
        let text = object.text.iter().find(|text| text.contains(&start))?;
        let length = code.end.saturating_sub(code.start).min(text.end - start);
        bytes.resize(length as usize, 0);
        let is_read = sys::copy_memory(start, &mut bytes).is_ok();
        Some(if is_read { Width::of(&bytes) } else { Width::Avx512 })
    });
    widths.max().unwrap_or(Width::Sse)
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests;
