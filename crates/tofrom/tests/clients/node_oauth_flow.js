// npm oauth, which passport-oauth1 signs with, against the service: every signature method; reads signed in the header
// and in the query. Prints a line for each successful flow.
'use strict';

const assert = require('node:assert/strict');
const { OAuth } = require('oauth');
const { AWKWARD, COLLECTION, Person, byKey, encode, identifiers, send, params } = require('./service.js');

const METHODS = ['HMAC-SHA1', 'HMAC-SHA256', 'RSA-SHA1', 'PLAINTEXT'];
const ADDRESS = `${COLLECTION}?${encode(AWKWARD)}`;
const WHOAMI = `${params.base}/200909/whoami`;

function client(method, callback, version = '1.0') {
  const [consumer, secret] =
    method === 'RSA-SHA1' ? [params.rsa_consumer, params.rsa_key] : [params.consumer, params.consumer.secret];
  const [ask, exchange] = [`${params.base}/oauth/request_token`, `${params.base}/oauth/access_token`];
  const headers = { Accept: 'application/json', Connection: 'close' };
  return new OAuth(ask, exchange, consumer.key, secret, version, callback, method, 32, headers);
}

// Its functions call back with an error or a result.
function call(oauth, name, ...given) {
  return new Promise((resolve, reject) => {
    oauth[name](...given, (error, ...results) => (error ? reject(error) : resolve(results)));
  });
}

async function flow(method, callback, person, expected) {
  const oauth = client(method, callback);
  const [temporary, temporarySecret, rest] = await call(oauth, 'getOAuthRequestToken', { scope: 'read write' });
  assert.equal(rest.oauth_callback_confirmed, 'true');
  const decided = await person.decide(`${params.base}/oauth/authorize?oauth_token=${temporary}`);
  const verifier = decided.verifier ?? new URL(decided.location).searchParams.get('oauth_verifier');
  const [token, secret] = await call(oauth, 'getOAuthAccessToken', temporary, temporarySecret, verifier);

  const [text] = await call(oauth, 'get', WHOAMI, token, secret);
  const who = JSON.parse(text).WhoAmI;
  assert.deepEqual([who.Account, who.Method, who.Scopes], [params.account, 'oauth', 'read write']);
  const [read] = await call(oauth, 'get', ADDRESS, token, secret);
  assert.deepEqual(identifiers(read), expected);
  console.log('oauth', method, 'header');

  const inQuery = await send('GET', oauth.signUrl(ADDRESS, token, secret));
  assert.equal(inQuery.status, 200, inQuery.text);
  assert.deepEqual(identifiers(inQuery.text), expected);
  console.log('oauth', method, 'query');

  if (method === 'HMAC-SHA1') await quirks(oauth, token, secret);
  await call(oauth, 'delete', `${WHOAMI}/token`, token, secret);
  const refused = await call(oauth, 'get', WHOAMI, token, secret).catch((error) => error);
  assert.deepEqual([refused.statusCode, JSON.parse(refused.data).oauth_problem], [401, 'token_revoked']);
}

// The quirks that docs/oauth.md lists.
async function quirks(oauth, token, secret) {
  const twice = `${COLLECTION}?type=photo&type=video`;
  const repeated = await call(oauth, 'get', twice, token, secret).catch((error) => error);
  assert.equal(JSON.parse(repeated.data).oauth_problem, 'signature_invalid');
  console.log('oauth quirk: a name twice');

  // As in its README; passport-oauth1 passes 1.0.
  const other = client('HMAC-SHA1', 'oob', '1.0A');
  await call(other, 'get', WHOAMI, token, secret);
  console.log('oauth quirk: version 1.0A');
}

async function main() {
  const [person, expected] = [new Person(), await byKey()];
  const callbacks = ['http://127.0.0.1:4180/back?a=b%20c&d=%2Be', 'oob'];
  for (const [at, method] of METHODS.entries()) await flow(method, callbacks[at % 2], person, expected);
}

main();
