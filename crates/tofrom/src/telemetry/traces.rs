//! Traces: sends the spans of recorded traces to a collector, by OTLP over HTTP.
//!
//! Spans wait in a bounded queue, and a thread of the SDK sends them in batches. No request and no delivery waits for
//! the collector: a span that does not fit into the queue is dropped, and so is a batch that the collector did not
//! take. Both are counted.

use async_trait::async_trait;
use domain::sources;
use fetcher::{Fetcher, FetcherError, Rules};
use http::StatusCode;
use metrics::{counter, describe_counter};
use model::TraceContext;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, Span as SdkSpan, SpanData,
    SpanProcessor,
};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use store::trace::{self, SPANS, Tracer};
use tokio::runtime::Handle;
use tracing::{Level, Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;
use url::Url;
use uuid::Uuid;

/// Spans that the collector took.
const SENT: &str = "tofrom_trace_spans_sent_total";
/// Spans that were dropped, by `reason`: `queue` or `collector`.
const DROPPED: &str = "tofrom_trace_spans_dropped_total";

/// Spans that may wait or be under way, and spans of a request.
const MAX_WAITING: usize = 4_096;
const BATCH: usize = 512;
/// How long a span waits for others.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// Timeout of the connection, and of a batch with all attempts.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const BATCH_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a stop waits for the last spans.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Describes the metrics to the recorder of the process.
pub fn describe_metrics() {
    describe_counter!(SENT, "Spans of traces that the collector took.");
    describe_counter!(
        DROPPED,
        "Spans of traces that were dropped: the queue was full, or the collector failed."
    );
}

/// The settings of traces.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSettings {
    /// The address that takes spans by OTLP over HTTP.
    pub endpoint: Url,
    /// The share of requests whose traces are recorded, from 0 to 1.
    pub sample_ratio: f64,
}

/// Why traces cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// There is no client for the collector.
    #[error("cannot export traces: {0}")]
    Fetcher(#[from] FetcherError),
    /// A variable of the SDK is invalid.
    #[error("cannot export traces: {0}; check the variables that begin with OTEL_")]
    Exporter(#[from] ExporterBuildError),
}

/// The export of traces.
pub struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Prepares the export. Requests to the collector run on that runtime.
    pub fn new(settings: &TraceSettings, runtime: &Handle) -> Result<Traces, TraceError> {
        let waiting = Arc::new(AtomicUsize::new(0));
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client::new(settings.endpoint.clone(), runtime.clone())?)
            .with_endpoint(settings.endpoint.as_str())
            .with_timeout(BATCH_TIMEOUT)
            .build()?;
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_WAITING)
            .with_max_export_batch_size(BATCH)
            .with_scheduled_delay(BATCH_DELAY)
            .build();
        let exporter = CountedExporter { exporter, waiting: Arc::clone(&waiting) };
        let batches = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        let resource = Resource::builder().with_service_name("tofrom").with_attributes([
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", Uuid::new_v4().to_string()),
        ]);
        let root = Sampler::TraceIdRatioBased(settings.sample_ratio);
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_sampler(Sampler::ParentBased(Box::new(root)))
            .with_span_processor(BoundedQueue { batches, waiting })
            .build();
        trace::install(Spans);
        Ok(Traces { provider })
    }

    /// The layer that makes OpenTelemetry's spans of those with the target [`SPANS`].
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let layer = tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("tofrom"))
            .with_context_activation(false)
            .with_tracked_inactivity(false)
            .with_location(false)
            .with_threads(false)
            .with_target(false);
        layer.with_filter(Targets::new().with_target(SPANS, Level::INFO))
    }

    /// Sends the spans that wait, at the end of the process.
    pub fn flush(&self) {
        if let Err(error) = self.provider.shutdown_with_timeout(FLUSH_TIMEOUT) {
            tracing::warn!(%error, "last spans not exported");
        }
    }
}

/// Connects the program's spans with those of other processes.
struct Spans;

