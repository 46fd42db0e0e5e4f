//! Patching of an object's sleds.

use std::io;
use std::ops::Range;

use crate::functions::Function;
use crate::objects::Object;
use crate::sled::{self, Kind};
use crate::stubs::Stubs;
use crate::sys;
use crate::text::{Text, Way};
use crate::wide::is_wide;

/// An object with sleds.
#[derive(Debug)]
pub(crate) struct Patcher {
    object: Object,
    functions: Vec<Function>,
    /// Whether each function is wide.
    wide: Vec<bool>,
    stubs: Stubs,
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

/// A sled in memory.
#[derive(Clone, Copy, Debug)]
struct Sled {
    address: u64,
    kind: Kind,
    /// Its code if it is prepared and off.
    prepared: [u8; sled::BYTES],
}

/// The text of an object, from one address on.
struct Code {
    start: u64,
    bytes: Vec<u8>,
}

impl Patcher {
    /// Makes stubs for the functions of a loaded object.
    ///
    /// # Errors
    /// The text cannot be read, or there is no memory near it.
    pub(crate) fn new(object: Object, functions: Vec<Function>) -> io::Result<Self> {
        let text = span(&object);
        let code = Code::read(&Text::open()?, text.clone())?;
        let wide = wide_functions(object.base, &functions, &code);
        let sites = functions.iter().map(|function| function.site).zip(wide.iter().copied());
        let stubs = Stubs::new(text, &sites.collect::<Vec<_>>())?;
        Ok(Self { object, functions, wide, stubs })
    }

    pub(crate) fn object(&self) -> &Object {
        &self.object
    }

    /// Turns the sleds on of each function whose trace point is on, and those of the others off.
    ///
    /// The object must be loaded.
    ///
    /// # Errors
    /// The text cannot be read.
    pub(crate) fn patch(&self, is_recording: bool) -> io::Result<Patched> {
        let mut text = Text::open()?;
        let code = Code::read(&text, span(&self.object))?;
        let mut patched = Patched::NONE;
        let mut switches = Vec::new();
        let mut is_new = false;
        for (index, function) in self.functions.iter().enumerate() {
            let on = is_recording && function.site.is_on();
            patched.functions += u64::from(on);
            for (address, kind) in &function.sleds {
                let sled = self.sled(index, *address, *kind);
                let Some(state) = sled.and_then(|sled| sled.state(&code)) else {
                    patched.refused += 1;
                    continue;
                };
                let Some(sled) = sled else { continue };
                if on && state == State::Original {
                    text.write(sled.address + 1, sled.prepared.get(1..).unwrap_or_default())?;
                    is_new = true;
                }
                patched.sleds += u64::from(on);
                if on != (state == State::On) {
                    switches.push((sled, on));
                }
            }
        }
        if is_new {
            sys::synchronize_code();
        }
        for (sled, on) in switches {
            let (index, byte) = sled.kind.switch(on);
            text.write(sled.address + index as u64, &[byte])?;
        }
        patched.way = text.way();
        Ok(patched)
    }

    /// Returns a sled of the function with this index, if its stub is near and the sled is text.
    fn sled(&self, index: usize, address: u64, kind: Kind) -> Option<Sled> {
        let address = self.object.base.wrapping_add(address);
        let stub = self.stubs.stub(index, kind, self.wide.get(index).copied().unwrap_or(true));
        let range = address..address.checked_add(sled::BYTES as u64)?;
        if !self.object.contains(&range) {
            return None;
        }
        Some(Sled { address, kind, prepared: kind.prepared(address, stub)? })
    }
}

/// The state of a sled's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Original,
    Off,
    On,
}

impl Sled {
    /// Returns its state, or `None` if the code is another.
    fn state(&self, code: &Code) -> Option<State> {
        let bytes = code.get(self.address, sled::BYTES as u64)?;
        if bytes == self.kind.original() {
            return Some(State::Original);
        }
        if bytes == self.prepared {
            return Some(State::Off);
        }
        let mut on = self.prepared;
        let (index, byte) = self.kind.switch(true);
        *on.get_mut(index)? = byte;
        (bytes == on).then_some(State::On)
    }
}

impl Code {
    fn read(text: &Text, range: Range<u64>) -> io::Result<Self> {
        Ok(Self { start: range.start, bytes: text.read(range)? })
    }

    fn get(&self, address: u64, length: u64) -> Option<&[u8]> {
        let start = usize::try_from(address.checked_sub(self.start)?).ok()?;
        self.bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
    }
}

/// Returns the addresses from the first to the last text of an object.
fn span(object: &Object) -> Range<u64> {
    let start = object.text.iter().map(|text| text.start).min().unwrap_or(0);
    start..object.text.iter().map(|text| text.end).max().unwrap_or(start)
}

/// Returns for each function whether its code uses AVX registers.
fn wide_functions(base: u64, functions: &[Function], code: &Code) -> Vec<bool> {
    let end = code.start.saturating_add(code.bytes.len() as u64);
    let wide = functions.iter().map(|function| {
        let start = base.wrapping_add(function.code.start);
        let length = function.code.end.saturating_sub(function.code.start);
        let length = length.min(end.saturating_sub(start));
        code.get(start, length).is_none_or(is_wide)
    });
    wide.collect()
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests;
