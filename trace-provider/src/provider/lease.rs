//! Engines for providers that are values: memory that is never freed, but used again.

use std::io;
use std::sync::Arc;

use crate::engine::Engine;
use crate::generation::Generation;
use crate::lock::ProcessLock;
use crate::sys;

/// The engines that no provider uses.
static FREE: ProcessLock<Vec<&'static Engine>> = ProcessLock::new();

/// An engine, until the provider, its service thread and all its writers have gone.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) engine: &'static Engine,
    generation: Generation,
}

impl Lease {
    /// Takes an engine that nobody uses, or makes one.
    pub(crate) fn take() -> io::Result<Arc<Self>> {
        let free = FREE.lock().pop();
        let engine = free.map_or_else(make, Ok)?;
        engine.alerts.reset();
        Ok(Arc::new(Self { engine, generation: Generation::current() }))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A forked child makes engines of its own.
        if self.generation.is_current() {
            FREE.lock().push(self.engine);
        }
    }
}

fn make() -> io::Result<&'static Engine> {
    Ok(Box::leak(Box::new(Engine::new(sys::map_recorder()?))))
}
