//! Arguments of records, without allocation: there are many records.

use trace_format::{Argument, Text, Value};

/// The most arguments of a system call or a scheduling record.
const MAX: usize = 8;

/// A few arguments. Those beyond the eighth are left out.
#[derive(Debug)]
pub(super) struct List<'a> {
    arguments: [Argument<'a>; MAX],
    count: usize,
}

impl<'a> List<'a> {
    /// Returns an empty list.
    pub(super) fn new() -> Self {
        const NONE: Argument<'static> = Argument { name: Text::EMPTY, value: Value::Null };
        Self { arguments: [NONE; MAX], count: 0 }
    }

    /// Adds an argument.
    pub(super) fn push(&mut self, name: Text<'a>, value: Value<'a>) {
        if let Some(place) = self.arguments.get_mut(self.count) {
            *place = Argument { name, value };
            self.count += 1;
        }
    }

    pub(super) fn as_slice(&self) -> &[Argument<'a>] {
        self.arguments.get(..self.count).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_beyond_the_eighth_are_left_out() {
        for (number, expected) in [(0, 0), (3, 3), (8, 8), (9, 8)] {
            let mut list = List::new();
            (0..number).for_each(|number| list.push("n".into(), Value::Int32(number)));
            let expected: Vec<_> =
                (0..expected).map(|number| Argument::new("n", Value::Int32(number))).collect();
            assert_eq!(list.as_slice(), expected);
        }
    }
}
