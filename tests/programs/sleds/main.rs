//! A program that is built with sleds: its calls are known, and it knows nothing of tracing.
//!
//! The first argument selects what it does; the second one is a library, or a number.

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};

extern "C" {
    fn fork() -> c_int;
    fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
    fn raise(signal: c_int) -> c_int;
    fn signal(signal: c_int, handler: extern "C" fn(c_int)) -> *const c_void;
}

mod counting;
mod loading;
mod sandboxes;
mod timer;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &arguments[..] {
        ["values"] => values(),
        ["unwinding"] => unwinding(),
        ["unwound-threads"] => unwound_threads(),
        ["endless"] => endless(),
        ["count-calls", file, "2"] => counting::count(file),
        ["threads", number] => threads(number.parse().expect("a number")),
        ["fork"] => forking(),
        ["exec", rest @ ..] => execute(rest),
        ["library", path] => loading::library(path),
        ["reload", path, other, number] => {
            loading::reload([path, other], number.parse().expect("a number"));
        }
        ["replaced", path, other] => loading::replaced(path, other),
        ["strict"] => sandboxes::strict(),
        ["filter-thread"] => sandboxes::filter_thread(),
        ["filter-all"] => sandboxes::filter_all(),
        ["no-counter"] => sandboxes::no_counter(),
        ["child"] => sandboxes::child(),
        ["alone"] => sandboxes::alone(),
        ["confined", rest @ ..] => sandboxes::execute_confined(rest),
        ["signals"] => signals(),
        ["deep", number] => println!("{}", deep(number.parse().expect("a number"))),
        ["timer", number] => timer::interrupted(number.parse().expect("a number")),
        ["time", number] => time(number.parse().expect("a number")),
        _ => panic!("unknown arguments"),
    }
}

/// Arguments and results of all kinds come through.
fn values() {
    println!("{}", fibonacci(15));
    println!("{:?}", (0..10).map(|n| mixed(n, 0.5, 1.5, n as f32)).fold(0.0, |a, b| a + b));
    println!("{:?}", (0..10).map(three).collect::<Vec<_>>());
    println!("{}", (0..10).map(jump).sum::<u64>());
    println!("{}", (0..10).map(forward).sum::<u64>());
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has AVX.
        println!("{:?}", unsafe { wide::sums() });
    }
}

#[inline(never)]
fn fibonacci(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    fibonacci(n - 1) + black_box(fibonacci(n - 2))
}

#[inline(never)]
fn mixed(a: u64, b: f64, c: f64, d: f32) -> f64 {
    black_box(a) as f64 * b + c * f64::from(d)
}

#[inline(never)]
fn three(n: u64) -> [u64; 3] {
    [n, n + 1, black_box(n) + 2]
}

#[inline(never)]
fn jump(n: u64) -> u64 {
    target(black_box(n) + 1)
}

/// Is a jump.
#[inline(never)]
fn forward(n: u64) -> u64 {
    last(n + 1)
}

#[inline(never)]
fn last(n: u64) -> u64 {
    black_box(n) * 3
}

#[inline(never)]
fn target(n: u64) -> u64 {
    black_box(n) * 2
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{__m256d, _mm256_add_pd, _mm256_set_pd, _mm256_storeu_pd};

    #[target_feature(enable = "avx")]
    pub unsafe fn sums() -> [f64; 4] {
        let mut sum = _mm256_set_pd(1.0, 2.0, 3.0, 4.0);
        for _ in 0..1000 {
            // SAFETY: the caller's processor has AVX.
            sum = unsafe { forward(sum, sum) };
            // SAFETY: as above.
            sum = unsafe { add(sum, _mm256_set_pd(-1.0, -2.0, -3.0, -4.0)) };
        }
        let mut result = [0.0; 4];
        // SAFETY: as above, and `result` has the four numbers that are stored.
        unsafe { _mm256_storeu_pd(result.as_mut_ptr(), sum) };
        result
    }

    /// Is a jump, without an instruction for the registers that it passes on.
    #[inline(never)]
    #[target_feature(enable = "avx")]
    unsafe extern "C" fn forward(a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: the caller's processor has AVX.
        unsafe { add(a, b) }
    }

    #[inline(never)]
    #[target_feature(enable = "avx")]
    unsafe extern "C" fn add(a: __m256d, b: __m256d) -> __m256d {
        _mm256_add_pd(a, b)
    }
}

fn unwinding() {
    std::panic::set_hook(Box::new(|_| {}));
    let caught = (0..100).filter(|n| outer(*n).is_err()).count();
    println!("{caught}");
}

