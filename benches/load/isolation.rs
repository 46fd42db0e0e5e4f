//! The effect of programs and clients that misbehave on others.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use trace_manager::controller::Controller;
use trace_protocol::archive::ClockSample;
use trace_protocol::control::{Request, ToDaemon};
use trace_protocol::message::{ClockSource, ToProvider};
use trace_protocol::packet::Packet;
use trace_protocol::slices;
use trace_protocol::socket::Socket;

use crate::daemon::{config, own_events, stop, Daemon, SESSION};
use crate::percentile;
use crate::program::Program;
use crate::scripted::{Provider, Session};

/// Programs that record as usual, and the events of each in a second.
const OTHERS: usize = 8;
const RATE: u64 = 50_000;
const TIME: Duration = Duration::from_secs(10);
/// Time between two changes of a disturbance, which begins and ends all the time: the speed of the
/// machine varies.
const PHASE: Duration = Duration::from_millis(250);
const BUFFER: u64 = 1 << 20;
/// Pause between two saves of the program that measures them.
const PAUSE: Duration = Duration::from_millis(5);

/// What the others have recorded, and the nanoseconds of each save without the disturbance and with
/// it.
struct Outcome {
    written: u64,
    lost: u64,
    saves: [Vec<u64>; 2],
}

/// The state of a disturbance.
#[derive(Default)]
struct Phases {
    is_on: AtomicBool,
    is_over: AtomicBool,
}

impl Phases {
    fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// What misbehaves.
#[derive(Clone, Copy, PartialEq)]
enum Disturbance {
    None,
    Client,
    Silent,
    Busy,
    BusyWithoutDaemon,
    Records,
    Alerts,
}

impl Disturbance {
    const ALL: [Self; 7] = [
        Self::None,
        Self::Client,
        Self::Silent,
        Self::Busy,
        Self::BusyWithoutDaemon,
        Self::Records,
        Self::Alerts,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Client => "a client that reads neither replies nor its stream",
            Self::Silent => "a provider that replies to nothing",
            Self::Busy => "a busy program that is not traced",
            Self::BusyWithoutDaemon => "the same, and another thread copies instead of the daemon",
            Self::Records => "a program that records at full speed",
            Self::Alerts => "a program that raises alerts at full speed",
        }
    }

    /// Returns the role of a program that does it.
    fn role(self) -> Option<String> {
        let time = TIME.as_millis();
        match self {
            Self::None | Self::Client | Self::Silent => None,
            Self::Busy | Self::BusyWithoutDaemon => Some(format!("spin {time}")),
            Self::Records => Some(format!("paced 0 {time}")),
            Self::Alerts => Some(format!("alert {time}")),
        }
    }
}

/// Prints the table.
pub(crate) fn print() {
    println!(
        "| disturbance | events of the others | lost by them | saves without it | with it | save \
         without it, µs: median | p99 | with it: median | p99 | growth of the median, % |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for disturbance in Disturbance::ALL {
        let Outcome { written, lost, saves: [mut without, mut with] } = run(disturbance);
        let at = |nanos: &mut [u64], percent| percentile(nanos, percent) as f64 / 1e3;
        let [before, after] = [at(&mut without, 50), at(&mut with, 50)];
        println!(
            "| {} | {written} | {lost} | {} | {} | {before:.0} | {:.0} | {after:.0} | {:.0} | \
             {:.1} |",
            disturbance.name(),
            without.len(),
            with.len(),
            at(&mut without, 99),
            at(&mut with, 99),
            (after / before - 1.0) * 100.0,
        );
    }
    println!();
}

/// Runs the others beside a disturbance that begins and ends. Returns what they record and how long
/// saves take.
fn run(disturbance: Disturbance) -> Outcome {
    let daemon = Daemon::start();
    let role = format!("paced {RATE} {}", TIME.as_millis());
    let mut others = Program::start_many(&daemon.socket(), &role, OTHERS);
    let mut own = disturbance.role().map(|role| Program::start(&daemon.socket(), &role));
    let (mut measuring, _) = Provider::register(&daemon.socket(), "measuring");
    let mut controller = daemon.controller();
    let phases = Phases::default();
    std::thread::scope(|scope| {
        let saves = scope.spawn(|| match disturbance {
            Disturbance::BusyWithoutDaemon => measure_copies(&mut measuring, &phases),
            _ => measure_saves(&mut measuring, &phases),
        });
        let output = File::create(daemon.archive()).expect("an archive");
        controller.initialize(&config(BUFFER), &output).expect("a session");
        controller.start(SESSION).expect("it starts");
        let unread = (disturbance == Disturbance::Client).then(|| follow_unread(&mut controller));
        if disturbance == Disturbance::Client {
            scope.spawn(|| request_unread(&daemon, &phases));
        }
        others.iter_mut().chain(&mut own).for_each(Program::go);
        let (daemon, phases, own) = (&daemon, &phases, own.as_ref());
        let alternating = scope.spawn(move || alternate(disturbance, daemon, own, phases));
        let written: u64 = others.iter_mut().map(|program| program.numbers()[0]).sum();
        phases.is_over.store(true, Ordering::Relaxed);
        alternating.join().expect("the disturbance ends");
        let summary = stop(&mut controller);
        let saves = saves.join().expect("saves");
        let pids: Vec<u32> = others.iter().map(Program::pid).collect();
        let results = || summary.providers.iter().filter(|it| pids.contains(&it.pid));
        let recorded: u64 = results().map(own_events).sum();
        let lost: u64 = results().map(|it| it.dropped).sum();
        assert_eq!(written, recorded + lost);
        drop(unread);
        Outcome { written, lost, saves }
    })
}

