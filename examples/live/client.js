// Pushes one activity, and follows the account's collection live until it is stopped.
//
//     node examples/live/client.js https://127.0.0.1:8443 ca.pem alice tfk_…
//
// When the connection is cut it comes back with the id of the last event, and goes on without a hole and without a
// repeat.
'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const https = require('node:https');
const { setTimeout: sleep } = require('node:timers/promises');

const [base, authority, account, key] = process.argv.slice(2);
const ca = fs.readFileSync(authority);

// Sends a request and gives its answer, whose body is still to come.
function send(method, url, headers, body) {
  return new Promise((resolve, reject) => {
    // The service says something every 15 seconds. After 40 without a word nobody is there any more.
    const options = { method, ca, headers: { ServicePSK: key, ...headers }, timeout: 40_000 };
    const request = https.request(url, options, resolve);
    request.on('timeout', () => request.destroy(new Error('nothing came for 40 seconds')));
    request.on('error', reject);
    request.end(body);
  });
}

async function textOf(answer) {
  let text = '';
  for await (const part of answer.setEncoding('utf8')) text += part;
  return text;
}

// Sends a request that must work.
async function done(...request) {
  const answer = await send(...request);
  const text = await textOf(answer);
  if (answer.statusCode >= 300) throw new Error(`${answer.statusCode}: ${text}`);
  return answer;
}

// The events of a stream, each as its fields.
async function* events(answer) {
  let rest = '';
  let event = {};
  for await (const part of answer.setEncoding('utf8')) {
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

// Says what happened.
function show({ event, data }) {
  const said = JSON.parse(data);
  if (event === 'activity') console.log(`activity ${said.ActivityIdentifier} ${said.Title}`);
  if (event === 'deleted') console.log(`deleted ${said.ActivityIdentifier}`);
  // More changed than can be told one by one: what you keep of the collection is to be read anew from here.
  if (event === 'incomplete') console.log(`incomplete ${said.Url}`);
}

async function main() {
  // Where the collection stands now. Whatever comes after this is in the stream, whenever that is opened.
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
          // Only now: an event whose id is kept is an event that was dealt with.
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
