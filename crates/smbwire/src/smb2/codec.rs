//! The requests that both protocols share, as messages of SMB2 and 3: one message for
//! what is on an open file, a compound for what is on a path.
#![deny(clippy::wildcard_enum_match_arm)]

mod messages;

use super::close::CloseResponse;
use super::create::{CreateResponse, GrantedLease};
use super::directory::{self, OutputResponse};
use super::file::{FileFacts, attributes, options};
use super::header::{Command, flags};
use super::io::{ReadResponse, WriteRequest, WriteResponse};
use super::notify::Changes;
use super::query::{BasicInfo, FsSizeInfo, StandardInfo};
use super::session::Session;
use super::{Request as Message, Response, chain};
use crate::codec::{
    Answer, Charges, Codec, Entries, ListPart, MessageId, Opened, PathInfo, Reply, Space,
};
use crate::error::DecodeError;
use crate::request::{Data, Request, Target};
use crate::settings::TransferLimits;
use crate::status;
use messages::{CLASS, SIZES, Sink, messages};

/// Counts messages.
struct Count<'a> {
    session: &'a Session,
    charges: Charges,
}

impl Sink for Count<'_> {
    #[inline]
    fn put<R: Message>(&mut self, request: &R) {
        self.charges
            .add(self.session.charge(request.charged_bytes()));
    }

    #[inline]
    fn write(&mut self, _request: &WriteRequest, data: &dyn Data) {
        self.charges.add(self.session.charge(data.length()));
    }
}

/// Looks for their commands.
struct Commands {
    first: Option<Command>,
    wanted: u16,
    has_wanted: bool,
}

impl Commands {
    #[inline]
    fn of(request: &Request<'_>, wanted: u16) -> Self {
        let mut commands = Self {
            first: None,
            wanted,
            has_wanted: false,
        };
        messages(request, &mut commands);
        commands
    }

    fn add(&mut self, command: Command) {
        self.first.get_or_insert(command);
        self.has_wanted |= command as u16 == self.wanted;
    }
}

impl Sink for Commands {
    #[inline]
    fn put<R: Message>(&mut self, _request: &R) {
        self.add(R::COMMAND);
    }

    #[inline]
    fn write(&mut self, _request: &WriteRequest, _data: &dyn Data) {
        self.add(Command::Write);
    }
}

/// Puts them into a frame: all but the first are related to the one before.
struct Frame<'a> {
    session: &'a Session,
    ids: std::slice::Iter<'a, MessageId>,
    out: &'a mut Vec<u8>,
    /// Where the last message begins.
    last: Option<usize>,
}

impl Frame<'_> {
    #[inline]
    fn header(&mut self, command: Command, charged_bytes: u32) {
        let id = self.ids.next().copied().unwrap_or_default();
        let charge = self.session.charge(charged_bytes);
        let mut header = self.session.header(command, id.id, charge);
        header.credits = id.credits;
        if let Some(last) = self.last {
            chain::next(self.out, last);
            header.flags |= flags::RELATED;
        }
        self.last = Some(self.out.len());
        header.encode(self.out);
    }
}

impl Sink for Frame<'_> {
    #[inline]
    fn put<R: Message>(&mut self, request: &R) {
        self.header(R::COMMAND, request.charged_bytes());
        request.encode(self.out);
    }

    #[inline]
    fn write(&mut self, request: &WriteRequest, data: &dyn Data) {
        self.header(Command::Write, data.length());
        let open = request.begin(self.out);
        data.append(self.out);
        open.finish(self.out);
    }
}

impl Codec for Session {
    const INFOS_MAX: usize = 2;
    const LIST_BYTES: u32 = 64 << 10;
    const OPEN_REPARSE_POINT: u32 = options::OPEN_REPARSE_POINT;
    const STATUS_CLOSES_LIST: bool = false;
    const RENEWS: bool = true;

    fn limits(&self) -> TransferLimits {
        self.limits
    }

    #[inline]
    fn charges(&self, request: &Request<'_>) -> Charges {
        let mut count = Count {
            session: self,
            charges: Charges::default(),
        };
        messages(request, &mut count);
        count.charges
    }

    #[inline]
    fn begin_frame(&self, out: &mut Vec<u8>) -> usize {
        self.begin(out)
    }

    #[inline]
    fn put(&self, ids: &[MessageId], request: &Request<'_>, out: &mut Vec<u8>) {
        let mut frame = Frame {
            session: self,
            ids: ids.iter(),
            out,
            last: None,
        };
        messages(request, &mut frame);
    }

    #[inline]
    fn end_frame(&mut self, out: &mut [u8], start: usize) -> u32 {
        self.protect(out, start);
        0
    }

