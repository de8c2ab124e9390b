//! An independent WebSub hub notifies the service.

use super::super::support::demo::BINARY;
use super::super::support::folder::Folder;
use super::SET_UP;
use super::feed_readers::python;
use std::process::Command;

#[test]
fn flask_websub_notifies_the_service() {
    let folder = Folder::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/websub.py");
    let run = Command::new(python()).arg("-B").arg(script).arg(BINARY).arg(folder.path()).output().unwrap();
    assert!(run.status.success(), "{}\n{SET_UP}", String::from_utf8_lossy(&run.stderr));
}