/// Begins and ends a disturbance, by turns, until the others have ended.
fn alternate(disturbance: Disturbance, daemon: &Daemon, own: Option<&Program>, phases: &Phases) {
    let signal = |signal| own.into_iter().for_each(|program| program.signal(signal));
    let mut silent = None;
    while !phases.is_over() {
        let is_on = !phases.is_on();
        match is_on {
            true => signal(Signal::Cont),
            false => signal(Signal::Stop),
        }
        silent = (is_on && disturbance == Disturbance::Silent)
            .then(|| Provider::register(&daemon.socket(), "silent"));
        phases.is_on.store(is_on, Ordering::Relaxed);
        std::thread::sleep(PHASE);
    }
    drop(silent);
    signal(Signal::Cont);
}

/// Fills and saves rolling buffers until the end. Returns the nanoseconds of each save, without the
/// disturbance and with it.
fn measure_saves(provider: &mut Provider, phases: &Phases) -> [Vec<u64>; 2] {
    let session = provider.enter();
    let mut nanos = [Vec::new(), Vec::new()];
    for wrapped_count in 0.. {
        if phases.is_over() {
            break;
        }
        session.fill(wrapped_count, ClockSample::now().ticks(ClockSource::CpuCounter));
        let was_on = phases.is_on();
        let begin = Instant::now();
        session.save(wrapped_count);
        let elapsed = begin.elapsed().as_nanos() as u64;
        // A save that spans two phases counts in none.
        if was_on == phases.is_on() {
            nanos[usize::from(was_on)].push(elapsed);
        }
        std::thread::sleep(PAUSE);
    }
    leave(provider, &session);
    nanos
}

/// As [`measure_saves`], but a thread of this process makes the copies, when a request arrives on a
/// socket.
fn measure_copies(provider: &mut Provider, phases: &Phases) -> [Vec<u64>; 2] {
    let session = provider.enter();
    let (requests, copier) = Socket::packet_pair().expect("sockets");
    let content = vec![1u64; session.layout.rolling_size() / 8];
    let mut nanos = [Vec::new(), Vec::new()];
    std::thread::scope(|scope| {
        scope.spawn(|| copy_on_request(copier, &content));
        while !phases.is_over() {
            session.fill(0, 0);
            let was_on = phases.is_on();
            let begin = Instant::now();
            requests.send(&[0; 16], &[]).expect("a request");
            requests.recv(&mut [0; 16]).expect("a reply");
            let elapsed = begin.elapsed().as_nanos() as u64;
            if was_on == phases.is_on() {
                nanos[usize::from(was_on)].push(elapsed);
            }
            std::thread::sleep(PAUSE);
        }
        drop(requests);
    });
    leave(provider, &session);
    nanos
}

/// Copies memory for each request, and replies, as the daemon's event loop does.
fn copy_on_request(requests: Socket, content: &[u64]) {
    slices::ask_for_short();
    while let Ok(1..) = requests.recv(&mut [0; 16]) {
        std::hint::black_box(content.to_vec());
        if requests.send(&[0; 16], &[]).is_err() {
            return;
        }
    }
}

/// Replies to the messages up to the end of the session. A live stream causes requests to flush.
fn leave(provider: &mut Provider, session: &Session) {
    loop {
        match provider.next() {
            Some(ToProvider::Stop) => session.send(Packet::Stopped),
            Some(ToProvider::Terminate) | None => return,
            Some(_) => {}
        }
    }
}

/// Follows the session into a socket that nobody reads.
fn follow_unread(controller: &mut Controller) -> UnixStream {
    let (unread, output) = UnixStream::pair().expect("sockets");
    controller.follow(SESSION, &[], &output).expect("a stream");
    unread
}

/// Sends requests while the disturbance is on, on connections whose replies nobody reads.
fn request_unread(daemon: &Daemon, phases: &Phases) {
    let connect = || {
        let socket = Socket::connect(&daemon.path("control.sock")).expect("the daemon runs");
        socket.set_nonblocking(true);
        socket
    };
    let request = ToDaemon { id: 1, request: Request::GetProviders }.encode();
    let mut socket = connect();
    while !phases.is_over() {
        if !phases.is_on() {
            std::thread::sleep(PAUSE);
            continue;
        }
        match socket.send(&request, &[]) {
            // It reads no more, or the next request would be one too many in this second.
            Ok(_) => std::thread::sleep(Duration::from_micros(1_200)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            Err(_) => socket = connect(),
        }
    }
}
