//! Files of perf, made by the tests.

use trace_kernel::ByteOrder;

/// Fields of samples: the event's id, the address, thread, time, CPU and stack.
pub(crate) const SAMPLED: u64 = 1 << 16 | 1 << 0 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 5;

/// The flag of records that have a `sample_id`.
pub(crate) const SAMPLE_ID_ALL: u64 = 1 << 18;

/// A file.
pub(crate) struct File {
    order: ByteOrder,
    events: Vec<(Vec<u8>, u64)>,
    pub(crate) records: Vec<u8>,
    descriptions: Vec<(u32, Vec<u8>)>,
}

/// The place of a record: thread, time and CPU.
pub(crate) type Place = (u32, u64, u32);

impl File {
    pub(crate) fn new(order: ByteOrder) -> Self {
        Self { order, events: Vec::new(), records: Vec::new(), descriptions: Vec::new() }
    }

    /// Returns a number of `size` bytes.
    pub(crate) fn number(&self, size: usize, number: u64) -> Vec<u8> {
        let bytes = number.to_le_bytes()[..size].to_vec();
        match self.order {
            ByteOrder::Little => bytes,
            ByteOrder::Big => bytes.into_iter().rev().collect(),
        }
    }

    pub(crate) fn numbers(&self, numbers: &[(usize, u64)]) -> Vec<u8> {
        numbers.iter().flat_map(|(size, number)| self.number(*size, *number)).collect()
    }

    /// Adds an event with an id.
    pub(crate) fn event(&mut self, (kind, config): (u32, u64), fields: u64, flags: u64, id: u64) {
        let flags = if self.order == ByteOrder::Big { flags.reverse_bits() } else { flags };
        let start = [(4, kind.into()), (4, 96), (8, config), (8, 1), (8, fields), (8, 0)];
        let mut event = self.numbers(&start);
        event.extend(self.number(8, flags));
        event.resize(96, 0);
        self.events.push((event, id));
    }

    /// Adds a record of any type.
    pub(crate) fn record(&mut self, kind: u32, misc: u16, body: &[u8]) {
        let header = [(4, kind.into()), (2, misc.into()), (2, 8 + body.len() as u64)];
        self.records.extend(self.numbers(&header));
        self.records.extend(body);
    }

    /// Adds a record of an event, which ends with a `sample_id`.
    pub(crate) fn placed(&mut self, kind: u32, misc: u16, body: &[u8], id: u64, place: Place) {
        let (thread, time, cpu) = place;
        let end =
            [(4, thread.into()), (4, thread.into()), (8, time), (4, cpu.into()), (4, 0), (8, id)];
        let body = [body, &self.numbers(&end)].concat();
        self.record(kind, misc, &body);
    }

    /// Adds a sample.
    pub(crate) fn sample(&mut self, id: u64, place: Place, stack: &[u64]) {
        self.sample_of(id, place, None, stack);
    }

    /// Adds a sample, with a period if its event has that field.
    pub(crate) fn sample_of(
        &mut self,
        id: u64,
        (thread, time, cpu): Place,
        period: Option<u64>,
        stack: &[u64],
    ) {
        let address = stack.first().copied().unwrap_or(0);
        let mut body = self.numbers(&[(8, id), (8, address), (4, thread.into())]);
        body.extend(self.numbers(&[(4, thread.into()), (8, time), (4, cpu.into()), (4, 0)]));
        period.into_iter().for_each(|period| body.extend(self.number(8, period)));
        body.extend(self.number(8, stack.len() as u64));
        stack.iter().for_each(|address| body.extend(self.number(8, *address)));
        self.record(9, 1, &body);
    }

    /// Adds a description.
    pub(crate) fn describe(&mut self, number: u32, bytes: &[u8]) {
        self.descriptions.push((number, bytes.to_vec()));
    }

    /// Adds a description that is a text.
    pub(crate) fn describe_text(&mut self, number: u32, text: &str) {
        let bytes = [self.number(4, text.len() as u64), text.as_bytes().to_vec()].concat();
        self.describe(number, &bytes);
    }

    /// Returns the bytes. Without a size of the records, perf was killed.
    pub(crate) fn finish(&self, has_size: bool) -> Vec<u8> {
        let ids: Vec<u8> = self.events.iter().flat_map(|(_, id)| self.number(8, *id)).collect();
        let mut events = Vec::new();
        for (index, (event, _)) in self.events.iter().enumerate() {
            events.extend(event);
            events.extend(self.numbers(&[(8, 104 + index as u64 * 8), (8, 8)]));
        }
        let events_at = 104 + ids.len() as u64;
        let data_at = events_at + events.len() as u64;
        let size = if has_size { self.records.len() as u64 } else { 0 };
        let mut flags = [0_u64; 4];
        for (number, _) in &self.descriptions {
            flags[*number as usize / 64] |= 1 << (number % 64);
        }
        let magic = match self.order {
            ByteOrder::Little => b"PERFILE2",
            ByteOrder::Big => b"2ELIFREP",
        };
        let places = [104, 96 + 16, events_at, events.len() as u64, data_at, size, 0, 0];
        let mut file = magic.to_vec();
        places.iter().chain(&flags).for_each(|number| file.extend(self.number(8, *number)));
        file.extend([ids, events, self.records.clone()].concat());
        if has_size {
            file.extend(self.descriptions_from(file.len() as u64));
        }
        file
    }

    /// Returns the bytes that perf writes to a pipe, without descriptions.
    pub(crate) fn pipe(&self) -> Vec<u8> {
        let mut events = Self::new(self.order);
        for (event, id) in &self.events {
            events.record(64, 0, &[&event[..], &self.number(8, *id)].concat());
        }
        let start = [b"PERFILE2".to_vec(), self.number(8, 16)].concat();
        [start, events.records, self.records.clone()].concat()
    }

    fn descriptions_from(&self, start: u64) -> Vec<u8> {
        let mut place = start + 16 * self.descriptions.len() as u64;
        let (mut places, mut contents) = (Vec::new(), Vec::new());
        for (_, bytes) in &self.descriptions {
            places.extend(self.numbers(&[(8, place), (8, bytes.len() as u64)]));
            contents.extend(bytes);
            place += bytes.len() as u64;
        }
        [places, contents].concat()
    }
}
