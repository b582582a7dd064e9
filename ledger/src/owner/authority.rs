//! Who and what is trusted: the authority stream in memory, and what is appended to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::sent::Sent;
use super::{Owner, lock};
use crate::approval::Actor;
use crate::authority::{
    AuthorityCommand, AuthorityState, Standing, decide_authority, evolve_authority, fold_authority,
};
use crate::content::{Blob, Blobs, Commitment, Content, Contents, Text, Texts, size_class};
use crate::envelope::{Envelope, Header, Recorded};
use crate::error::LedgerError;
use crate::id::{LedgerId, StreamId, Version};
use crate::run::{Caller, Rejection};
use crate::store::pages::read_stream;
use crate::store::{AppendError, Batch, Expected, ReadStore};

/// Contents that are asked for together: a store opens them one by one.
const CONTENTS_AT_ONCE: usize = 64;

/// How often something is appended again after another process was first.
const TRIES_MAX: usize = 8;

/// The authority stream: folded, with its contents.
pub(super) struct Authority {
    pub(super) state: AuthorityState,
    pub(super) contents: Contents,
}

impl Authority {
    pub(super) fn standing(&self) -> Standing<'_> {
        Standing {
            state: &self.state,
            contents: &self.contents,
        }
    }

    /// Reads it from a store.
    pub(super) async fn load(store: &dyn ReadStore, ledger: LedgerId) -> Result<Self, LedgerError> {
        let records = read_stream(store, ledger.authority(), Version::ZERO).await?;
        let state = fold_authority(records.iter().map(|record| &record.envelope))?;
        let mut contents = Contents::default();
        read_contents(store, &records, &mut contents).await?;
        Ok(Self { state, contents })
    }
}

async fn read_contents(
    store: &dyn ReadStore,
    records: &[Recorded],
    contents: &mut Contents,
) -> Result<(), LedgerError> {
    let blobs = records
        .iter()
        .flat_map(|record| record.envelope.blobs().values());
    let wanted: Vec<_> = blobs.map(|blob| blob.commitment).collect();
    let Some(first) = records.first() else {
        return Ok(());
    };
    for some in wanted.chunks(CONTENTS_AT_ONCE) {
        contents.extend(store.content(first.envelope.stream(), some).await?);
    }
    Ok(())
}

impl Owner {
    /// Who and what is trusted now.
    pub(super) fn standing(&self) -> Arc<Authority> {
        lock(&self.authority).clone()
    }

    /// Reads what came to the authority stream since it was folded.
    pub(crate) async fn refresh_authority(&self) -> Result<(), LedgerError> {
        let known = self.standing();
        let Some(from) = known.state.version().next() else {
            return Ok(());
        };
        let stream = known.state.ledger().authority();
        let news = read_stream(&*self.parts.store, stream, from).await?;
        let (mut state, mut contents) = (known.state.clone(), known.contents.clone());
        for record in &news {
            state = evolve_authority(Some(state), &record.envelope)?;
        }
        read_contents(&*self.parts.store, &news, &mut contents).await?;
        *lock(&self.authority) = Arc::new(Authority { state, contents });
        Ok(())
    }

    /// Records what a person says about authority, in an append of its own.
    pub(crate) async fn authorise(
        &self,
        sent: Sent<'_>,
        command: AuthorityCommand,
        texts: Texts,
    ) -> Result<Envelope, LedgerError> {
        for _ in 0..TRIES_MAX {
            match self.try_authorise(sent, command, texts.clone()).await {
                Err(LedgerError::Conflict) => self.refresh_authority().await?,
                other => return other,
            }
        }
        Err(LedgerError::Conflict)
    }

    async fn try_authorise(
        &self,
        sent: Sent<'_>,
        command: AuthorityCommand,
        texts: Texts,
    ) -> Result<Envelope, LedgerError> {
        let caller = sent.caller;
        let known = self.standing();
        let state = &known.state;
        let stream = state.ledger().authority();
        let version = state
            .version()
            .next()
            .ok_or(Rejection::Exhausted("records"))?;
        let (cause, newest) = state.last();
        let at = self
            .parts
            .stamps
            .at(stream, version, self.now().max(newest));
        let event = decide_authority(known.standing(), caller, at, (command, &texts))?;
        let Caller::Person { principal, .. } = caller else {
            return Err(Rejection::NotAPerson.into());
        };
        let (blobs, contents) = self.committed(stream, version, texts);
        let header = Header {
            actor: Actor::Person {
                name: principal.clone(),
            },
            at,
            cause: Some(cause),
            id: self.parts.stamps.id(stream, version, at, sent.id),
            ledger: state.ledger(),
            prev: state.digest(),
            stream,
            version,
        };
        let envelope = Envelope::write(header, event, blobs)?;
        // What cannot follow is not recorded.
        evolve_authority(Some(state.clone()), &envelope)?;
        let expected = Expected::Head {
            version: state.version(),
            digest: state.digest(),
        };
        let batch = Batch {
            records: vec![envelope.clone()],
            contents,
        };
        match self.parts.store.append(stream, expected, batch, &[]).await {
            Ok(_) => {}
            Err(error @ AppendError::Unknown(_)) => {
                self.refresh_authority().await?;
                if self.standing().state.digest() != envelope.digest() {
                    return Err(error.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
        self.saw(at);
        self.refresh_authority().await?;
        Ok(envelope)
    }

    /// Texts with their commitments, as a record names them and as a store keeps them.
    fn committed(
        &self,
        stream: StreamId,
        version: Version,
        texts: Texts,
    ) -> (Blobs, BTreeMap<Commitment, Content>) {
        let mut blobs = Blobs::new();
        let mut contents = BTreeMap::new();
        for (name, Text { media, bytes }) in texts {
            let salt = self.parts.stamps.salt(stream, version, &name, &bytes);
            let size = size_class(bytes.len() as u64);
            let content = Content::new(salt, bytes);
            let commitment = content.commitment();
            let blob = Blob {
                commitment,
                media,
                size,
            };
            blobs.insert(name, blob);
            contents.insert(commitment, content);
        }
        (blobs, contents)
    }
}
