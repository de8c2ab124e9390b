// Takes the pictures for docs/pictures: every page with the data of the demo, on a desktop and on a phone. Prints their
// names.
//
//     node page_pictures.js HOME PICTURES
//
// HOME is a folder for the browser. PAGE_PICTURE_MINUTES is the time that the demo has served before the pictures of the
// operator pages are taken, so that their plots have lines.
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const { browserErrors, launch, newPerson, signIn } = require('./browser.js');
const { params } = require('./service.js');

const pictures = process.argv[3];
const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
const began = Date.now();
const TRAFFIC = Number(process.env.PAGE_PICTURE_MINUTES ?? 0) * 60_000;

// A signed-in person; without an account a visitor.
async function person(browser, account, viewport = WIDE, scheme = 'light') {
  const more = viewport === PHONE ? { hasTouch: true, isMobile: true } : {};
  const page = await newPerson(browser, viewport, scheme, { reducedMotion: 'reduce', ...more });
  if (account) {
    await page.goto(`${params.base}/sign-in`);
    await signIn(page, account, params.passwords[account]);
    await page.waitForURL((url) => !url.pathname.startsWith('/sign-in'));
  }
  return page;
}

// The commands of a page name the folder of a demo in the current directory.
const nameFolder = (page, address) => page.route(address, async (route) => {
  const response = await route.fetch({ maxRedirects: 0 });
  const body = (await response.text()).replaceAll(params.ca, 'tofrom-demo/ca.pem');
  await route.fulfill({ response, body });
});

// A picture of what the browser shows, without the empty space below the content.
async function take(page, name) {
  await page.waitForLoadState();
  await page.waitForFunction(() => [...document.images].every((one) => one.complete || !one.checkVisibility() || one.getBoundingClientRect().top > innerHeight));
  const bottom = await page.evaluate(() => {
    const shown = [...document.querySelectorAll('main *, .side *, dialog[open], details[open] > *, .contents')];
    return Math.max(...shown.map((one) => one.getBoundingClientRect().bottom)) + 32;
  });
  const { width, height } = page.viewportSize();
  const clip = { x: 0, y: 0, width, height: Math.max(Math.min(Math.ceil(bottom), height), 480) };
  await page.screenshot({ path: path.join(pictures, `${name}.png`), clip });
  console.log(name);
}

async function visit(page, address, name) {
  await page.goto(`${params.base}${address}`);
  await take(page, name);
}

async function reading(browser) {
  for (const [viewport, scheme, prefix] of [[WIDE, 'light', ''], [WIDE, 'dark', 'dark-'], [PHONE, 'light', 'phone-'], [PHONE, 'dark', 'phone-dark-']]) {
    const page = await person(browser, 'alice', viewport, scheme);
    await visit(page, '/feed', `${prefix}feed`);
    if (scheme === 'light') {
      await page.locator('details.filter > summary').click();
      await take(page, `${prefix}filter`);
      const address = await page.locator('article a.at').first().getAttribute('href');
      await page.goto(new URL(address, params.base).href);
      await take(page, `${prefix}activity`);
      await visit(page, '/user/bob', `${prefix}person`);
      await visit(page, '/people', `${prefix}people`);
      await visit(page, '/search?q=on', `${prefix}search`);
      await page.goto(`${params.base}/compose`);
      await page.getByLabel('Text').fill('Moon over the gasworks, and not one cloud.');
      await take(page, `${prefix}compose`);
    }
    await page.context().close();
  }
  const page = await person(browser, 'alice');
  await page.goto(`${params.base}/feed?collection=from&type=photo,video`);
  await take(page, 'filtered');
  await page.keyboard.press('?');
  await take(page, 'shortcuts');
  await page.context().close();
}

