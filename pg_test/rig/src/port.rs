//! A TCP port that is ours until we let go of it.
//!
//! A port that was only looked up could be taken by somebody else before the server binds it, or
//! while the server is down. So we bind it ourselves, alone, and then allow it to be shared: the
//! server, which always asks to share, can listen on it, and another rig, which asks to be alone,
//! cannot have it.

use anyhow::{Context, Result, bail};
use socket2::{Domain, Socket, Type};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Below the ports that the kernel hands out to clients (from 32768 by default).
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A port on 127.0.0.1 that no other rig can have while this lives.
pub struct Port {
    pub number: u16,
    _reserved: Socket,
}

impl Port {
    pub fn reserve() -> Result<Self> {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let start = scatter();
        for _ in 0..COUNT {
            let step = NEXT.fetch_add(1, Ordering::Relaxed);
            let number = FIRST + start.wrapping_add(step) % COUNT;
            if let Ok(reserved) = bind_alone(number) {
                return Ok(Self { number, _reserved: reserved });
            }
        }
        bail!("no free TCP port from {FIRST} on, {COUNT} tried")
    }
}

fn bind_alone(number: u16) -> Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).context("no socket")?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, number));
    socket.bind(&address.into())?;
    socket.set_reuse_address(true)?;
    Ok(socket)
}

/// Somewhere to begin, so that rigs seldom try the same port. It need not be random.
fn scatter() -> u16 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mixed = since.subsec_micros() ^ std::process::id().wrapping_mul(7919);
    (mixed % u32::from(COUNT)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_server_can_listen_on_it_and_another_rig_cannot_have_it() -> Result<()> {
        let port = Port::reserve()?;
        assert!(bind_alone(port.number).is_err());
        let _server = TcpListener::bind((Ipv4Addr::LOCALHOST, port.number))?;
        assert!(bind_alone(port.number).is_err());
        Ok(())
    }
}
