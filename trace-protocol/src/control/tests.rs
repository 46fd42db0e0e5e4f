use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::categories::{MAX_PATTERNS, MAX_PATTERN_BYTES};
use crate::error::ProtocolError;
use crate::message::{BufferDisposition, Decoder, Message, HEAD_SIZE, MAX_BODY};
use crate::mode::BufferingMode;

fn config() -> TraceConfig {
    TraceConfig {
        name: "flight".to_owned(),
        categories: vec!["web*".to_owned(), "-web.cache".to_owned(), "server/db".to_owned()],
        buffer_size: 1 << 20,
        mode: BufferingMode::Circular,
        providers: vec![ProviderSpec {
            name: "server".to_owned(),
            buffer_size: 2 << 20,
            categories: vec!["db".to_owned()],
        }],
        only: ProviderFilter { ids: vec![7], names: vec!["server".to_owned()] },
        start_timeout: Duration::from_secs(5),
        stop_timeout: Duration::from_millis(1500),
        detached: true,
        triggers: vec![TriggerSpec { alert: "slow".to_owned(), action: TriggerAction::Snapshot }],
        snapshots: SnapshotOptions { keep: 3, ..SnapshotOptions::default() },
        output: Output::Beneath("a/b.fxt".to_owned()),
        ..TraceConfig::default()
    }
}

fn every_request() -> Vec<Request> {
    let session = || "flight".to_owned();
    vec![
        Request::GetProviders,
        Request::GetKnownCategories,
        Request::GetGroups,
        Request::GetSessions,
        Request::GetConfiguration,
        Request::Initialize(config()),
        Request::Start(StartRequest {
            session: session(),
            disposition: BufferDisposition::Retain,
            additional_categories: vec!["é".to_owned()],
        }),
        Request::Stop(StopRequest { session: session(), write_results: true }),
        Request::Terminate(TerminateRequest { session: session(), write_results: false }),
        Request::Flush(session()),
        Request::Follow(FollowRequest { session: session(), categories: vec!["web*".to_owned()] }),
        Request::Snapshot(SnapshotRequest { session: session(), output: Output::Descriptor }),
        Request::GetStatistics(session()),
        Request::Watch(session()),
        Request::ChangeCategories(CategoryChange {
            session: session(),
            add: vec!["web*".to_owned()],
            remove: vec!["db".to_owned()],
        }),
    ]
}

fn every_reply() -> Vec<Reply> {
    let result = ProviderResult {
        name: "server".to_owned(),
        omitted: vec![(1, 2)],
        categories: vec![("web".to_owned(), 7)],
        end: EndKind::CutOff,
        violation: "floods".to_owned(),
        ..ProviderResult::default()
    };
    let statistics = ProviderStatistics { dropped: vec![(2, 3)], ..ProviderStatistics::default() };
    let kept = Some("/x".to_owned());
    let failure = ArchiveFailure { kept, unwritten: 3, ..ArchiveFailure::default() };
    let summary = Summary {
        failure: Some(failure),
        providers: vec![result],
        refused: vec![RefusalInfo { pid: 1, ..RefusalInfo::default() }],
        snapshots: vec![SnapshotInfo { error: Some("full".to_owned()), ..SnapshotInfo::default() }],
        ..Summary::default()
    };
    let configuration = ConfigurationInfo {
        is_complete: true,
        refused: Some("wrong".to_owned()),
        failures: vec![ConfiguredFailure { session: "a".to_owned(), reason: "full".to_owned() }],
    };
    let event = Event { session: "flight".to_owned(), state: SessionState::Started };
    vec![
        Reply::Failed(ControlError::general(GeneralError::Quota, "8 sessions")),
        Reply::Providers(vec![ProviderInfo { id: 3, ..ProviderInfo::default() }]),
        Reply::KnownCategories(vec![KnownCategory { providers: 2, ..KnownCategory::default() }]),
        Reply::Groups(vec![GroupInfo { name: "default".to_owned(), categories: Vec::new() }]),
        Reply::Sessions(vec![SessionInfo { uid: 7, ..SessionInfo::default() }]),
        Reply::Configuration(configuration),
        Reply::Initialized("flight".to_owned()),
        Reply::CategoriesChanged(vec!["web*".to_owned()]),
        Reply::Started,
        Reply::Stopped(summary),
        Reply::Terminated,
        Reply::Paused,
        Reply::Flushed,
        Reply::Snapshot(9),
        Reply::Following,
        Reply::Statistics(vec![statistics]),
        Reply::Watching,
        Reply::StateChanged(event.clone()),
        Reply::Alert((event.clone(), "slow".to_owned())),
        Reply::SnapshotTaken((event, SnapshotInfo { bytes: 9, ..SnapshotInfo::default() })),
        Reply::Closing("too many messages".to_owned()),
    ]
}

