// The back end of an application that embeds a feed: serves the page, and gives it short-lived keys.
//
//     node examples/embed/server.mjs https://feeds.example.org tfk_… clients/typescript/dist [PORT [SECONDS]]
//
// The key must have the scope `write`, because it creates others. It stays here; the page gets keys that can only read,
// and only for some minutes. `cors_origins` of the server must name this application's origin.

import { readFile } from "node:fs/promises";
import http from "node:http";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [base, key, library, port = "8080", seconds = "900"] = process.argv.slice(2);
const { Client } = await import(pathToFileURL(path.resolve(library, "index.js")).href);
const client = new Client(base, { key });
const { Account: user } = await client.whoami();

const TYPES = { ".html": "text/html", ".js": "text/javascript" };
// The page runs only its own scripts, and connects only to itself and to the server.
const POLICY = `default-src 'self'; connect-src 'self' ${new URL(base).origin}`;

const server = http.createServer(async (request, response) => {
  try {
    const { pathname } = new URL(request.url, "http://localhost");
    if (request.method === "POST" && pathname === "/feed-key") {
      // A real application checks its session here, and uses the account of the signed-in user.
      const { Key } = await client.createKey(user, { Name: "page", Scope: "read", ExpiresIn: Number(seconds) });
      response.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-store" });
      response.end(JSON.stringify({ base, user, key: Key }));
      return;
    }
    const inLibrary = /^\/tofrom\/((?:[\w-]+\/)?[\w-]+\.js)$/.exec(pathname);
    const own = { "/": "index.html", "/page.js": "page.js" }[pathname];
    const file = inLibrary ? path.join(library, inLibrary[1]) : own && path.join(import.meta.dirname, own);
    if (!file) throw new Error(`no such page: ${pathname}`);
    const content = await readFile(file);
    response.writeHead(200, { "Content-Type": TYPES[path.extname(file)], "Content-Security-Policy": POLICY });
    response.end(content);
  } catch (error) {
    console.error(error.message);
    response.writeHead(404).end();
  }
});
server.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
