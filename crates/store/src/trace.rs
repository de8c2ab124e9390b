//! Traces: how a task carries the trace of the request that left it behind.
//!
//! Spans are those of `tracing`, with the target [`SPANS`]. A program that exports traces enables them and installs a
//! [`Tracer`]; in every other program they are disabled, and cost one look at a flag. A write notes the current span
//! with its task, and the task's span becomes a child of that span, also in another process.

use model::TraceContext;
use std::sync::OnceLock;
use tracing::Span;

/// The target of all spans that are exported. The log shows none of them.
pub const SPANS: &str = "spans";

/// Connects spans of this process with those of others.
pub trait Tracer: Send + Sync {
    /// The current span, if its trace is recorded.
    fn current(&self) -> Option<TraceContext>;

    /// Makes a span that was not entered yet a child of that one.
    fn set_parent(&self, span: &Span, parent: TraceContext);

    /// Links a span to another trace.
    fn add_link(&self, span: &Span, to: TraceContext);
}

static TRACER: OnceLock<Box<dyn Tracer>> = OnceLock::new();

/// Installs the tracer of the process. Only the first one counts.
pub fn install(tracer: impl Tracer + 'static) {
    // There is one log, and so one tracer, in a process.
    let _ = TRACER.set(Box::new(tracer));
}

/// The current span, if there is a tracer that records its trace.
pub fn current() -> Option<TraceContext> {
    TRACER.get()?.current()
}

/// Makes a span that was not entered yet a child of that one.
pub fn set_parent(span: &Span, parent: TraceContext) {
    if let Some(tracer) = TRACER.get() {
        tracer.set_parent(span, parent);
    }
}

/// Links a span to another trace.
pub fn add_link(span: &Span, to: TraceContext) {
    if let Some(tracer) = TRACER.get() {
        tracer.add_link(span, to);
    }
}
