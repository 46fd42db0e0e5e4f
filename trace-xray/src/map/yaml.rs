//! The YAML form of a map, as `llvm-xray extract` writes it.

use saphyr_parser::{Event, StrInput};

use super::{Function, Map, MapError, Sled};
use crate::layout::SledKind;
use crate::record::FunctionId;
use crate::yaml_parser::{number, scalar, Events, YamlError};

/// Returns a map as `llvm-xray extract -symbolize` prints it.
pub(super) fn text(map: &Map) -> String {
    let mut text = "---\n".to_owned();
    for sled in map.sleds() {
        let name = map.function(sled.id).and_then(Function::name).unwrap_or_default();
        let Sled { address, function, kind, always_instrument, version, .. } = sled;
        text += &format!(
            "- {{ id: {}, address: {address:#X}, function: {function:#X}, kind: {}, \
             always-instrument: {always_instrument}, function-name: {}, version: {version} }}\n",
            sled.id.number(),
            kind.name(),
            scalar(&name)
        )
        .replace(": 0X", ": 0x");
    }
    text + "...\n"
}

/// Reads a sequence of mappings, one for each sled.
pub(super) fn read(text: &str) -> Result<Map, MapError> {
    let mut events = Events::of_text(text);
    let mut map = Map::default();
    while let Some(event) = events.next()? {
        match event {
            Event::StreamStart | Event::DocumentStart(_) => {}
            Event::SequenceStart(..) => break,
            _ => return Err(events.error("expected a sequence of sleds").into()),
        }
    }
    loop {
        match events.next()? {
            Some(Event::MappingStart(..)) => {
                let (sled, name) = sled(&mut events)?;
                map.add(sled, name);
            }
            Some(Event::SequenceEnd) if map.is_empty() => return Err(MapError::NoFunctions),
            Some(Event::SequenceEnd) => return Ok(map),
            _ => return Err(events.error("expected a sled").into()),
        }
    }
}

/// The fields of a sled that were read so far.
#[derive(Debug, Default)]
struct Fields {
    id: Option<FunctionId>,
    address: Option<u64>,
    function: Option<u64>,
    kind: Option<SledKind>,
    always_instrument: Option<bool>,
    name: Option<String>,
    version: u8,
}

/// Reads the rest of a mapping.
fn sled(events: &mut Events<'_, StrInput<'_>>) -> Result<(Sled, Option<String>), YamlError> {
    let mut fields = Fields::default();
    loop {
        match events.next()? {
            Some(Event::MappingEnd) => break,
            Some(Event::Scalar(key, ..)) => {
                let Some(Event::Scalar(value, ..)) = events.next()? else {
                    return Err(events.error(format!("expected a value for {key}")));
                };
                if fields.set(&key, &value).is_none() {
                    return Err(events.error(format!("invalid {key}: {value}")));
                }
            }
            _ => return Err(events.error("expected a key")),
        }
    }
    fields.sled().ok_or_else(|| events.error("the sled is not complete"))
}

impl Fields {
    /// Stores a value; returns `None` if it is not valid. Unknown keys are ignored.
    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "id" => self.id = Some(FunctionId::new(u32::try_from(number(value)?).ok()?)?),
            "address" => self.address = Some(number(value)?),
            "function" => self.function = Some(number(value)?),
            "kind" => self.kind = Some(SledKind::from_name(value)?),
            "always-instrument" => self.always_instrument = Some(value.parse().ok()?),
            "function-name" => self.name = (!value.is_empty()).then(|| value.to_owned()),
            "version" => self.version = u8::try_from(number(value)?).ok()?,
            _ => {}
        }
        Some(())
    }

    fn sled(self) -> Option<(Sled, Option<String>)> {
        let sled = Sled {
            id: self.id?,
            address: self.address?,
            function: self.function?,
            kind: self.kind?,
            always_instrument: self.always_instrument?,
            version: self.version,
        };
        Some((sled, self.name))
    }
}
