//! A program without sleds that loads a library with sleds.

#[allow(dead_code, reason = "another program has more to do")]
mod loading;

fn main() {
    let path = std::env::args().nth(1).expect("a library");
    loading::library(&path);
}
