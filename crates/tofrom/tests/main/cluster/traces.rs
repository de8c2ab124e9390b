//! One trace over an API process, the delivery log and a worker.

use super::super::oauth::service::Service;
use super::super::traces::{Receiver, Writer};
use super::prepared;
use super::processes::settings;

#[test]
fn one_trace_reaches_from_the_request_to_the_delivery_of_another_process() {
    let Some(engines) = prepared() else { return };
    let receiver = Receiver::start();
    let settings = format!("{}\n{}", settings(&engines.on_stream("traces")), receiver.settings());
    let (api, _worker) = (Service::start_as("api", &settings), Service::start_as("worker", &settings));
    let millis = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    let writer = Writer::new(&api, &format!("traced-{millis}"), 3);
    writer.put("1", &[]);
    let spans = receiver.first_write(3);
    let of = |name: &str| {
        spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name}: {spans:#?}"))
    };
    let (request, accept, publish) =
        (of("PUT /200909/activity/{user}/from/{service}/{source}"), of("accept"), of("publish"));
    assert_eq!((publish.parent.as_str(), publish.kind.as_str()), (accept.id.as_str(), "producer"));
    assert_eq!(publish.process, request.process);
    let task = of("task version");
    assert_ne!(task.process, request.process, "the worker delivers");
    assert_eq!(of("deliver").process, task.process);
}
