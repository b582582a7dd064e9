//! Judges of a test: a model and a plugin that say what they are told to, and keep what they were
//! asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use placet_engine::classify::{Answer, Classifier, Judges, Plugin};
use placet_engine::heard::Heard;
use placet_engine::model::{Classify, Model, ModelError, Reply, Request, Told};
use placet_engine::record::{ConfigRecord, PluginRecord};
use placet_ledger::budget::Tokens;
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::event::{ModelFailure, Stop};
use placet_ledger::id::{IdError, RunId};
use serde_json::Value;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a judge does when it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Does {
    /// It says this; a plugin with exit status 0.
    Says(String),
    /// A plugin ends so, without a word on its standard output.
    Exits(i32),
    /// It fails with these words.
    Fails(String),
    /// It says nothing for as long as anybody waits.
    Hangs,
}

impl Does {
    /// A word.
    pub fn says(word: &str) -> Self {
        Self::Says(word.to_owned())
    }
}

/// The digest that the plugin of a test is pinned by.
pub fn pinned() -> Digest {
    digest(Purpose::File, b"plugin")
}

/// The config of a run that the plugin judges.
pub fn with_plugin() -> ConfigRecord {
    ConfigRecord {
        plugin: Some(PluginRecord {
            digest: pinned(),
            path: String::from("/opt/judge"),
        }),
        ..ConfigRecord::default()
    }
}

/// A model that judges commands, and does nothing else.
#[derive(Debug)]
pub struct ModelJudge {
    does: Does,
    asked: Mutex<Vec<Classify>>,
}

impl ModelJudge {
    /// A model that does this whenever it is asked.
    pub fn new(does: Does) -> Arc<Self> {
        let asked = Mutex::default();
        Arc::new(Self { does, asked })
    }

    /// Everything that it was asked, oldest first.
    pub fn asked(&self) -> Vec<Classify> {
        lock(&self.asked).clone()
    }

    /// The judges of a run with this model and no plugin.
    pub fn judges(self: &Arc<Self>) -> Result<Judges, IdError> {
        let classifier = Classifier {
            model: self.clone(),
            name: "judge".parse()?,
            terms: None,
            endpoint: String::from("test:judge"),
        };
        Ok(Judges {
            plugin: None,
            classifier: Some(classifier),
        })
    }
}

fn failed(detail: &str) -> ModelError {
    ModelError {
        kind: ModelFailure::Provider,
        detail: detail.to_owned(),
        used: None,
        again: None,
    }
}

#[async_trait]
impl Model for ModelJudge {
    async fn complete(&self, _: &Request, _: &Heard) -> Result<Reply, ModelError> {
        Err(failed("it only judges"))
    }

    async fn classify(&self, question: &Classify) -> Result<Reply, ModelError> {
        lock(&self.asked).push(question.clone());
        match &self.does {
            Does::Says(text) => Ok(Reply {
                text: text.clone(),
                calls: Vec::new(),
                stop: Stop::End,
                used: Tokens::default(),
                told: Told::default(),
            }),
            Does::Exits(status) => Err(failed(&format!("status {status}"))),
            Does::Fails(detail) => Err(failed(detail)),
            Does::Hangs => std::future::pending().await,
        }
    }
}

/// A plugin.
#[derive(Debug)]
pub struct PluginJudge {
    digest: Digest,
    does: Does,
    asked: Mutex<Vec<Value>>,
}

impl PluginJudge {
    /// A plugin that does this whenever it is asked.
    pub fn new(does: Does) -> Arc<Self> {
        Self::with_digest(does, pinned())
    }

    /// A plugin of another digest.
    pub fn with_digest(does: Does, digest: Digest) -> Arc<Self> {
        let asked = Mutex::default();
        Arc::new(Self {
            digest,
            does,
            asked,
        })
    }

    /// Everything that it was given, oldest first.
    pub fn asked(&self) -> Vec<Value> {
        lock(&self.asked).clone()
    }
}

#[async_trait]
impl Plugin for PluginJudge {
    fn digest(&self) -> Digest {
        self.digest
    }

    async fn ask(&self, _run: RunId, input: Vec<u8>) -> Result<Answer, String> {
        let given = serde_json::from_slice(&input).unwrap_or_default();
        lock(&self.asked).push(given);
        let (exit, stdout) = match &self.does {
            Does::Says(text) => (0, text.clone()),
            Does::Exits(status) => (*status, String::new()),
            Does::Fails(detail) => return Err(detail.clone()),
            Does::Hangs => std::future::pending().await,
        };
        Ok(Answer {
            exit,
            stdout: stdout.into_bytes(),
            stderr: Vec::new(),
        })
    }
}
