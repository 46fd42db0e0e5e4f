//! Damaged objects and other versions: the message names them.

use super::*;
use crate::testing::complete;

async fn place() -> Place {
    let place = Place::new();
    place.add(&[complete("a", 1, 3)], &[]).await.unwrap();
    place
}

async fn file_of(place: &Place, table: &str) -> String {
    let state = place.state().await;
    let mut files = state.files.values().filter(|file| file.table == table);
    files.next().unwrap().path.clone()
}

async fn message(place: &Place, sql: &str) -> String {
    let error = place.try_query(sql).await.unwrap_err();
    crate::message::describe(error.as_ref())
}

#[test]
fn a_damaged_file_is_named() {
    run(async {
        let spans = "SELECT sum(dur_ns) FROM spans";
        for damage in ["missing", "empty", "cut", "no Parquet"] {
            let place = place().await;
            let path = file_of(&place, "spans").await;
            let store = place.objects.clone();
            let bytes = place.store.read(&crate::store::names::path(&path)).await.unwrap();
            match damage {
                "missing" => {
                    clean::delete(&place.store, vec![place.state().await.files[&path].clone()])
                        .await;
                }
                "empty" => store.replace(&path, Vec::new()).await,
                "cut" => store.replace(&path, bytes[..bytes.len() / 2].to_vec()).await,
                _ => store.replace(&path, vec![b'x'; bytes.len()]).await,
            }
            let text = message(&place, spans).await;
            let expected = format!("cannot read mem://store/{path}: ");
            assert!(text.contains(&expected), "{damage}: {text}");
            // Other tables are readable.
            assert_eq!(place.query("SELECT count(*) FROM archives").await, ["1"]);
        }
    });
}

#[test]
fn a_file_that_cannot_be_decoded_is_named() {
    run(async {
        let place = place().await;
        let path = file_of(&place, "spans").await;
        let bytes = place.store.read(&crate::store::names::path(&path)).await.unwrap();
        let mut bytes = bytes.to_vec();
        // The first page, after the magic number of 4 bytes.
        bytes[4..64].fill(0xff);
        place.objects.replace(&path, bytes).await;
        let sql = "SELECT * FROM spans JOIN threads USING (archive)";
        let session = place.session().await;
        let statement = session.statements(sql).unwrap().remove(0);
        let error = session.frame(statement).await.unwrap().collect().await.unwrap_err();
        let text = session.explain(error, sql).await.to_string();
        assert!(text.starts_with(&format!("cannot decode mem://store/{path}: ")), "{text}");
    });
}

#[test]
fn a_change_names_only_files_on_the_disk() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path().to_str().unwrap()).unwrap();
        let files = vec![crate::store::state::tests::file("spans/missing", None)];
        let change = crate::store::state::Change { files, ..Default::default() };
        let error = log::commit(&store, |_| Ok(Some(change.clone()))).await.unwrap_err();
        let text = crate::message::describe(error.as_ref());
        assert!(text.contains("to the disk: no such file"), "{text}");
        assert_eq!(log::newest(&store).await.unwrap().number, 0);
    });
}

/// The message of the decoder can have any text, also that of a store's name.
#[test]
fn a_damaged_file_is_named_in_a_store_of_any_name() {
    run(async {
        let place = place().await;
        let store = Store::of_objects("a", place.objects.clone());
        let place = Place { store, ..place };
        let path = file_of(&place, "spans").await;
        let bytes = place.store.read(&crate::store::names::path(&path)).await.unwrap();
        let mut bytes = bytes.to_vec();
        bytes[4..64].fill(0xff);
        place.objects.replace(&path, bytes).await;
        let sql = "SELECT * FROM spans";
        let session = place.session().await;
        let statement = session.statements(sql).unwrap().remove(0);
        let error = session.frame(statement).await.unwrap().collect().await.unwrap_err();
        let text = session.explain(error, sql).await.to_string();
        assert!(text.starts_with(&format!("cannot decode a/{path}: ")), "{text}");
    });
}

