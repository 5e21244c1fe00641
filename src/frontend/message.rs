//! Checked decoding of the messages a client may send after login.
//!
//! pgwire's own decoders panic on short messages and replace invalid UTF-8 silently, so none is called with
//! bytes of a client.

use super::frame::Frame;
use super::wire::violation;
use crate::error::ClientError;

/// A message, as far as the session needs it today. The extended protocol's messages are validated to the last
/// byte, although none is executed yet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// Simple query: the text's bytes, of unknown encoding.
    Query(Vec<u8>),
    /// Parse, Bind, Describe, Execute or Close.
    Extended(&'static str),
    /// Send what is buffered.
    Flush,
    /// End of an extended batch.
    Sync,
    /// Goodbye.
    Terminate,
    /// Fast-path function call.
    FunctionCall,
    /// CopyData, CopyDone, CopyFail: ignored outside of COPY, as PostgreSQL does.
    Copy,
    /// Password family, after login.
    Password,
}

/// Decodes a frame; an error is FATAL 08P01.
pub(super) fn decode(frame: &Frame) -> Result<Message, ClientError> {
    let mut body = Body(&frame.body);
    let message = match frame.tag {
        b'Q' => Message::Query(body.cstring()?.to_vec()),
        b'P' => {
            body.cstring()?;
            body.cstring()?;
            for _ in 0..body.u16()? {
                body.take(4)?;
            }
            Message::Extended("Parse")
        }
        b'B' => {
            body.cstring()?;
            body.cstring()?;
            let formats = body.formats()?;
            let parameters = body.u16()?;
            if formats > 1 && formats != parameters {
                return Err(violation(format!(
                    "bind message has {formats} parameter formats but {parameters} parameters"
                )));
            }
            for _ in 0..parameters {
                body.value()?;
            }
            body.formats()?;
            Message::Extended("Bind")
        }
        b'D' | b'C' => {
            let kind = body.take(1)?;
            if kind != b"S" && kind != b"P" {
                return Err(violation("invalid subtype of a Describe or Close message"));
            }
            body.cstring()?;
            Message::Extended(if frame.tag == b'D' { "Describe" } else { "Close" })
        }
        b'E' => {
            body.cstring()?;
            body.take(4)?;
            Message::Extended("Execute")
        }
        b'H' => Message::Flush,
        b'S' => Message::Sync,
        b'X' => Message::Terminate,
        // Bodies of these are not looked at.
        b'F' => return Ok(Message::FunctionCall),
        b'd' | b'c' | b'f' => return Ok(Message::Copy),
        b'p' => return Ok(Message::Password),
        tag => return Err(violation(format!("invalid frontend message type {tag}"))),
    };
    body.end()?;
    Ok(message)
}

/// A cursor that never reads past the end.
pub(super) struct Body<'a>(pub &'a [u8]);

impl<'a> Body<'a> {
    /// Exactly `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], ClientError> {
        let (head, tail) =
            self.0.split_at_checked(n).ok_or_else(|| violation("insufficient data left in message"))?;
        self.0 = tail;
        Ok(head)
    }

    /// Bytes up to a NUL, which is taken too.
    pub fn cstring(&mut self) -> Result<&'a [u8], ClientError> {
        let end =
            self.0.iter().position(|b| *b == 0).ok_or_else(|| violation("invalid string in message"))?;
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }

    /// Four bytes, signed.
    pub fn i32(&mut self) -> Result<i32, ClientError> {
        let bytes = self.take(4)?;
        bytes.try_into().map(i32::from_be_bytes).map_err(|_| violation("insufficient data left in message"))
    }

    fn u16(&mut self) -> Result<u16, ClientError> {
        let bytes = self.take(2)?;
        bytes.try_into().map(u16::from_be_bytes).map_err(|_| violation("insufficient data left in message"))
    }

    /// A counted list of format codes; each must be text or binary.
    fn formats(&mut self) -> Result<u16, ClientError> {
        let count = self.u16()?;
        for _ in 0..count {
            let format = self.u16()?;
            if format > 1 {
                return Err(violation(format!("unsupported format code: {format}")));
            }
        }
        Ok(count)
    }

    /// One parameter value: -1 for NULL, or a length and its bytes.
    fn value(&mut self) -> Result<(), ClientError> {
        match self.i32()? {
            -1 => Ok(()),
            length => {
                let length =
                    usize::try_from(length).map_err(|_| violation("invalid length of a parameter"))?;
                self.take(length).map(drop)
            }
        }
    }

    /// Nothing may be left.
    pub fn end(&self) -> Result<(), ClientError> {
        if self.0.is_empty() { Ok(()) } else { Err(violation("invalid message format")) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    fn frame(tag: u8, body: &[u8]) -> Frame {
        Frame { tag, body: Bytes::copy_from_slice(body) }
    }

    #[test]
    fn well_formed_messages_decode() {
        assert_eq!(decode(&frame(b'Q', b"select 1\0")).unwrap(), Message::Query(b"select 1".to_vec()));
        assert_eq!(
            decode(&frame(b'P', b"\0select $1\0\0\x01\0\0\0\x17")).unwrap(),
            Message::Extended("Parse")
        );
        let bind = b"p\0s\0\0\x01\0\0\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\x01\0\x01";
        assert_eq!(decode(&frame(b'B', bind)).unwrap(), Message::Extended("Bind"));
        assert_eq!(decode(&frame(b'E', b"\0\x7f\xff\xff\xff")).unwrap(), Message::Extended("Execute"));
        assert_eq!(decode(&frame(b'S', b"")).unwrap(), Message::Sync);
    }

    #[test]
    fn malformed_messages_are_refused() {
        let bad: [(u8, &[u8]); 9] = [
            (b'Q', b"select 1"),
            (b'Q', b"select\0 1\0"),
            (b'B', b"\0\0"),
            (b'B', b"\0\0\xff\xff"),
            (b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff"),
            (b'B', b"\0\0\0\x02\0\0\0\0\0\x01\xff\xff\xff\xff\0\0"),
            (b'D', b"X\0"),
            (b'E', b"\0\0"),
            (b'S', b"more"),
        ];
        for (tag, body) in bad {
            let e = decode(&frame(tag, body)).unwrap_err();
            assert_eq!(e.code.as_str(), "08P01", "{} {body:?}", char::from(tag));
        }
    }

    proptest! {
        #[test]
        fn decoding_never_panics(tag: u8, body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&frame(tag, &body));
        }
    }
}
