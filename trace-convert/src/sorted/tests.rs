use proptest::prelude::*;

use super::*;

/// A time and a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line(ThreadId, u64, String);

impl Element for Line {
    type Order = ();

    fn thread(&self) -> ThreadId {
        self.0
    }

    fn begin(&self) -> u64 {
        self.1
    }

    fn order(&self) {}

    fn owned_bytes(&self) -> usize {
        self.2.len()
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend([self.1, self.2.len() as u64].map(u64::to_le_bytes).as_flattened());
        bytes.extend(self.2.as_bytes());
    }

    fn read(bytes: &[u8], thread: ThreadId) -> Option<(Self, usize)> {
        let (key, rest) = bytes.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = u64::from_le_bytes(*length) as usize;
        let text = String::from_utf8(rest.get(..length)?.to_vec()).unwrap();
        Some((Self(thread, u64::from_le_bytes(*key), text), 16 + length))
    }
}

fn of(sorted: &Sorted<Line>, thread: u32) -> Vec<Line> {
    let mut lines = Vec::new();
    let look = |line: &Line| {
        lines.push(line.clone());
        Ok(())
    };
    sorted.each(ThreadId(thread), look).unwrap();
    lines
}

proptest! {
    #[test]
    fn runs_are_merged_as_if_all_were_in_memory(
        run_bytes in 1..1000usize,
        pushed in prop::collection::vec((0..4u32, 0..30u64, ".{0,3}"), 0..200),
    ) {
        let mut sorted = Sorted::new(run_bytes);
        let mut expected: Vec<Vec<Line>> = vec![Vec::new(); 5];
        for (thread, key, text) in pushed {
            let line = Line(ThreadId(thread), key, text);
            sorted.push(line.clone()).unwrap();
            expected[thread as usize].insert(0, line);
        }
        sorted.finish();
        for (thread, mut expected) in (0..).zip(expected) {
            expected.sort_by_key(Line::begin);
            prop_assert_eq!(of(&sorted, thread), expected);
        }
    }
}

/// Some elements are longer than what is read at once.
#[test]
fn long_runs_are_read_in_pieces() {
    let mut sorted = Sorted::new(9 * MOST_READ);
    let text = |number: u64| "x".repeat(number as usize * 7919 % (3 * MOST_READ));
    let line = |number| Line(ThreadId(0), number, text(number));
    let numbers = 0..40;
    numbers.clone().for_each(|number| sorted.push(line(number)).unwrap());
    sorted.finish();
    assert!(sorted.runs.len() > 2 && !sorted.waiting.is_empty());
    assert!(of(&sorted, 0).into_iter().eq(numbers.map(line)));
}
