//! Values as bytes for a cache that only the code which wrote it reads: every field in turn,
//! without names, and what does not read back whole is nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::content::Commitment;
use crate::digest::Digest;
use crate::id::{AnswerId, CallId, DriverId, EventId, HostId, LedgerId, Name, RunId, Version};
use crate::time::Timestamp;

/// A value as bytes.
pub(super) trait Packed: Sized {
    /// Writes it.
    fn put(&self, to: &mut Vec<u8>);

    /// Reads it, and leaves what comes after; `None` where it is none.
    fn take(from: &mut &[u8]) -> Option<Self>;
}

/// Writes the fields of a struct in turn. All of them, or it does not compile.
macro_rules! packed_struct {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl Packed for $name {
            fn put(&self, to: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($field.put(to);)*
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: Packed::take(from)?),* })
            }
        }
    };
}

/// Writes a number for the variant, then what is in it.
macro_rules! packed_enum {
    ($name:ident {
        $($tag:literal = $variant:ident $(($inner:ident))? $({ $($field:ident),* })?,)*
    }) => {
        impl Packed for $name {
            fn put(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($inner))? $({ $($field),* })? => {
                        to.push($tag);
                        $($inner.put(to);)?
                        $($($field.put(to);)*)?
                    })*
                }
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                let (&tag, rest) = from.split_first()?;
                *from = rest;
                match tag {
                    $($tag => {
                        $(let $inner = Packed::take(from)?;)?
                        $($(let $field = Packed::take(from)?;)*)?
                        Some(Self::$variant $(($inner))? $({ $($field),* })?)
                    })*
                    _ => None,
                }
            }
        }
    };
}

/// Writes what records hold as they hold it: as JSON, behind its length.
macro_rules! packed_json {
    ($($name:ty),* $(,)?) => {
        $(impl Packed for $name {
            fn put(&self, to: &mut Vec<u8>) {
                $crate::run::snapshot::packed::put_json(self, to);
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                $crate::run::snapshot::packed::take_json(from)
            }
        })*
    };
}

pub(super) use {packed_enum, packed_json, packed_struct};

/// What cannot be written is no bytes at all, which nothing reads back.
pub(super) fn put_json<T: Serialize>(value: &T, to: &mut Vec<u8>) {
    serde_json::to_vec(value).unwrap_or_default().put(to);
}

pub(super) fn take_json<T: DeserializeOwned>(from: &mut &[u8]) -> Option<T> {
    serde_json::from_slice(take_counted(from)?).ok()
}

/// As many bytes as the number before them says.
fn take_counted<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let count = usize::take(from)?;
    let (bytes, rest) = from.split_at_checked(count)?;
    *from = rest;
    Some(bytes)
}

fn take_array<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, rest) = from.split_first_chunk::<N>()?;
    *from = rest;
    Some(*bytes)
}

impl Packed for u64 {
    /// Seven bits a byte, the lowest first.
    fn put(&self, to: &mut Vec<u8>) {
        let mut number = *self;
        loop {
            let low = u8::try_from(number & 0x7f).unwrap_or(0);
            number >>= 7;
            if number == 0 {
                return to.push(low);
            }
            to.push(low | 0x80);
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = from.split_first()?;
            *from = rest;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

macro_rules! packed_number {
    ($($name:ty),*) => {
        $(impl Packed for $name {
            fn put(&self, to: &mut Vec<u8>) {
                u64::try_from(*self).unwrap_or(u64::MAX).put(to);
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                u64::take(from)?.try_into().ok()
            }
        })*
    };
}

packed_number!(u16, u32, usize);

impl Packed for bool {
    fn put(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match take_array(from)? {
            [0] => Some(false),
            [1] => Some(true),
            [_] => None,
        }
    }
}

impl<T: Packed> Packed for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(if bool::take(from)? {
            Some(T::take(from)?)
        } else {
            None
        })
    }
}

impl<T: Packed> Packed for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.len().put(to);
        for item in self {
            item.put(to);
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let count = usize::take(from)?;
        // No room is made ahead for as many as a number may claim.
        let mut items = Self::new();
        for _ in 0..count {
            items.push(T::take(from)?);
        }
        Some(items)
    }
}

impl Packed for u8 {
    fn put(&self, to: &mut Vec<u8>) {
        to.push(*self);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        take_array(from).map(|[byte]| byte)
    }
}

impl<T: Packed + Ord> Packed for BTreeSet<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.len().put(to);
        for item in self {
            item.put(to);
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Vec::take(from).map(|items| items.into_iter().collect())
    }
}

impl<K: Packed + Ord, V: Packed> Packed for BTreeMap<K, V> {
    fn put(&self, to: &mut Vec<u8>) {
        self.len().put(to);
        for (key, value) in self {
            key.put(to);
            value.put(to);
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Vec::take(from).map(|pairs| pairs.into_iter().collect())
    }
}

impl<A: Packed, B: Packed> Packed for (A, B) {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some((A::take(from)?, B::take(from)?))
    }
}

impl Packed for String {
    fn put(&self, to: &mut Vec<u8>) {
        self.len().put(to);
        to.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        String::from_utf8(take_counted(from)?.to_vec()).ok()
    }
}

impl Packed for Name {
    fn put(&self, to: &mut Vec<u8>) {
        self.as_str().len().put(to);
        to.extend_from_slice(self.as_str().as_bytes());
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        String::take(from)?.try_into().ok()
    }
}

impl Packed for Digest {
    fn put(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        take_array(from).map(Self::from_bytes)
    }
}

impl Packed for Commitment {
    fn put(&self, to: &mut Vec<u8>) {
        self.digest().put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Digest::take(from).map(Self::from_digest)
    }
}

impl Packed for Version {
    fn put(&self, to: &mut Vec<u8>) {
        self.get().put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        u32::take(from).map(Self::new)
    }
}

impl Packed for CallId {
    fn put(&self, to: &mut Vec<u8>) {
        self.get().put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Self::FIRST.plus(u32::take(from)?.checked_sub(1)?)
    }
}

impl Packed for Timestamp {
    fn put(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.micros().to_be_bytes());
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Self::from_micros(i64::from_be_bytes(take_array(from)?))
    }
}

macro_rules! packed_uuid {
    ($($name:ty),*) => {
        $(impl Packed for $name {
            fn put(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(self.as_bytes());
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                take_array(from).map(|bytes| Self::new(uuid::Uuid::from_bytes(bytes)))
            }
        })*
    };
}

packed_uuid!(AnswerId, DriverId, EventId, HostId, LedgerId, RunId);
