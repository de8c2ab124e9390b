//! Hooks.

use super::super::operation::{Group, Operation, RequestBody, ResponseSpec, media_types};
use super::super::parameter;
use super::WITHOUT_ATOM;
use http::Method;

const HOOKS: &str = "/200909/user/{user}/hooks";
const HOOK: &str = "/200909/user/{user}/hooks/{name}";

pub(super) fn operations() -> Vec<Operation> {
    vec![read_all(), read(), put(), delete(), resume(), rotate(), test()]
}

fn read_all() -> Operation {
    Operation::new(Method::GET, "readHooks", HOOKS, Group::Hooks)
        .does("List an account's hooks", "All hooks with their status, by name, without their secrets.")
        .takes([parameter::format(WITHOUT_ATOM)])
        .responds(ResponseSpec::new(200, "The hooks.").formats(WITHOUT_ATOM, "Hooks", "HookList"))
        .fails(&["parameter", "not-found", "not-acceptable"])
}

fn read() -> Operation {
    Operation::new(Method::GET, "readHook", HOOK, Group::Hooks)
        .does("Get a hook", "The hook with the last response of its receiver and its lag.")
        .takes([parameter::format(WITHOUT_ATOM)])
        .responds(ResponseSpec::new(200, "The hook.").formats(WITHOUT_ATOM, "Hook", "HookState"))
        .fails(&["parameter", "not-found", "not-acceptable"])
}

fn put() -> Operation {
    let body = RequestBody {
        about: "The settings. JSON: an object, optionally under `Hook`. XML and Fast Infoset: the root element `Hook`, in \
                which `Service`, `Type` and `Verb` are repeated. At most 64 KiB.",
        media: media_types(WITHOUT_ATOM, "HookSettings", "HookSettings").collect(),
        required: true,
    };
    Operation::new(Method::PUT, "putHook", HOOK, Group::Hooks)
        .does(
            "Create or change a hook",
            "A new hook begins now. The response to its creation is the only one that contains the secret. A changed \
             hook keeps its position and its secret.",
        )
        .takes([parameter::format(WITHOUT_ATOM)])
        .sends(body)
        .responds(
            ResponseSpec::new(201, "The hook was created.")
                .formats(WITHOUT_ATOM, "CreatedHook", "HookWithSecret")
                .headers(&["Location"]),
        )
        .responds(ResponseSpec::new(200, "The hook was changed.").formats(WITHOUT_ATOM, "Hook", "HookState"))
        .fails(&["parameter", "forbidden", "quota", "not-found", "not-acceptable", "media-type", "unprocessable"])
}

fn delete() -> Operation {
    Operation::new(Method::DELETE, "deleteHook", HOOK, Group::Hooks)
        .does("Delete a hook", "Nothing more is sent. A later hook of this name begins anew.")
        .responds(ResponseSpec::new(204, "The hook was deleted."))
        .fails(&["forbidden", "not-found"])
}

fn resume() -> Operation {
    Operation::new(Method::POST, "resumeHook", "/200909/user/{user}/hooks/{name}/resume", Group::Hooks)
        .does(
            "Resume a hook",
            "Enables a disabled hook, which goes on where it stopped. One that waits for its next try is tried at once.",
        )
        .responds(ResponseSpec::new(204, "The hook delivers."))
        .fails(&["forbidden", "not-found"])
        .example(r#"curl -X POST -H "ServicePSK: $KEY" "$BASE/200909/user/alice/hooks/search/resume""#)
}

fn rotate() -> Operation {
    Operation::new(Method::POST, "rotateHook", "/200909/user/{user}/hooks/{name}/rotate", Group::Hooks)
        .does(
            "Replace the secret of a hook",
            "The response is the only one that contains the new secret. Both secrets sign for 24 hours.",
        )
        .takes([parameter::format(WITHOUT_ATOM)])
        .responds(ResponseSpec::new(200, "The new secret.").formats(
            WITHOUT_ATOM,
            "RotatedHook",
            "HookSecret",
        ))
        .fails(&["parameter", "forbidden", "not-found", "not-acceptable"])
        .example(
            r#"curl -X POST -H "ServicePSK: $KEY" "$BASE/200909/user/alice/hooks/search/rotate?format=json""#,
        )
}

fn test() -> Operation {
    Operation::new(Method::POST, "testHook", "/200909/user/{user}/hooks/{name}/test", Group::Hooks)
        .does(
            "Test a hook",
            "Sends a signed message of the type `ping`, and moves nothing. The response takes as long as the receiver \
             does, at most 15 seconds.",
        )
        .takes([parameter::format(WITHOUT_ATOM)])
        .responds(ResponseSpec::new(200, "What the receiver responded.").formats(WITHOUT_ATOM, "Ping", "PingResult"))
        .fails(&["parameter", "forbidden", "not-found", "not-acceptable"])
        .example(r#"curl -X POST -H "ServicePSK: $KEY" "$BASE/200909/user/alice/hooks/search/test?format=json""#)
}
