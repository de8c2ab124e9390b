//! The place of a task or a request in a trace.

/// A span that its trace records. Spans of other processes can be its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Identifies the trace.
    pub trace: [u8; 16],
    /// Identifies the span.
    pub span: [u8; 8],
}

/// The length of version 0 of the header `traceparent`.
const HEADER: usize = 55;

impl TraceContext {
    /// Both identifiers, one after the other.
    pub fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        let (trace, span) = bytes.split_at_mut(16);
        trace.copy_from_slice(&self.trace);
        span.copy_from_slice(&self.span);
        bytes
    }

    /// Reads [`to_bytes`](TraceContext::to_bytes). `None`: the length is wrong, or an identifier is zero.
    pub fn from_bytes(bytes: &[u8]) -> Option<TraceContext> {
        let (trace, span) = bytes.split_first_chunk::<16>()?;
        let (trace, span) = (*trace, <[u8; 8]>::try_from(span).ok()?);
        (trace != [0; 16] && span != [0; 8]).then_some(TraceContext { trace, span })
    }

    /// Parses the header `traceparent` of W3C Trace Context. Its flags are not used.
    pub fn parse(header: &str) -> Option<TraceContext> {
        let (known, rest) = header.split_at_checked(HEADER)?;
        let [version, trace, span, flags] = known.split('-').collect::<Vec<_>>().try_into().ok()?;
        let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let lengths = [version, trace, span, flags].map(str::len);
        // A later version may append fields.
        let is_whole = rest.is_empty() || (version != "00" && rest.starts_with('-'));
        if lengths != [2, 32, 16, 2]
            || version == "ff"
            || !is_whole
            || ![version, trace, span, flags].map(is_hex).iter().all(|is| *is)
        {
            return None;
        }
        let trace = u128::from_str_radix(trace, 16).ok()?.to_be_bytes();
        let span = u64::from_str_radix(span, 16).ok()?.to_be_bytes();
        TraceContext::from_bytes(&TraceContext { trace, span }.to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_header_is_parsed_as_the_recommendation_says() {
        let context = TraceContext::parse(&format!("00-{TRACE}-{SPAN}-01")).unwrap();
        assert_eq!(
            (context.trace[0], context.trace[15], context.span),
            (0x4b, 0x36, [0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 2, 0xb7])
        );
        assert_eq!(TraceContext::from_bytes(&context.to_bytes()), Some(context));
        assert_eq!(TraceContext::parse(&format!("cc-{TRACE}-{SPAN}-00-more")), Some(context));
        for wrong in [
            String::new(),
            format!("00-{TRACE}-{SPAN}-0"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("cc-{TRACE}-{SPAN}-01more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-+{}-{SPAN}-01", &TRACE[1..]),
            format!("00-{}-{SPAN}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{TRACE}{SPAN}--01"),
            format!("00-{TRACE}-{SPAN}é01"),
        ] {
            assert_eq!(TraceContext::parse(&wrong), None, "{wrong}");
        }
        for wrong in [&[][..], &[1; 16], &[1; 23], &[1; 25], &[0; 24]] {
            assert_eq!(TraceContext::from_bytes(wrong), None);
        }
    }
}
