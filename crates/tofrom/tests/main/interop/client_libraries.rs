//! The client libraries in `clients`: their own tests, their generated parts, and both as readers while the server is
//! killed. They start their own demos.

use super::super::support::demo::{BINARY, Demo};
use super::super::support::folder::Folder;
use super::SET_UP;
use super::oauth_clients::cached;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs a command that must succeed.
fn succeed(command: &mut Command) {
    command.env("TOFROM", BINARY).env("no_proxy", "*").env("NODE_PATH", cached("clients/node_modules"));
    let run =
        command.output().unwrap_or_else(|error| panic!("{command:?} failed to start ({error}): {SET_UP}"));
    let (printed, complained) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{command:?}: {}\n{printed}{complained}\n{SET_UP}", run.status);
}

/// Python with the packages of `scripts/setup`. It leaves no files in the checkout.
fn python() -> Command {
    let mut command = Command::new(cached("python/bin/python"));
    command.arg("-B").env("PYTHONPATH", format!("{ROOT}/clients/python/src")).current_dir(ROOT);
    command
}

/// A built copy of the client in TypeScript, in a folder that looks like the repository to its tests.
fn typescript(folder: &Folder) -> PathBuf {
    let (root, link) = (folder.path(), std::os::unix::fs::symlink::<PathBuf, PathBuf>);
    let package = root.join("clients/typescript");
    std::fs::create_dir(root.join("clients")).unwrap();
    succeed(Command::new("cp").arg("-r").arg(format!("{ROOT}/clients/typescript")).arg(&package));
    for name in ["Cargo.toml", "LICENSE", "docs", "examples"] {
        link(Path::new(ROOT).join(name), root.join(name)).unwrap();
    }
    // A developer may have installed the packages in the checkout.
    let _ = std::fs::remove_file(package.join("node_modules"));
    let _ = std::fs::remove_dir_all(package.join("node_modules"));
    link(cached("typescript/node_modules"), package.join("node_modules")).unwrap();
    succeed(Command::new("node").arg("node_modules/typescript/bin/tsc").current_dir(&package));
    package
}

#[test]
fn the_generated_parts_are_current() {
    let folder = Folder::new();
    let document = folder.path().join("openapi.json");
    std::fs::write(&document, Demo::shared().client.get("/openapi.json", &[]).body).unwrap();
    succeed(python().arg("clients/generate").arg("--check").arg(document));
}

#[test]
fn the_client_in_python_passes_its_tests() {
    succeed(python().args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "clients/python"]));
}

#[test]
fn the_client_in_typescript_passes_its_tests() {
    let folder = Folder::new();
    let package = typescript(&folder);
    succeed(Command::new("node").arg("tests/run.mjs").current_dir(package));
}

#[test]
fn clients_miss_nothing_while_they_and_the_server_are_killed() {
    let folder = Folder::new();
    let package = typescript(&folder);
    let programs = [
        format!("{} -B clients/python/tests/reader.py", cached("python/bin/python").display()),
        format!("node {}/tests/reader.mjs", package.display()),
    ];
    let mut command = python();
    command.args(["scripts/prove-no-hole", "--activities", "2000", "--kills", "3", "--writers", "2"]);
    command.args(["--readers", "0", "--built"]).arg(Path::new(BINARY).parent().unwrap());
    succeed(command.args(programs.iter().flat_map(|program| ["--program", program.as_str()])));
}