#[test]
fn a_32nd_change_has_the_state() {
    run(async {
        let place = place().await;
        for _ in 1..33 {
            let change = crate::store::state::Change::default();
            log::commit(&place.store, |_| Ok(Some(change.clone()))).await.unwrap();
        }
        let path = "log/00000000000000000032.json";
        let bytes = place.store.read(&path.into()).await.unwrap();
        let mut entry: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        entry["state"] = serde_json::Value::Null;
        place.objects.replace(path, serde_json::to_vec(&entry).unwrap()).await;
        let text = message(&place, "SELECT 1").await;
        assert!(text.contains(&format!("{path}: the change has no state")), "{text}");
    });
}

#[test]
fn files_that_no_change_names_are_ignored() {
    run(async {
        let place = place().await;
        let path = file_of(&place, "spans").await.replace(".parquet", "x.parquet");
        place.objects.replace(&path, b"half".to_vec()).await;
        assert_eq!(place.query("SELECT count(*) FROM spans").await, ["1"]);
    });
}

#[test]
fn a_damaged_change_is_named() {
    run(async {
        let place = place().await;
        let path = "log/00000000000000000001.json";
        let name = format!("mem://store/{path}");
        let bytes = place.store.read(&path.into()).await.unwrap();
        place.objects.replace(path, bytes[..bytes.len() - 5].to_vec()).await;
        let text = message(&place, "SELECT 1").await;
        assert!(text.starts_with(&format!("{name}: not a change of a store: ")), "{text}");
        for key in ["schema_version", "layout_version"] {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let (now, later) = (format!("\"{key}\":1"), format!("\"{key}\":2"));
            assert!(text.contains(&now), "{text}");
            place.objects.replace(path, text.replacen(&now, &later, 1).into()).await;
            let text = message(&place, "SELECT 1").await;
            assert!(text.starts_with(&name) && text.contains("have version 2"), "{text}");
            assert!(text.contains("hint: use the program that wrote the store"), "{text}");
            let error = place.add(&[complete("b", 1, 3)], &[]).await.unwrap_err();
            assert!(error.to_string().contains("have version 2"), "{error}");
        }
        place.objects.replace("log/00000000000000000003.json", bytes.to_vec()).await;
        let text = message(&place, "SELECT 1").await;
        assert!(text.contains("00000000000000000002.json: the change is missing"), "{text}");
    });
}

#[test]
fn a_place_that_is_no_store_has_a_hint() {
    run(async {
        let place = Place::new();
        let text = message(&place, "SELECT 1").await;
        let expected = "mem://store is not a store\nhint: `trace lake add mem://store ARCHIVE`";
        assert!(text.starts_with(expected), "{text}");
    });
}

#[test]
fn only_files_of_dead_writers_are_deleted() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path().to_str().unwrap()).unwrap();
        let mut archive = NamedTempFile::new().unwrap();
        archive.write_all(&crate::testing::archive(&[complete("a", 1, 3)])).unwrap();
        add::add(&store, archive.path(), &arguments(&[])).await.unwrap();
        let state = log::newest(&store).await.unwrap().state;
        let used = state.files.values().find(|file| file.table == "spans").unwrap().path.clone();
        let dead =
            crate::store::names::file("spans", &state.files[&used].partition, &"0".repeat(16));
        let own = [
            dead.clone(),
            format!("{dead}#1"),
            format!("{used}#2"),
            "log/00000000000000000002.json#1".to_owned(),
        ];
        let foreign = [
            "archives/x.fxt",
            "archives/day=2026-11-29/x.parquet",
            "log/#a#",
            "spans/bug #42",
            "bug #42",
            "#a#",
            "work/notes#",
        ];
        let day_ago = std::time::SystemTime::now() - 2 * clean::ABANDONED;
        for path in own.iter().map(String::as_str).chain(foreign) {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::File::create(&path).unwrap().set_modified(day_ago).unwrap();
        }
        let used = std::fs::File::options().write(true).open(folder.path().join(used)).unwrap();
        used.set_modified(day_ago).unwrap();
        assert_eq!(clean::clean(&store, std::time::Duration::ZERO).await.unwrap(), own.len());
        assert!(own.iter().all(|path| !folder.path().join(path).exists()));
        for path in foreign {
            assert!(folder.path().join(path).exists(), "{path}");
        }
        assert!(state.files.keys().all(|path| folder.path().join(path).exists()));
    });
}

