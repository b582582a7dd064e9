//! Brings up the loopback of a network that nobody else is in, for programs that talk to
//! themselves.

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sendto, socket_with};

/// A request of the kernel's routing protocol: `RTM_NEWLINK` for the first device, with the flag
/// `IFF_UP` set and only that flag changed.
#[expect(
    clippy::host_endian_bytes,
    reason = "the kernel talks to programs of its own machine"
)]
fn request() -> Vec<u8> {
    let (new_link, is_request, first, up) = (16_u16, 1_u16, 1_i32, 1_u32);
    let mut bytes = Vec::new();
    bytes.extend(32_u32.to_ne_bytes());
    bytes.extend(new_link.to_ne_bytes());
    bytes.extend(is_request.to_ne_bytes());
    // Sequence and sender, then family, padding and kind of the device.
    bytes.extend([0; 12]);
    bytes.extend(first.to_ne_bytes());
    bytes.extend(up.to_ne_bytes());
    bytes.extend(up.to_ne_bytes());
    bytes
}

/// Brings it up.
pub(super) fn bring_up() -> rustix::io::Result<()> {
    // No protocol is the first one, which is that of routing.
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&socket, &request(), SendFlags::empty(), &kernel)?;
    Ok(())
}
