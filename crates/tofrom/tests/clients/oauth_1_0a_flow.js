// npm oauth-1.0a against the service: every signature method in every location. Prints a line for each successful flow.
'use strict';

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const OAuth = require('oauth-1.0a');
const { AWKWARD, COLLECTION, FORM, Person, byKey, encode, identifiers, send, params } = require('./service.js');

const hmac = (hash) => (base, key) => crypto.createHmac(hash, key).update(base).digest('base64');
const METHODS = {
  'HMAC-SHA1': hmac('sha1'),
  'HMAC-SHA256': hmac('sha256'),
  'RSA-SHA1': (base) => crypto.createSign('RSA-SHA1').update(base).sign(params.rsa_key, 'base64'),
  'PLAINTEXT': (_, key) => key,
};
const CALLBACKS = {
  header: 'http://127.0.0.1:4180/back?a=b%20c&d=%2Be',
  query: 'http://[::1]:4180/back?a=%C3%A9',
  body: 'oob',
};

function client(method) {
  return OAuth({
    consumer: method === 'RSA-SHA1' ? params.rsa_consumer : params.consumer,
    signature_method: method,
    hash_function: METHODS[method],
    // Otherwise hash_function would compute the body's hash, and needs a key.
    body_hash_function: (body) => crypto.createHash('sha1').update(body).digest('base64'),
  });
}

// Signs and sends with the protocol parameters in that location; the others go into the form for `body`, else into the
// query.
function signed(oauth, place, method, address, pairs, token) {
  const [own, others] = [{}, []];
  for (const [name, value] of pairs) name.startsWith('oauth_') ? (own[name] = value) : others.push([name, value]);
  const url = place === 'body' || !others.length ? address : `${address}?${encode(others)}`;
  const data = place === 'body' ? { ...own, ...Object.fromEntries(others) } : own;
  const all = oauth.authorize({ url, method, data }, token);
  const everything = encode(Object.entries(all));
  switch (place) {
    case 'header': return send(method, url, oauth.toHeader(all));
    case 'query': return send(method, `${address}?${everything}`);
    default: return send(method, address, FORM, everything);
  }
}

async function token(answer) {
  assert.equal(answer.status, 200, answer.text);
  const given = new URLSearchParams(answer.text);
  return { key: given.get('oauth_token'), secret: given.get('oauth_token_secret') };
}

async function flow(method, place, person, expected) {
  const oauth = client(method);
  const [callback, step] = [CALLBACKS[place], `${params.base}/oauth`];
  const asked = [['oauth_callback', callback], ['scope', 'write read']];
  const temporary = await token(await signed(oauth, place, 'POST', `${step}/request_token`, asked));
  const decided = await person.decide(`${step}/authorize?oauth_token=${temporary.key}`);
  const verifier = decided.verifier ?? new URL(decided.location).searchParams.get('oauth_verifier');
  if (callback !== 'oob') assert.ok(decided.location.startsWith(`${callback}&oauth_token=${temporary.key}&`));
  const brought = [['oauth_verifier', verifier]];
  const access = await token(await signed(oauth, place, 'POST', `${step}/access_token`, brought, temporary));

  const who = JSON.parse((await signed(oauth, place, 'GET', `${params.base}/200909/whoami`, [], access)).text).WhoAmI;
  assert.deepEqual([who.Account, who.Method, who.Scopes], [params.account, 'oauth', 'read write']);
  const read = await signed(oauth, place, 'GET', COLLECTION, AWKWARD, access);
  assert.equal(read.status, 200, read.text);
  assert.deepEqual(identifiers(read.text), expected);
  if (place === 'header' && method === 'HMAC-SHA1') await quirks(oauth, access, expected);
  await end(oauth, place, access);
  console.log('oauth-1.0a', method, place);
}

// Ends the grant, with a body that is signed by its hash.
async function end(oauth, place, access) {
  const [method, url, data] = ['DELETE', `${params.base}/200909/whoami/token`, '{"why": "done"}'];
  const all = oauth.authorize({ method, url, data, includeBodyHash: true }, access);
  assert.ok(all.oauth_body_hash);
  const ended = await send(method, url, { ...oauth.toHeader(all), 'Content-Type': 'application/json' }, data);
  assert.equal(ended.status, 204, ended.text);
  const after = await signed(oauth, place, 'GET', `${params.base}/200909/whoami`, [], access);
  assert.deepEqual([after.status, JSON.parse(after.text).oauth_problem], [401, 'token_revoked']);
}

// The quirks that docs/oauth.md lists.
async function quirks(oauth, access, expected) {
  const get = async (url, signedUrl = url) =>
    JSON.parse((await send('GET', url, oauth.toHeader(oauth.authorize({ method: 'GET', url: signedUrl }, access)))).text);
  const whoami = `${params.base}/200909/whoami`;

  const plus = await get(`${COLLECTION}?publishedsince=2009-09-01T00:00:00+02:00`);
  assert.equal(plus.oauth_problem, 'signature_invalid');
  assert.match(plus.detail, /bare \+/);
  console.log('oauth-1.0a quirk: a bare plus');

  const elsewhere = await get(whoami, whoami.replace('127.0.0.1', 'LOCALHOST'));
  assert.deepEqual([elsewhere.oauth_problem, elsewhere.base_uri], ['signature_invalid', whoami]);
  console.log('oauth-1.0a quirk: another spelling of the host');

  const twice = await get(`${COLLECTION}?note=&note=x`);
  assert.equal(twice.oauth_problem, 'signature_invalid');
  console.log('oauth-1.0a quirk: a name twice, first without a value');

  const url = `${params.base}/200909/whoami/token`;
  const unhashed = OAuth({ consumer: params.consumer, signature_method: 'HMAC-SHA1', hash_function: METHODS['HMAC-SHA1'] });
  const all = unhashed.authorize({ method: 'DELETE', url, data: '{}', includeBodyHash: true }, access);
  const headers = { ...unhashed.toHeader(all), 'Content-Type': 'application/json' };
  const refused = JSON.parse((await send('DELETE', url, headers, '{}')).text);
  assert.equal(refused.oauth_problem, 'signature_invalid');
  assert.match(refused.detail, /oauth_body_hash/);
  console.log('oauth-1.0a quirk: a body hash with a key');
}

async function main() {
  const [person, expected] = [new Person(), await byKey()];
  for (const method of Object.keys(METHODS)) {
    for (const place of Object.keys(CALLBACKS)) await flow(method, place, person, expected);
  }
}

main();
