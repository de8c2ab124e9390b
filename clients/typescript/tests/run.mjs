// Runs the tests with a demo: TOFROM=target/debug/tofrom node tests/run.mjs [FILE...]
//
// Node.js reads the authorities that it trusts when it starts. So a demo makes its authority first, and the tests, in
// another process, start demos in the same folder.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Demo } from "./service.mjs";

const folder = mkdtempSync(join(tmpdir(), "tofrom-typescript-"));
try {
  const demo = await Demo.start(folder);
  await demo.kill();
  const here = import.meta.dirname;
  const named = process.argv.slice(2);
  const files = named.length > 0 ? named : readdirSync(here).filter((name) => name.endsWith(".test.mjs")).map((name) => join(here, name));
  const env = { ...process.env, DEMO_DATA: folder, NODE_EXTRA_CA_CERTS: demo.ready.ca_cert };
  for (const file of files) {
    const run = spawnSync(process.execPath, ["--test", "--test-reporter=spec", file], { stdio: "inherit", env, timeout: 300_000 });
    if (run.status !== 0) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}