impl Tracer for Spans {
    fn current(&self) -> Option<TraceContext> {
        let context = Span::current().context();
        let span = context.span();
        let context = span.span_context();
        (context.is_valid() && context.is_sampled()).then(|| TraceContext {
            trace: context.trace_id().to_bytes(),
            span: context.span_id().to_bytes(),
        })
    }

    fn set_parent(&self, span: &Span, parent: TraceContext) {
        // Fails for a disabled span only: no span was entered yet.
        let _ = span.set_parent(Context::new().with_remote_span_context(remote(parent)));
    }

    fn add_link(&self, span: &Span, to: TraceContext) {
        span.add_link(remote(to));
    }
}

fn remote(context: TraceContext) -> SpanContext {
    let (trace, span) = (TraceId::from_bytes(context.trace), SpanId::from_bytes(context.span));
    SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::default())
}

/// Drops the spans for which there is no room. The queue of the SDK drops them too, but tells nothing.
#[derive(Debug)]
struct BoundedQueue {
    batches: BatchSpanProcessor,
    waiting: Arc<AtomicUsize>,
}

impl SpanProcessor for BoundedQueue {
    fn on_start(&self, _: &mut SdkSpan, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if !span.span_context.is_sampled() {
            return;
        }
        if self.waiting.fetch_add(1, Ordering::Relaxed) < MAX_WAITING {
            self.batches.on_end(span);
        } else {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            counter!(DROPPED, "reason" => "queue").increment(1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// Counts the spans of each batch.
#[derive(Debug)]
struct CountedExporter {
    exporter: SpanExporter,
    waiting: Arc<AtomicUsize>,
}

impl opentelemetry_sdk::trace::SpanExporter for CountedExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let result = self.exporter.export(batch).await;
        self.waiting.fetch_sub(spans, Ordering::Relaxed);
        match result {
            Ok(()) => counter!(SENT).increment(spans as u64),
            Err(_) => counter!(DROPPED, "reason" => "collector").increment(spans as u64),
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// Sends batches with the program's own HTTP client.
struct Client {
    fetcher: Arc<Fetcher>,
    endpoint: Url,
    runtime: Handle,
    /// Whether the last request failed: the log has one line for each change.
    failing: AtomicBool,
}

impl Client {
    fn new(endpoint: Url, runtime: Handle) -> Result<Client, FetcherError> {
        let rules = Rules {
            is_for_operator: true,
            connect: CONNECT_TIMEOUT,
            head: BATCH_TIMEOUT,
            total: BATCH_TIMEOUT,
            ..Rules::new(concat!("tofrom/", env!("CARGO_PKG_VERSION")))
        };
        let fetcher = Arc::new(sources::fetcher(rules)?);
        Ok(Client { fetcher, endpoint, runtime, failing: AtomicBool::new(false) })
    }

    fn note(&self, error: Option<&dyn fmt::Display>) {
        match (self.failing.swap(error.is_some(), Ordering::Relaxed), error) {
            (false, Some(error)) => tracing::warn!(%error, endpoint = %self.endpoint, "trace export failed"),
            (true, None) => tracing::info!(endpoint = %self.endpoint, "trace export works again"),
            _ => {}
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoint", &self.endpoint.as_str()).finish_non_exhaustive()
    }
}

#[async_trait]
impl HttpClient for Client {
    /// Called on the thread of the SDK, which is not one of the runtime.
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (fetcher, url) = (Arc::clone(&self.fetcher), self.endpoint.clone());
        let body = request.into_body();
        let sending = async move { fetcher.post(&url, "application/x-protobuf", &[], body).await };
        let status = match self.runtime.spawn(sending).await? {
            Ok(status) => StatusCode::from_u16(status)?,
            Err(error) => {
                self.note(Some(&error));
                return Err(error.into());
            }
        };
        self.note((!status.is_success()).then_some(&status as &dyn fmt::Display));
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = status;
        Ok(response)
    }
}
