//! Functions of Rust whose names are mangled. Built with sleds, but never run.

mod server {
    use std::fmt;

    pub struct Queue<T>(pub Vec<T>);

    impl<T: fmt::Debug> Queue<T> {
        #[inline(never)]
        pub fn push(&mut self, item: T) -> usize {
            self.0.push(item);
            self.0.len()
        }
    }

    impl<T: fmt::Debug> fmt::Display for Queue<T> {
        #[inline(never)]
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.iter().try_for_each(|item| write!(f, "{item:?}"))
        }
    }
}

fn main() {
    let mut queue = server::Queue(vec![1u8]);
    let added = queue.push(2);
    println!("{queue} {added}");
}
