//! The folders that a run finds beside its workspace: the system's, and toolchains in a home.

use std::path::{Path, PathBuf};

use super::step;
use crate::contain::spec::{Lack, Spec};

/// Programs and libraries of the system, and its settings.
pub(crate) const SYSTEM: [&str; 12] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu",
    "/snap",
];

/// Secrets among the system's settings, which root could read by being their owner: what processes
/// of a run do not find, and no command reads unasked.
const SECRETS: [&str; 85] = [
    "/etc/NetworkManager",
    "/etc/apt/auth.conf",
    "/etc/apt/auth.conf.d",
    "/etc/bacula",
    "/etc/bind/rndc.key",
    "/etc/borgmatic",
    "/etc/boto.cfg",
    "/etc/ceph",
    "/etc/chef",
    "/etc/chrony.keys",
    "/etc/chrony/chrony.keys",
    "/etc/cloud",
    "/etc/consul.d",
    "/etc/containers/auth.json",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/cryptsetup-keys.d",
    "/etc/davfs2/secrets",
    "/etc/docker",
    "/etc/dovecot/private",
    "/etc/exim4/passwd",
    "/etc/exim4/passwd.client",
    "/etc/fetchmailrc",
    "/etc/freeradius",
    "/etc/gitlab",
    "/etc/gitlab-runner",
    "/etc/grafana",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/hostapd",
    "/etc/ipsec.d",
    "/etc/ipsec.secrets",
    "/etc/iwd",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/ldap.secret",
    "/etc/letsencrypt",
    "/etc/libnss-ldap.secret",
    "/etc/mail/authinfo",
    "/etc/msmtprc",
    "/etc/munge",
    "/etc/mysql/debian.cnf",
    "/etc/nebula",
    "/etc/netplan",
    "/etc/nomad.d",
    "/etc/nslcd.conf",
    "/etc/nut/upsd.users",
    "/etc/openvpn",
    "/etc/pam_ldap.secret",
    "/etc/passwd-s3fs",
    "/etc/pki/tls/private",
    "/etc/postfix/sasl",
    "/etc/postfix/sasl_passwd",
    "/etc/postfix/sasl_passwd.db",
    "/etc/ppp",
    "/etc/puppetlabs/puppet/ssl",
    "/etc/pve/priv",
    "/etc/rabbitmq",
    "/etc/raddb",
    "/etc/rancher",
    "/etc/rclone",
    "/etc/redis",
    "/etc/restic",
    "/etc/rndc.key",
    "/etc/rsyncd.secrets",
    "/etc/salt/pki",
    "/etc/security/opasswd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/snmp",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/ssmtp",
    "/etc/sssd",
    "/etc/stunnel",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/swanctl",
    "/etc/tinc",
    "/etc/turnserver.conf",
    "/etc/vault",
    "/etc/vault.d",
    "/etc/wireguard",
    "/etc/wpa_supplicant",
    "/etc/xl2tpd",
];

/// Whether a path of the system holds a secret, or may be a copy of one: a name stands for all that
/// begin with it, as `/etc/shadow` for `/etc/shadow.bak`.
pub(crate) fn is_secret(path: &str) -> bool {
    SECRETS.iter().any(|secret| path.starts_with(secret))
}

/// Whether a secret lies somewhere below a folder.
pub(crate) fn holds_secrets(folder: &str) -> bool {
    let mut secrets = SECRETS.iter().map(Path::new);
    secrets.any(|secret| secret.starts_with(folder))
}

/// The harmless devices, which can be written to as well.
pub(super) const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Toolchains in a home: what of them is needed, without what may hold credentials; and the
/// variable by which their programs find them while the home is another.
const TOOLCHAINS: [(&str, Option<(&str, &str)>); 27] = [
    (".asdf", Some(("ASDF_DATA_DIR", ".asdf"))),
    (".bun/bin", None),
    (".cargo/bin", Some(("CARGO_HOME", ".cargo"))),
    (".cargo/git", None),
    (".cargo/registry", None),
    (".deno/bin", None),
    (".dotnet", Some(("DOTNET_ROOT", ".dotnet"))),
    (".ghcup/bin", None),
    (".ghcup/ghc", None),
    (".juliaup/bin", None),
    (".local/bin", None),
    (".local/lib", None),
    (".local/pipx", None),
    (
        ".local/share/mise",
        Some(("MISE_DATA_DIR", ".local/share/mise")),
    ),
    (".local/share/pipx", None),
    (".local/share/pnpm", None),
    (".local/share/uv", None),
    (".nodenv", Some(("NODENV_ROOT", ".nodenv"))),
    (".nvm", Some(("NVM_DIR", ".nvm"))),
    (".opam", Some(("OPAMROOT", ".opam"))),
    (".pyenv", Some(("PYENV_ROOT", ".pyenv"))),
    (".rbenv", Some(("RBENV_ROOT", ".rbenv"))),
    (".rustup", Some(("RUSTUP_HOME", ".rustup"))),
    (".sdkman/candidates", None),
    (".volta", Some(("VOLTA_HOME", ".volta"))),
    ("go/bin", None),
    ("go/pkg/mod", Some(("GOMODCACHE", "go/pkg/mod"))),
];

