//! States of runs beside the log: sealed, private, and nothing where they were changed.

use super::*;
use crate::store::snapshots::SnapshotStore;

/// A store with a run of one record, and where states of its runs lie.
fn place() -> (Place, SledStore, StreamId, Arc<dyn SnapshotStore>) {
    let place = Place::new();
    let (store, mut run) = place.create();
    block_on(append_one(&store, &mut run));
    let states = store.snapshots();
    (place, store, run.stream(), states)
}

#[test]
fn a_state_is_sealed_and_read_back_by_the_next_to_open_the_store() {
    let (place, store, run, states) = place();
    assert_eq!(states.read(run).unwrap(), None);
    states.write(run, b"the first state").unwrap();
    states.write(run, b"the second state").unwrap();
    drop((store, states));
    let folder = place.home().join("snapshots");
    let lying = files(&folder);
    assert_eq!(lying.len(), 1, "{:?}", lying.keys());
    for (path, bytes) in &lying {
        assert!(!bytes.windows(6).any(|part| part == b"second"));
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(
        fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let store = place.open();
    let states = store.snapshots();
    assert_eq!(states.read(run).unwrap().unwrap(), b"the second state");
    states.clear().unwrap();
    states.clear().unwrap();
    assert_eq!(states.read(run).unwrap(), None);
    assert!(!folder.exists());
    store.close();
    assert!(states.write(run, b"too late").is_err());
}

#[test]
fn what_was_changed_or_belongs_elsewhere_is_not_read() {
    let (place, store, run, states) = place();
    let folder = place.home().join("snapshots");
    states.write(run, b"a state").unwrap();
    let path = folder.join(run.to_string());
    let sealed = fs::read(&path).unwrap();
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 0x10;
        fs::write(&path, changed).unwrap();
        assert!(states.read(run).is_err(), "byte {at}");
    }
    fs::write(&path, &sealed[..sealed.len() - 1]).unwrap();
    assert!(states.read(run).is_err());
    // Of a run that the store does not have, and of one whose key is another.
    let unknown = StreamId::new(uuid::Uuid::from_u64_pair(9, 9));
    fs::write(folder.join(unknown.to_string()), &sealed).unwrap();
    assert_eq!(states.read(unknown).unwrap(), None);
    let mut other = Chain::run(store.ledger(), &authority_digest(&store), 2);
    block_on(append_one(&store, &mut other));
    fs::write(folder.join(other.stream().to_string()), &sealed).unwrap();
    assert!(states.read(other.stream()).is_err());
    fs::write(&path, &sealed).unwrap();
    assert_eq!(states.read(run).unwrap().unwrap(), b"a state");
}

/// Digest of the record that created the ledger.
fn authority_digest(store: &SledStore) -> crate::digest::Digest {
    let first = block_on(store.read_all(Position::ZERO, 1)).unwrap();
    first[0].clone().parse().unwrap().envelope.digest()
}
