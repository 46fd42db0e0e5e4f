//! Files of trace-cmd's version 7, made by the tests.

use std::io::Write;

use flate2::write::ZlibEncoder;

/// The flag of a compressed section.
const COMPRESSED: u16 = 1;

/// A file of little-endian numbers.
pub(crate) struct File {
    bytes: Vec<u8>,
    options: Vec<u8>,
    place_of_options: usize,
}

/// The pages of a CPU: its number, and their offset and size.
pub(crate) type Area = (u32, u64, u64);

impl File {
    /// Begins a file with the headers of pages and events.
    pub(crate) fn new(compression: &str) -> Self {
        let mut bytes = b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0".to_vec();
        bytes.extend([compression.as_bytes(), b"\x001\0"].concat());
        let place_of_options = bytes.len();
        bytes.extend([0; 8]);
        let mut file = Self { bytes, options: Vec::new(), place_of_options };
        let headers = [
            ("header_page\0", &include_bytes!("../captured/header_page")[..]),
            ("header_event\0", &include_bytes!("../captured/header_event")[..]),
        ];
        let headers = headers.map(|(name, text)| {
            [name.as_bytes(), &(text.len() as u64).to_le_bytes(), text].concat()
        });
        let section = file.section(&headers.concat());
        file.option(16, &section.to_le_bytes());
        file
    }

    /// Adds data, and returns its offset.
    pub(crate) fn data(&mut self, data: &[u8]) -> u64 {
        self.bytes.extend(data);
        (self.bytes.len() - data.len()) as u64
    }

    /// Adds a section, and returns its offset.
    pub(crate) fn section(&mut self, data: &[u8]) -> u64 {
        self.section_of(0, data)
    }

    /// Adds a section, compressed with zlib.
    pub(crate) fn compressed_section(&mut self, data: &[u8]) -> u64 {
        self.section_of(COMPRESSED, &compressed(data))
    }

    fn section_of(&mut self, flags: u16, data: &[u8]) -> u64 {
        let offset = self.data(&[[0, 0], flags.to_le_bytes(), [0, 0], [0, 0]].concat());
        self.bytes.extend((data.len() as u64).to_le_bytes());
        self.bytes.extend(data);
        offset
    }

    /// Adds an option.
    pub(crate) fn option(&mut self, number: u16, data: &[u8]) {
        self.options.extend(number.to_le_bytes());
        self.options.extend((data.len() as u32).to_le_bytes());
        self.options.extend(data);
    }

    /// Adds a buffer with pages of this size.
    pub(crate) fn buffer(
        &mut self,
        clock: &str,
        page_size: u32,
        is_compressed: bool,
        cpus: &[Area],
    ) {
        let section = self.section_of(u16::from(is_compressed) * COMPRESSED, b"");
        let mut data = [&section.to_le_bytes()[..], b"\0", clock.as_bytes(), b"\0"].concat();
        data.extend([page_size.to_le_bytes(), (cpus.len() as u32).to_le_bytes()].concat());
        for (cpu, offset, size) in cpus {
            data.extend(cpu.to_le_bytes());
            data.extend([offset.to_le_bytes(), size.to_le_bytes()].concat());
        }
        self.option(3, &data);
    }

    /// Returns the file.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.option(0, &[0; 8]);
        let options = std::mem::take(&mut self.options);
        let offset = self.section(&options);
        self.bytes[self.place_of_options..][..8].copy_from_slice(&offset.to_le_bytes());
        self.bytes
    }
}

/// Returns a part, compressed with zlib.
pub(crate) fn compressed(part: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Default::default());
    encoder.write_all(part).unwrap();
    let data = encoder.finish().unwrap();
    let sizes = [data.len() as u32, part.len() as u32];
    [sizes.map(u32::to_le_bytes).concat(), data].concat()
}

/// Returns the data of a CPU: one group, compressed with zlib.
pub(crate) fn group(pages: &[u8]) -> Vec<u8> {
    [1_u32.to_le_bytes().to_vec(), compressed(pages)].concat()
}