    fn step(request: &Request<'_>) -> &'static str {
        Commands::of(request, 0).first.map_or("", Command::name)
    }

    #[inline]
    fn is_answer(request: &Request<'_>, command: u16) -> bool {
        Commands::of(request, command).has_wanted
    }

    #[inline]
    fn is_good(request: &Request<'_>, command: u16, status: u32) -> bool {
        match status {
            status::SUCCESS => true,
            status::BUFFER_OVERFLOW => command == Command::QueryInfo as u16,
            status::NO_MORE_FILES => command == Command::QueryDirectory as u16,
            status::END_OF_FILE => matches!(request, Request::Read { .. }),
            _ => false,
        }
    }

    fn is_refusal(status: u32) -> bool {
        status >> 30 == 3
    }

    #[inline]
    fn take<'m>(
        request: &Request<'_>,
        command: u16,
        status: u32,
        message: &'m [u8],
    ) -> Result<Reply<'m>, DecodeError> {
        match status {
            status::SUCCESS => {}
            status::END_OF_FILE => return Ok(Reply::End),
            _ => return Ok(Reply::Done),
        }
        Ok(match request {
            Request::Open(_) => Reply::Opened(CreateResponse::decode(message)?.file),
            Request::Read { .. } => Reply::Data(ReadResponse::decode(message)?.data),
            Request::Write { .. } => Reply::Written(WriteResponse::decode(message)?.count),
            Request::Query { .. }
            | Request::QueryFs { .. }
            | Request::QuerySecurity { .. }
            | Request::List { .. }
            | Request::ListNext { .. }
            | Request::Watch { .. }
                if has_output(command) =>
            {
                OutputResponse::decode(message).map(|_| Reply::Done)?
            }
            Request::Echo
            | Request::Close { .. }
            | Request::Flush { .. }
            | Request::Lock { .. }
            | Request::Query { .. }
            | Request::QueryFs { .. }
            | Request::QuerySecurity { .. }
            | Request::Set { .. }
            | Request::Look { .. }
            | Request::List { .. }
            | Request::ListBegin { .. }
            | Request::ListNext { .. }
            | Request::ListEnd { .. }
            | Request::MakeDir(_)
            | Request::RemoveFile(_)
            | Request::RemoveDir(_)
            | Request::Watch { .. }
            | Request::Acknowledge { .. }
            | Request::TreeDisconnect
            | Request::Logoff => Reply::Done,
        })
    }

    fn output_at(request: &Request<'_>) -> usize {
        let is_compound = matches!(
            request,
            Request::List { .. }
                | Request::Query {
                    target: Target::Path(_),
                    ..
                }
                | Request::QueryFs {
                    target: Target::Path(_),
                    ..
                }
        );
        usize::from(is_compound)
    }

    fn opened(answer: &Answer<'_>) -> Result<Opened, DecodeError> {
        let created = CreateResponse::decode(answer.message)?;
        Ok(Opened {
            file: created.file,
            action: created.action,
            oplock: created.oplock,
            size: created.facts.end_of_file,
            attributes: created.facts.attributes,
        })
    }

    fn lease(answer: &Answer<'_>) -> Result<Option<GrantedLease>, DecodeError> {
        CreateResponse::decode(answer.message)?.lease()
    }

    fn closed(answer: &Answer<'_>) -> Result<Option<FileFacts>, DecodeError> {
        Ok(CloseResponse::decode(answer.message)?.facts)
    }

    fn data<'m>(answer: &Answer<'m>) -> Result<&'m [u8], DecodeError> {
        Ok(ReadResponse::decode(answer.message)?.data)
    }

    fn written(answer: &Answer<'_>) -> Result<u32, DecodeError> {
        Ok(WriteResponse::decode(answer.message)?.count)
    }

    fn output<'m>(answer: &Answer<'m>) -> Result<&'m [u8], DecodeError> {
        Ok(OutputResponse::decode(answer.message)?.output)
    }

    fn basic(answer: &Answer<'_>) -> Result<BasicInfo, DecodeError> {
        BasicInfo::decode(Self::output(answer)?)
    }

    fn standard(answer: &Answer<'_>) -> Result<StandardInfo, DecodeError> {
        StandardInfo::decode(Self::output(answer)?)
    }

    fn space(&self, answer: &Answer<'_>) -> Result<Space, DecodeError> {
        let size = FsSizeInfo::decode(Self::output(answer)?, SIZES)?;
        let bytes = |units: u64| units.saturating_mul(size.unit);
        Ok(Space {
            total: bytes(size.total),
            available: bytes(size.available),
            free: bytes(size.free),
        })
    }

    fn path_info(_path: &str, answer: &Answer<'_>) -> Result<Option<PathInfo>, DecodeError> {
        let facts = CreateResponse::decode(answer.message)?.facts;
        Ok(Some(PathInfo {
            is_dir: facts.is_directory(),
            is_link: facts.attributes & attributes::REPARSE_POINT != 0,
            size: facts.end_of_file,
        }))
    }

    fn list_begun<'m>(answer: &Answer<'m>) -> Result<ListPart<'m>, DecodeError> {
        Ok(ListPart {
            list: Some(CreateResponse::decode(answer.message)?.file),
            entries: None,
            is_over: false,
            is_closed: false,
        })
    }

    fn list_part<'m>(answer: &Answer<'m>) -> Result<ListPart<'m>, DecodeError> {
        let output = Self::output(answer)?;
        Ok(ListPart {
            list: None,
            entries: Some(Entries::Smb2(directory::Entries::new(output, CLASS))),
            is_over: output.is_empty(),
            is_closed: false,
        })
    }

    fn is_empty_list(_status: u32) -> bool {
        false
    }

    fn is_list_end(status: u32) -> bool {
        matches!(status, status::NO_MORE_FILES | status::NO_SUCH_FILE)
    }

    fn changes<'m>(answer: &Answer<'m>) -> Result<Changes<'m>, DecodeError> {
        Ok(Changes::new(Self::output(answer)?))
    }
}

/// Whether what answers this command has output.
const fn has_output(command: u16) -> bool {
    const QUERY_INFO: u16 = Command::QueryInfo as u16;
    const QUERY_DIRECTORY: u16 = Command::QueryDirectory as u16;
    const CHANGE_NOTIFY: u16 = Command::ChangeNotify as u16;
    matches!(command, QUERY_INFO | QUERY_DIRECTORY | CHANGE_NOTIFY)
}
