//! One slot of the key file: two cells, of which at most one seals.

use zeroize::Zeroizing;

use super::KeyFileError;
use crate::digest::{Digest, checksum};
use crate::id::LedgerId;
use crate::store::seal::RunKey;

/// Bytes of a slot; a sector has as many, so that a torn write cannot mix two slots.
pub(super) const SLOT_BYTES: usize = 512;

/// Bytes of a cell, the last 16 of which are a checksum over the rest and over where it stands.
const CELL_BYTES: usize = 256;

/// Bytes of a cell before its checksum.
const BODY_BYTES: usize = 240;

/// The field of a key; a wrapped key needs more than the 32 bytes of a plain one.
const KEY_FIELD_BYTES: usize = 72;

/// Where that field ends; state and generation stand before it.
const KEY_FIELD_END: usize = 3 + KEY_FIELD_BYTES;

/// What a key that is there may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Drawn ahead; the first key of a stream that may not exist yet. Seals.
    Fresh,
    /// The key after a redaction. Seals.
    Live,
    /// The key before a redaction that is under way. Opens and never seals.
    Retiring,
}

/// One half of a slot.
#[derive(Debug)]
pub(super) enum Cell {
    /// All zeros.
    NeverDrawn,
    /// A key.
    Held {
        state: State,
        generation: u16,
        key: RunKey,
    },
    /// What stays of a key that a redaction took away.
    Erased {
        generation: u16,
        id: Digest,
        redaction: Digest,
    },
}

impl Cell {
    /// The bytes of this cell at its place.
    pub(super) fn encode(&self, place: &CellPlace) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(CELL_BYTES));
        let nothing = [0; 32];
        let (state, generation, key, id, redaction) = match self {
            Self::NeverDrawn => {
                bytes.resize(CELL_BYTES, 0);
                return bytes;
            }
            Self::Held {
                state,
                generation,
                key,
            } => {
                let state = match state {
                    State::Fresh => 1,
                    State::Live => 2,
                    State::Retiring => 3,
                };
                let id = key.id();
                (state, generation, &key.0, id, Digest::from_bytes(nothing))
            }
            Self::Erased {
                generation,
                id,
                redaction,
            } => (4, generation, &nothing, *id, *redaction),
        };
        bytes.push(state);
        bytes.extend_from_slice(&generation.to_be_bytes());
        bytes.extend_from_slice(key);
        bytes.resize(KEY_FIELD_END, 0);
        bytes.extend_from_slice(id.as_bytes());
        bytes.extend_from_slice(redaction.as_bytes());
        bytes.resize(BODY_BYTES, 0);
        let sum = place.checksum(&bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }

    /// Reads what `encode` wrote at this place; `None` is damage.
    fn decode(bytes: &[u8; CELL_BYTES], place: &CellPlace) -> Option<Self> {
        if bytes.iter().all(|&byte| byte == 0) {
            return Some(Self::NeverDrawn);
        }
        let (body, sum) = bytes.split_last_chunk::<16>()?;
        if place.checksum(body) != *sum {
            return None;
        }
        let (state, rest) = body.split_first()?;
        let (generation, rest) = rest.split_first_chunk::<2>()?;
        let (key, rest) = rest.split_first_chunk::<KEY_FIELD_BYTES>()?;
        let (id, rest) = rest.split_first_chunk::<32>()?;
        let (redaction, _) = rest.split_first_chunk::<32>()?;
        let generation = u16::from_be_bytes(*generation);
        let state = match state {
            1 => State::Fresh,
            2 => State::Live,
            3 => State::Retiring,
            4 => {
                return Some(Self::Erased {
                    generation,
                    id: Digest::from_bytes(*id),
                    redaction: Digest::from_bytes(*redaction),
                });
            }
            _ => return None,
        };
        let key = RunKey::from_bytes(*key.first_chunk::<32>()?);
        (key.id().as_bytes() == id).then_some(Self::Held {
            state,
            generation,
            key,
        })
    }

    const fn generation(&self) -> Option<u16> {
        match self {
            Self::NeverDrawn => None,
            Self::Held { generation, .. } | Self::Erased { generation, .. } => Some(*generation),
        }
    }

    const fn seals(&self) -> bool {
        match self {
            Self::Held { state, .. } => matches!(state, State::Fresh | State::Live),
            Self::NeverDrawn | Self::Erased { .. } => false,
        }
    }
}

