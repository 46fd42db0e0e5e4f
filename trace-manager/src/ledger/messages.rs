//! The messages from the manager to the guard: bytes, and file descriptors.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use trace_protocol::archive::Identity;
use trace_protocol::buffer::consumer::IdentityPolicy;
use trace_protocol::buffer::header::Layout;
use trace_protocol::file::{Directory, NewFile, Place};
use trace_protocol::message::ClockSource;

/// The most bytes of a message. Two paths of the kernel's limit fit, and so do a provider's names.
pub(crate) const MAX_MESSAGE: usize = 16 << 10;

/// The names of an archive that is a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArchiveNames {
    /// The path of its directory, for messages to the user.
    pub(crate) directory: PathBuf,
    /// The name of the partial file.
    pub(crate) partial: OsString,
    /// The final name.
    pub(crate) name: OsString,
    /// The permissions of the final file.
    pub(crate) mode: u32,
}

impl ArchiveNames {
    pub(crate) fn of(file: &NewFile) -> Option<Self> {
        let (partial, place) = (file.partial()?.to_owned(), file.place());
        let directory = place.directory().path().to_owned();
        Some(Self { directory, partial, name: place.name().to_owned(), mode: place.mode() })
    }

    /// Returns the partial archive with this open file and directory.
    pub(crate) fn into_file(self, file: OwnedFd, directory: OwnedFd) -> NewFile {
        let directory = Directory::from_fd(directory, self.directory);
        let place = Place::from_parts(directory, self.name, self.mode);
        NewFile::from_parts(File::from(file), place, self.partial)
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        put_number(bytes, u64::from(self.mode));
        for text in [self.directory.as_os_str(), &self.partial, &self.name] {
            put_bytes(bytes, text.as_bytes());
        }
    }

    fn decode(rest: &mut &[u8]) -> Option<Self> {
        let (mode, directory) = (number_u32(rest)?, text(rest)?.into());
        Some(Self { directory, partial: text(rest)?, name: text(rest)?, mode })
    }
}

/// A message to the guard.
#[derive(Debug, Clone)]
pub(crate) enum Message {
    /// A session begins. Descriptors: its ledger, and the archive and its directory if the archive
    /// is a file.
    Session(Option<ArchiveNames>),
    /// A provider joins. Descriptors: its buffer, its ledger and the manager's end of its packet
    /// socket.
    Join(Provider),
    /// Memory for copies, of this size in bytes. Descriptor: the memory.
    Slot(u64),
    /// The provider is completely archived.
    Closed(u32),
    /// Category patterns of the archive, or a part of them.
    Categories(Patterns),
    /// The next part of the archive begins after this number of bytes. Descriptors: the part and
    /// its directory.
    Part(u64, ArchiveNames),
}

/// Category patterns of the archive. They replace the earlier ones with the last message of a list.
/// Without any, the archive gets all categories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Patterns {
    /// Whether the message is the first one of its list.
    pub(crate) is_first: bool,
    /// Whether it is the last one.
    pub(crate) is_last: bool,
    pub(crate) patterns: Vec<String>,
}

/// The data of a provider that the guard needs.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    pub(crate) identity: Identity,
    /// The processes about which it may write records.
    pub(crate) policy: IdentityPolicy,
    /// The provider's clock when it joined, in ticks.
    pub(crate) joined_at: u64,
    /// Records that it had dropped before the session joined while it recorded; `None` if the
    /// session has it from the start of its buffer.
    pub(crate) dropped_before: Option<u64>,
    pub(crate) layout: Layout,
}

