// A client with types that openapi-typescript generates from /openapi.json: generates them, checks and compiles
// generated_client.ts with them, and runs it.
//
// Reads its parameters as JSON from standard input, prints a line for each property that holds.

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const COMPILER = {
  strict: true,
  noUncheckedIndexedAccess: true,
  target: "ES2022",
  module: "CommonJS",
  types: [],
  skipLibCheck: true,
};

async function main() {
  const params = fs.readFileSync(0, "utf8");
  const modules = process.env.NODE_PATH;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tofrom-generated-"));
  const inside = (name) => path.join(folder, name);
  const run = (program, args) => execFileSync(process.execPath, [path.join(modules, program), ...args], { cwd: folder });
  try {
    const document = await fetch(`${JSON.parse(params).base}/openapi.json`);
    fs.writeFileSync(inside("openapi.json"), await document.text());
    run("openapi-typescript/bin/cli.js", ["openapi.json", "-o", "openapi.d.ts"]);
    // The compiler looks for packages beside the program.
    fs.symlinkSync(modules, inside("node_modules"));
    fs.copyFileSync(path.join(__dirname, "generated_client.ts"), inside("client.ts"));
    fs.writeFileSync(inside("tsconfig.json"), JSON.stringify({ compilerOptions: COMPILER, files: ["client.ts"] }));
    run("typescript/bin/tsc", []);
    console.log("typescript generated");
    process.stdout.write(execFileSync(process.execPath, ["client.js"], { cwd: folder, input: params }));
  } catch (error) {
    throw error.stdout?.length ? new Error(error.stdout.toString()) : error;
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

main();