async function beginning(browser) {
  const visitor = await person(browser);
  await visit(visitor, '/sign-in', 'sign-in');
  const operator = await person(browser, 'ops');
  for (const [viewport, prefix] of [[WIDE, ''], [PHONE, 'phone-']]) {
    await operator.goto(`${params.base}/operator/accounts`);
    await operator.getByRole('button', { name: 'Create invitation link' }).click();
    const invitation = await operator.locator('#link').textContent();
    const page = await person(browser, undefined, viewport);
    await page.goto(invitation);
    await page.getByLabel('Username').fill(prefix ? 'yuki' : 'zoe');
    await page.getByLabel('Given name').fill(prefix ? 'Yuki' : 'Zoe');
    await take(page, `${prefix}invitation`);
    await page.getByLabel('Password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('heading', { name: 'Welcome' }).waitFor();
    await take(page, `${prefix}first-steps`);
    await page.context().close();
  }
  for (const one of [visitor, operator]) await one.context().close();
}

async function settings(browser) {
  const page = await person(browser, 'frank');
  await page.goto(`${params.base}/settings/sources`);
  await page.getByLabel('Feed or page address').fill(params.elsewhere.page);
  await page.getByRole('button', { name: 'Preview' }).first().click();
  await page.getByText('And 3 more.').waitFor();
  await take(page, 'source-preview');
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByText('✓ verified').waitFor();
  await page.getByLabel('Feed or page address').fill(`${params.elsewhere.feed}?photos`);
  await page.getByRole('button', { name: 'Preview' }).first().click();
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByRole('button', { name: /^Pause/ }).last().click();
  await visit(page, '/settings/sources', 'settings-sources');
  await nameFolder(page, '**/settings/keys');
  await page.goto(`${params.base}/settings/keys`);
  await page.getByLabel('Name', { exact: true }).fill('Photo wall');
  await page.getByRole('button', { name: 'Create key' }).click();
  await take(page, 'key');
  await visit(page, '/settings/keys', 'keys');
  await page.goto(`${params.base}/settings/applications`);
  await page.getByText('Register an application').click();
  await page.getByLabel('Application name').fill('Photo wall');
  await page.getByLabel('Callback URL').fill('https://wall.example/back');
  await page.getByRole('button', { name: 'Register' }).click();
  await take(page, 'applications');
  await page.goto(`${params.base}/settings/hooks`);
  await page.getByLabel('Name', { exact: true }).fill('search-index');
  await page.getByLabel('Address').fill(`${params.elsewhere.page.replace('http:', 'https:')}hook`);
  await page.getByRole('button', { name: 'Add hook' }).click();
  await page.locator('#secret').waitFor();
  await take(page, 'hooks');
  await visit(page, '/settings', 'profile');
  await page.locator('#picture-heading').scrollIntoViewIfNeeded();
  await visit(page, '/settings/people', 'following');
  const second = await person(browser, 'frank', PHONE);
  await visit(second, '/settings/keys', 'phone-keys');
  await visit(second, '/settings/sources', 'phone-sources');
  await page.goto(`${params.base}/settings/security`);
  await page.getByRole('heading', { name: 'Active sessions' }).evaluate((one) => scrollTo(0, one.getBoundingClientRect().top - 100));
  await take(page, 'sessions');
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.getByRole('heading', { name: 'Set up two-factor authentication' }).waitFor();
  await take(page, 'second-factor');
  await visit(page, '/settings/data', 'data');
  for (const one of [page, second]) await one.context().close();
}

async function reference(browser) {
  const page = await person(browser, 'alice');
  await nameFolder(page, /\/docs/);
  await visit(page, '/docs#readToFrom', 'docs');
  await visit(page, '/docs/try?collection=tofrom&type=photo&count=2&format=json', 'docs-try');
  await visit(page, '/activity/nothing', 'failure');
  const phone = await person(browser, 'alice', PHONE);
  await nameFolder(phone, /\/docs/);
  await visit(phone, '/docs#readToFrom', 'phone-docs');
  for (const one of [page, phone]) await one.context().close();
}

async function operating(browser) {
  const page = await person(browser, 'ops');
  const reader = await person(browser, 'bob');
  // Some minutes are busier than others.
  while (Date.now() - began < TRAFFIC) {
    const minute = Math.floor((Date.now() - began) / 60_000);
    for (let reads = 0; reads < 4 + ((minute * 7) % 11); reads += 1) await reader.request.get(`${params.base}/feed`);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
  }
  await visit(page, '/operator', 'operator');
  for (const name of ['accounts', 'applications', 'storage', 'audit']) await visit(page, `/operator/${name}`, `operator-${name}`);
  const phone = await person(browser, 'ops', PHONE);
  await visit(phone, '/operator', 'phone-operator');
  for (const one of [page, reader, phone]) await one.context().close();
}

async function main() {
  const browser = await launch();
  for (const part of [reading, beginning, settings, reference, operating]) await part(browser);
  // Chromium itself logs the failure page.
  assert.deepEqual(browserErrors.filter((text) => !/status of 404|net::ERR_ABORTED/.test(text)), []);
  await browser.close();
}

main().catch((error) => {
  console.error(error, browserErrors);
  process.exit(1);
});
