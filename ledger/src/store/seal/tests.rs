//! Sealing against the vector of the worked example, and everything that must not open.

use proptest::prelude::*;

use super::*;

const NOTE: &str = "010001222222222222222222222222222222222222222222222222ed359d9365368a5d1b964c57\
    20e94950b6733db558fb927619893ac0b1953f9489eaa0bad5660c3c3d62bd6951364a40918d91ee9523a0a5256325\
    8700ff20b20d54c434a9fec5368d002c5ae4748e3495e9484922166e857dc4d5bfd86a55b3a4cd4d1a20ea0410ff9b\
    5f00da8fe808169d66f658d46033";

/// Every nonce byte the same.
struct Same(u8);

impl NonceSource for Same {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), SealError> {
        bytes.fill(self.0);
        Ok(())
    }
}

fn place() -> Place {
    Place {
        ledger: "6f0c9a52-3f0e-4a57-9a0b-2d7b6c1e4f80".parse().unwrap(),
        stream: "b3e41f07-8c2d-4e6a-9f51-0a7d3c58e912".parse().unwrap(),
        generation: 1,
    }
}

fn key() -> RunKey {
    RunKey::from_bytes([0x11; 32])
}

fn note() -> Content {
    Content::new(Salt([17; 32]), *b"keep the log")
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[test]
fn seals_and_opens_the_note_of_the_worked_example() {
    let blob = Sealer::with_nonces(place(), &key(), Same(0x22))
        .unwrap()
        .seal(&note())
        .unwrap();
    assert_eq!(hex(&blob), NOTE);
    assert_eq!(generation(&blob).unwrap(), 1);
    let opened = Opener::new(place(), &key())
        .open(&note().commitment(), &blob)
        .unwrap();
    assert_eq!(opened, note());
}

#[test]
fn opens_no_blob_with_a_changed_or_missing_byte() {
    let blob = Sealer::new(place(), &key()).unwrap().seal(&note()).unwrap();
    let opener = Opener::new(place(), &key());
    let commitment = note().commitment();
    for index in 0..blob.len() {
        for bit in 0..8 {
            let mut changed = blob.clone();
            changed[index] ^= 1 << bit;
            assert!(opener.open(&commitment, &changed).is_err(), "byte {index}");
        }
        assert!(opener.open(&commitment, &blob[..index]).is_err());
    }
    assert!(
        opener
            .open(&commitment, &[blob.as_slice(), &[0]].concat())
            .is_err()
    );
}

#[test]
fn opens_only_in_its_place_and_under_its_key() {
    let blob = Sealer::new(place(), &key()).unwrap().seal(&note()).unwrap();
    let commitment = note().commitment();
    let other = "00000000-0000-4000-8000-000000000000";
    let elsewhere = [
        Place {
            ledger: other.parse().unwrap(),
            ..place()
        },
        Place {
            stream: other.parse().unwrap(),
            ..place()
        },
    ];
    for place in elsewhere {
        assert!(matches!(
            Opener::new(place, &key()).open(&commitment, &blob),
            Err(SealError::Unreadable)
        ));
    }
    let later = Place {
        generation: 2,
        ..place()
    };
    assert!(matches!(
        Opener::new(later, &key()).open(&commitment, &blob),
        Err(SealError::Generation {
            expected: 2,
            found: 1
        })
    ));
    let other = Content::new(Salt([18; 32]), *b"keep the log").commitment();
    let opener = Opener::new(place(), &key());
    assert!(matches!(
        opener.open(&other, &blob),
        Err(SealError::Unreadable)
    ));
    let opener = Opener::new(place(), &RunKey::from_bytes([0x12; 32]));
    assert!(opener.open(&commitment, &blob).is_err());
}

/// Seals any plaintext as if it had been checked.
fn seal_raw(commitment: &Commitment, mut plaintext: Vec<u8>) -> Vec<u8> {
    let tag = cipher(&key().derive(), &[5; 16])
        .unwrap()
        .seal_in_place_separate_tag(
            nonce_of_cipher([5; 8]),
            Aad::from(place().associated_data(commitment)),
            &mut plaintext,
        )
        .unwrap();
    [&[1, 0, 1], [5; 24].as_slice(), &plaintext, tag.as_ref()].concat()
}

fn padded(content: &Content) -> Vec<u8> {
    let mut bytes = Vec::new();
    pad(content, &mut bytes).unwrap();
    bytes
}

#[test]
fn checks_the_commitment_of_what_opened() {
    let opener = Opener::new(place(), &key());
    let commitment = note().commitment();
    let good = padded(&note());
    assert_eq!(
        opener
            .open(&commitment, &seal_raw(&commitment, good.clone()))
            .unwrap(),
        note()
    );
    let other = padded(&Content::new(Salt([17; 32]), *b"drop the log"));
    assert!(matches!(
        opener.open(&commitment, &seal_raw(&commitment, other)),
        Err(SealError::Commitment(_))
    ));
    let mut dirty = good.clone();
    *dirty.last_mut().unwrap() = 1;
    let mut endless = good.clone();
    endless[32..40].fill(0xff);
    let long = [good.as_slice(), &[0; 8]].concat();
    for plaintext in [dirty, endless, long, good[..103].to_vec()] {
        assert!(matches!(
            opener.open(&commitment, &seal_raw(&commitment, plaintext)),
            Err(SealError::Padding)
        ));
    }
}

#[test]
fn draws_a_nonce_for_each_seal_and_a_prefix_for_each_65536() {
    let mut sealer = Sealer::new(place(), &key()).unwrap();
    let first = sealer.seal(&note()).unwrap();
    let second = sealer.seal(&note()).unwrap();
    assert_eq!(first[3..19], second[3..19]);
    assert_ne!(first[19..27], second[19..27]);
    sealer.prefix.seals_left = 1;
    assert_eq!(sealer.seal(&note()).unwrap()[3..19], first[3..19]);
    let renewed = sealer.seal(&note()).unwrap();
    assert_ne!(renewed[3..19], first[3..19]);
    assert_eq!(sealer.prefix.seals_left, SEALS_PER_PREFIX - 1);
    assert_eq!(
        Opener::new(place(), &key())
            .open(&note().commitment(), &renewed)
            .unwrap(),
        note()
    );
    let another = Sealer::new(place(), &key()).unwrap().seal(&note()).unwrap();
    assert_ne!(another[3..19], first[3..19]);
}

#[test]
fn refuses_contents_over_the_limit_and_tells_no_key() {
    let mut sealer = Sealer::new(place(), &key()).unwrap();
    let most = Content::new(Salt([1; 32]), vec![7; CONTENT_BYTES_MAX]);
    let blob = sealer.seal(&most).unwrap();
    let opener = Opener::new(place(), &key());
    assert_eq!(opener.open(&most.commitment(), &blob).unwrap(), most);
    let over = Content::new(Salt([1; 32]), vec![7; CONTENT_BYTES_MAX + 1]);
    assert!(matches!(sealer.seal(&over), Err(SealError::TooLarge(_))));
    for shown in [
        format!("{:?}", key()),
        format!("{sealer:?}"),
        format!("{opener:?}"),
    ] {
        assert!(!shown.contains("17, 17") && !shown.contains("1111"));
    }
}

proptest! {
    #[test]
    fn opens_what_was_sealed(bytes in prop::collection::vec(any::<u8>(), 0..2000), salt: [u8; 32]) {
        let content = Content::new(Salt(salt), bytes);
        let blob = Sealer::new(place(), &key()).unwrap().seal(&content).unwrap();
        let class = usize::try_from(size_class(content.bytes.len() as u64)).unwrap();
        prop_assert_eq!(blob.len(), 27 + 40 + class + 16);
        let opened = Opener::new(place(), &key()).open(&content.commitment(), &blob).unwrap();
        prop_assert_eq!(opened, content);
    }

    #[test]
    fn any_bytes_are_refused(mut blob in prop::collection::vec(any::<u8>(), 0..300)) {
        let opener = Opener::new(place(), &key());
        prop_assert!(opener.open(&note().commitment(), &blob).is_err());
        blob.splice(0..0, [1, 0, 1]);
        prop_assert!(opener.open(&note().commitment(), &blob).is_err());
    }
}

#[test]
fn a_state_opens_in_its_place_alone_and_is_no_content() {
    let sealer = SnapshotSealer::new(place(), &key());
    let sealed = sealer.seal(b"a state").unwrap();
    assert_eq!(sealer.open(&sealed).unwrap(), b"a state");
    assert!(!sealed.windows(7).any(|part| part == b"a state"));
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        assert!(sealer.open(&changed).is_err(), "byte {at}");
    }
    let elsewhere = Place {
        stream: "b3e41f07-8c2d-4e6a-9f51-0a7d3c58e913".parse().unwrap(),
        ..place()
    };
    let others = [
        SnapshotSealer::new(elsewhere, &key()),
        SnapshotSealer::new(place(), &RunKey::from_bytes([0x12; 32])),
    ];
    assert!(others.iter().all(|other| other.open(&sealed).is_err()));
    let content = Sealer::new(place(), &key()).unwrap().seal(&note()).unwrap();
    assert!(sealer.open(&content).is_err());
}