/// The toolchains of a home that are there and really lie in it: what a symbolic link points to
/// is not brought in by it.
pub(super) fn toolchains(home: Option<&Path>) -> Vec<PathBuf> {
    let real = home.and_then(|home| home.canonicalize().ok());
    let Some(home) = real.filter(|home| home.parent().is_some()) else {
        return Vec::new();
    };
    let all = TOOLCHAINS.iter().map(|(folder, _)| home.join(folder));
    all.filter(|path| {
        path.canonicalize()
            .is_ok_and(|real| real == *path && real.is_dir())
    })
    .collect()
}

/// The variables by which the toolchains that are there are found.
pub(super) fn variables(home: Option<&Path>, there: &[PathBuf]) -> Vec<(&'static str, String)> {
    let Some(home) = home.and_then(|home| home.canonicalize().ok()) else {
        return Vec::new();
    };
    let there = TOOLCHAINS
        .iter()
        .filter(|(folder, _)| there.contains(&home.join(folder)));
    there
        .filter_map(|(_, variable)| variable.as_ref())
        .map(|(name, folder)| (*name, home.join(folder).display().to_string()))
        .collect()
}

/// What a process finds, resolved while the whole machine can still be seen.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The person's home; only its toolchains are there.
    pub(super) home: Option<PathBuf>,
    /// Toolchains that are there.
    pub(super) toolchains: Vec<PathBuf>,
    /// The folder that can be written.
    pub(super) workspace: Option<PathBuf>,
    /// What of it can only be read.
    pub(super) read_only: Vec<PathBuf>,
    /// What must not be seen.
    pub(super) hidden: Vec<PathBuf>,
    /// The program and, where there is a network, who resolves names.
    pub(super) files: Vec<PathBuf>,
    /// The folder for temporary files, which is the home as well.
    pub(super) private: PathBuf,
}

impl Places {
    /// The places of a job.
    pub(super) fn of(spec: &Spec) -> Result<Self, Lack> {
        let toolchains = toolchains(spec.home.as_deref());
        let mut hidden: Vec<_> = SECRETS.iter().map(PathBuf::from).collect();
        let mut places = Self {
            home: spec.home.clone(),
            toolchains,
            private: spec.temporary.clone(),
            ..Self::default()
        };
        if let Some(job) = &spec.job {
            let workspace = step(job.workspace.canonicalize(), "workspace")?;
            places.files.push(job.program.clone());
            if spec.granted_ports() {
                places.files.push(PathBuf::from("/etc/resolv.conf"));
            }
            hidden.extend(job.hidden.iter().cloned());
            places.read_only = real(&job.read_only);
            places.read_only.retain(|path| path.starts_with(&workspace));
            places.workspace = Some(workspace);
        }
        places.hidden = real(&hidden);
        places.files = real(&places.files);
        places.check()?;
        Ok(places)
    }

    /// A workspace that is the whole machine, or that is not to be seen, cannot be shut in.
    fn check(&self) -> Result<(), Lack> {
        let Some(workspace) = &self.workspace else {
            return Ok(());
        };
        let taken = ["/", "/proc", "/dev", "/sys", "/run"].map(Path::new);
        if taken.contains(&workspace.as_path()) {
            return Err(Lack::whole("the workspace is a folder of the system"));
        }
        if self.hidden.iter().any(|path| workspace.starts_with(path)) {
            return Err(Lack::whole("the workspace lies in what is hidden"));
        }
        Ok(())
    }

    /// What the process can read, for the rules of Landlock.
    pub(super) fn readable(&self) -> Vec<PathBuf> {
        let system = SYSTEM.iter().chain(&["/proc"]).map(PathBuf::from);
        let own = self.toolchains.iter().chain(&self.files).cloned();
        system.chain(own).collect()
    }

    /// What the process can write, for the rules of Landlock.
    pub(super) fn writable(&self, mounts: bool) -> Vec<PathBuf> {
        let mut writable: Vec<_> = DEVICES.iter().map(PathBuf::from).collect();
        writable.extend(self.workspace.clone());
        writable.push(self.private.clone());
        if mounts {
            // Nobody else is in these.
            writable.extend(self.private.parent().map(Path::to_path_buf));
            writable.push(PathBuf::from("/dev/shm"));
        }
        writable
    }
}

/// Real paths of what is there.
fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    let found = paths.iter().filter_map(|path| path.canonicalize().ok());
    found.collect()
}
