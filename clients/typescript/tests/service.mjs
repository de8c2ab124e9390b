// The server under test: a demo whose authority this process trusts (see run.mjs), and proxies in front of it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import net from "node:net";
import { createInterface } from "node:readline";
import { Client } from "tofrom";

export class Demo {
  port = 0;

  static async start(folder = process.env.DEMO_DATA) {
    const demo = new Demo();
    demo.folder = folder;
    await demo.start();
    return demo;
  }

  // Its port stays the same when it is started again.
  async start() {
    const args = ["demo", "--json", "--listen", `127.0.0.1:${this.port}`, "--data", this.folder];
    // The shell kills the demo when its standard input ends, so the demo ends with this process in any case.
    const shell = ["-c", '"$@" & pid=$!; cat >/dev/null; kill -9 $pid; wait $pid 2>/dev/null', "sh", process.env.TOFROM ?? "tofrom", ...args];
    this.process = spawn("sh", shell, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, TOFROM_LOG: "error" } });
    const [line] = await once(createInterface(this.process.stdout), "line");
    this.ready = JSON.parse(line);
    this.base = this.ready.base_url;
    this.port = Number(new URL(this.base).port);
  }

  // Ends it like a crash.
  async kill() {
    const exit = once(this.process, "exit");
    this.process.stdin.end();
    await exit;
  }

  account(name) {
    return this.ready.accounts.find((account) => account.name === name);
  }

  client(name = "alice", base = this.base, options = {}) {
    return new Client(base, { key: this.account(name).key }, options);
  }
}

// A TCP proxy in front of a port of this machine. `behaviour(piece, connection)` returns the pieces to pass on; after
// `null` the connection is cut.
export class Proxy {
  connections = 0;
  #open = new Set();

  static async start(port, behaviour = (piece) => [piece]) {
    const proxy = new Proxy();
    proxy.server = net.createServer((client) => {
      proxy.connections += 1;
      const server = net.connect(port, "127.0.0.1");
      const connection = { sent: 0 };
      for (const [one, other] of [[client, server], [server, client]]) {
        proxy.#open.add(one);
        one.on("error", () => other.destroy());
        one.on("close", () => {
          proxy.#open.delete(one);
          other.destroy();
        });
      }
      client.on("data", (piece) => !proxy.stalled && server.write(piece));
      server.on("data", (piece) => {
        if (proxy.stalled) return;
        for (const part of behaviour(piece, connection)) {
          if (part === null) client.destroy();
          else if (!client.destroyed) client.write(part);
        }
      });
    });
    proxy.server.listen(0, "127.0.0.1");
    await once(proxy.server, "listening");
    proxy.base = `https://127.0.0.1:${proxy.server.address().port}`;
    return proxy;
  }

  stop() {
    this.server.close();
    for (const socket of this.#open) socket.destroy();
  }
}

// Cuts each connection after so many bytes of the server.
export const cutAfter = (size) => (piece, connection) => {
  connection.sent += piece.length;
  return connection.sent < size ? [piece] : [piece.subarray(0, Math.max(0, piece.length - (connection.sent - size))), null];
};

// Passes a few bytes at a time on.
export const dribble = (piece) => Array.from({ length: Math.ceil(piece.length / 7) }, (_, at) => piece.subarray(at * 7, at * 7 + 7));

export const note = (title) => ({ Category: "NotePosted", Title: title, Note: { Title: title } });

let services = 0;
// The name of a service that no other test uses.
export const newService = () => `Service ${process.pid} ${(services += 1)}`;
