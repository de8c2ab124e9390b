// The authorize page in a real browser: sign in, use another account, deny, allow, out of band, by keyboard alone, on a
// small screen. Prints a line for each part that succeeded.
//
//     node browser_flow.js HOME PICTURES
//
// HOME is a folder for the browser, PICTURES one for screenshots.
'use strict';

const assert = require('node:assert/strict');
const http = require('node:http');
const { OAuth } = require('oauth');
const { browserErrors, DESK, launch, checkFit, newPerson, PHONE, signIn } = require('./browser.js');
const { identifiers, params } = require('./service.js');

// An application with a callback on loopback.
class Application {
  static async start() {
    const application = new Application();
    application.server = http.createServer((request, response) => {
      const answer = '<!doctype html><title>The application</title><link rel="icon" href="data:,"><p>Welcome back.';
      response.setHeader('Content-Type', 'text/html').end(answer);
      application.waiting?.(new URL(request.url, 'http://application'));
    });
    await new Promise((resolve) => application.server.listen(0, resolve));
    ({ port: application.port, family: application.family } = application.server.address());
    return application;
  }

  // Requests temporary credentials. `host` is the host of its callback; without one it is out of band.
  async ask(host, consumer = params.consumer) {
    const callback = host ? `http://${host}:${this.port}/back?a=b%20c` : 'oob';
    const steps = [`${params.base}/oauth/request_token`, `${params.base}/oauth/access_token`];
    const headers = { Accept: 'application/json' };
    this.oauth = new OAuth(...steps, consumer.key, consumer.secret, '1.0', callback, 'HMAC-SHA1', 32, headers);
    [this.token, this.secret] = await this.call('getOAuthRequestToken');
    this.returned = new Promise((resolve) => { this.waiting = resolve; });
    return `${params.base}/oauth/authorize?oauth_token=${this.token}`;
  }

  // Exchanges the verifier and reads the collection of that account: the number of activities on a page.
  async read(verifier, account) {
    const [token, secret] = await this.call('getOAuthAccessToken', this.token, this.secret, verifier);
    const [text] = await this.call('get', `${params.base}/200909/activity/${account}/tofrom?count=5`, token, secret);
    return identifiers(text).length;
  }

  call(name, ...given) {
    return new Promise((resolve, reject) => {
      this.oauth[name](...given, (error, ...results) => (error ? reject(new Error(error.data)) : resolve(results)));
    });
  }
}

const consent = (page) => page.getByRole('heading', { level: 1, name: /wants to access your account/ }).waitFor();

async function denyAndAllow(browser, application) {
  const page = await newPerson(browser, DESK);
  await page.goto(await application.ask('localhost'));
  await checkFit(page, 'sign-in');
  await signIn(page, 'alice', 'not her password');
  await page.getByRole('alert').getByText('Incorrect username or password').waitFor();
  assert.equal(await page.getByLabel('Username').inputValue(), 'alice');
  assert.equal(await page.getByLabel('Password').inputValue(), '');
  await checkFit(page, 'sign-in-complaint');
  // Chromium itself logs every page with such a status.
  const logged = browserErrors.splice(0);
  assert.deepEqual(logged.map((text) => /status of 403 .*\/oauth\/authorize$/.test(text)), [true], logged);
  console.log('a wrong password');

  await signIn(page, 'alice', params.passwords.alice);
  await consent(page);
  await page.getByText('Signed in as alice').waitFor();
  await page.getByRole('heading', { level: 1 }).getByText(params.application).waitFor();
  await page.getByText(`localhost:${application.port}`).waitFor();
  await checkFit(page, 'consent');
  console.log('signed in');

  await page.getByRole('button', { name: 'Use another account' }).click();
  await signIn(page, 'bob', params.passwords.bob);
  await consent(page);
  await page.getByText('Signed in as bob').waitFor();
  console.log('another account');

  await page.getByRole('button', { name: 'Deny' }).click();
  const denied = (await application.returned).searchParams;
  const refused = { a: 'b c', oauth_token: application.token, oauth_problem: 'user_refused' };
  assert.deepEqual(Object.fromEntries(denied), refused);
  await page.getByText('Welcome back.').waitFor();
  console.log('denied');

  // Still signed in, and asked for consent nevertheless.
  await page.goto(await application.ask('127.0.0.1'));
  await consent(page);
  await page.getByRole('button', { name: 'Allow' }).click();
  const allowed = (await application.returned).searchParams;
  assert.equal(allowed.get('a'), 'b c');
  assert.equal(allowed.get('oauth_token'), application.token);
  await page.getByText('Welcome back.').waitFor();
  assert.equal(await application.read(allowed.get('oauth_verifier'), 'bob'), 5);
  console.log('allowed');
  await page.context().close();
}

