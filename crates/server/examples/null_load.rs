//! How fast is `--null`? GETATTRs over one connection with many in flight, or over many with one.
//!
//!     cargo run --release -p filermark-server --example null_load -- [CONNECTIONS] [IN_FLIGHT] [SECONDS] [THREADS] [null|memfs]

use filermark_onc::nfs3::{self, Fh, GetattrArgs};
use filermark_onc::record::whole_record;
use filermark_onc::rpc::AuthSys;
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::{self, Decoder};
use filermark_onc::{mount, rpc};
use filermark_server::{Server, ServerOptions};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const MAX_REPLY: usize = 1 << 20;

struct Client {
    stream: TcpStream,
    input: Vec<u8>,
    output: Vec<u8>,
    xid: u32,
}

impl Client {
    /// Reads what there is; returns how many replies it completes.
    fn replies(&mut self, buffer: &mut [u8]) -> Result<usize, Box<dyn Error>> {
        let n = self.stream.read(buffer)?;
        if n == 0 {
            return Err("the server closed the connection".into());
        }
        self.input.extend_from_slice(&buffer[..n]);
        let (mut rest, mut count) = (&self.input[..], 0);
        while let Some(record) = whole_record(rest, MAX_REPLY)? {
            rest = record.rest;
            count += 1;
        }
        let used = self.input.len() - rest.len();
        self.input.drain(..used);
        Ok(count)
    }
}

fn mount(address: SocketAddr) -> Result<Fh, Box<dyn Error>> {
    let auth = AuthSys::new(0, b"null_load", 0, 0, &[]).to_body();
    let mut call = Vec::new();
    let template = CallTemplate::new(mount::PROGRAM, mount::VERSION, auth.as_auth());
    template.call(
        &mut call,
        1,
        &mount::MntArgs {
            dirpath: b"/export",
        },
    );
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(&call)?;
    let mut reply = [0; 4096];
    let n = stream.read(&mut reply)?;
    let record = whole_record(&reply[..n], MAX_REPLY)?
        .ok_or("a cut reply")?
        .record;
    let mut d = Decoder::new(record);
    <rpc::ReplyHeader<'_> as xdr::Decode<'_>>::decode(&mut d)?;
    let res: mount::MntRes<'_> = xdr::finish(&mut d)?;
    Ok(res.map_err(|status| status.name())?.fhandle.to_fh())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut number = |default: u64| args.next().map_or(Ok(default), |text| text.parse());
    let (connections, in_flight, seconds) = (number(1)?, number(32)? as usize, number(3)?);
    let null = std::env::args().nth(4).as_deref() != Some("memfs");
    let server = Server::start(ServerOptions {
        null,
        ..ServerOptions::default()
    })?;
    let address = server.addrs()[0];
    let root = mount(address)?;
    let auth = AuthSys::new(0, b"null_load", 0, 0, &[]).to_body();
    let template = CallTemplate::new(nfs3::PROGRAM, nfs3::VERSION, auth.as_auth());
    let getattr = GetattrArgs {
        object: root.handle(),
    };
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let mut clients = Vec::new();
    for index in 0..connections {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        epoll::add(&epoll, &stream, EventData::new_u64(index), EventFlags::IN)?;
        clients.push(Client {
            stream,
            input: Vec::new(),
            output: Vec::new(),
            xid: 0,
        });
    }
    let send = |client: &mut Client, count: usize| {
        client.output.clear();
        for _ in 0..count {
            client.xid = client.xid.wrapping_add(1);
            template.call(&mut client.output, client.xid, &getattr);
        }
        client.stream.write_all(&client.output)
    };
    let started = Instant::now();
    for client in &mut clients {
        send(client, in_flight)?;
    }
    let (mut done, mut buffer, mut events) = (0, vec![0; 65536], Vec::with_capacity(256));
    while started.elapsed() < Duration::from_secs(seconds) {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), None)?;
        for event in &events {
            let client = &mut clients[event.data.u64() as usize];
            let count = client.replies(&mut buffer)?;
            done += count;
            send(client, count)?;
        }
    }
    let rate = done as f64 / started.elapsed().as_secs_f64();
    println!("{connections} connections, {in_flight} in flight each: {rate:.0} GETATTR/s");
    Ok(())
}