/// Threads end by unwinding.
fn unwound_threads() {
    std::panic::set_hook(Box::new(|_| {}));
    let threads = (0..20).map(|n| std::thread::spawn(move || middle(n)));
    println!("{}", threads.filter_map(|thread| thread.join().err()).count());
}

/// Threads call functions until the process is killed. Prints the process id; then, when all have
/// called functions a thousand times, also after each line of the input, whether a sled is on.
#[inline(never)]
fn endless() {
    // The first calls of the threads are recorded, also if the recording begins late.
    loading::wait_until_patched(middle as *const u8);
    let calls: &[AtomicU64; 3] = Box::leak(Box::default());
    for calls in calls {
        std::thread::spawn(|| unending(calls));
    }
    println!("{}", std::process::id());
    let progress = || calls.each_ref().map(|calls| calls.load(Ordering::SeqCst));
    for _line in std::iter::once(Ok(String::new())).chain(std::io::stdin().lines()) {
        let before = progress();
        while progress().iter().zip(before).any(|(now, before)| *now < before + 1000) {
            std::thread::yield_now();
        }
        println!("sled {}", if loading::is_patched(middle as *const u8) { "on" } else { "off" });
    }
}

#[inline(never)]
fn unending(calls: &AtomicU64) {
    loop {
        for _ in 0..20 {
            let number = calls.fetch_add(1, Ordering::SeqCst);
            assert_eq!(middle(2 * number), 2 * number + 1);
        }
        rest();
    }
}

/// Lets other threads run.
#[inline(never)]
fn rest() {
    std::thread::sleep(std::time::Duration::from_millis(1));
}

#[inline(never)]
fn outer(n: u64) -> Result<u64, ()> {
    let result = catch_unwind(AssertUnwindSafe(|| middle(n))).map_err(|_| ());
    black_box(after(n));
    result
}

#[inline(never)]
fn middle(n: u64) -> u64 {
    black_box(inner(n)) + 1
}

#[inline(never)]
fn inner(n: u64) -> u64 {
    assert!(black_box(n) % 2 == 0, "odd");
    n
}

#[inline(never)]
fn after(n: u64) -> u64 {
    black_box(n)
}

fn threads(number: u64) {
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(move || repeated(number))).collect();
    let sum: u64 = threads.into_iter().map(|thread| thread.join().expect("no panic")).sum();
    println!("{sum}");
}

#[inline(never)]
fn repeated(number: u64) -> u64 {
    (0..number).map(target).sum()
}

fn forking() {
    // SAFETY: the process has one thread.
    let child = unsafe { fork() };
    println!("{}", repeated(10));
    if child == 0 {
        // SAFETY: ends the child.
        unsafe { _exit(0) };
    }
    let mut status = -1;
    // SAFETY: the place for the status is valid.
    unsafe { waitpid(child, &mut status, 0) };
    println!("{status}");
}

/// Executes this program in a child, which calls a function before.
fn execute(arguments: &[&str]) {
    use std::os::unix::process::CommandExt;
    let mut command = std::process::Command::new(std::env::current_exe().expect("a path"));
    command.args(arguments);
    // SAFETY: the function computes.
    unsafe {
        command.pre_exec(|| {
            black_box(repeated(10));
            Ok(())
        })
    };
    assert!(command.status().expect("it can be run").success());
}

/// Returns the number of its calls, each inside of the one before.
#[inline(never)]
fn deep(number: u64) -> u64 {
    match black_box(number) {
        0 => 0,
        1 => 1,
        number => black_box(deep(number - 1)) + 1,
    }
}

fn signals() {
    // SAFETY: the handler calls nothing but a function that computes.
    unsafe { signal(10, handler) };
    for _ in 0..100 {
        interrupted();
    }
}

#[inline(never)]
fn interrupted() {
    // SAFETY: the signal has a handler.
    unsafe { raise(10) };
    black_box(());
}

extern "C" fn handler(_: c_int) {
    black_box(target(1));
}

/// Prints the nanoseconds of a call and of a read of the processor's counter, the best of each.
fn time(number: u64) {
    let best = |run: &dyn Fn() -> u64| {
        let nanoseconds = (0..20).map(|_| {
            let begin = std::time::Instant::now();
            black_box(run());
            begin.elapsed().as_nanos() as f64 / number as f64
        });
        nanoseconds.fold(f64::MAX, f64::min)
    };
    let call = best(&|| repeated(black_box(number)));
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is permitted.
    let clock =
        best(&|| (0..number).fold(0, |sum, _| sum ^ unsafe { std::arch::x86_64::_rdtsc() }));
    #[cfg(not(target_arch = "x86_64"))]
    let clock = f64::NAN;
    println!("call {call:.2} ns, clock read {clock:.2} ns");
}