/// Changes a bit of a file.
async fn flip(place: &Place, path: &str, byte: usize) {
    let bytes = place.store.read(&crate::store::names::path(path)).await.unwrap();
    let mut bytes = bytes.to_vec();
    bytes[byte] ^= 4;
    place.objects.replace(path, bytes).await;
}

#[test]
fn what_reads_whole_files_finds_each_changed_bit() {
    run(async {
        let place = place().await;
        place.add(&[complete("b", 1, 3)], &[]).await.unwrap();
        assert_eq!(check::damaged(&place.store, &place.state().await).await, [""; 0]);
        let path = file_of(&place, "spans").await;
        flip(&place, &path, 40).await;
        let expected = format!("cannot read mem://store/{path}: it is damaged: its SHA-256 is ");
        let damaged = check::damaged(&place.store, &place.state().await).await;
        assert!(damaged.len() == 1 && damaged[0].starts_with(&expected), "{damaged:?}");
        assert_eq!(place.compact().await.failed, 1);
        assert!(place.state().await.files.contains_key(&path));
        let folder = tempfile::tempdir().unwrap();
        let session = place.session().await;
        let error = crate::export::export(&session, folder.path()).await.unwrap_err();
        assert!(error.to_string().starts_with(&expected), "{error}");
    });
}

#[test]
fn a_file_whose_hash_is_not_recorded_is_decoded() {
    run(async {
        let place = place().await;
        let path = file_of(&place, "spans").await;
        let mut state = place.state().await;
        state.files.values_mut().for_each(|file| file.sha256 = None);
        assert_eq!(check::damaged(&place.store, &state).await, [""; 0]);
        place.objects.replace(&path, vec![b'x'; state.files[&path].bytes as usize]).await;
        let damaged = check::damaged(&place.store, &state).await;
        assert!(damaged.len() == 1 && damaged[0].contains(&path), "{damaged:?}");
    });
}

#[test]
fn the_length_of_a_cut_file_is_reported() {
    run(async {
        let place = place().await;
        let path = file_of(&place, "spans").await;
        let bytes = place.store.read(&crate::store::names::path(&path)).await.unwrap();
        place.objects.replace(&path, bytes[..100].to_vec()).await;
        let sql = "SELECT sum(dur_ns) FROM spans";
        let session = place.session().await;
        let statement = session.statements(sql).unwrap().remove(0);
        let error = session.frame(statement).await.unwrap().collect().await.unwrap_err();
        let expected = format!(
            "cannot read mem://store/{path}: it has 100 bytes, and not {} as recorded",
            bytes.len()
        );
        assert_eq!(session.explain(error, sql).await.to_string(), expected);
    });
}

#[test]
fn a_damaged_file_does_not_panic() {
    run(async {
        let place = place().await;
        let path = file_of(&place, "spans").await;
        let bytes = place.store.read(&crate::store::names::path(&path)).await.unwrap();
        let mut state = place.state().await;
        state.files.retain(|other, _| *other == path);
        state.files.values_mut().for_each(|file| file.sha256 = None);
        let mut damaged = 0;
        for byte in (0..bytes.len()).step_by(5) {
            flip(&place, &path, byte).await;
            damaged += check::damaged(&place.store, &state).await.len();
            place.objects.replace(&path, bytes.to_vec()).await;
        }
        assert!(damaged > 0);
    });
}

/// The Arrow schema that the writer embeds is text of base 64 near the end of a file.
#[test]
fn a_damaged_arrow_schema_is_not_used() {
    run(async {
        let place = place().await;
        let path = file_of(&place, "spans").await;
        let bytes = place.store.read(&crate::store::names::path(&path)).await.unwrap();
        let key = b"ARROW:schema";
        let at = bytes.windows(key.len()).position(|part| part == key).unwrap() + key.len() + 20;
        for byte in (at..at + 400).step_by(40) {
            flip(&place, &path, byte).await;
            assert_eq!(place.query("SELECT name, dur_ns FROM spans").await, ["a|2"]);
            place.objects.replace(&path, bytes.to_vec()).await;
        }
    });
}
