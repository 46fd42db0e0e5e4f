//! Random sequences of calls, compared with a model of another design.

use proptest::collection::vec;
use proptest::prelude::*;
use trace_insntrace::controller::Controller;

use crate::fake::{Fake, ALL, CPUS};
use crate::model::{call, Model};
use crate::CONFIG;

/// Asserts that the back end has the model's state.
fn assert_same(model: &Model, controller: &Controller<Fake>) {
    let held = controller.backend().held.borrow();
    assert_eq!(held.active, model.active);
    let buffers = held.buffers.iter().map(|(number, thread)| (*number, thread.map(|it| it.0)));
    let mut expected: Vec<_> = model.buffers.iter().map(|it| (it.0, it.2)).collect();
    expected.sort_unstable();
    assert_eq!(buffers.collect::<Vec<_>>(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100_000))]

    #[test]
    fn the_controller_does_what_the_model_does(numbers in vec(any::<u32>(), 0..40)) {
        let fake = Fake::new(ALL);
        let held = fake.held.clone();
        let mut controller = Controller::new(fake);
        let mut model = Model::new(CPUS);
        for call in numbers.into_iter().map(|number| call(number, CONFIG)) {
            prop_assert_eq!(controller.call(call), model.call(call), "{:?} in {:?}", call, model);
            assert_same(&model, &controller);
        }
        drop(controller);
        prop_assert!(held.borrow().is_empty());
    }
}
