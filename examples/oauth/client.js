// Reads the newest activities of an account that authorises it, with OAuth 1.0a, out of band.
//
//     npm install oauth-1.0a
//     BASE=https://127.0.0.1:8443 CONSUMER=tfc_… CONSUMER_SECRET=… NODE_EXTRA_CA_CERTS=ca.pem node client.js
'use strict';

const crypto = require('node:crypto');
const readline = require('node:readline/promises');
const OAuth = require('oauth-1.0a');

const base = process.env.BASE;
const oauth = OAuth({
  consumer: { key: process.env.CONSUMER, secret: process.env.CONSUMER_SECRET },
  signature_method: 'HMAC-SHA1',
  hash_function: (text, key) => crypto.createHmac('sha1', key).update(text).digest('base64'),
});

// Signs and sends a request; `protocol` are further oauth_ parameters.
async function send(method, url, token, protocol = {}) {
  const signed = oauth.authorize({ method, url, data: protocol }, token);
  const headers = { ...oauth.toHeader(signed), Accept: 'application/json' };
  const response = await fetch(url, { method, headers });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response;
}

async function tokenOf(response) {
  const form = new URLSearchParams(await response.text());
  return { key: form.get('oauth_token'), secret: form.get('oauth_token_secret') };
}

async function main() {
  // 1. The application requests temporary credentials.
  const response = await send('POST', `${base}/oauth/request_token`, undefined, { oauth_callback: 'oob' });
  const temporary = await tokenOf(response);

  // 2. The person decides in a browser and enters the code here.
  console.log('Open this address, sign in and allow it:');
  console.log(`${base}/oauth/authorize?oauth_token=${temporary.key}`);
  const terminal = readline.createInterface({ input: process.stdin, output: process.stdout });
  const verifier = (await terminal.question('The code that is shown: ')).trim();
  terminal.close();

  // 3. The application exchanges both for an access token. Store its two parts for later runs.
  const exchanged = await send('POST', `${base}/oauth/access_token`, temporary, { oauth_verifier: verifier });
  const token = await tokenOf(exchanged);

  // From now on every request is signed with the access token.
  const who = await (await send('GET', `${base}/200909/whoami`, token)).json();
  const since = encodeURIComponent('2009-09-01T00:00:00+02:00');
  const url = `${base}/200909/activity/${who.WhoAmI.Account}/tofrom?count=3&publishedsince=${since}`;
  const page = await (await send('GET', url, token)).json();
  for (const activity of page.Activities.Activity) console.log(activity.Title);
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
