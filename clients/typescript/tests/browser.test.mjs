// The example of docs/recipes.md in Chromium: a page of another origin reads and follows with short-lived keys.
//
// Needs chromium, certutil, and playwright-core, which NODE_PATH finds.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Demo, newService, note } from "./service.mjs";

const PACKAGE = join(import.meta.dirname, "..");
// Less than the test takes, so that a page needs several keys.
const KEY_SECONDS = 4;

// The server with the application's origin, on the demo's folder: a demo has no settings.
async function serve(demo, origin, folder) {
  const settings = join(folder, "tofrom.toml");
  const inData = (name) => JSON.stringify(join(demo.folder, name));
  writeFileSync(
    settings,
    `base_url = "${demo.base}"\nlisten = "127.0.0.1:${demo.port}"\nadmin_listen = "127.0.0.1:0"\ncors_origins = ["${origin}"]\n` +
      `[tls]\ncertificate = ${inData("server.pem")}\nprivate_key = ${inData("server-key.pem")}\n`,
  );
  const env = { ...process.env, TOFROM_LOG: "error" };
  const server = spawn(process.env.TOFROM ?? "tofrom", ["serve", "--config", settings, "--data", demo.folder], { stdio: "inherit", env });
  for (let attempt = 0; ; attempt += 1) {
    try {
      await demo.client("alice", demo.base, { retries: 0 }).whoami();
      return server;
    } catch (error) {
      if (attempt > 100) throw error;
      await sleep(100);
    }
  }
}

async function freePort() {
  const probe = net.createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  return port;
}

test("a page reads and follows across origins with short-lived keys", { skip: !process.env.NODE_PATH && "NODE_PATH is not set" }, async () => {
  const { chromium } = createRequire(import.meta.url)("playwright-core");
  const folder = mkdtempSync(join(tmpdir(), "tofrom-browser-"));
  const started = [];
  try {
    const demo = await Demo.start();
    await demo.kill();
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    started.push(await serve(demo, origin, folder));
    const program = join(PACKAGE, "../../examples/embed/server.mjs");
    const args = [program, demo.base, demo.account("alice").key, join(PACKAGE, "dist"), port, KEY_SECONDS];
    const application = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    started.push(application);
    assert.deepEqual(await once(createInterface(application.stdout), "line"), [`${origin}/`]);

    const database = join(folder, ".pki/nssdb");
    mkdirSync(database, { recursive: true });
    execFileSync("certutil", ["-d", `sql:${database}`, "-N", "--empty-password"]);
    execFileSync("certutil", ["-d", `sql:${database}`, "-A", "-t", "C,,", "-n", "demo", "-i", demo.ready.ca_cert]);
    const executablePath = execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
    const browser = await chromium.launch({ executablePath, env: { ...process.env, HOME: folder }, args: ["--no-sandbox", "--disable-gpu"] });
    try {
      const page = await browser.newPage();
      const errors = [];
      page.on("pageerror", (error) => errors.push(String(error)));
      await page.goto(origin);
      await page.getByText("Live", { exact: true }).waitFor();
      assert.equal(await page.locator("#feed li").count(), 30);

      const alice = demo.client();
      const service = newService();
      const first = () => page.locator("#feed li").first().textContent();
      for (const number of [1, 2, 3, 4]) {
        await alice.putActivity("alice", service, `${number}`, note(`<b>Live ${number}</b>`));
        await page.getByText(`<b>Live ${number}</b>`).waitFor();
        assert.equal(await first(), `<b>Live ${number}</b>`);
        // The keys end meanwhile, and with them the streams.
        await sleep(KEY_SECONDS * 750);
      }
      await alice.deleteActivity("alice", service, "4");
      await page.getByText("<b>Live 4</b>").waitFor({ state: "detached" });
      assert.equal(await page.locator("#state").textContent(), "Live");
      assert.deepEqual(errors, []);
      const keys = (await alice.keys("alice")).filter((key) => key.Name === "page");
      assert.ok(keys.length > 0 && keys.every((key) => key.Scope === "read" && key.Expires));

      // Another origin may not read.
      const elsewhere = await browser.newPage();
      await elsewhere.goto(`${demo.base}/docs`);
      await elsewhere.goto("about:blank");
      const refused = elsewhere.evaluate(([url, key]) => fetch(url, { headers: { ServicePSK: key } }), [`${demo.base}/200909/whoami`, demo.account("alice").key]);
      await assert.rejects(refused, /Failed to fetch/);
    } finally {
      await browser.close();
    }
  } finally {
    for (const child of started) {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    }
    rmSync(folder, { recursive: true });
  }
});
