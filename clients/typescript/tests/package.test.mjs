// The package: its version, its files, and the examples of its README.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { VERSION } from "tofrom";
import { Demo } from "./service.mjs";

const PACKAGE = join(import.meta.dirname, "..");
const ROOT = join(PACKAGE, "../..");
const text = (...path) => readFileSync(join(...path), "utf8");

let demo;
before(async () => {
  demo = await Demo.start();
});
after(() => demo.kill());

test("the version is that of the server", () => {
  const [, version] = /^\[workspace\.package\][^[]*?^version = "([^"]+)"/ms.exec(text(ROOT, "Cargo.toml"));
  assert.deepEqual([VERSION, JSON.parse(text(PACKAGE, "package.json")).version], [version, version]);
});

test("the license is that of the repository", () => {
  assert.equal(text(PACKAGE, "LICENSE"), text(ROOT, "LICENSE"));
});

test("every path is used", () => {
  const [generated, client] = [text(PACKAGE, "src/generated/openapi.ts"), text(PACKAGE, "src/client.ts")];
  const block = generated.slice(0, generated.indexOf("export type webhooks"));
  let [path, missing] = ["", []];
  for (const line of block.split("\n")) {
    path = /^ {4}"(\/[^"]*)": \{/.exec(line)?.[1] ?? path;
    const method = /^ {8}(get|put|post|delete): /.exec(line)?.[1];
    // A collection makes its addresses of its name. The compiler checks that a path has the method.
    if (!method || /^\/200909\/activity\/\{user\}\/(to|from|tofrom)(\/unread|\/seen)?$/.test(path)) continue;
    if (!client.includes(`"${path}"`)) missing.push(`${method} ${path}`);
  }
  assert.deepEqual(missing, []);
});

test("the package is complete", () => {
  const packed = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: PACKAGE, encoding: "utf8" }));
  const names = packed[0].files.map((file) => file.path);
  for (const name of ["LICENSE", "README.md", "dist/index.js", "dist/index.d.ts", "dist/oauth.js", "dist/webhooks.d.ts", "dist/generated/openapi.d.ts"]) {
    assert.ok(names.includes(name), `${name} is missing in ${names}`);
  }
  assert.ok(names.every((name) => /^(dist\/|LICENSE$|README.md$|package.json$)/.test(name)), `${names}`);
});

for (const page of ["clients/typescript/README.md", "docs/clients.md"]) {
  test(`the examples of ${page} work`, () => {
    const blocks = [...text(ROOT, page).matchAll(/^```ts\n(.*?)^```/gms)].map(([, block]) => block);
    assert.ok(blocks.length > 0, `${page} has no block in TypeScript`);
    // Inside of the package, so that its name is found.
    mkdirSync(join(PACKAGE, "dist"), { recursive: true });
    const folder = mkdtempSync(join(PACKAGE, "dist/examples-"));
    try {
      writeFileSync(join(folder, "example.mts"), blocks.join("\n"));
      writeFileSync(join(folder, "line.json"), JSON.stringify(demo.ready));
      const { rootDir, outDir, declaration, ...compilerOptions } = JSON.parse(text(PACKAGE, "tsconfig.json")).compilerOptions;
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["example.mts"] }));
      const run = (...args) => execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8", timeout: 120_000 });
      run(join(PACKAGE, "node_modules/typescript/bin/tsc"));
      const printed = run("example.mjs");
      for (const [, expected] of blocks.join("").matchAll(/\/\/ prints: (.*)/g)) {
        assert.ok(printed.includes(expected), `${expected} is not in ${printed}`);
      }
    } catch (error) {
      throw error.stdout ? new Error(`${error.message}\n${error.stdout}${error.stderr}`) : error;
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
