//! Engines of providers without trace points. Their memory is never freed, but reused.

use std::io;
use std::sync::Arc;

use crate::engine::Engine;
use crate::generation::Generation;
use crate::lock::ProcessLock;
use crate::sys;

/// The free engines.
static FREE: ProcessLock<Vec<&'static Engine>> = ProcessLock::new();

/// The use of an engine by a provider, its service thread and its writers.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) engine: &'static Engine,
    generation: Generation,
}

impl Lease {
    /// Takes a free engine, or creates one.
    pub(crate) fn take() -> io::Result<Arc<Self>> {
        let free = FREE.lock().pop();
        let engine = free.map_or_else(create, Ok)?;
        engine.alerts.reset();
        Ok(Arc::new(Self { engine, generation: Generation::current() }))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A forked child creates its own engines.
        if self.generation.is_current() {
            FREE.lock().push(self.engine);
        }
    }
}

fn create() -> io::Result<&'static Engine> {
    Ok(Box::leak(Box::new(Engine::new(sys::map_recorder()?))))
}
