//! Canned runs that run commands: judged, granted to every run, and taken back again.

use std::collections::BTreeSet;

use placet_engine::policy::CommandEntry;
use placet_ledger::authority::AuthorityCommand;
use placet_ledger::content::{Text, Texts};
use placet_ledger::event::GrantKind;
use placet_ledger::id::{GrantId, Version};
use placet_ledger::policy::ApprovalPolicy;
use serde_json::json;

use super::{History, Made};
use crate::judges::{Does, ModelJudge};
use crate::script::{Script, call};
use crate::world::{Options, World, WorldError, person};

/// A rule judges one command, a grant covers the next, a model judges the last; then the grant is
/// taken back.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, risk.assessed,
/// approval.granted, call.proposed, approval.granted, call.proposed, model.called, risk.assessed,
/// approval.granted, execution.started, execution.succeeded, execution.started,
/// execution.succeeded, execution.started, execution.succeeded, model.called, model.replied,
/// segment.ended, run.finished
pub async fn commands() -> Made {
    let mut world = World::new().await?;
    world.tools.offer_commands();
    let model = ModelJudge::new(Does::says("low-risk"));
    world.tools.judge_by(model.judges()?);
    let entry = CommandEntry {
        digest: None,
        key: String::from("cargo test"),
        network: BTreeSet::from([443]),
        path: String::from("/usr/bin/cargo"),
    };
    let entry = serde_json::to_vec(&entry).unwrap_or_default();
    let granted = AuthorityCommand::Grant {
        kind: GrantKind::Command,
        expires_at: None,
    };
    authorise(&world, granted, ("entry", Text::json(entry))).await?;
    let wanted = |command: &str| call("execute_command", &json!({ "command": command }));
    let script = Script::new()
        .calls([
            wanted("ls src"),
            wanted("cargo test --all"),
            wanted("cargo doc"),
        ])
        .says("Done.");
    let options = Options {
        policy: ApprovalPolicy::LowRisk,
        ..Options::default()
    };
    let (run, _) = world.run(script, options).await?;
    let revoked = AuthorityCommand::Revoke(GrantId::added_at(Version::new(2)));
    authorise(&world, revoked, ("reason", Text::plain("done with it"))).await?;
    Ok(History {
        name: "commands",
        world,
        run,
    })
}

async fn authorise(
    world: &World,
    command: AuthorityCommand,
    (name, text): (&str, Text),
) -> Result<(), WorldError> {
    let texts = Texts::from([(name.to_owned(), text)]);
    world.ledger().authorise(&person()?, command, texts).await?;
    Ok(())
}