impl Message {
    /// Returns messages with these patterns; `None` if a pattern does not fit into a message.
    pub(crate) fn categories(patterns: &[String]) -> Option<Vec<Self>> {
        // The message has four numbers, and each pattern one before its text.
        const EMPTY: usize = 32;
        let mut messages = vec![Patterns { is_first: true, ..Patterns::default() }];
        let mut size = EMPTY;
        for pattern in patterns {
            let bytes = 8 + pattern.len();
            if EMPTY + bytes > MAX_MESSAGE {
                return None;
            }
            if size + bytes > MAX_MESSAGE {
                messages.push(Patterns::default());
                size = EMPTY;
            }
            size += bytes;
            messages.last_mut()?.patterns.push(pattern.clone());
        }
        messages.last_mut()?.is_last = true;
        Some(messages.into_iter().map(Self::Categories).collect())
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Session(None) => put_number(&mut bytes, 0),
            Self::Session(Some(names)) => {
                put_number(&mut bytes, 1);
                names.encode(&mut bytes);
            }
            Self::Join(provider) => {
                put_number(&mut bytes, 2);
                provider.encode(&mut bytes);
            }
            Self::Slot(size) => [3, *size].iter().for_each(|it| put_number(&mut bytes, *it)),
            Self::Closed(id) => {
                [4, u64::from(*id)].iter().for_each(|it| put_number(&mut bytes, *it));
            }
            Self::Categories(Patterns { is_first, is_last, patterns }) => {
                [5, u64::from(*is_first), u64::from(*is_last), patterns.len() as u64]
                    .iter()
                    .for_each(|it| put_number(&mut bytes, *it));
                patterns.iter().for_each(|pattern| put_bytes(&mut bytes, pattern.as_bytes()));
            }
            Self::Part(start, names) => {
                [6, *start].iter().for_each(|it| put_number(&mut bytes, *it));
                names.encode(&mut bytes);
            }
        }
        bytes
    }

    /// Returns `None` if the bytes are not a message.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let message = match number(&mut rest)? {
            0 => Self::Session(None),
            1 => Self::Session(Some(ArchiveNames::decode(&mut rest)?)),
            2 => Self::Join(Provider::decode(&mut rest)?),
            3 => Self::Slot(number(&mut rest)?),
            4 => Self::Closed(number_u32(&mut rest)?),
            5 => Self::Categories(Patterns::decode(&mut rest)?),
            6 => Self::Part(number(&mut rest)?, ArchiveNames::decode(&mut rest)?),
            _ => return None,
        };
        rest.is_empty().then_some(message)
    }
}

impl Patterns {
    fn decode(rest: &mut &[u8]) -> Option<Self> {
        let (is_first, is_last, number) = (flag(rest)?, flag(rest)?, number(rest)?);
        let patterns = (0..number).map(|_| string(rest)).collect::<Option<_>>()?;
        Some(Self { is_first, is_last, patterns })
    }
}

impl Provider {
    fn encode(&self, bytes: &mut Vec<u8>) {
        let Identity { id, name, process_name, pid, uid, clock } = &self.identity;
        for number in [*id, *pid, *uid, *clock as u32] {
            put_number(bytes, u64::from(number));
        }
        put_bytes(bytes, name.as_bytes());
        put_bytes(bytes, process_name.as_bytes());
        put_number(bytes, u64::from(self.policy == IdentityPolicy::Machine));
        put_number(bytes, self.joined_at);
        put_number(bytes, u64::from(self.dropped_before.is_some()));
        put_number(bytes, self.dropped_before.unwrap_or(0));
        put_number(bytes, self.layout.total_size() as u64);
        self.layout.to_header().into_iter().for_each(|word| put_number(bytes, word));
    }

    fn decode(rest: &mut &[u8]) -> Option<Self> {
        let (id, pid, uid, clock) =
            (number_u32(rest)?, number_u32(rest)?, number_u32(rest)?, number_u32(rest)?);
        let identity = Identity {
            id,
            pid,
            uid,
            clock: ClockSource::from_value(u8::try_from(clock).ok()?)?,
            name: string(rest)?,
            process_name: string(rest)?,
        };
        let policy = match number(rest)? {
            0 => IdentityPolicy::Own(u64::from(pid)),
            1 => IdentityPolicy::Machine,
            _ => return None,
        };
        let joined_at = number(rest)?;
        let dropped_before = match (number(rest)?, number(rest)?) {
            (0, _) => None,
            (1, dropped) => Some(dropped),
            _ => return None,
        };
        let size = usize::try_from(number(rest)?).ok()?;
        let mut header = [0; 9];
        for word in &mut header {
            *word = number(rest)?;
        }
        let layout = Layout::from_header(&header, size).ok()?;
        Some(Self { identity, policy, joined_at, dropped_before, layout })
    }
}

fn put_number(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend(number.to_le_bytes());
}

