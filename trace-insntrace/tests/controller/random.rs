//! Random sequences of calls, compared with a model of another design.

use std::cell::RefCell;
use std::rc::Rc;

use proptest::collection::vec;
use proptest::prelude::*;
use trace_insntrace::controller::{Call, Capabilities, Controller, Status};

use crate::fake::{Fake, Held, ALL, LEAST};
use crate::model::{call, Answer, Model};
use crate::CONFIG;

/// The back ends: all features, the least, and between them, the most CPUs, and one too many.
const BACK_ENDS: [Capabilities; 5] = [
    ALL,
    Capabilities { address_ranges: 1, psb_frequencies: 1 << 15, ctl: ALL.ctl & !(1 << 9), ..ALL },
    LEAST,
    Capabilities { cpus: 64, ..ALL },
    Capabilities { cpus: 65, ..ALL },
];

/// A connection, and what it should have.
struct Connection {
    controller: Controller<Fake>,
    held: Rc<RefCell<Held>>,
    model: Model,
}

impl Connection {
    fn new(back_end: Capabilities) -> Self {
        let fake = Fake::new(back_end);
        let held = fake.held.clone();
        Self { controller: Controller::new(fake), held, model: Model::new(back_end) }
    }

    fn call(&mut self, call: Call) -> [Answer; 2] {
        [self.controller.call(call), self.model.call(call)]
    }

    /// Makes a call whose first call of the back end fails.
    fn fail(&mut self, call: Call) -> [Answer; 2] {
        self.held.borrow_mut().failure = Some(Status::Internal);
        let found = self.controller.call(call);
        let has_failed = self.held.borrow_mut().failure.take().is_none();
        let is_release = matches!(call, Call::ReleaseThreadBuffer(..));
        match has_failed {
            // Nothing has changed, except that a thread is released.
            true if is_release => [found, self.model.call(call).and(Err(Status::Internal))],
            true => [found, Err(Status::Internal)],
            false => [found, self.model.call(call)],
        }
    }

    /// Asserts that the back end has the model's state.
    fn check(&self) {
        let held = self.held.borrow();
        assert_eq!(held.active, self.model.active);
        let buffers = held.buffers.iter().map(|(number, thread)| (*number, thread.map(|it| it.0)));
        let mut expected: Vec<_> = self.model.buffers.iter().map(|it| (it.0, it.2)).collect();
        expected.sort_unstable();
        assert_eq!(buffers.collect::<Vec<_>>(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200_000))]

    /// Two controllers, which do not affect each other. Back ends fail, and clients are killed.
    #[test]
    fn the_controller_does_what_the_model_does(
        back_ends in [0..BACK_ENDS.len(), 0..BACK_ENDS.len()],
        steps in vec((any::<u8>(), any::<(u32, u32)>()), 0..60),
    ) {
        let mut connections = back_ends.map(|number| Connection::new(BACK_ENDS[number]));
        for (kind, numbers) in steps {
            // Most calls are those of the first client.
            let connection = &mut connections[usize::from(kind & 3 == 3)];
            let call = call(numbers, CONFIG, true);
            let [found, expected] = match kind >> 2 {
                0 => {
                    connection.controller.close();
                    connection.model.close();
                    continue;
                }
                1..=7 => connection.fail(call),
                _ => connection.call(call),
            };
            prop_assert_eq!(found, expected, "{:?} in {:?}", call, connection.model);
            connections.iter().for_each(Connection::check);
        }
        for Connection { controller, held, .. } in connections {
            drop(controller);
            prop_assert!(held.borrow().is_empty());
        }
    }
}
