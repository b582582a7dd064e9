//! The key file: what is drawn stays, and nothing damaged gives a key.

use std::path::PathBuf;

use super::cell::{Cell, State};
use super::*;

fn ledger() -> LedgerId {
    "6f0c9a52-3f0e-4a57-9a0b-2d7b6c1e4f80".parse().unwrap()
}

struct Home {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Home {
    fn new() -> (Self, KeyFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let keys = KeyFile::create(&path, ledger()).unwrap();
        let home = Self {
            _folder: folder,
            path,
        };
        (home, keys)
    }

    fn open(&self) -> Result<KeyFile, KeyFileError> {
        KeyFile::open(&self.path, ledger())
    }

    fn slots(&self) -> u64 {
        std::fs::metadata(&self.path).unwrap().len() / 512 - 1
    }
}

fn write(keys: &KeyFile, ordinal: u32, cells: [Cell; 2]) {
    let bytes = Slot { ordinal, cells }.encode(ledger());
    keys.file
        .write_all_at(&bytes, offset(ordinal.into()))
        .unwrap();
}

fn held(state: State, generation: u16) -> Cell {
    let key = RunKey::from_bytes([u8::try_from(generation).unwrap(); 32]);
    Cell::Held {
        state,
        generation,
        key,
    }
}

fn erased(generation: u16) -> Cell {
    Cell::Erased {
        generation,
        id: Digest::from_bytes([7; 32]),
        redaction: Digest::from_bytes([9; 32]),
    }
}

#[test]
fn draws_ahead_in_blocks_and_keeps_keys_over_reopening() {
    let (home, mut keys) = Home::new();
    assert!(matches!(keys.key(0), Err(KeyFileError::NeverDrawn(0))));
    keys.draw_ahead(None).unwrap();
    assert_eq!(home.slots(), 1024);
    let before: Vec<_> = (0..1024).map(|n| keys.key(n).unwrap().1.id()).collect();
    let distinct: std::collections::BTreeSet<_> = before.iter().collect();
    assert_eq!(distinct.len(), 1024);
    assert!(matches!(
        keys.key(1024),
        Err(KeyFileError::NeverDrawn(1024))
    ));
    keys.draw_ahead(Some(1022)).unwrap();
    assert_eq!(home.slots(), 1024);
    keys.draw_ahead(Some(1023)).unwrap();
    assert_eq!(home.slots(), 2048);
    drop(keys);
    let mut keys = home.open().unwrap();
    keys.draw_ahead(Some(3)).unwrap();
    for (ordinal, id) in (0..).zip(&before) {
        let (generation, key) = keys.key(ordinal).unwrap();
        assert_eq!((generation, key.id()), (1, *id));
        assert_eq!(keys.key_of(ordinal, 1).unwrap().id(), *id);
    }
    assert_eq!(home.slots(), 2048);
}

#[test]
fn a_slot_with_a_changed_byte_gives_no_key() {
    let (_home, mut keys) = Home::new();
    keys.draw_ahead(None).unwrap();
    write(&keys, 4, [held(State::Retiring, 1), held(State::Live, 2)]);
    let zero = 2000;
    for ordinal in [3, 4, zero] {
        let start = offset(ordinal.into());
        let mut good = [0; 512];
        read_up_to(&keys.file, &mut good, start).unwrap();
        keys.file.write_all_at(&good, start).unwrap();
        for index in 0..512 {
            for bit in 0..8 {
                let mut bad = good;
                bad[index] ^= 1 << bit;
                keys.file.write_all_at(&bad, start).unwrap();
                let refused = keys.key(ordinal);
                assert!(
                    matches!(refused, Err(KeyFileError::Damaged(n)) if n == ordinal),
                    "{ordinal} {index}"
                );
                for generation in 0..3 {
                    assert!(keys.key_of(ordinal, generation).is_err());
                }
            }
        }
        keys.file.write_all_at(&good, start).unwrap();
    }
    assert!(matches!(keys.key(zero), Err(KeyFileError::NeverDrawn(n)) if n == zero));
}

#[test]
fn a_slot_in_the_place_of_another_is_damage() {
    let (home, mut keys) = Home::new();
    keys.draw_ahead(None).unwrap();
    let mut slot = [0; 512];
    read_up_to(&keys.file, &mut slot, offset(5)).unwrap();
    keys.file.write_all_at(&slot, offset(6)).unwrap();
    assert!(matches!(keys.key(6), Err(KeyFileError::Damaged(6))));
    slot.rotate_left(256);
    keys.file.write_all_at(&slot, offset(5)).unwrap();
    assert!(matches!(keys.key(5), Err(KeyFileError::Damaged(5))));
    let other = LedgerId::new(Uuid::from_bytes([1; 16]));
    keys.file.write_all_at(&header(other), 0).unwrap();
    let moved = KeyFile::open(&home.path, other).unwrap();
    assert!(matches!(moved.key(7), Err(KeyFileError::Damaged(7))));
}

#[test]
fn only_fresh_and_live_keys_seal() {
    let (_home, keys) = Home::new();
    write(&keys, 0, [held(State::Retiring, 1), held(State::Live, 2)]);
    assert_eq!(keys.key(0).unwrap().0, 2);
    assert!(keys.key_of(0, 1).is_ok());
    assert!(matches!(
        keys.key_of(0, 3),
        Err(KeyFileError::Generation { generation: 3, .. })
    ));
    write(&keys, 0, [erased(1), held(State::Live, 2)]);
    assert_eq!(keys.key(0).unwrap().0, 2);
    let redacted = |result| {
        matches!(result, Err(KeyFileError::Erased { redaction, .. })
            if redaction == Digest::from_bytes([9; 32]))
    };
    assert!(redacted(keys.key_of(0, 1)));
    for cells in [[erased(1), erased(2)], [erased(1), Cell::NeverDrawn]] {
        write(&keys, 0, cells);
        assert!(redacted(keys.key(0).map(|(_, key)| key)));
        assert!(redacted(keys.key_of(0, 1)));
    }
    for cells in [
        [held(State::Live, 1), held(State::Live, 2)],
        [held(State::Fresh, 1), held(State::Live, 2)],
        [held(State::Retiring, 1), held(State::Live, 1)],
        [held(State::Retiring, 1), Cell::NeverDrawn],
    ] {
        write(&keys, 0, cells);
        assert!(matches!(keys.key(0), Err(KeyFileError::Damaged(0))));
    }
}

#[test]
fn draws_anew_what_a_dying_process_left_and_nothing_in_use() {
    let (home, mut keys) = Home::new();
    keys.draw_ahead(None).unwrap();
    let kept = keys.key(9).unwrap().1.id();
    keys.file.write_all_at(&[1; 512], offset(10)).unwrap();
    keys.file.write_all_at(&[0; 512], offset(11)).unwrap();
    keys.file.set_len(offset(1000) + 100).unwrap();
    let mut keys = home.open().unwrap();
    assert!(matches!(keys.key(1000), Err(KeyFileError::Damaged(1000))));
    assert!(matches!(
        keys.key(1001),
        Err(KeyFileError::NeverDrawn(1001))
    ));
    keys.draw_ahead(Some(8)).unwrap();
    assert_eq!(keys.key(9).unwrap().1.id(), kept);
    assert!((9..1024).all(|ordinal| keys.key(ordinal).is_ok()));
    write(&keys, 20, [held(State::Live, 2), erased(1)]);
    let mut keys = home.open().unwrap();
    assert!(matches!(
        keys.draw_ahead(Some(8)),
        Err(KeyFileError::InUse(20))
    ));
    keys.draw_ahead(Some(20)).unwrap();
}

#[test]
fn redraws_everything_above_the_last_stream() {
    let (home, mut keys) = Home::new();
    keys.draw_ahead(None).unwrap();
    keys.draw_ahead(Some(2100)).unwrap();
    write(&keys, 20, [held(State::Live, 2), erased(1)]);
    let used = keys.key(9).unwrap().1.id();
    let ids =
        |keys: &KeyFile| -> Vec<_> { (2101..3072).map(|n| keys.key(n).unwrap().1.id()).collect() };
    let before = ids(&keys);
    keys.redraw_above(Some(9)).unwrap();
    assert_eq!(home.slots(), 3072);
    assert_eq!(keys.key(9).unwrap().1.id(), used);
    assert_eq!(keys.key(20).unwrap().0, 1);
    assert!(ids(&keys).iter().zip(&before).all(|(new, old)| new != old));
    assert!(home.open().unwrap().draw_ahead(Some(9)).is_ok());
}

#[test]
fn opens_only_the_whole_key_file_of_its_ledger() {
    let (home, mut keys) = Home::new();
    keys.draw_ahead(None).unwrap();
    let other = LedgerId::new(Uuid::from_bytes([1; 16]));
    assert!(matches!(
        KeyFile::open(&home.path, other),
        Err(KeyFileError::WrongLedger(found)) if found == ledger()
    ));
    assert!(matches!(
        KeyFile::create(&home.path, ledger()),
        Err(KeyFileError::Io { .. })
    ));
    let good = header(ledger());
    for index in 0..512 {
        let mut bad = good.clone();
        bad[index] ^= 0x10;
        keys.file.write_all_at(&bad, 0).unwrap();
        assert!(home.open().is_err(), "{index}");
    }
    keys.file.write_all_at(&good, 0).unwrap();
    assert!(home.open().is_ok());
    for length in [511, 100, 0] {
        keys.file.set_len(length).unwrap();
        assert!(matches!(home.open(), Err(KeyFileError::Header)));
    }
    std::fs::remove_file(&home.path).unwrap();
    assert!(matches!(home.open(), Err(KeyFileError::Io { .. })));
}

#[test]
fn the_file_is_for_its_owner_alone() {
    let (home, _keys) = Home::new();
    let mode = std::fs::metadata(&home.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::set_permissions(&home.path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(home.open(), Err(KeyFileError::Exposed(0o640))));
}

#[test]
fn the_last_ordinal_is_the_last() {
    let (_home, mut keys) = Home::new();
    assert!(matches!(
        keys.draw_ahead(Some(u32::MAX)),
        Err(KeyFileError::Full)
    ));
    assert_eq!(
        range_above(Some(u32::MAX - 1)).unwrap(),
        (ORDINALS - 1, ORDINALS)
    );
    assert!(keys.key(u32::MAX).is_err());
}
