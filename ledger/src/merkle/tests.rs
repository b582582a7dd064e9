//! The frontier against the definition of RFC 6962 and against fixed vectors.

use proptest::prelude::*;

use super::*;
use crate::digest::{Purpose, digest};

/// MTH of RFC 6962, section 2.1, word by word.
fn tree_hash(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => empty_hash(),
        [leaf] => *leaf,
        _ => {
            let half = leaves.len().next_power_of_two() / 2;
            let (left, right) = leaves.split_at(half);
            node_hash(&tree_hash(left), &tree_hash(right))
        }
    }
}

fn events(count: u32) -> Vec<Digest> {
    (0..count)
        .map(|number| digest(Purpose::Event, &number.to_be_bytes()))
        .collect()
}

#[test]
fn equals_the_definition_at_each_size() {
    let events = events(300);
    let leaves: Vec<Hash> = events
        .iter()
        .map(|event| leaf_hash(event.as_bytes()))
        .collect();
    let mut frontier = Frontier::new();
    for (size, event) in events.iter().enumerate() {
        assert_eq!(frontier.size(), size as u64);
        assert_eq!(frontier.root(), Root(tree_hash(&leaves[..size])), "{size}");
        frontier.push(event);
    }
    assert_eq!(frontier.root(), Root(tree_hash(&leaves)));
}

/// Inputs and roots of the reference tests of Certificate Transparency.
#[test]
fn has_the_roots_of_certificate_transparency() {
    let inputs: [&[u8]; 8] = [
        b"",
        b"\x00",
        b"\x10",
        b"\x20\x21",
        b"\x30\x31",
        b"\x40\x41\x42\x43",
        b"\x50\x51\x52\x53\x54\x55\x56\x57",
        b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
    ];
    let roots = [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    let mut frontier = Frontier::new();
    assert_eq!(
        frontier.root().to_string(),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    for (input, root) in inputs.into_iter().zip(roots) {
        frontier.push_leaf(leaf_hash(input));
        assert_eq!(frontier.root().to_string(), root);
    }
}

#[test]
fn has_the_roots_of_the_worked_example() {
    let records =
        include_str!("../../../replay-tests/fixtures/worked_example/records.jsonl").lines();
    let mut frontier = Frontier::new();
    for record in records {
        frontier.push(&digest(Purpose::Event, record.as_bytes()));
        if frontier.size() == 14 {
            assert_eq!(
                frontier.root().to_string(),
                "34ab1ee71cc9e3397f398bd81984c8cca63433abc6412d4c74714fcfb5ee2f46"
            );
        }
    }
    assert_eq!(frontier.size(), 25);
    assert_eq!(
        frontier.root().to_string(),
        "743db0094d1019bec653ebe92f6a3ec8a02f35cd98d93128ccf3f5677b1dc7e1"
    );
}

#[test]
fn reads_only_as_many_hashes_as_the_size_has_subtrees() {
    let mut frontier = Frontier::new();
    for event in events(11) {
        frontier.push(&event);
    }
    let bytes = frontier.to_bytes();
    assert_eq!(bytes.len(), 8 + 3 * 32);
    for length in 0..bytes.len() {
        assert!(Frontier::from_bytes(&bytes[..length]).is_err(), "{length}");
    }
    assert_eq!(
        Frontier::from_bytes(&[bytes.as_slice(), &[0; 32]].concat()),
        Err(FrontierError::Hashes {
            size: 11,
            hashes: 4
        })
    );
    let endless = [[0xff; 8].as_slice(), &[0; 64 * 32]].concat();
    assert_eq!(
        Frontier::from_bytes(&endless),
        Err(FrontierError::TooLarge(u64::MAX))
    );
}

#[test]
fn a_tree_that_would_not_lie_at_a_multiple_of_its_size_does_not_join() {
    let over = |count| {
        let mut frontier = Frontier::new();
        for event in events(count) {
            frontier.push(&event);
        }
        frontier
    };
    for (before, next) in [(1, 2), (3, 2), (2, 4), (6, 5), (4, 8)] {
        let mut tree = over(before);
        let error = tree.join(&over(next)).unwrap_err();
        assert_eq!((error.size, error.next), (before.into(), next.into()));
        assert_eq!(tree, over(before));
    }
    let endless = [(u64::MAX >> 1).to_be_bytes().as_slice(), &[0; 63 * 32]].concat();
    let mut endless = Frontier::from_bytes(&endless).unwrap();
    assert!(endless.join(&over(1)).is_err());
    assert!(endless.join(&Frontier::new()).is_ok());
}

#[test]
fn roots_are_64_lower_case_hex_digits() {
    let root = Frontier::new().root();
    let json = serde_json::to_string(&root).unwrap();
    assert_eq!(json, format!("\"{root}\""));
    assert_eq!(serde_json::from_str::<Root>(&json).unwrap(), root);
    assert!(root.to_string().to_uppercase().parse::<Root>().is_err());
}

proptest! {
    #[test]
    fn a_frontier_that_was_written_goes_on_where_it_was(
        leaves in prop::collection::vec(any::<[u8; 32]>(), 0..200),
        cut in any::<prop::sample::Index>(),
    ) {
        let (before, after) = leaves.split_at(cut.index(leaves.len() + 1));
        let mut frontier = Frontier::new();
        for leaf in before {
            frontier.push(&Digest::from_bytes(*leaf));
        }
        let mut frontier = Frontier::from_bytes(&frontier.to_bytes()).unwrap();
        for leaf in after {
            frontier.push(&Digest::from_bytes(*leaf));
        }
        let hashes: Vec<Hash> = leaves.iter().map(|leaf| leaf_hash(leaf)).collect();
        prop_assert_eq!(frontier.root(), Root(tree_hash(&hashes)));
    }

    #[test]
    fn trees_join_to_the_tree_over_all_where_the_cut_is_a_multiple(
        level in 0..7_u32,
        tiles in 0..9_usize,
        rest in 0..200_usize,
    ) {
        let tile = 1_usize << level;
        let rest = rest % tile + usize::from(tiles % 2 == 0) * tile;
        let before = tiles * tile;
        let events = events(u32::try_from(before + rest).unwrap());
        let over = |events: &[Digest]| {
            let mut frontier = Frontier::new();
            for event in events {
                frontier.push(event);
            }
            frontier
        };
        let mut joined = Frontier::new();
        for events in events.chunks(tile) {
            joined.join(&over(events)).unwrap();
        }
        prop_assert_eq!(&joined, &over(&events));
        let (left, right) = (over(&events[..before]), over(&events[before..]));
        let mut joined = left.clone();
        let largest = rest.checked_ilog2().map_or(1, |level| 1 << level);
        match joined.join(&right) {
            Ok(()) => prop_assert_eq!(joined, over(&events)),
            Err(error) => {
                prop_assert!(!before.is_multiple_of(largest), "{}", error);
                prop_assert_eq!(joined, left);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(frontier) = Frontier::from_bytes(&bytes) {
            prop_assert_eq!(frontier.to_bytes(), bytes);
        }
    }
}
