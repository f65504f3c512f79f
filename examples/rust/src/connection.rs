//! One `lm://` connection: sockets, bounded waits, and the rule that a connection is either in step or closed.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use crate::failure::{protocol, refused, Failure, Result};
use crate::frames::*;
use crate::tables::*;

/// A list of keys longer than this would not fit into one line of the client protocol anyway.
const LONGEST_LIST: i32 = 8 << 20;
/// Bytes that are handed to the operating system at a time: `timeout` bounds each such step.
const PIECE: usize = 64 << 10;

/// What the reply to a GET has to say.
pub struct Expectation {
    pub format: i32,
    pub dtype: i32,
    pub shape: WireShape,
    /// What these amount to, in bytes.
    pub length: i64,
}

pub struct Connection {
    host: String,
    port: u16,
    release: Release,
    timeout: Duration,
    /// None: it broke, and the next request opens another one.
    socket: Option<TcpStream>,
}

impl Connection {
    /// Connects at once.
    pub fn open(host: String, port: u16, release: Release, timeout: Duration) -> Result<Connection> {
        let socket = Some(connect(&host, port, timeout)?);
        Ok(Connection { host, port, release, timeout, socket })
    }

    pub fn release(&self) -> Release {
        self.release
    }

    pub fn is_open(&self) -> bool {
        self.socket.is_some()
    }

    /// Ends once all bytes are with the operating system: no server answers a PUT.
    pub fn put(&mut self, key: &str, about: Description, payload: &[u8]) -> Result<()> {
        let length = match i32::try_from(payload.len()) {
            Ok(length) => length,
            Err(_) => return refused(format!("a payload of {} bytes does not fit into the length field", payload.len())),
        };
        let header = encode_request(PUT, key, &Description { length, ..about }, self.release)?;
        let timeout = self.timeout;
        self.exchange(&header, |socket, _| write_exactly(socket, payload, timeout))
    }

    /// The payload, or None for a miss.
    pub fn get(&mut self, key: &str, expect: &Expectation) -> Result<Option<Vec<u8>>> {
        let header = encode_request(GET, key, &nothing(), self.release)?;
        self.exchange(&header, |socket, release| {
            let reply = read_reply(socket, release)?;
            if reply.code == FAIL {
                return Ok(None);
            }
            // Everything is checked before a single byte of the payload is read or room is made for it.
            let got = reply.about;
            if (got.format, got.dtype, got.shape, i64::from(got.length)) != (expect.format, expect.dtype, expect.shape, expect.length) {
                return refused(format!(
                    "expected format {}, dtype {}, shape {:?} and {} bytes; the reply says format {}, dtype {}, shape {:?} and {} bytes",
                    expect.format, expect.dtype, expect.shape, expect.length, got.format, got.dtype, got.shape, got.length
                ));
            }
            let mut payload = vec![0; got.length as usize];
            read_exactly(socket, &mut payload)?;
            Ok(Some(payload))
        })
    }

    pub fn exist(&mut self, key: &str) -> Result<bool> {
        self.ask(EXIST, key)
    }

    pub fn health(&mut self, key: &str) -> Result<bool> {
        self.ask(HEALTH, key)
    }

    /// Real servers stay silent. The wait ends in a timeout, and the connection with it: an answer that comes late would be taken for
    /// the answer to the next request.
    pub fn list(&mut self, key: &str) -> Result<Vec<String>> {
        let header = encode_request(LIST, key, &nothing(), self.release)?;
        self.exchange(&header, |socket, release| {
            let reply = read_reply(socket, release)?;
            if reply.code == FAIL || reply.about.length > LONGEST_LIST {
                return protocol(format!("LIST was answered with code {} and {} bytes", reply.code, reply.about.length));
            }
            let mut body = vec![0; reply.about.length as usize];
            read_exactly(socket, &mut body)?;
            match String::from_utf8(body) {
                Ok(text) => Ok(text.lines().map(str::to_string).collect()),
                Err(_) => protocol("the list of keys is not UTF-8"),
            }
        })
    }

    fn ask(&mut self, command: i32, key: &str) -> Result<bool> {
        let header = encode_request(command, key, &nothing(), self.release)?;
        self.exchange(&header, |socket, release| {
            let reply = read_reply(socket, release)?;
            if reply.about.length != 0 {
                return protocol(format!("a reply without payload promises {} bytes", reply.about.length));
            }
            Ok(reply.code == SUCCESS)
        })
    }

