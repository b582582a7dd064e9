//! Clauses about what is read.

use std::sync::Arc;

use super::chain::{self, commitments};
use super::{Fixture, World, append, append_one, check_log, ok, read_log, read_stream};
use crate::content::{Commitment, Content, Salt};
use crate::id::{Position, StreamId, Version};
use crate::limits::PAGE_RECORDS_MAX;
use crate::store::{AppendError, Batch, EventStore, ReadError};

/// Pages have at most 256 records and what was asked for; one that is not full is the last.
pub async fn pages_end_where_the_log_ends(fixture: &dyn Fixture) {
    let world = World::new(fixture).await;
    let store = &*world.store;
    let mut run = world.run(1);
    let mut other = world.run(2);
    for count in [100, 1, 199] {
        ok(append(store, &mut run, &[], |chain| chain.records(count)).await);
        append_one(store, &mut other).await;
    }
    let all = check_log(store).await;
    assert_eq!(all.len(), 305);
    let stream = read_stream(store, run.stream(), 256).await;
    assert_eq!(stream.len(), 300);
    for page in [1, 7, 100, 255, 256] {
        assert_eq!(read_log(store, page).await, all, "pages of {page}");
        assert_eq!(read_stream(store, run.stream(), page).await, stream);
    }
    for limit in [257, usize::MAX] {
        let page = ok(store.read_all(Position::ZERO, limit).await);
        assert_eq!(page, all[..PAGE_RECORDS_MAX]);
        let page = ok(store.read_run(run.stream(), Version::ZERO, limit).await);
        assert_eq!(page, stream[..PAGE_RECORDS_MAX]);
    }
    assert_eq!(ok(store.read_all(Position::new(300), 10).await), all[300..]);
    assert_eq!(ok(store.read_all(Position::ZERO, 0).await), []);
    for beyond in [305, 306, u64::MAX] {
        assert_eq!(ok(store.read_all(Position::new(beyond), 9).await), []);
    }
    let from = Version::new(298);
    assert_eq!(
        ok(store.read_run(run.stream(), from, 9).await),
        stream[298..]
    );
    for beyond in [300, 301, u32::MAX] {
        let from = Version::new(beyond);
        assert_eq!(ok(store.read_run(run.stream(), from, 9).await), []);
    }
    let nobody = StreamId::new(uuid::Uuid::from_u64_pair(9, 9));
    assert_eq!(ok(store.read_run(nobody, Version::ZERO, 9).await), []);
}

/// A content is read from the stream that holds it, once it is there, and from no other.
pub async fn contents_belong_to_one_stream(fixture: &dyn Fixture) {
    let world = World::new(fixture).await;
    let store = &*world.store;
    let mut one = world.run(1);
    let mut other = world.run(2);
    let mut batch = one.clone().records(3);
    let named = commitments(&batch);
    let (first, stream) = (one.expected(), one.stream());
    let missing = store.content(stream, &named).await;
    assert!(
        matches!(missing, Err(ReadError::NoContent(_))),
        "{missing:?}"
    );
    ok(store.append(stream, first, batch.clone(), &[]).await);
    one.records(3);
    append_one(store, &mut other).await;

    let read = ok(store.content(stream, &named).await);
    assert_eq!(read.len(), 3);
    for (commitment, content) in &batch.contents {
        assert_eq!(read.get(commitment), Some(content));
    }
    assert!(ok(store.content(stream, &[]).await).is_empty());
    let elsewhere = store.content(other.stream(), &named[..1]).await;
    assert_eq!(elsewhere, Err(ReadError::NoContent(named[0])));
    let nothing = Content::new(Salt([3; 32]), *b"nobody wrote this").commitment();
    let missing = store.content(stream, &[named[0], nothing]).await;
    assert_eq!(missing, Err(ReadError::NoContent(nothing)));

    // Named again it need not come again, and may; in another stream it must.
    let (_, content) = ok(batch.contents.pop_first().ok_or("a content"));
    let again = |chain: &mut chain::Chain, bring: bool| {
        let blobs = [("text".to_owned(), chain::blob(&content))].into();
        let records = vec![chain.naming(chain::parked(), blobs)];
        let contents: Vec<(Commitment, Content)> = bring
            .then(|| (content.commitment(), content.clone()))
            .into_iter()
            .collect();
        Batch {
            records,
            contents: contents.into_iter().collect(),
        }
    };
    ok(append(store, &mut one, &[], |chain| again(chain, false)).await);
    ok(append(store, &mut one, &[], |chain| again(chain, true)).await);
    let refused = append(store, &mut other, &[], |chain| again(chain, false)).await;
    assert!(matches!(refused, Err(AppendError::Invalid(_))));
    ok(append(store, &mut other, &[], |chain| again(chain, true)).await);
    check_log(store).await;
}

/// Closing and opening changes nothing, and the log goes on where it was.
pub async fn reopening_keeps_everything(fixture: &dyn Fixture) {
    let world = World::new(fixture).await;
    let mut runs: Vec<_> = (1..=5).map(|number| world.run(number)).collect();
    for round in 0..4 {
        for run in &mut runs {
            ok(append(&*world.store, run, &[], |chain| chain.records(round + 1)).await);
        }
    }
    let before = check_log(&*world.store).await;
    let tail = ok(world.store.tail().await);
    let mut store = world.store;
    for _ in 0..2 {
        store = fixture.reopen(store);
        assert_eq!(ok(store.tail().await), tail);
        assert_eq!(check_log(&*store).await, before);
    }
    let appended = append_one(&*store, &mut runs[2]).await;
    assert_eq!(appended.first, Position::new(before.len() as u64));
    let after: Arc<dyn EventStore> = fixture.reopen(store);
    assert_eq!(check_log(&*after).await.len(), before.len() + 1);
}
