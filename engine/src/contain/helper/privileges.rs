//! What a process gives up for good: privileges, capabilities, and being looked into.

use std::fs;

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, geteuid, set_dumpable_behavior, setrlimit,
};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
    clear_ambient_capability_set, configure_capability_in_ambient_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits,
};

use super::step;
use crate::contain::spec::Lack;

/// No set-uid bit gives anything any more.
pub(super) fn no_new() -> Result<(), Lack> {
    step(rustix::thread::set_no_new_privs(true), "no_new_privs")
}

/// No core is left, and no program of the machine is started to take one: for that it needs a
/// limit of exactly one byte, which no core fits in. Nothing at all counts for files alone.
pub(super) fn no_core() -> Result<(), Lack> {
    let limit = |bytes| Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    // Whoever was given nothing cannot raise it.
    let set = setrlimit(Resource::Core, limit(1)).or_else(|_| setrlimit(Resource::Core, limit(0)));
    step(set, "core limit")
}

/// Nobody looks into the process.
pub(super) fn closed_to_others() -> Result<(), Lack> {
    step(
        set_dumpable_behavior(DumpableBehavior::NotDumpable),
        "dumpable",
    )
}

/// Keeps the capabilities in the new user namespace over the next exec, by an ordinary user too.
pub(super) fn keep_over_exec() -> Result<(), Lack> {
    let held = step(capabilities(None), "capabilities")?;
    let sets = CapabilitySets {
        inheritable: held.permitted,
        ..held
    };
    step(set_capabilities(None, sets), "inheritable capabilities")?;
    for capability in held.permitted.iter() {
        let raised = configure_capability_in_ambient_set(capability, true);
        step(raised, "ambient capabilities")?;
    }
    Ok(())
}

/// Drops every capability, and the ways to get one back. Root has none afterwards either.
pub(super) fn drop_capabilities() -> Result<(), Lack> {
    let held = step(capabilities(None), "capabilities")?;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for number in 0..64 {
            // A number that this kernel does not know is refused.
            let capability = CapabilitySet::from_bits_retain(1 << number);
            let _unknown = remove_capability_from_bounding_set(capability);
        }
        let locked = CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_SETUID_FIXUP
            | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED;
        step(set_capabilities_secure_bits(locked), "secure bits")?;
    }
    step(clear_ambient_capability_set(), "ambient capabilities")?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    step(set_capabilities(None, none), "capabilities")
}

/// Looks at what the kernel says of this process: nothing is believed because a call succeeded.
pub(super) fn verify(filtered: bool) -> Result<(), Lack> {
    let status = step(fs::read_to_string("/proc/self/status"), "status")?;
    let of = |name: &str| {
        let mut lines = status.lines().filter_map(|line| line.split_once(':'));
        lines
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.trim().to_owned())
    };
    let mut expected = vec![("NoNewPrivs", "1")];
    let none = "0000000000000000";
    expected.extend(["CapInh", "CapPrm", "CapEff", "CapAmb"].map(|name| (name, none)));
    if geteuid().is_root() {
        expected.push(("CapBnd", none));
    }
    if filtered {
        expected.push(("Seccomp", "2"));
    }
    for (name, value) in expected {
        if of(name).as_deref() != Some(value) {
            return Err(Lack::whole(format!("{name} is {:?}", of(name))));
        }
    }
    Ok(())
}