    /// Sends a request and does what belongs to it. Any failure in the middle leaves bytes of unknown meaning behind, so the connection
    /// goes with it: the socket is put back only where all went well.
    fn exchange<T>(&mut self, header: &[u8], rest: impl FnOnce(&mut TcpStream, Release) -> Result<T>) -> Result<T> {
        let mut socket = self.ready()?;
        write_exactly(&mut socket, header, self.timeout)?;
        let result = rest(&mut socket, self.release)?;
        self.socket = Some(socket);
        Ok(result)
    }

    /// Between two requests nothing may be waiting to be read. If something is, it is the peer's farewell or bytes that belong to no
    /// request; either way the old connection is over, and this is the one moment where taking a new one is safe.
    fn ready(&mut self) -> Result<TcpStream> {
        match self.socket.take() {
            Some(socket) if is_silent(&socket) => Ok(socket),
            _ => connect(&self.host, self.port, self.timeout),
        }
    }
}

/// Commands other than PUT carry no payload; the real client describes that nothing like this.
fn nothing() -> Description {
    Description { format: KV_2LTD, dtype: FLOAT16, ..Description::default() }
}

fn connect(host: &str, port: u16, timeout: Duration) -> Result<TcpStream> {
    let addresses = match (host, port).to_socket_addrs() {
        Ok(addresses) => addresses,
        Err(error) => return Err(Failure::Connection(format!("cannot resolve {host}: {error}"))),
    };
    let mut last = Failure::Connection(format!("no address for {host}"));
    for address in addresses {
        // Zero means "for ever" to some of these calls, and is refused by others.
        let timeout = timeout.max(Duration::from_millis(1));
        let opened = TcpStream::connect_timeout(&address, timeout).and_then(|socket| {
            socket.set_read_timeout(Some(timeout))?;
            socket.set_write_timeout(Some(timeout))?;
            // Requests are small and each waits for its answer: do not let the kernel hold them back.
            socket.set_nodelay(true)?;
            Ok(socket)
        });
        match opened {
            Ok(socket) => return Ok(socket),
            Err(error) => last = broken(&format!("cannot connect to {address}"), &error),
        }
    }
    Err(last)
}

fn is_silent(socket: &TcpStream) -> bool {
    let waiting = socket.set_nonblocking(true).and_then(|()| socket.peek(&mut [0]));
    let blocks = waiting.map_err(|error| error.kind()) == Err(ErrorKind::WouldBlock);
    blocks && socket.set_nonblocking(false).is_ok()
}

fn read_reply(socket: &mut TcpStream, release: Release) -> Result<Reply> {
    let mut header = vec![0; reply_size(release)];
    read_exactly(socket, &mut header)?;
    let reply = decode_reply(&header, release)?;
    if reply.about.length < 0 || (reply.code == FAIL && reply.about.length != 0) {
        return protocol(format!("a reply with code {} promises {} bytes", reply.code, reply.about.length));
    }
    Ok(reply)
}

/// The one place where bytes are read. TCP is a stream: a header may arrive in any number of pieces, and one `read` returns what is
/// there, not what was asked for. Hence the loop.
fn read_exactly(socket: &mut TcpStream, into: &mut [u8]) -> Result<()> {
    let mut received = 0;
    while received < into.len() {
        match socket.read(&mut into[received..]) {
            Ok(0) => return Err(Failure::Connection(format!("the peer closed after {received} of {} bytes", into.len()))),
            Ok(count) => received += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(broken(&format!("after {received} of {} bytes", into.len()), &error)),
        }
    }
    Ok(())
}

fn write_exactly(socket: &mut TcpStream, bytes: &[u8], timeout: Duration) -> Result<()> {
    for piece in bytes.chunks(PIECE) {
        let began = Instant::now();
        let mut sent = 0;
        while sent < piece.len() {
            match socket.write(&piece[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(broken("the peer takes no more bytes", &error)),
            }
            // A write whose time is up says so only if the operating system took nothing at all.
            if sent < piece.len() && began.elapsed() >= timeout {
                return Err(Failure::Timeout("the peer takes no more bytes".to_string()));
            }
        }
    }
    Ok(())
}

/// A wait of a socket that ended is WouldBlock on Unix and TimedOut on Windows; a connection that did not come about is TimedOut.
fn broken(what: &str, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Failure::Timeout(format!("{what}: {error}")),
        _ => Failure::Connection(format!("{what}: {error}")),
    }
}
