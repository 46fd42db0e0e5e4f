//! The trace points of functions, one for each name. They are never freed: a thread may use them at
//! any time. A library that is loaded again has those that it had.

use std::collections::HashMap;
use std::ffi::{CStr, CString};

use trace_runtime::foreign::{self, Module, Site};

/// The category of all functions.
const CATEGORY: &CStr = c"xray";

/// The trace points of this process.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    by_name: HashMap<&'static CStr, &'static Site>,
    /// Those that are not registered yet.
    new: Vec<&'static Site>,
}

impl Sites {
    /// Returns the trace point of functions with this name.
    pub(crate) fn of(&mut self, name: &str) -> &'static Site {
        let bytes: Vec<u8> = name.bytes().filter(|byte| *byte != 0).collect();
        let name = CString::new(bytes).unwrap_or_default();
        if let Some(site) = self.by_name.get(name.as_c_str()) {
            return site;
        }
        let name: &'static CStr = Box::leak(name.into_boxed_c_str());
        let site: &'static Site = Box::leak(Box::new(Site::duration(CATEGORY, name)));
        self.by_name.insert(name, site);
        self.new.push(site);
        site
    }

    /// Registers new trace points, so that sessions turn them on and off.
    pub(crate) fn register(&mut self) {
        if self.new.is_empty() {
            return;
        }
        let sites: Vec<_> = self.new.drain(..).map(std::ptr::from_ref).collect();
        let module = Box::leak(Box::new(Module::of(sites.leak())));
        // SAFETY: the module, its sites and their texts live as long as the process, and the module
        // is registered once, here.
        unsafe { foreign::load(module) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_trace_point() {
        let mut sites = Sites::default();
        let (a, b) = (sites.of("a"), sites.of("b"));
        assert!(std::ptr::eq(sites.of("a"), a) && !std::ptr::eq(a, b));
        assert_eq!(sites.new.len(), 2);
        sites.register();
        assert!(std::ptr::eq(sites.of("b"), b) && sites.new.is_empty());
    }
}
