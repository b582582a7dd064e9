//! What each request of another process comes to: the owner decides, as whom the kernel says it is.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

#[cfg(test)]
mod tests;

use super::frame::Attachment;
use super::peer::Peer;
use super::protocol::{Ask, Failure, Named, Reply, Speaker, attach, texts};
use crate::approval::{Answer, Assurance, Channel};
use crate::backup;
use crate::content::Texts;
use crate::envelope::Envelope;
use crate::error::LedgerError;
use crate::event::AttemptKind;
use crate::id::{CallId, RunId, local_principal};
use crate::owner::{Begun, Owner, Seat, Sending, Sent};
use crate::projection::Query;
use crate::run::{Caller, Command};
use crate::store::{ReadError, Stored, chain};

/// Bytes of contents after which an answer holds no more.
const ANSWER_BYTES: usize = 32 * 1024 * 1024;

type Answered = (Reply, Vec<Attachment>);

/// Does what is asked.
pub(super) async fn answer(
    owner: &Owner,
    (seat, peer): (Seat, Peer),
    ask: Ask,
    attached: Vec<Attachment>,
) -> Answered {
    if let (true, Grants::Yes(run)) = (peer.inside, grants(&ask)) {
        note(owner, AttemptKind::InsideRun, run).await;
        return failed(LedgerError::InsideRun);
    }
    let serve = Serve { owner, seat, peer };
    match serve.ask(ask, attached).await {
        Ok(answered) => answered,
        Err(error) => failed(error),
    }
}

fn failed(error: LedgerError) -> Answered {
    (Reply::Failed(Failure::from(error)), Vec::new())
}

async fn note(owner: &Owner, kind: AttemptKind, run: Option<RunId>) {
    if let Err(error) = owner.note_attempt(kind, run, Channel::Cli).await {
        tracing::warn!(error = chain(&error), "a refusal could not be noted");
    }
}

/// Whether something grants, or drives.
enum Grants {
    /// It reads, denies, takes back or ends: open to whoever is inside of a run.
    No,
    /// It does, in this run if it is about one.
    Yes(Option<RunId>),
}

fn grants(ask: &Ask) -> Grants {
    match ask {
        Ask::Tail {}
        | Ask::ReadRun { .. }
        | Ask::ReadAll { .. }
        | Ask::Contents { .. }
        | Ask::News { .. }
        | Ask::Driver { .. }
        | Ask::Unjudged { .. }
        | Ask::Expire { .. }
        | Ask::Left { .. }
        | Ask::NoteRefused { .. } => Grants::No,
        Ask::Query { query } => match query {
            Query::Rebuild {} => Grants::Yes(None),
            Query::Runs { .. }
            | Query::Pending { .. }
            | Query::Decisions { .. }
            | Query::Allowed { .. }
            | Query::Who { .. }
            | Query::Find { .. }
            | Query::Prefixes { .. } => Grants::No,
        },
        Ask::Answer { run, set, .. } => {
            let mut answers = set.iter();
            if answers.all(|line| line.answer == Answer::Deny) {
                Grants::No
            } else {
                Grants::Yes(Some(*run))
            }
        }
        Ask::Act { run, command, .. } => match **command {
            Command::Cancel | Command::Revoke { .. } => Grants::No,
            _ => Grants::Yes(Some(*run)),
        },
        Ask::Handle { run, .. } | Ask::Commit { run } | Ask::Begin { run, .. } => {
            Grants::Yes(Some(*run))
        }
        // It hands out no right, and all that was ever said: it is not for whoever is inside.
        Ask::NewDriver {} | Ask::Authorise { .. } | Ask::Backup {} => Grants::Yes(None),
    }
}

struct Serve<'a> {
    owner: &'a Owner,
    seat: Seat,
    peer: Peer,
}