fn decode_one<M: Message>(bytes: &[u8]) -> Result<M, ProtocolError> {
    let mut decoder = Decoder::new();
    decoder.feed(bytes);
    let message = decoder.next_message().expect("a whole message was fed");
    assert!(!decoder.is_inside_message());
    message
}

#[test]
fn a_stop_has_these_bytes() {
    let request = Request::Stop(StopRequest { session: "ab".to_owned(), write_results: true });
    let bytes = ToDaemon { id: 5, request }.encode();
    assert_eq!(bytes, b"\x0b\0\0\0\x07\x02\x01\0\x05\0\0\0\x02\0\0\0ab\x01");
}

#[test]
fn every_message_decodes_to_itself() {
    for (id, request) in (1..).zip(every_request()) {
        let message = ToDaemon { id, request };
        assert_eq!(decode_one(&message.encode()), Ok(message));
    }
    for (id, reply) in (0..).zip(every_reply()) {
        let message = ToController { id, reply };
        assert_eq!(decode_one(&message.encode()), Ok(message));
    }
}

#[test]
fn each_message_has_its_own_kind() {
    let requests = every_request().into_iter().map(|request| request.kind());
    let mut kinds: Vec<u16> = requests.chain(every_reply().iter().map(Reply::kind)).collect();
    let number = kinds.len();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), number);
    assert!(kinds.iter().all(|kind| *kind >= 0x200), "they differ from those of providers");
}

/// The values are those of Fuchsia's controller protocol, but for the states above 7.
#[test]
fn errors_and_states_have_these_values() {
    let code = |code| {
        let error = ControlError { code, reason: "busy".to_owned() };
        assert_eq!(error.to_string(), "busy");
        let bytes = ToController { id: 0, reply: Reply::Failed(error) }.encode();
        [bytes[HEAD_SIZE + 4], bytes[HEAD_SIZE + 5]]
    };
    assert_eq!(code(ErrorCode::Start(StartError::Terminating)), [1, 4]);
    assert_eq!(code(ErrorCode::Stop(StopError::Aborted)), [2, 3]);
    assert_eq!(code(ErrorCode::Flush(FlushError::NotStarted)), [3, 2]);
    assert_eq!(SessionState::ALL.iter().map(|state| *state as u8).max(), Some(10));
}

#[test]
fn a_body_with_missing_or_extra_bytes_is_refused() {
    for request in every_request() {
        let message = ToDaemon { id: 1, request };
        let whole = message.encode();
        for cut in HEAD_SIZE..whole.len() {
            let mut bytes = whole[..cut].to_vec();
            bytes[0..4].copy_from_slice(&((cut - HEAD_SIZE) as u32).to_le_bytes());
            let error = decode_one::<ToDaemon>(&bytes).unwrap_err();
            assert!(matches!(error, ProtocolError::Body { .. }), "{message:?}: {error}");
        }
        let mut longer = whole.clone();
        longer.push(0);
        longer[0..4].copy_from_slice(&((whole.len() + 1 - HEAD_SIZE) as u32).to_le_bytes());
        assert!(decode_one::<ToDaemon>(&longer).is_err());
    }
    let unknown = [4, 0, 0, 0, 0xee, 2, 1, 0, 1, 0, 0, 0];
    assert_eq!(decode_one::<ToDaemon>(&unknown), Err(ProtocolError::UnknownKind(0x2ee)));
}

/// A reply of an unknown kind to request 1, and an event.
#[test]
fn unknown_events_are_no_unknown_replies() {
    let reply = [4, 0, 0, 0, 0xee, 3, 1, 0, 1, 0, 0, 0];
    assert_eq!(decode_one::<ToController>(&reply), Err(ProtocolError::UnknownKind(0x3ee)));
    let event = [6, 0, 0, 0, 0xee, 3, 1, 0, 0, 0, 0, 0, 9, 9];
    assert_eq!(decode_one::<ToController>(&event), Err(ProtocolError::UnknownEvent(0x3ee)));
}

/// Returns the replies in these bytes.
fn replies(bytes: &[u8]) -> Vec<ToController> {
    let (mut decoder, mut parts) = (Decoder::<ToController>::new(), Parts::default());
    decoder.feed(bytes);
    let messages = std::iter::from_fn(|| decoder.next_message());
    messages.filter_map(|message| parts.join(message.unwrap()).unwrap()).collect()
}

