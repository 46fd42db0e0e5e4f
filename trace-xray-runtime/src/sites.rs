//! The trace points of functions, one for each name, and another one for functions of that name
//! whose first argument is recorded. They are never freed: a thread may use them at
//! any time. A library that is loaded again has those that it had.

use std::collections::HashMap;
use std::ffi::{CStr, CString};

use trace_runtime::foreign::{self, Key, Module, Site};

/// The category of all functions.
const CATEGORY: &CStr = c"xray";

/// The name of the first argument.
const ARGUMENT: &CStr = c"arg0";

/// The trace points of this process.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    by_name: HashMap<(&'static CStr, bool), &'static Site>,
    /// Those that are not registered yet.
    new: Vec<&'static Site>,
}

impl Sites {
    /// Returns the trace point of functions with this name, without or with their first argument.
    pub(crate) fn of(&mut self, name: &str, has_argument: bool) -> &'static Site {
        let bytes: Vec<u8> = name.bytes().filter(|byte| *byte != 0).collect();
        let name = CString::new(bytes).unwrap_or_default();
        if let Some(site) = self.by_name.get(&(name.as_c_str(), has_argument)) {
            return site;
        }
        let name: &'static CStr = Box::leak(name.into_boxed_c_str());
        let site = match has_argument {
            true => Site::duration_with(CATEGORY, name, Vec::leak(vec![Key::new(ARGUMENT)])),
            false => Site::duration(CATEGORY, name),
        };
        let site: &'static Site = Box::leak(Box::new(site));
        self.by_name.insert((name, has_argument), site);
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
        let (a, b) = (sites.of("a", false), sites.of("b", false));
        assert!(std::ptr::eq(sites.of("a", false), a) && !std::ptr::eq(a, b));
        let with_argument = sites.of("a", true);
        assert!(with_argument.has_arguments() && !a.has_arguments());
        assert_eq!(sites.new.len(), 3);
        sites.register();
        assert!(std::ptr::eq(sites.of("b", false), b) && sites.new.is_empty());
    }
}
