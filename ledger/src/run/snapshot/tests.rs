//! What was packed is unpacked, and nothing else is.

use proptest::prelude::*;

use super::packed::Packed;
use super::*;

fn packed<T: Packed>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.put(&mut bytes);
    bytes
}

type Odd = (Vec<Option<u32>>, BTreeMap<String, (bool, u64)>);

proptest! {
    #[test]
    fn what_was_packed_is_unpacked(
        value in any::<Odd>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = packed(&value);
        let mut rest = &*bytes;
        prop_assert_eq!(Odd::take(&mut rest), Some(value));
        prop_assert!(rest.is_empty());
        let mut cut = &bytes[..cut.index(bytes.len())];
        prop_assert_eq!(Odd::take(&mut cut), None);
    }

    #[test]
    fn any_bytes_are_unpacked_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut rest = &*bytes;
        if let Some(value) = Odd::take(&mut rest) {
            prop_assert!(packed(&value).len() <= bytes.len());
        }
        let mut rest = &*bytes;
        prop_assert_eq!(RunState::take(&mut rest), None);
    }
}

#[test]
fn a_number_that_is_too_large_is_none() {
    assert_eq!(u64::take(&mut &[0xff; 10][..]), None);
    assert_eq!(u64::take(&mut &packed(&u64::MAX)[..]), Some(u64::MAX));
    assert_eq!(u32::take(&mut &packed(&u64::MAX)[..]), None);
}
