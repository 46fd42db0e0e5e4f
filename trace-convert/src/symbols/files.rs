//! The symbols of files on this machine.

use std::collections::BTreeMap;
use std::path::Path;

use trace_symbols::{Frame, ModuleError, ModuleSymbols};

use crate::images::CodeModule;

/// The files of modules.
#[derive(Debug, Default)]
pub(super) struct Files {
    open: BTreeMap<CodeModule, ModuleSymbols>,
    /// Those that are not used any more, or of which something is missing.
    unusable: BTreeMap<CodeModule, ModuleError>,
}

impl Files {
    /// Returns the frames at an address of a module's file, innermost first.
    pub(super) fn frames(&mut self, module: &CodeModule, address: u64) -> Vec<Frame> {
        if !is_file(&module.name) {
            return Vec::new();
        }
        if !self.open.contains_key(module) && !self.unusable.contains_key(module) {
            self.read(module);
        }
        self.open.get(module).map(|symbols| symbols.frames(address)).unwrap_or_default()
    }

    fn read(&mut self, module: &CodeModule) {
        let error = match ModuleSymbols::read(Path::new(&module.name), &module.build_id) {
            Ok(symbols) => {
                let missing = symbols.lacks_debug_info();
                self.open.insert(module.clone(), symbols);
                missing
            }
            Err(error) => Some(error),
        };
        if let Some(error) = error {
            self.unusable.insert(module.clone(), error);
        }
    }

    /// Frees the memory of a file.
    pub(super) fn forget(&mut self, module: &CodeModule) {
        // Its parts in other files were missing only when an address required them.
        let missing = self.open.remove(module).and_then(|symbols| symbols.lacks_debug_info());
        if let Some(error) = missing {
            self.unusable.insert(module.clone(), error);
        }
    }

    /// Returns the files that cannot name their functions or lines, with the reason, in order.
    pub(super) fn unusable(&self) -> Vec<(&Path, ModuleError)> {
        let of_open = |(module, symbols): (_, &ModuleSymbols)| {
            symbols.lacks_debug_info().map(|error| (module, error))
        };
        let mut all: BTreeMap<_, _> = self.open.iter().filter_map(of_open).collect();
        all.extend(self.unusable.iter().map(|(module, error)| (module, *error)));
        all.into_iter().map(|(module, error)| (Path::new(&module.name), error)).collect()
    }
}

/// Returns whether a module's name is that of a file, unlike `//anon` and `[vdso]`.
fn is_file(name: &str) -> bool {
    name.starts_with('/') && !name.starts_with("//")
}