#[test]
fn a_long_reply_arrives_in_parts() {
    let provider = |id| ProviderInfo { id, name: "p".repeat(100), ..ProviderInfo::default() };
    let message =
        |providers: Vec<ProviderInfo>| ToController { id: 7, reply: Reply::Providers(providers) };
    for number in [0, 10, 20_000] {
        let message = message((0..number).map(provider).collect());
        let bytes = message.encode_in_parts();
        assert_eq!(bytes.len() > HEAD_SIZE + MAX_BODY as usize, number == 20_000);
        assert!(replies(&bytes) == [message]);
    }
    let found = replies(&message((0..200_000).map(provider).collect()).encode_in_parts());
    let [ToController { reply: Reply::Providers(found), .. }] = found.as_slice() else {
        panic!("one reply")
    };
    assert!((30_000..200_000).contains(&found.len()), "{}", found.len());
}

#[test]
fn hostile_parts_are_refused() {
    let part = |is_last, kind, bytes: Vec<u8>| ToController {
        id: 1,
        reply: Reply::Part(Part { kind, is_last, bytes }),
    };
    let mut parts = Parts::default();
    for _ in 0..MAX_REPLY >> 19 {
        assert_eq!(parts.join(part(false, 0x301, vec![0; 1 << 19])), Ok(None));
    }
    assert!(parts.join(part(false, 0x301, vec![0])).is_err(), "it is too long");
    for (kind, bytes) in [(0x301, vec![1]), (0x1_0301, vec![0; 4]), (0, vec![])] {
        assert!(Parts::default().join(part(true, kind, bytes)).is_err(), "{kind:x}");
    }
}

/// What exceeds the longest body is left out, also in lists within lists.
#[test]
fn a_long_summary_remains_a_message() {
    let categories: Vec<_> = (0..1000).map(|number| (format!("{number:0100}"), 1)).collect();
    let provider = ProviderResult { categories, ..ProviderResult::default() };
    let summary = Summary { providers: vec![provider; 100], ..Summary::default() };
    let bytes = ToController { id: 1, reply: Reply::Stopped(summary) }.encode();
    assert!(bytes.len() <= HEAD_SIZE + MAX_BODY as usize);
    let Ok(ToController { reply: Reply::Stopped(summary), .. }) = decode_one(&bytes) else {
        panic!("the message is malformed")
    };
    assert!((5..100).contains(&summary.providers.len()), "{}", summary.providers.len());
}

#[test]
fn a_configuration_is_checked() {
    assert_eq!(config().check(), Ok(()));
    let wrong = |change: &dyn Fn(&mut TraceConfig)| {
        let mut config = config();
        change(&mut config);
        config.check().unwrap_err()
    };
    for name in ["../x", "-a", ".a", "a b", "a/b", &"x".repeat(65)] {
        assert!(wrong(&|config| config.name = name.to_owned()).starts_with("a session's name"));
    }
    for name in ["", "/etc/x", "..", "a/../b", "a//b", "./a", "a/", "a\0b", &"x".repeat(1025)] {
        let error = wrong(&|config| config.output = Output::Beneath(name.to_owned()));
        assert!(error.starts_with("the output is no relative name"), "{name}: {error}");
    }
    let many = vec!["a".to_owned(); MAX_PATTERNS + 1];
    assert_eq!(wrong(&|config| config.categories.clone_from(&many)), "more than 4096 categories");
    let long = vec!["a".repeat(MAX_CATEGORY); MAX_PATTERN_BYTES / MAX_CATEGORY + 1];
    let error = wrong(&|config| config.categories.clone_from(&long));
    assert_eq!(error, "the categories have more than 65536 bytes");
    for seconds in [61, u64::MAX] {
        let timeout = Duration::from_secs(seconds);
        assert_eq!(
            wrong(&|config| config.start_timeout = timeout),
            "a timeout is longer than 60 s"
        );
        assert_eq!(wrong(&|config| config.stop_timeout = timeout), "a timeout is longer than 60 s");
    }
    let error = wrong(&|config| config.categories.push(String::new()));
    assert_eq!(error, "a category has 1 to 201 bytes");
    assert_eq!(wrong(&|config| config.buffer_size = 0), "the buffer size is 0");
    let limit = "more than 100 providers or triggers";
    let error = wrong(&|config| config.providers = vec![config.providers[0].clone(); 101]);
    assert_eq!(error, limit);
    let error = wrong(&|config| config.triggers = vec![config.triggers[0].clone(); 101]);
    assert_eq!(error, limit);
    let error = wrong(&|config| config.output = Output::Descriptor);
    assert_eq!(error, "snapshots of triggers require a directory as the output");
    let error = wrong(&|config| config.defer_transfer = true);
    let kept = |detached, output| {
        move |config: &mut TraceConfig| {
            *config = TraceConfig { keep_alive: true, detached, output, ..TraceConfig::default() };
            config.buffer_size = 1;
        }
    };
    assert!(wrong(&|it| kept(false, Output::Beneath("a".to_owned()))(it)).contains("detached"));
    assert!(wrong(&|it| kept(true, Output::Descriptor)(it)).contains("requires a directory"));
    assert_eq!(error, "a deferred transfer requires a descriptor as the output");
    assert!(wrong(&|config| config.triggers[0].alert = "x".repeat(15)).contains("1 to 14 bytes"));
}

