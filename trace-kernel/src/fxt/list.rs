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
    pub(super) fn as_slice(&self) -> &[Argument<'a>] {
        self.arguments.get(..self.count).unwrap_or_default()
    }
}

impl<'a> FromIterator<Argument<'a>> for List<'a> {
    fn from_iter<I: IntoIterator<Item = Argument<'a>>>(arguments: I) -> Self {
        let none = Argument::new(Text::EMPTY, Value::Null);
        let mut list = Self { arguments: [none; MAX], count: 0 };
        for (place, argument) in list.arguments.iter_mut().zip(arguments) {
            *place = argument;
            list.count += 1;
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_beyond_the_eighth_are_left_out() {
        for (number, expected) in [(0, 0), (3, 3), (8, 8), (9, 8)] {
            let arguments = (0..number).map(|_| Argument::new("n", Value::Int32(7)));
            let list: List<'_> = arguments.clone().collect();
            let expected: Vec<_> = arguments.take(expected).collect();
            assert_eq!(list.as_slice(), expected);
        }
    }
}