impl Serve<'_> {
    async fn ask(&self, ask: Ask, attached: Vec<Attachment>) -> Result<Answered, LedgerError> {
        match ask {
            Ask::Handle { .. } | Ask::Act { .. } | Ask::Authorise { .. } => {
                self.said(ask, attached).await
            }
            Ask::Begin {
                run,
                call,
                active_ms,
                level,
                sending,
            } => {
                let start = (call, active_ms, level);
                self.begin(run, start, sending).await
            }
            Ask::Commit { run } => done(self.owner.commit(run).await),
            Ask::Expire { run } => is(self.owner.expire(run).await),
            Ask::Unjudged { run, call } => is(self.owner.is_unjudged(run, call).await),
            Ask::Answer { run, channel, set } => {
                let caller = self.person(channel)?;
                let sent = self.sent(&caller, None);
                done(self.owner.answer_set(run, sent, &set).await)
            }
            Ask::NoteRefused { run, channel } => {
                self.owner.note_refused(run, &self.person(channel)?).await;
                done(Ok(()))
            }
            Ask::Left { seat } => {
                self.owner.move_over(seat, self.seat).await;
                done(Ok(()))
            }
            Ask::NewDriver {} => {
                let driver = self.owner.new_driver();
                Ok((Reply::NewDriver { driver }, Vec::new()))
            }
            Ask::Query { query } => {
                let answer = serde_json::to_vec(&self.owner.query(&query).await?);
                let answer = answer.map_err(|error| LedgerError::Failed(error.to_string()))?;
                Ok((Reply::Answer {}, vec![answer]))
            }
            Ask::Driver { run } => {
                let pid = self.owner.driver(run).map(|seat| seat.pid);
                Ok((Reply::Process { pid }, Vec::new()))
            }
            Ask::News { run, known } => {
                let news = self.owner.news(run, known).await?;
                let mut parts: Vec<Attachment> = news
                    .records
                    .iter()
                    .map(|record| record.bytes().to_vec())
                    .collect();
                parts.extend(news.contents.iter().map(|(_, content)| attach(content)));
                let reply = Reply::News {
                    anew: news.anew,
                    more: news.more,
                    durable: news.durable,
                    authority: news.authority,
                    now: news.now,
                    records: news.records.len(),
                    contents: news.contents.iter().map(|(named, _)| *named).collect(),
                };
                Ok((reply, parts))
            }
            Ask::Backup {} => self.backup(&attached).await,
            Ask::Tail {} | Ask::ReadRun { .. } | Ask::ReadAll { .. } | Ask::Contents { .. } => {
                self.read(ask).await
            }
        }
    }

    async fn backup(&self, attached: &[Attachment]) -> Result<Answered, LedgerError> {
        let [path] = attached else {
            let what = "a backup has one folder";
            return Err(LedgerError::Failed(String::from(what)));
        };
        let dir = Path::new(OsStr::from_bytes(path));
        // Whoever asked has another current folder.
        if !dir.is_absolute() {
            let what = "the folder of a backup is named in full";
            return Err(LedgerError::Failed(String::from(what)));
        }
        let owner = self.owner;
        let made = backup::make(&**owner.store(), owner.ledger(), dir, &|_, _| {}).await?;
        let reply = Reply::Backup {
            size: made.size,
            root: made.root,
            bytes: made.bytes,
        };
        Ok((reply, Vec::new()))
    }

    async fn read(&self, ask: Ask) -> Result<Answered, LedgerError> {
        let store = self.owner.store();
        let stored = |page: Vec<Stored>| {
            let positions = page.iter().map(|record| record.position).collect();
            let parts = page.iter().map(|record| record.bytes.to_vec()).collect();
            (Reply::Stored { positions }, parts)
        };
        match ask {
            Ask::ReadRun {
                stream,
                from,
                limit,
            } => Ok(stored(store.read_run(stream, from, limit).await?)),
            Ask::ReadAll { from, limit } => Ok(stored(store.read_all(from, limit).await?)),
            Ask::Contents {
                stream,
                commitments,
            } => {
                let contents = store.content(stream, &commitments).await?;
                let (mut parts, mut bytes) = (Vec::new(), 0_usize);
                for commitment in &commitments {
                    let missing = ReadError::NoContent(*commitment);
                    let part = contents.get(commitment).map(attach).ok_or(missing)?;
                    bytes = bytes.saturating_add(part.len());
                    if bytes > ANSWER_BYTES && !parts.is_empty() {
                        break;
                    }
                    parts.push(part);
                }
                Ok((Reply::Contents {}, parts))
            }
            _ => {
                let tail = store.tail().await?;
                let (size, root) = (tail.size, tail.root);
                Ok((Reply::Tail { size, root }, Vec::new()))
            }
        }
    }

    /// A command with texts.
    async fn said(&self, ask: Ask, attached: Vec<Attachment>) -> Result<Answered, LedgerError> {
        match ask {
            Ask::Handle {
                run,
                by,
                seen,
                command,
                texts,
                sending,
            } => {
                let caller = match by {
                    Speaker::Driver => Caller::Driver,
                    Speaker::Person(channel) => self.person(channel)?,
                };
                let act = (*command, joined(texts, attached)?);
                self.has_no_way_of_its_own(run, &act.0, true).await?;
                if let Some(before) = self.owner.before(run.stream(), sending).await? {
                    return Ok(recorded(&before));
                }
                let sent = self.sent(&caller, Some(sending));
                let records = if let Some(seen) = seen {
                    self.owner.handle_at(run, sent, seen, act).await?
                } else {
                    self.owner.handle(run, sent, act).await?
                };
                Ok(recorded(&records))
            }
            Ask::Act {
                run,
                channel,
                command,
                texts,
                sending,
            } => {
                let caller = self.person(channel)?;
                let act = (*command, joined(texts, attached)?);
                self.has_no_way_of_its_own(run, &act.0, false).await?;
                if let Some(before) = self.owner.before(run.stream(), sending).await? {
                    return Ok(recorded(&before));
                }
                let sent = self.sent(&caller, Some(sending));
                Ok(recorded(&self.owner.act_on(run, sent, act).await?))
            }
            Ask::Authorise {
                channel,
                command,
                texts,
                sending,
            } => {
                let caller = self.person(channel)?;
                let texts = joined(texts, attached)?;
                let stream = self.owner.ledger().authority();
                if let Some(before) = self.owner.before(stream, sending).await? {
                    return Ok(recorded(before.get(..1).unwrap_or_default()));
                }
                let sent = self.sent(&caller, Some(sending));
                let record = self.owner.authorise(sent, command, texts).await?;
                Ok(recorded(&[record]))
            }
            _ => Err(LedgerError::Failed(String::from("that is no command"))),
        }
    }

    /// A start, an answer and an amendment are more than their records: each is asked for in a
    /// message of its own, and by that alone.
    async fn has_no_way_of_its_own(
        &self,
        run: RunId,
        command: &Command,
        is_staged: bool,
    ) -> Result<(), LedgerError> {
        let kind = match command {
            Command::Begin { .. } => AttemptKind::Permit,
            Command::Answer(_) => AttemptKind::Answer,
            Command::Amend(_) if is_staged => AttemptKind::Answer,
            _ => return Ok(()),
        };
        note(self.owner, kind, Some(run)).await;
        let why = "a start, an answer or an amendment came as another message than its own";
        Err(LedgerError::Failed(why.to_owned()))
    }

    async fn begin(
        &self,
        run: RunId,
        start: (CallId, u64, crate::containment::Level),
        sending: Sending,
    ) -> Result<Answered, LedgerError> {
        let call = start.0;
        let begun = if let Some(records) = self.owner.before(run.stream(), sending).await? {
            let again = (call, start.2, records);
            self.owner.permit_again(run, self.seat, again).await
        } else {
            let from = (self.seat, Some(sending.id));
            self.owner.begin(run, from, start).await
        };
        if let Err(LedgerError::Unproven(_) | LedgerError::Driven { .. }) = begun {
            note(self.owner, AttemptKind::Permit, Some(run)).await;
        }
        match begun? {
            Begun::Refused => Ok((Reply::Void {}, Vec::new())),
            Begun::Permit(permit) => {
                let granted = serde_json::to_vec(&permit.spend());
                let granted = granted.map_err(|error| LedgerError::Failed(error.to_string()))?;
                Ok((Reply::Permit {}, vec![granted]))
            }
        }
    }

    /// The person at the other end, as the kernel knows them.
    fn person(&self, channel: Channel) -> Result<Caller, LedgerError> {
        let principal = local_principal(self.peer.uid);
        let principal = principal.map_err(|error| LedgerError::Failed(error.to_string()))?;
        Ok(Caller::Person {
            principal,
            channel,
            assurance: Assurance::SameUser,
        })
    }

    fn sent<'a>(&self, caller: &'a Caller, sending: Option<Sending>) -> Sent<'a> {
        Sent {
            caller,
            seat: self.seat,
            id: sending.map(|sending| sending.id),
        }
    }
}

fn joined(named: Named, attached: Vec<Attachment>) -> Result<Texts, LedgerError> {
    let wrong = || LedgerError::Failed(String::from("the texts of a command do not fit its names"));
    texts(named, attached).ok_or_else(wrong)
}

fn recorded(records: &[Envelope]) -> Answered {
    let parts = records.iter().map(|record| record.bytes().to_vec());
    (Reply::Recorded {}, parts.collect())
}

fn done(result: Result<(), LedgerError>) -> Result<Answered, LedgerError> {
    result.map(|()| (Reply::Done {}, Vec::new()))
}

fn is(result: Result<bool, LedgerError>) -> Result<Answered, LedgerError> {
    result.map(|so| (Reply::Is { so }, Vec::new()))
}
