// Shared by the JavaScript clients: plain HTTPS, the expected data, and the person who consents.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const https = require('node:https');

// The parameters of a client, as JSON from standard input.
const params = JSON.parse(fs.readFileSync(0, 'utf8'));

// With a plus sign, with characters that have a meaning in URLs, beyond ASCII, and empty.
const AWKWARD = [
  ['count', '7'],
  ['orderby', 'pubDate'],
  ['publishedsince', '2009-09-01T00:00:00.000+02:00'],
  ['type', 'photo,video'],
  ['verb', 'posted,liked'],
  ['note', "a b+c&d=e%20/?:@!$'()*~;,é✓🎉"],
  ['empty', ''],
];
const COLLECTION = `${params.base}/200909/activity/${params.account}/tofrom`;

const encode = (pairs) =>
  pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');

// Sends exactly that; fetch would refuse a GET with a body. The address is sent as written, as far as Node allows it.
function send(method, address, headers = {}, body = '') {
  const [, host, port, target] = /^https:\/\/([^/:]+):(\d+)(.*)$/.exec(address);
  const length = body ? { 'Content-Length': Buffer.byteLength(body) } : {};
  const options = { host, port, path: target, method, headers: { Accept: 'application/json', ...length, ...headers } };
  return new Promise((resolve, reject) => {
    const request = https.request(options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => { text += chunk; });
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

function identifiers(text) {
  return JSON.parse(text).Activities.Activity.map((activity) => activity.ActivityIdentifier);
}

// The expected data, read by the account's key.
async function byKey() {
  const answer = await send('GET', `${COLLECTION}?${encode(AWKWARD)}`, { ServicePSK: params.key });
  const found = identifiers(answer.text);
  assert.equal(found.length, 7);
  return found;
}

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

// Opens the authorize page, signs in and decides, through plain HTML forms.
class Person {
  cookies = new Map();

  async decide(address, decision = 'allow') {
    let page = await this.visit('GET', address);
    if (page.text.includes('name="password"')) {
      const form = { oauth_token: hidden(page.text, 'oauth_token'), username: params.account, password: params.password };
      const signedIn = await this.visit('POST', `${params.base}/oauth/authorize`, form);
      page = await this.visit('GET', signedIn.headers.location);
    }
    const form = { oauth_token: hidden(page.text, 'oauth_token'), csrf: hidden(page.text, 'csrf'), decision };
    const answer = await this.visit('POST', `${params.base}/oauth/authorize`, form);
    const shown = /id="verifier"[^>]*>([^<]+)</.exec(answer.text);
    return { location: answer.headers.location, verifier: shown && shown[1] };
  }

  async visit(method, address, form) {
    const body = form ? encode(Object.entries(form)) : '';
    const answer = await send(method, address, { Cookie: [...this.cookies].map((pair) => pair.join('=')).join('; '), ...(form ? FORM : {}) }, body);
    assert.ok([200, 303].includes(answer.status), answer.text);
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [name, value] = line.split(';')[0].split(/=(.*)/s);
      this.cookies.set(name, value);
    }
    return answer;
  }
}

function hidden(html, name) {
  return new RegExp(`name="${name}" value="([^"]+)"`).exec(html)[1];
}

module.exports = { AWKWARD, COLLECTION, FORM, Person, byKey, encode, identifiers, send, params };
