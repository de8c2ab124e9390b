// Pushes one activity, and follows the account's collection live until it is stopped.
//
//     node examples/live/client.js https://127.0.0.1:8443 ca.pem alice tfk_…
//
// After a disconnect it reconnects with the id of the last event and continues without a gap or a repeat.
'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const https = require('node:https');
const { setTimeout: sleep } = require('node:timers/promises');

const [base, authority, account, key] = process.argv.slice(2);
const ca = fs.readFileSync(authority);

// Sends a request and returns the response, whose body is not read yet.
function send(method, url, headers, body) {
  return new Promise((resolve, reject) => {
    // The server sends at least a comment every 15 seconds. After 40 silent seconds the connection is dead.
    const options = { method, ca, headers: { ServicePSK: key, ...headers }, timeout: 40_000 };
    const request = https.request(url, options, resolve);
    request.on('timeout', () => request.destroy(new Error('no data for 40 seconds')));
    request.on('error', reject);
    request.end(body);
  });
}

async function textOf(response) {
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  return text;
}

// Sends a request that must succeed.
async function done(...request) {
  const response = await send(...request);
  const text = await textOf(response);
  if (response.statusCode >= 300) throw new Error(`${response.statusCode}: ${text}`);
  return response;
}

// The events of a stream, each as an object of its fields.
async function* events(response) {
  let rest = '';
  let event = {};
  for await (const part of response.setEncoding('utf8')) {
    const lines = (rest + part).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
      if (line === '') {
        yield event;
        event = {};
      } else if (name !== '') event[name] = value; // A line that begins with a colon is a comment.
    }
  }
}

// Prints an event.
function show({ event, data }) {
  const fields = JSON.parse(data);
  if (event === 'activity') console.log(`activity ${fields.ActivityIdentifier} ${fields.Title}`);
  if (event === 'deleted') console.log(`deleted ${fields.ActivityIdentifier}`);
  // Too many changes for single events: read the collection again from this address.
  if (event === 'incomplete') console.log(`incomplete ${fields.Url}`);
}

async function main() {
  // The current position of the collection. The stream contains everything after it, even if it is opened later.
  const collection = `${base}/200909/activity/${account}/tofrom?count=0`;
  const page = await done('GET', collection, { Accept: 'application/json' });
  const [, updates] = /<([^>]*)>; rel="updates"/.exec(page.headers.link);

  const activity = {
    Category: 'NotePosted',
    Title: `${account} says hello from JavaScript`,
    Note: { Title: 'Hello' },
  };
  const address = `${base}/200909/activity/${account}/from/Examples/${crypto.randomUUID()}`;
  const pushed = await done('PUT', address, { 'Content-Type': 'application/json' }, JSON.stringify(activity));
  console.log(`pushed ${pushed.headers.location}`);

  const headers = { Accept: 'text/event-stream' };
  let pause = 1000;
  for (;;) {
    const stream = await send('GET', updates, headers).catch((cut) => console.error(`cut: ${cut.message}`));
    if (stream && stream.statusCode !== 200) {
      const text = await textOf(stream);
      if (![429, 503].includes(stream.statusCode)) throw new Error(`${stream.statusCode}: ${text}`);
    } else if (stream) {
      try {
        for await (const event of events(stream)) {
          if (event.retry) pause = Number(event.retry);
          if (event.data) show(event);
          // Store the id only after the event was processed.
          if (event.id) headers['Last-Event-ID'] = event.id;
        }
      } catch (cut) {
        console.error(`cut: ${cut.message}`);
      }
    }
    await sleep(pause);
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