#[test]
fn a_request_has_so_many_descriptors() {
    let with: Vec<u16> = every_request()
        .iter()
        .filter(|request| request.descriptors() == 1)
        .map(Request::kind)
        .collect();
    assert_eq!(with, [0x205, 0x20d, 0x20a], "initialize, follow and snapshot");
}

/// The corpus of the fuzz target `control`: the first byte of a file divides it.
#[test]
fn the_corpus_has_each_message() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/control");
    let Ok(files) = std::fs::read_dir(corpus) else {
        eprintln!("skipped: the package has no corpus");
        return;
    };
    let mut kinds = std::collections::BTreeSet::new();
    for file in files {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let (mut requests, mut replies) = (Decoder::<ToDaemon>::new(), Decoder::new());
        requests.feed(&bytes[1..]);
        replies.feed(&bytes[1..]);
        while let Some(message) = requests.next_message() {
            kinds.extend(message.map(|message| message.request.kind()));
        }
        while let Some(Ok(ToController { reply, .. })) = replies.next_message() {
            kinds.insert(reply.kind());
        }
    }
    let requests = every_request().into_iter().map(|request| request.kind());
    let expected: std::collections::BTreeSet<u16> =
        requests.chain(every_reply().iter().map(Reply::kind)).collect();
    assert_eq!(kinds, expected, "a message has changed: write the corpus again");
}

/// Writes the files of the corpus that have each message, after a change of one:
/// `cargo test -p trace-protocol --lib write_the_corpus -- --ignored`.
#[test]
#[ignore = "writes to the repository"]
fn write_the_corpus() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/control");
    let requests = (1..).zip(every_request()).map(|(id, request)| ToDaemon { id, request });
    let requests = requests.flat_map(|message| message.encode());
    let replies = (1..).zip(every_reply()).map(|(id, reply)| ToController { id, reply });
    let replies: Vec<_> = replies.collect();
    let kinds = |kinds: &[u16]| -> Vec<u8> {
        let selected =
            replies.iter().filter(|it| kinds.is_empty() || kinds.contains(&it.reply.kind()));
        selected.flat_map(ToController::encode).collect()
    };
    for (name, messages) in [
        ("requests", requests.collect()),
        ("replies", kinds(&[])),
        ("stopped", kinds(&[0x307])),
        ("statistics", kinds(&[0x30b])),
    ] {
        // The first byte divides the messages.
        std::fs::write(format!("{corpus}/{name}"), [&[9], &messages[..]].concat()).unwrap();
    }
}

proptest! {
    /// A message that decodes is the same after another round.
    #[test]
    fn random_bodies_never_panic(kind in 0x1ffu16..0x211, body: Vec<u8>) {
        let head = [&(body.len() as u32).to_le_bytes()[..], &kind.to_le_bytes(), &[1, 0]].concat();
        if let Ok(message) = decode_one::<ToDaemon>(&[head, body].concat()) {
            prop_assert_eq!(decode_one(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn random_replies_never_panic(kind in 0x2ffu16..0x317, body: Vec<u8>) {
        let head = [&(body.len() as u32).to_le_bytes()[..], &kind.to_le_bytes(), &[1, 0]].concat();
        if let Ok(message) = decode_one::<ToController>(&[head, body].concat()) {
            prop_assert_eq!(decode_one(&message.encode()), Ok(message));
        }
    }
}

#[test]
fn the_items_of_a_kept_session_are_read_up_to_a_malformed_one() {
    let session = KeptSession {
        config: config(),
        uid: 7,
        directory: "/home/me".to_owned(),
        part: 2,
        boot: "b".to_owned(),
        ..KeptSession::default()
    };
    let at = Duration::from_secs(3);
    let items = [
        KeptItem::Session(session),
        KeptItem::Began(at),
        KeptItem::Paused(at),
        KeptItem::StartedAgain,
        KeptItem::Ended(at),
    ];
    let mut bytes: Vec<u8> = items.iter().flat_map(KeptItem::encode).collect();
    assert_eq!(KeptItem::decode_all(&bytes), items);
    assert_eq!(KeptItem::decode_all(&bytes[..bytes.len() - 1]), items[..4], "a partial item");
    let last = bytes.len() - 10;
    bytes[last] = 0xff;
    assert_eq!(KeptItem::decode_all(&bytes), items[..4], "an unknown kind");
}

/// A controller that starts a stopped session again loses no records.
#[test]
fn a_start_retains_records_by_default() {
    assert_eq!(StartRequest::default().disposition, BufferDisposition::Retain);
}