fn put_bytes(bytes: &mut Vec<u8>, text: &[u8]) {
    put_number(bytes, text.len() as u64);
    bytes.extend(text);
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let (number, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(u64::from_le_bytes(*number))
}

fn flag(rest: &mut &[u8]) -> Option<bool> {
    match number(rest)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn number_u32(rest: &mut &[u8]) -> Option<u32> {
    u32::try_from(number(rest)?).ok()
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(rest)?).ok()?;
    let (taken, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(taken)
}

fn string(rest: &mut &[u8]) -> Option<String> {
    String::from_utf8(take(rest)?.to_owned()).ok()
}

fn text(rest: &mut &[u8]) -> Option<OsString> {
    take(rest).map(|bytes| OsString::from_vec(bytes.to_owned()))
}

#[cfg(test)]
mod tests {
    use trace_protocol::buffer::header::BufferingMode;

    use super::*;

    fn messages() -> Vec<Message> {
        let identity = Identity {
            id: 1,
            name: "name".to_owned(),
            process_name: "process".to_owned(),
            pid: 2,
            uid: 3,
            clock: ClockSource::CpuCounter,
        };
        let join = |policy, clock, dropped_before| {
            let identity = Identity { clock, ..identity.clone() };
            let layout = Layout::plan(BufferingMode::Streaming, 1 << 20, 0).unwrap();
            Message::Join(Provider { identity, policy, joined_at: 77, dropped_before, layout })
        };
        let names = ArchiveNames {
            directory: "/tmp/a".into(),
            partial: OsString::from_vec(b".x\xff.partial".to_vec()),
            name: "x.fxt".into(),
            mode: 0o640,
        };
        vec![
            Message::Session(None),
            Message::Session(Some(names.clone())),
            Message::Part(1 << 33, names),
            join(IdentityPolicy::Own(2), ClockSource::CpuCounter, None),
            join(IdentityPolicy::Machine, ClockSource::Boottime, Some(8)),
            Message::Slot(1 << 40),
            Message::Closed(9),
            Message::Categories(Patterns {
                is_first: true,
                is_last: false,
                patterns: vec!["a*".to_owned(), "-b".to_owned()],
            }),
        ]
    }

    #[test]
    fn messages_round_trip() {
        for message in messages() {
            let bytes = message.encode();
            assert!(bytes.len() <= MAX_MESSAGE);
            let decoded = Message::decode(&bytes).expect("the bytes are a message");
            assert_eq!(format!("{decoded:?}"), format!("{message:?}"));
        }
    }

    #[test]
    fn long_lists_of_patterns_are_sent_in_several_messages() {
        let patterns: Vec<String> = (0..4000).map(|number| format!("category{number}")).collect();
        let messages = Message::categories(&patterns).unwrap();
        assert!(messages.len() > 1);
        let received: Vec<String> = messages
            .iter()
            .flat_map(|message| {
                let bytes = message.encode();
                assert!(bytes.len() <= MAX_MESSAGE);
                let Some(Message::Categories(it)) = Message::decode(&bytes) else {
                    panic!("the bytes are a message")
                };
                it.patterns
            })
            .collect();
        assert_eq!(received, patterns);
        let longest = MAX_MESSAGE - 40;
        assert_eq!(Message::categories(&["a".repeat(longest)]).unwrap().len(), 1);
        assert!(Message::categories(&["a".repeat(longest + 1)]).is_none());
    }

    #[test]
    fn truncated_and_extended_messages_are_refused() {
        for message in messages() {
            let bytes = message.encode();
            for length in 0..bytes.len() {
                assert!(Message::decode(&bytes[..length]).is_none(), "{message:?} {length}");
            }
            assert!(Message::decode(&[&bytes[..], &[0]].concat()).is_none(), "{message:?}");
        }
        assert!(Message::decode(&[7; 8]).is_none());
        assert!(Message::decode(&[4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]).is_none());
    }

    #[test]
    fn names_of_an_open_file_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::find(&directory.path().join("x.fxt")).unwrap();
        let file = NewFile::findable(place).unwrap();
        let names = ArchiveNames::of(&file).expect("the file has a name");
        assert_eq!(names.name, "x.fxt");
        assert_eq!(names.mode, file.place().mode());
        assert!(directory.path().join(&names.partial).exists());
    }
}