async function outOfBand(browser, application) {
  const page = await newPerson(browser, PHONE, 'dark');
  await page.goto(await application.ask(null, params.long_consumer));
  await checkFit(page, 'phone-sign-in');
  await signIn(page, 'alice', params.passwords.alice);
  await consent(page);
  await checkFit(page, 'phone-consent');
  await page.getByRole('button', { name: 'Allow' }).click();
  const verifier = await page.locator('#verifier').textContent();
  await checkFit(page, 'phone-verifier');
  assert.equal(await application.read(verifier, 'alice'), 5);
  console.log('out of band');

  await page.goto(await application.ask(null, params.long_consumer));
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByRole('heading', { name: 'Access denied' }).waitFor();
  await checkFit(page, 'phone-denied');
  console.log('out of band, denied');
  await page.context().close();
}

// The focused element, which must be visibly focused.
async function focused(page) {
  const found = await page.evaluate(() => {
    const { id, textContent } = document.activeElement;
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    return { name: id || textContent.trim(), ring: outlineStyle !== 'none' && parseFloat(outlineWidth) > 1 };
  });
  assert.ok(found.ring, `the focus on ${found.name} does not show`);
  return found.name;
}

async function byKeyboard(browser, application) {
  const page = await newPerson(browser, PHONE);
  // The policy's grammar has no IPv6 addresses, so this callback needs another source than the others.
  await page.goto(await application.ask(application.family === 'IPv6' ? '[::1]' : '127.0.0.1'));
  assert.equal(await focused(page), 'username');
  await page.keyboard.type('alice');
  await page.keyboard.press('Tab');
  assert.equal(await focused(page), 'password');
  await page.keyboard.type(params.passwords.alice);
  await page.keyboard.press('Enter');
  await consent(page);
  const stops = [];
  while (stops.at(-1) !== 'Allow') {
    assert.ok(stops.length < 5, stops.join());
    await page.keyboard.press('Tab');
    stops.push(await focused(page));
  }
  assert.deepEqual(stops, ['Not alice? Use another account', 'Allow']);
  await checkFit(page, 'phone-keyboard');
  await page.keyboard.press('Enter');
  const allowed = (await application.returned).searchParams;
  await page.getByText('Welcome back.').waitFor();
  assert.equal(await application.read(allowed.get('oauth_verifier'), 'alice'), 5);
  console.log('by keyboard');
  await page.context().close();
}

// The page asks nothing. Chromium logs the status, so this runs after the check for errors.
async function nothingToDecide(browser) {
  const page = await newPerson(browser, PHONE);
  await page.goto(`${params.base}/oauth/authorize?oauth_token=tft_unknown`);
  await page.getByRole('heading', { name: 'No pending authorization request' }).waitFor();
  await checkFit(page, 'phone-nothing');
  console.log('nothing to decide');
  await page.context().close();
}

// Whether an error would have been noticed.
async function control(browser, application) {
  const page = await newPerson(browser, DESK);
  await page.goto(await application.ask());
  const heard = page.waitForEvent('console', (message) => message.text().startsWith('policy: img-src'));
  await page.evaluate(() => { document.body.append(Object.assign(new Image(), { src: 'data:image/png;base64,' })); });
  await heard;
  assert.notDeepEqual(browserErrors, []);
  await page.context().close();
}

async function main() {
  const [browser, application] = await Promise.all([launch(), Application.start()]);
  await denyAndAllow(browser, application);
  await outOfBand(browser, application);
  await byKeyboard(browser, application);
  assert.deepEqual(browserErrors, []);
  await control(browser, application);
  console.log('nothing complained');
  await nothingToDecide(browser);
  await browser.close();
  application.server.close();
  application.server.closeAllConnections();
}

main().catch((error) => {
  console.error(error, browserErrors);
  process.exit(1);
});
