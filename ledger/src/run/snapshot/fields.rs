//! What a state is written as: the fields of everything in it, by name, so that none is forgotten.

use super::packed::{Packed, packed_enum, packed_json, packed_struct};
use crate::approval::{Answer, Assurance, By, Demands};
use crate::budget::{Cap, Limits, Spend, Tokens, Usage, Usd};
use crate::containment::Level;
use crate::content::{Blob, Media};
use crate::event::{
    Demand, ModelTask, Outcome, RefusalKind, RiskSource, RunStarted, Settlement, Stop,
};
use crate::policy::{ApprovalPolicy, Attendance};
use crate::precondition::PreconditionKind;
use crate::program::ProgramClass;
use crate::risk::{DeclaredRisk, RiskTier};
use crate::run::call::{
    Answered, Assessed, Call, Close, Grant, Phase, Proposed, Question, Requested,
};
use crate::run::state::{Head, Later, Reply, RunState, Segment};
use crate::run::turn::{Aside, AsideStands, Compacted, Retry, Turn};

packed_json!(
    Answer,
    ApprovalPolicy,
    Assurance,
    Attendance,
    By,
    Cap,
    DeclaredRisk,
    Demand,
    Level,
    Limits,
    ModelTask,
    Outcome,
    PreconditionKind,
    ProgramClass,
    RefusalKind,
    RiskSource,
    RiskTier,
    RunStarted,
    Settlement,
    Stop,
    Usd,
);

packed_enum!(Media {
    0 = Plain,
    1 = Diff,
    2 = Json,
});

packed_struct!(Blob {
    commitment,
    media,
    size
});

packed_struct!(Demands {
    quorum,
    assurance,
    from,
    not_amender,
    not_starter
});

packed_struct!(Tokens {
    cache_read,
    cache_write,
    input,
    output
});

packed_struct!(Usage {
    active_ms,
    cost_usd,
    iterations,
    tokens
});

packed_struct!(Head {
    version,
    digest,
    id,
    at
});

packed_struct!(Segment {
    driver,
    epoch,
    attendance,
    since,
    until
});

packed_enum!(Turn {
    0 = Ready,
    1 = Called { attempt, epoch, reserved },
    2 = Replied { stop, id, at, reply },
    3 = Failed { detail, retry },
});

packed_struct!(Spend { cost_usd, tokens });

packed_struct!(Retry { attempt, at });

packed_struct!(Aside {
    task,
    attempt,
    stands
});

packed_enum!(AsideStands {
    0 = Called { epoch, reserved },
    1 = Failed { detail, retry },
});

packed_struct!(Compacted {
    replies,
    summary,
    version
});

packed_struct!(Reply {
    text,
    provider,
    calls,
    used,
    version
});

packed_struct!(Later { after, text });

packed_enum!(Close {
    0 = Succeeded,
    1 = Failed,
    2 = Stale,
    3 = Interrupted,
    4 = Denied,
    5 = Refused(kind),
    6 = Expired,
    7 = Answered,
    8 = Revoked,
    9 = Superseded,
    10 = Settled(verdict),
});

packed_enum!(Phase {
    0 = Named,
    1 = Proposed,
    2 = Pending,
    3 = Asked,
    4 = Granted,
    5 = Executing { epoch },
    6 = InDoubt,
    7 = Closed(close),
});

packed_struct!(Proposed {
    version,
    record,
    digest,
    tool,
    definition,
    execute,
    declared,
    level,
    network,
    program,
    kind,
    arguments,
    execute_arguments,
    precondition,
    message,
    preview,
    runs,
});

packed_struct!(Assessed {
    record,
    source,
    model,
    demand,
    tier,
    reason
});

packed_struct!(Requested {
    version,
    digest,
    at,
    expires_at,
    rule,
    tier,
    demands,
    weaker
});

packed_struct!(Grant {
    version,
    record,
    by,
    expires_at
});

packed_struct!(Question {
    digest,
    at,
    expires_at,
    text
});

packed_struct!(Answered { set, by, answer });

packed_struct!(Call {
    id,
    named,
    supersedes,
    superseded_by,
    amender,
    repeats,
    refused_by,
    tool,
    received,
    phase,
    last,
    proposed,
    assessed,
    requested,
    question,
    doubt,
    answered,
    grant,
    attempts,
    duration_ms,
    note,
    result,
    steered,
});

packed_struct!(RunState {
    ledger,
    run,
    head,
    started,
    started_at,
    starter,
    texts,
    policy,
    allowlist,
    limits,
    narrowed,
    host,
    segment,
    epoch,
    usage,
    turn,
    aside,
    compacted,
    replies,
    later,
    calls,
    answers,
    denied,
    denied_earlier,
    parked,
    cancelling,
    outcome,
    cap,
});
