//! The names of functions in the files of modules.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use trace_symbols::{ModuleError, ModuleSymbols};

use super::images::CodeModule;

/// The names of the frames at an address, innermost first.
type Names = Arc<[Arc<str>]>;

/// The names of functions, from the files of modules on this machine.
#[derive(Debug, Default)]
pub struct Symbols {
    files: HashMap<CodeModule, Result<ModuleSymbols, ModuleError>>,
    /// The frames at each address.
    frames: HashMap<CodeModule, HashMap<u64, Names>>,
}

impl Symbols {
    /// Returns the names of the frames at an address of a module's file, innermost first.
    pub(super) fn frames(&mut self, module: &CodeModule, address: u64) -> Names {
        let known = self.frames.get(module).and_then(|frames| frames.get(&address));
        if let Some(frames) = known {
            return Arc::clone(frames);
        }
        let frames = self.read(module, address);
        let of_module = self.frames.entry(module.clone()).or_default();
        of_module.insert(address, Arc::clone(&frames));
        frames
    }

    fn read(&mut self, module: &CodeModule, address: u64) -> Names {
        let frames = match self.file(module) {
            Some(Ok(symbols)) => symbols.frames(address),
            _ => Vec::new(),
        };
        if frames.is_empty() {
            let file = module.name.rsplit('/').next().unwrap_or_default();
            let name: Arc<str> = format!("{file}+{address:#x}").into();
            return Arc::new([name]);
        }
        frames.into_iter().map(|frame| frame.function).collect()
    }

    /// Returns the file of a module, if it has one.
    fn file(&mut self, module: &CodeModule) -> Option<&Result<ModuleSymbols, ModuleError>> {
        if !is_file(&module.name) {
            return None;
        }
        let read = || ModuleSymbols::read(Path::new(&module.name), &module.build_id);
        Some(self.files.entry(module.clone()).or_insert_with(read))
    }

    /// Returns the files that cannot name their functions, with the reason, in order.
    #[must_use]
    pub fn unusable(&self) -> Vec<(&str, ModuleError)> {
        let mut all: Vec<(&str, ModuleError)> = self
            .files
            .iter()
            .filter_map(|(module, read)| Some((&*module.name, *read.as_ref().err()?)))
            .collect();
        all.sort_by_key(|(name, _)| *name);
        all
    }
}

/// Returns whether a module's name is that of a file, unlike `//anon` and `[vdso]`.
fn is_file(name: &str) -> bool {
    name.starts_with('/') && !name.starts_with("//")
}