/// Where a cell stands. The checksum covers it, so that no cell passes in another's place.
pub(super) struct CellPlace {
    pub(super) ledger: LedgerId,
    pub(super) ordinal: u32,
    pub(super) index: u8,
}

impl CellPlace {
    fn checksum(&self, body: &[u8]) -> [u8; 16] {
        let mut bytes = Zeroizing::new(Vec::with_capacity(CELL_BYTES));
        bytes.extend_from_slice(self.ledger.as_bytes());
        bytes.extend_from_slice(&self.ordinal.to_be_bytes());
        bytes.push(self.index);
        bytes.extend_from_slice(body);
        checksum(&bytes)
    }
}

/// The two cells of an ordinal.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) ordinal: u32,
    pub(super) cells: [Cell; 2],
}

impl Slot {
    /// A slot with a new key.
    pub(super) fn draw(ordinal: u32) -> Result<Self, KeyFileError> {
        let mut key = RunKey::from_bytes([0; 32]);
        getrandom::fill(&mut key.0).map_err(KeyFileError::Random)?;
        let held = Cell::Held {
            state: State::Fresh,
            generation: 1,
            key,
        };
        Ok(Self {
            ordinal,
            cells: [held, Cell::NeverDrawn],
        })
    }

    /// The bytes of this slot.
    pub(super) fn encode(&self, ledger: LedgerId) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(SLOT_BYTES));
        for (cell, index) in self.cells.iter().zip(0..) {
            let ordinal = self.ordinal;
            bytes.extend_from_slice(&cell.encode(&CellPlace {
                ledger,
                ordinal,
                index,
            }));
        }
        bytes
    }

    /// Reads what `encode` wrote for this ordinal; everything else is damage.
    pub(super) fn decode(
        bytes: &[u8],
        ledger: LedgerId,
        ordinal: u32,
    ) -> Result<Self, KeyFileError> {
        let damaged = || KeyFileError::Damaged(ordinal);
        let ([first, second], []) = bytes.as_chunks::<CELL_BYTES>() else {
            return Err(damaged());
        };
        let decode = |bytes, index| {
            let place = CellPlace {
                ledger,
                ordinal,
                index,
            };
            Cell::decode(bytes, &place).ok_or_else(damaged)
        };
        let cells = [decode(first, 0)?, decode(second, 1)?];
        let [first, second] = &cells;
        let same = first.generation().is_some() && first.generation() == second.generation();
        if same || (first.seals() && second.seals()) {
            return Err(damaged());
        }
        Ok(Self { ordinal, cells })
    }

    /// Whether no key was ever drawn for this ordinal.
    pub(super) const fn is_never_drawn(&self) -> bool {
        matches!(self.cells, [Cell::NeverDrawn, Cell::NeverDrawn])
    }

    /// Whether a key was drawn ahead and nothing was done with the slot since.
    pub(super) const fn is_fresh(&self) -> bool {
        matches!(
            self.cells,
            [
                Cell::Held {
                    state: State::Fresh,
                    ..
                },
                Cell::NeverDrawn
            ]
        )
    }

    /// The key that seals.
    pub(super) fn sealing(self) -> Result<(u16, RunKey), KeyFileError> {
        let ordinal = self.ordinal;
        let mut refusal = KeyFileError::NeverDrawn(ordinal);
        for cell in self.cells {
            let seals = cell.seals();
            match cell {
                Cell::Held {
                    generation, key, ..
                } if seals => return Ok((generation, key)),
                Cell::Held { .. } => refusal = KeyFileError::Damaged(ordinal),
                Cell::Erased { redaction, .. } => {
                    refusal = KeyFileError::Erased { ordinal, redaction };
                }
                Cell::NeverDrawn => {}
            }
        }
        Err(refusal)
    }

    /// The key of one generation, which opens what was sealed under it.
    pub(super) fn opening(self, wanted: u16) -> Result<RunKey, KeyFileError> {
        let ordinal = self.ordinal;
        if self.is_never_drawn() {
            return Err(KeyFileError::NeverDrawn(ordinal));
        }
        for cell in self.cells {
            match cell {
                Cell::Held {
                    generation, key, ..
                } if generation == wanted => return Ok(key),
                Cell::Erased {
                    generation,
                    redaction,
                    ..
                } if generation == wanted => {
                    return Err(KeyFileError::Erased { ordinal, redaction });
                }
                Cell::Held { .. } | Cell::Erased { .. } | Cell::NeverDrawn => {}
            }
        }
        Err(KeyFileError::Generation {
            ordinal,
            generation: wanted,
        })
    }
}
