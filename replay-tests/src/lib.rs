//! The proofs: conformance, replay, crash, tamper, contract.

pub mod source_tree;
