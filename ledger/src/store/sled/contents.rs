//! Contents of a stream, looked for together: one walk back over its index until all are found,
//! each unit read once.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::entry::Sealed;
use super::index::{Chunk, beginning};
use super::large;
use super::read::{Reader, Seen, damaged};
use super::tile::Tiles;
use crate::content::Commitment;
use crate::store::ReadError;

/// Records that are looked through at once: what was named lately is found in the first of these.
const AT_ONCE: usize = 256;

impl Reader<'_> {
    /// Hands over the sealed contents of a stream that are there, each once.
    pub(super) fn each_sealed(
        &self,
        ordinal: u32,
        wanted: &[Commitment],
        mut take: impl FnMut(Commitment, Arc<[u8]>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        self.each_place(ordinal, wanted, |commitment, sealed| {
            take(commitment, self.bytes_of(ordinal, &commitment, sealed)?)
        })
    }

    /// Whether a stream holds a content.
    pub(super) fn has_content(
        &self,
        ordinal: u32,
        commitment: &Commitment,
    ) -> Result<bool, ReadError> {
        let mut found = false;
        self.each_place(ordinal, &[*commitment], |_, _| {
            found = true;
            Ok(())
        })?;
        Ok(found)
    }

    /// Tells where contents of a stream are, of each that is there once.
    fn each_place(
        &self,
        ordinal: u32,
        wanted: &[Commitment],
        mut take: impl FnMut(Commitment, Sealed) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut missing: BTreeSet<Commitment> = wanted.iter().copied().collect();
        // Sorted, as the set is.
        let beginnings: Vec<_> = missing.iter().map(beginning).collect();
        let (mut unit, mut before) = (None, u32::MAX);
        while !missing.is_empty() {
            let Some((positions, first)) = self.naming(ordinal, before, &beginnings)? else {
                break;
            };
            before = first;
            for position in positions {
                let entry = |seen: Seen<'_>| seen.contents(ordinal, &missing);
                let tile = |tiles: &Tiles| {
                    let (of, mut contents) = tiles.contents(position)?;
                    contents.retain(|(named, _)| of == ordinal && missing.contains(named));
                    Ok(contents)
                };
                for (commitment, sealed) in self.at(position, &mut unit, entry, tile)? {
                    if missing.remove(&commitment) {
                        take(commitment, sealed)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Positions of records before a version, the newest first, that may name one of the contents
    /// first, and the version down to which that was looked for; `None` at the beginning.
    fn naming(
        &self,
        ordinal: u32,
        before: u32,
        beginnings: &[[u8; 4]],
    ) -> Result<Option<(Vec<u64>, u32)>, ReadError> {
        {
            let memory = self.memory();
            let chunk = memory.index.chunks.get(&ordinal);
            if let Some(chunk) = chunk.filter(|chunk| chunk.first < before) {
                return Ok(Some(naming(chunk, before, beginnings)));
            }
        }
        let Some(version) = before.checked_sub(1) else {
            return Ok(None);
        };
        let chunk = self.chunk(ordinal, version)?;
        Ok(chunk.map(|chunk| naming(&chunk, before, beginnings)))
    }

    fn bytes_of(
        &self,
        ordinal: u32,
        commitment: &Commitment,
        sealed: Sealed,
    ) -> Result<Arc<[u8]>, ReadError> {
        match sealed {
            Sealed::Inline(bytes) => Ok(bytes),
            Sealed::Apart(length) => {
                large::read(self.large, ordinal, commitment, length).map_err(|error| {
                    let detail = format!("the content {commitment} cannot be read: {error}");
                    damaged(None, detail)
                })
            }
        }
    }
}

/// The same in one chunk, which begins before that version.
fn naming(chunk: &Chunk, before: u32, beginnings: &[[u8; 4]]) -> (Vec<u64>, u32) {
    let wanted = |named: &[u8; 4]| beginnings.binary_search(named).is_ok();
    let end = usize::try_from(before.saturating_sub(chunk.first)).unwrap_or(usize::MAX);
    let end = end.min(chunk.places.len());
    let first = end.saturating_sub(AT_ONCE);
    let places = chunk.places.get(first..end).unwrap_or_default().iter();
    let names = places.filter(|place| place.contents.iter().any(wanted));
    let positions = names.rev().map(|place| place.position).collect();
    let skipped = u32::try_from(first).unwrap_or(u32::MAX);
    (positions, chunk.first.saturating_add(skipped))
}
