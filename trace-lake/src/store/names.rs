//! Names of objects.

use std::ffi::OsStr;

use object_store::path::Path;
use trace_protocol::file::random_name;

use super::place::LOG;
use super::state::Partition;
use crate::tables::TABLES;

/// Returns a name that no other object has, of 16 hexadecimal digits.
pub(crate) fn random() -> String {
    random_name(OsStr::new(""), "").to_string_lossy().into_owned()
}

/// Returns the path of a file, with its partition in the form that Hive has introduced.
pub(crate) fn file(table: &str, partition: &Partition, name: &str) -> String {
    let Partition { day, host, service } = partition;
    let (host, service) = (escaped(host), escaped(service));
    format!("{table}/day={day}/host={host}/service={service}/{name}.parquet")
}

/// Returns whether this is a path that [`file`] makes of a table's name and a [`random`] name. A
/// folder can have files that are not those of a store.
pub(crate) fn is_file(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let [table, day, host, service, name] = parts[..] else { return false };
    let is_label = |part: &str, key| part.strip_prefix(key).is_some_and(is_escaped);
    TABLES.iter().any(|it| it.name == table)
        && day.strip_prefix("day=").is_some_and(is_day)
        && is_label(host, "host=")
        && is_label(service, "service=")
        && name.strip_suffix(".parquet").is_some_and(is_random)
}

/// Returns whether this is the path of an incomplete file or change in a folder: that of the
/// complete one, with `#` and a number.
pub(crate) fn is_part(path: &str) -> bool {
    let Some((path, number)) = path.rsplit_once('#') else { return false };
    is_digits(number) && (is_file(path) || is_change(path))
}

fn is_change(path: &str) -> bool {
    let name = path.strip_prefix(LOG).and_then(|rest| rest.strip_prefix('/'));
    let number = name.and_then(|name| name.strip_suffix(".json"));
    number.is_some_and(|number| number.len() == 20 && is_digits(number))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.iter().map(|part| part.len()).eq([4, 2, 2]) && parts.into_iter().all(is_digits)
}

fn is_random(text: &str) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 16 && text.bytes().all(is_digit)
}

fn is_escaped(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| is_plain(byte) || byte == b'%')
}

/// Returns the path of an object in the store.
pub(crate) fn path(text: &str) -> Path {
    // The parts are escaped: another escape would be read as another value.
    Path::parse(text).unwrap_or_else(|_| Path::from(text))
}

/// Escapes what is not a letter, a digit, `-`, `_` or `.` as `%20`, as readers of partitions
/// expect.
fn escaped(value: &str) -> String {
    let escape = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    value.bytes().map(escape).collect()
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_partitions_are_escaped() {
        let partition = Partition {
            day: "2026-11-29".to_owned(),
            host: "a/b".to_owned(),
            service: "x y=ü%#1".to_owned(),
        };
        let text = file("spans", &partition, "f");
        let expected = "spans/day=2026-11-29/host=a%2Fb/service=x%20y%3D%C3%BC%25%231/f.parquet";
        assert_eq!(text, expected);
        assert_eq!(path(&text).as_ref(), expected);
    }

    #[test]
    fn files_of_a_store_are_told_from_others() {
        let (day, host) = ("2026-11-29".to_owned(), "a/b ü".to_owned());
        let partition = Partition { day, host, service: "x".to_owned() };
        let path = file("spans", &partition, &random());
        let change = "log/00000000000000000007.json";
        assert!(is_file(&path) && is_part(&format!("{path}#1")), "{path}");
        assert!(is_part(&format!("{change}#12")) && !is_file(change) && !is_part(change));
        for other in [
            format!("{path}#"),
            format!("{path}#a"),
            format!("{path}#1#"),
            format!("x/{path}"),
            path.replace("spans", "other"),
            path.replace("day=2026", "day=26"),
            path.replace("/service=x", ""),
            path.replace(".parquet", "x.parquet"),
            path.replace("service=x", "service="),
            "archives/x.fxt".to_owned(),
            "archives/bug #42".to_owned(),
            "log/7.json#1".to_owned(),
            "#a#".to_owned(),
        ] {
            assert!(!is_file(&other) && !is_part(&other), "{other}");
        }
    }
}
