//! What must not be seen though it lies in what can be read: secrets among the system's settings
//! and beside toolchains.

use std::collections::VecDeque;
use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// The system's settings.
const SETTINGS: &str = "/etc";

/// Secrets among them, whoever may read them: what processes of a run do not find, and no command
/// reads unasked.
const KNOWN: [&str; 85] = [
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

/// Credentials that lie in a home's folders of toolchains.
const BESIDE_TOOLCHAINS: [&str; 3] = [
    ".dotnet/corefx/cryptography",
    ".local/share/uv/credentials",
    ".opam/plugins/opam-publish",
];

/// Entries of the settings that are looked at. Folders beyond are covered as they are.
const ENTRIES_MAX: usize = 20_000;

/// All of it that is there, or may be, but for what holds the workspace or lies in it.
pub(super) fn all(home: Option<&Path>, workspace: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = KNOWN.iter().map(PathBuf::from).collect();
    if geteuid().is_root() {
        found.extend(closed_to_others(Path::new(SETTINGS), workspace));
    }
    if let Some(home) = home {
        found.extend(BESIDE_TOOLCHAINS.iter().map(|below| home.join(below)));
    }
    found
}

/// Whether a path of the system holds a secret, or may be a copy of one: a name stands for all that
/// begin with it, as `/etc/shadow` for `/etc/shadow.bak`.
pub(crate) fn is_secret(path: &str) -> bool {
    KNOWN.iter().any(|secret| path.starts_with(secret))
}

/// Whether a secret lies somewhere below a folder.
pub(crate) fn holds_secrets(folder: &str) -> bool {
    let mut secrets = KNOWN.iter().map(Path::new);
    secrets.any(|secret| secret.starts_with(folder))
}

/// Whether a path without symbolic links lies in settings that this user, being root, reads only as
/// their owner.
pub(crate) fn is_owners_alone(real: &Path) -> bool {
    let within = |path: &&Path| path.starts_with(SETTINGS);
    let closed = |path: &Path| {
        let found = path.symlink_metadata();
        found.is_ok_and(|found| is_closed(&found))
    };
    geteuid().is_root() && real.ancestors().take_while(within).any(closed)
}

/// Whether others can read nothing there: root, who owns it, could.
fn is_closed(found: &Metadata) -> bool {
    let (read, enter) = (0o4, 0o1);
    // What lies in a folder that others can enter is theirs to read by name.
    let wanted = if found.is_dir() { enter } else { read };
    !found.is_symlink() && found.permissions().mode() & wanted == 0
}

/// What of some settings nobody but their owner and group can read, the outermost of each.
fn closed_to_others(settings: &Path, workspace: &Path) -> Vec<PathBuf> {
    let mut closed = Vec::new();
    let mut open = VecDeque::from([settings.to_owned()]);
    let mut left = ENTRIES_MAX;
    while let Some(folder) = open.pop_front() {
        let entries = fs::read_dir(&folder);
        for entry in entries.into_iter().flatten().flatten() {
            let (path, found) = (entry.path(), entry.metadata());
            left = left.saturating_sub(1);
            let Ok(found) = found else { continue };
            let unseen = found.is_dir() && left == 0;
            if path.starts_with(workspace) {
                continue;
            }
            if !workspace.starts_with(&path) && (unseen || is_closed(&found)) {
                closed.push(path);
            } else if found.is_dir() {
                open.push_back(path);
            }
        }
    }
    closed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_cannot_read_is_found_outermost() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (path, mode) in [
            ("app", 0o755),
            ("app/private", 0o750),
            ("app/private/inner", 0o700),
            ("named", 0o711),
            ("work", 0o700),
            ("work/here", 0o700),
        ] {
            fs::create_dir(root.join(path)).unwrap();
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        for (path, mode) in [
            ("open", 0o644),
            ("key", 0o600),
            ("group", 0o640),
            ("app/key", 0o600),
            ("app/open", 0o444),
            ("app/private/open", 0o644),
            ("named/key", 0o600),
            ("work/key", 0o600),
            ("work/here/key", 0o600),
        ] {
            fs::write(root.join(path), "x").unwrap();
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        std::os::unix::fs::symlink("open", root.join("link")).unwrap();
        let found = closed_to_others(root, &root.join("work/here"));
        let mut found: Vec<_> = found
            .iter()
            .map(|at| at.strip_prefix(root).unwrap())
            .collect();
        found.sort();
        let expected = [
            "app/key",
            "app/private",
            "group",
            "key",
            "named/key",
            "work/key",
        ];
        assert_eq!(found, expected.map(Path::new));
    }
}
