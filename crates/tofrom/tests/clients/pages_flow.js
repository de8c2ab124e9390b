// The HTML pages in a real browser: every page on a desktop and on a small screen, in light and dark, with and without
// script; actions by mouse and by keyboard only. Prints a line for each part that succeeded.
//
//     node pages_flow.js HOME PICTURES MARKUP
//
// HOME is a folder for the browser, PICTURES one for screenshots, MARKUP one for their source.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { browserErrors, DESK, launch, checkFit, newPerson, PHONE, signIn } = require('./browser.js');
const { send, params } = require('./service.js');

const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const markup = process.argv[4];
// The minimum width of a page: the smallest phones, and a desktop of 1280 pixels at 400 %.
const NARROW = { width: 320, height: 640 };
// The maximum size of a page in bytes, compressed and without pictures.
const LARGEST = 60 * 1024;
// The maximum size of the script in bytes.
const LARGEST_SCRIPT = 15 * 1024;
// A usual phone.
const USUAL = { width: 390, height: 844 };

const enter = async (page, account, then = '/') => {
  await page.goto(`${params.base}${then}`);
  await signIn(page, account, params.passwords[account]);
  await page.waitForURL((url) => !url.pathname.startsWith('/sign-in'));
};

// No page makes requests to another host.
const forbidOtherHosts = (page) => page.on('request', (request) => {
  if (!request.url().startsWith(`${params.base}/`)) browserErrors.push(`asked elsewhere: ${request.url()}`);
});

// Checks the requirements on all pages.
async function checkPage(page, name) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
  const words = found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ')}`);
  assert.deepEqual(words, [], `${name}: ${page.url()}`);
}

// The pages that need no action first.
const PAGES = {
  alice: [
    ['/feed', 'feed'],
    ['/feed?collection=from&type=photo,video&orderby=pubDate', 'feed-filtered'],
    ['/feed?receivedsince=soon', 'feed-complaint', 400],
    ['/compose', 'compose'],
    ['/people', 'directory'],
    ['/people?q=b', 'directory-found'],
    ['/search', 'search-form'],
    ['/search?q=on', 'search'],
    ['/search?q=nothingtofind', 'search-none'],
    ['/user/bob', 'person'],
    ['/user/alice', 'me'],
    ['/settings', 'profile'],
    ['/settings/keys', 'keys'],
    ['/settings/applications', 'applications'],
    ['/settings/sources', 'sources-none'],
    ['/settings/sources?service=WordPress', 'sources-asked'],
    ['/settings/hooks', 'hooks'],
    ['/settings/people', 'people'],
    ['/settings/security', 'security'],
    ['/settings/data', 'data'],
    ['/docs', 'docs'],
    ['/docs/try?collection=tofrom&type=photo&count=2&format=json', 'docs-try'],
    ['/docs/problems/not-found', 'problem'],
    ['/docs/categories', 'categories'],
    ['/activity/nothing', 'nothing', 404],
  ],
  ops: [
    ['/operator', 'operator'],
    ['/operator/accounts', 'operator-accounts'],
    ['/operator/applications', 'operator-applications'],
    ['/operator/storage', 'operator-storage'],
    ['/operator/audit', 'operator-audit'],
  ],
};

// The page with its style and its script is small, as it was sent.
async function checkWeight(page) {
  const parts = await page.evaluate(() => performance.getEntries()
    .filter((one) => one.entryType === 'navigation' || (one.entryType === 'resource' && ['link', 'script'].includes(one.initiatorType)))
    .map(({ name, encodedBodySize, decodedBodySize }) => ({ name, encodedBodySize, decodedBodySize })));
  assert.equal(parts.length, 3, JSON.stringify(parts));
  const bytes = parts.reduce((sum, part) => sum + part.encodedBodySize, 0);
  assert.ok(bytes > 0 && bytes <= LARGEST, `${bytes} bytes: ${JSON.stringify(parts)}`);
}

async function everyPage(browser) {
  const shapes = [[DESK, 'light', ''], [NARROW, 'dark', 'narrow-'], [DESK, 'dark', 'dark-'], [NARROW, 'light', 'narrow-light-']];
  for (const [viewport, scheme, prefix] of shapes) {
    for (const [account, pages] of Object.entries(PAGES)) {
      const page = await newPerson(browser, viewport, scheme);
      forbidOtherHosts(page);
      await page.goto(`${params.base}/sign-in`);
      await checkPage(page, `${prefix}sign-in`);
      await checkFit(page, `${prefix}sign-in-own`);
      await enter(page, account);
      for (const [address, name, status = 200] of pages) {
        const answer = await page.goto(`${params.base}${address}`);
        assert.equal(answer.status(), status, address);
        const text = await answer.text();
        fs.writeFileSync(path.join(markup, `${name}.html`), text);
        const size = zlib.gzipSync(text).length;
        assert.ok(size <= LARGEST, `${name}: ${size} bytes`);
        if (name === 'feed') await checkWeight(page);
        await page.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
        await checkPage(page, `${prefix}${name}`);
        await page.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = false; }));
        await checkFit(page, `${prefix}${name}`);
      }
      await page.context().close();
    }
  }
  console.log('every page');
}

async function keys(browser) {
  const page = await newPerson(browser, DESK);
  forbidOtherHosts(page);
  await enter(page, 'alice', '/settings/keys');
  await page.getByLabel('Name', { exact: true }).fill('Photo <b>wall</b>');
  await page.getByRole('button', { name: 'Create key' }).click();
  const key = await page.locator('#key').textContent();
  assert.match(await page.locator('#curl').textContent(), new RegExp(`^curl --cacert '${params.ca}' -H "ServicePSK: ${key}" ${params.base}/200909/activity/alice/tofrom$`));
  await checkPage(page, 'key');
  await checkFit(page, 'key');
  const read = () => send('GET', `${params.base}/200909/activity/alice/tofrom?count=1`, { ServicePSK: key });
  assert.equal((await read()).status, 200);
  await page.locator('summary').filter({ hasText: 'Revoke … Photo <b>wall</b>' }).click();
  await page.getByRole('button', { name: 'Revoke Photo <b>wall</b>' }).click();
  await page.getByRole('status').getByText('Revoked').waitFor();
  const revoked = Date.now();
  while ((await read()).status !== 401) assert.ok(Date.now() - revoked < 5000, 'a revoked key still works');
  await page.context().close();
  console.log('a key');
}

async function applications(browser) {
  const page = await newPerson(browser, DESK);
  forbidOtherHosts(page);
  await enter(page, 'bob', '/settings/applications');
  await page.getByText('Register an application').click();
  await page.getByLabel('Application name').fill('Wall');
  await page.getByLabel('Callback URL').fill('javascript:alert(1)');
  await page.getByRole('button', { name: 'Register' }).click();
  await page.getByRole('alert').getByText('Invalid callback URL').waitFor();
  browserErrors.splice(0);
  await page.getByLabel('Application name').fill('Wall');
  await page.getByLabel('Callback URL').fill('https://wall.example/back');
  await page.getByRole('button', { name: 'Register' }).click();
  const before = await page.locator('#secret').textContent();
  await checkPage(page, 'secret');
  await page.locator('summary').filter({ hasText: 'Reset secret … Wall' }).click();
  await page.getByRole('button', { name: 'Reset secret of Wall' }).click();
  await page.waitForFunction((old) => document.querySelector('#secret')?.textContent !== old, before);
  await page.locator('summary').filter({ hasText: 'Remove … Wall' }).click();
  await page.getByRole('button', { name: 'Remove Wall' }).click();
  await page.getByRole('status').getByText('Application removed').waitFor();
  await page.context().close();
  console.log('an application');
}

async function hooks(browser) {
  const page = await newPerson(browser, DESK);
  forbidOtherHosts(page);
  await enter(page, 'bob', '/settings/hooks');
  await page.getByLabel('Name', { exact: true }).fill('index');
  await page.getByLabel('Address').fill(`${params.elsewhere.page.replace('http:', 'https:')}hook`);
  await page.getByLabel('Collection').selectOption('From you');
  await page.getByRole('button', { name: 'Add hook' }).click();
  assert.match(await page.locator('#secret').textContent(), /^whsec_/);
  await everyVariant(page, 'hook');
  await page.locator('summary').filter({ hasText: 'Remove … index' }).click();
  await page.getByRole('button', { name: 'Remove index' }).click();
  await page.getByRole('status').getByText('Hook removed').waitFor();
  await page.context().close();
  console.log('a hook');
}

async function secondFactor(browser) {
  const page = await newPerson(browser, DESK);
  forbidOtherHosts(page);
  await enter(page, 'bob', '/settings/security');
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.getByRole('img', { name: 'QR code of the key' }).waitFor();
  await everyVariant(page, 'second-factor');
  await page.context().close();
  console.log('a second factor');
}

async function profile(browser) {
  const page = await newPerson(browser, PHONE);
  forbidOtherHosts(page);
  await enter(page, 'carol', '/settings');
  await page.getByLabel('Given name').fill('Cárol');
  await page.getByText('Private.').click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').getByText('Saved').waitFor();
  assert.equal(await page.getByLabel('Given name').inputValue(), 'Cárol');
  assert.ok(await page.getByRole('radio', { name: 'Private.' }).isChecked());
  await page.getByText('Public.').click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('status').getByText('Saved').waitFor();
  const picture = async () => Buffer.from(await (await page.request.get(`${params.base}/user/carol/avatar/80.png`)).body());
  const drawn = await picture();
  const png = await page.locator('.wordmark img').screenshot();
  await page.getByLabel('PNG, JPEG').setInputFiles({ name: 'x.png', mimeType: 'image/png', buffer: png });
  await page.getByRole('button', { name: 'Upload' }).click();
  await page.getByRole('status').getByText('Picture updated').waitFor();
  assert.notDeepEqual(await picture(), drawn);
  await page.getByLabel('PNG, JPEG').setInputFiles({ name: 'x.png', mimeType: 'image/png', buffer: Buffer.from('no picture') });
  await page.getByRole('button', { name: 'Upload' }).click();
  await page.getByRole('alert').waitFor();
  browserErrors.splice(0);
  await page.goto(`${params.base}/settings`);
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('status').getByText('Picture updated').waitFor();
  assert.deepEqual(await picture(), drawn);
  await page.context().close();
  console.log('a profile');
}

async function joining(browser) {
  const operator = await newPerson(browser, DESK);
  forbidOtherHosts(operator);
  await enter(operator, 'ops', '/operator/accounts');
  await operator.getByRole('button', { name: 'Create invitation link' }).click();
  const invitation = await operator.locator('#link').textContent();
  await checkFit(operator, 'invitation');
  const page = await newPerson(browser, PHONE);
  forbidOtherHosts(page);
  await page.goto(invitation);
  await checkPage(page, 'join');
  await checkFit(page, 'join');
  await page.getByLabel('Username').fill('alice');
  await page.getByLabel('Password').fill('correct horse battery');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('alert').getByText('This username is taken').waitFor();
  browserErrors.splice(0);
  const name = `zoe${Date.now()}`;
  await page.getByLabel('Username').fill(name);
  await page.getByLabel('Password').fill('correct horse battery');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('heading', { name: 'Welcome' }).waitFor();
  await page.getByText('0 of 3 done').waitFor();
  await checkFit(page, 'feed-empty');
  await checkPage(page, 'feed-empty');

  // A second session of the same account is listed, and can be ended.
  const other = await newPerson(browser, DESK);
  await other.goto(`${params.base}/sign-in`);
  await signIn(other, name, 'correct horse battery');
  await other.getByRole('heading', { name: 'Welcome' }).waitFor();
  await page.goto(`${params.base}/settings/security`);
  await page.getByRole('button', { name: /^Revoke the session/ }).click();
  await page.getByRole('status').getByText('Session revoked').waitFor();
  await other.goto(`${params.base}/feed`);
  await other.getByRole('heading', { name: 'Sign in' }).waitFor();

  await operator.goto(`${params.base}/operator/accounts?name=${name}`);
  await operator.getByRole('button', { name: `Reset link for ${name}` }).click();
  await other.goto(await operator.locator('#link').textContent());
  await checkPage(other, 'reset');
  await other.getByLabel('New password').fill('another horse battery');
  await other.getByRole('button', { name: 'Set password' }).click();
  await other.getByRole('heading', { name: 'Welcome' }).waitFor();
  await page.goto(`${params.base}/feed`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();

  await operator.goto(`${params.base}/operator/accounts?name=${name}`);
  await operator.getByRole('button', { name: `Disable ${name}` }).click();
  await operator.getByText('disabled', { exact: true }).waitFor();
  const deadline = Date.now() + 5000;
  do await other.goto(`${params.base}/feed`); while (!other.url().includes('/sign-in') && Date.now() < deadline);
  await other.getByRole('heading', { name: 'Sign in' }).waitFor();
  await operator.getByRole('button', { name: `Enable ${name}` }).click();
  await operator.getByRole('button', { name: `Disable ${name}` }).waitFor();
  // The session has ended for good; the password works again.
  await other.goto(`${params.base}/sign-in`);
  await signIn(other, name, 'another horse battery');
  await other.getByRole('heading', { name: 'Welcome' }).waitFor();
  await other.goto(`${params.base}/settings/data`);
  const [download] = await Promise.all([other.waitForEvent('download'), other.getByRole('link', { name: 'Download' }).click()]);
  assert.equal(download.suggestedFilename(), `${name}.ndjson`);
  await other.getByLabel('Your password').fill('another horse battery');
  await other.getByRole('button', { name: 'Delete my account' }).click();
  await other.getByRole('heading', { name: 'Sign in' }).waitFor();
  for (const one of [operator, page, other]) await one.context().close();
  console.log('an account, from its beginning to its end');
}

// A stranger's first three steps. Every click counts.
async function firstSteps(browser) {
  const operator = await newPerson(browser, DESK);
  await enter(operator, 'ops', '/operator/accounts');
  await operator.getByRole('button', { name: 'Create invitation link' }).click();
  const invitation = await operator.locator('#link').textContent();
  const page = await newPerson(browser, DESK);
  forbidOtherHosts(page);
  await page.goto(invitation);
  await page.getByLabel('Username').fill(`yara${Date.now()}`);
  await page.getByLabel('Password').fill('correct horse battery');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText('0 of 3 done').waitFor();
  let clicks = 0;
  const click = async (role, name) => {
    clicks += 1;
    await page.getByRole(role, { name }).first().click();
  };
  await page.getByLabel('Feed or page address').fill(params.elsewhere.page);
  await click('button', 'Preview');
  await click('button', 'Connect');
  await page.getByRole('status').getByText('Connected').waitFor();
  // The source brings activities, so the steps are done where they are offered: in the settings and in the directory.
  await click('link', 'Profile');
  const png = await page.locator('.wordmark img').screenshot();
  clicks += 2; // choosing a file
  await page.getByLabel('PNG, JPEG').setInputFiles({ name: 'x.png', mimeType: 'image/png', buffer: png });
  await click('button', 'Upload');
  await page.getByRole('status').getByText('Picture updated').waitFor();
  await click('link', 'People');
  await click('button', /^Follow bob$/);
  await page.getByRole('button', { name: 'Unfollow bob' }).waitFor();
  assert.ok(clicks < 12, `${clicks} clicks`);
  for (const one of [operator, page]) await one.context().close();
  console.log('first steps');
}

// A note, a link and a photo, posted from the page. The photo's site hears from our server only.
async function posting(browser) {
  const page = await newPerson(browser, PHONE);
  forbidOtherHosts(page);
  await enter(page, 'alice', '/feed');
  await page.getByRole('link', { name: 'Post', exact: true }).click();
  await page.getByLabel('Text').fill('Moon over the gasworks\n<b>now</b>');
  await page.getByRole('button', { name: 'Post', exact: true }).click();
  await page.getByRole('status').getByText('Posted').waitFor();
  const first = () => page.locator('article').first();
  assert.match(await first().locator('h3').textContent(), /posted a note$/);
  assert.equal(await first().locator('.note').textContent(), 'Moon over the gasworks\n<b>now</b>');

  await page.goto(`${params.base}/compose`);
  await page.getByText('Link', { exact: true }).click();
  await page.getByRole('button', { name: 'Post', exact: true }).click();
  await page.getByRole('alert').getByText('Enter the address of the link').waitFor();
  browserErrors.splice(0);
  await page.getByLabel('Address of the link').fill('example.org/tides');
  await page.getByLabel('Text').fill('Tide tables');
  await page.getByRole('button', { name: 'Post', exact: true }).click();
  await page.getByRole('status').getByText('Posted').waitFor();
  assert.equal(await first().getByRole('link', { name: 'Tide tables' }).getAttribute('href'), 'https://example.org/tides');

  await page.goto(`${params.base}/compose`);
  await page.getByText('Photo', { exact: true }).click();
  await page.getByLabel('Address of the photo').fill(params.elsewhere.photo);
  await page.getByLabel('Text').fill('All red');
  await page.getByRole('button', { name: 'Post', exact: true }).click();
  await page.getByRole('status').getByText('Posted').waitFor();
  const picture = first().locator('img[src*="/media/"]');
  await page.waitForFunction((one) => one.complete && one.naturalWidth > 0, await picture.elementHandle());
  await checkFit(page, 'phone-posted');
  // Sending a form again posts nothing twice.
  await page.goto(`${params.base}/compose`);
  const form = { text: 'Only once', kind: 'note', visibility: 'public' };
  for (const name of ['csrf', 'id']) form[name] = await page.locator(`.composer [name=${name}]`).inputValue();
  for (const again of [false, true]) {
    assert.equal((await page.request.post(`${params.base}/compose`, { form, maxRedirects: 0 })).status(), 303, `again: ${again}`);
  }
  await page.goto(`${params.base}/feed?collection=from`);
  assert.equal(await page.getByText('Only once', { exact: true }).count(), 1);
  for (let posts = 0; posts < 4; posts += 1) {
    await page.goto(`${params.base}/feed?service=tofrom`);
    await first().locator('.act > summary').click();
    await first().getByText('Delete …').click();
    await first().getByRole('button', { name: 'Delete from every feed' }).click();
    await page.getByRole('status').getByText('Deleted').waitFor();
  }
  await page.context().close();
  console.log('posting');
}

// Search: people by prefix, and on one machine one's own activities by their words.
async function search(browser) {
  assert.equal((await put('searched', 'Wryneck at the pond')).status, 201);
  const page = await newPerson(browser, DESK);
  forbidOtherHosts(page);
  await enter(page, 'alice', '/feed');
  if (params.cluster) {
    await page.getByRole('searchbox', { name: 'Search people' }).fill('wryneck');
    await page.keyboard.press('Enter');
    await page.getByText('This server searches people').waitFor();
  } else {
    await page.getByRole('searchbox', { name: 'Search your activities' }).fill('pond wryn');
    await page.keyboard.press('Enter');
    await page.getByRole('article', { name: 'Wryneck at the pond' }).waitFor();
  }
  await page.goto(`${params.base}/search?q=BOB`);
  await page.getByRole('heading', { name: 'People' }).waitFor();
  await page.getByRole('link', { name: /^Bob/ }).first().waitFor();
  await page.goto(`${params.base}/people?q=bo`);
  await page.getByRole('button', { name: /ollow bob$/ }).waitFor();
  await page.context().close();
  // Texts of accounts that the reader does not follow are not found.
  const other = await newPerson(browser, DESK);
  await enter(other, 'frank', '/search?q=wryneck');
  await other.getByText(params.cluster ? 'This server searches people' : 'No activity of your feed has this word').waitFor();
  await other.context().close();
  await send('DELETE', `${params.base}/200909/activity/alice/from/Pages/searched`, { ServicePSK: params.write_key });
  console.log('search');
}

// A page that cannot be requested again, in all variants. With reduced motion colours change immediately.
async function everyVariant(page, name) {
  for (const [viewport, prefix] of [[NARROW, 'narrow-'], [DESK, '']]) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['dark', 'light']) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await checkPage(page, `${prefix}${name}`);
    }
    await checkFit(page, `${prefix}${name}`);
  }
  fs.writeFileSync(path.join(markup, `${name}.html`), await page.content());
}

// Sources: previewed, connected, polled, paused, exported, and removed with their activities.
async function sources(browser) {
  const { page: home, feed } = params.elsewhere;
  const page = await newPerson(browser, DESK);
  forbidOtherHosts(page);
  await enter(page, 'frank', '/settings/sources');
  await page.getByLabel('Feed or page address').fill('http://127.0.0.3/');
  await page.getByRole('button', { name: 'Preview' }).first().click();
  await page.getByRole('alert').waitFor();
  assert.equal(await page.getByLabel('Feed or page address').inputValue(), 'http://127.0.0.3/');
  await checkPage(page, 'sources-complaint');
  await page.getByLabel('Feed or page address').fill(home);
  await page.getByRole('button', { name: 'Preview' }).first().click();
  await page.getByText('And 3 more.').waitFor();
  await everyVariant(page, 'source-preview');
  await page.getByLabel('Source name').fill('low-tide');
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByRole('status').getByText('Connected').waitFor();
  await page.getByText('✓ verified').waitFor();
  const list = { name: 'feeds.opml', mimeType: 'text/x-opml', buffer: Buffer.from(`<opml version="2.0"><body>
    <outline text="Photos" xmlUrl="${feed}?photos"/><outline text="Lost" xmlUrl="http://127.0.0.2:1/"/></body></opml>`) };
  await page.getByLabel('OPML file with your own feeds').setInputFiles(list);
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByRole('status').getByText('1 connected, 1 failed').waitFor();
  await checkPage(page, 'sources-imported');
  fs.writeFileSync(path.join(markup, 'sources-imported.html'), await page.content());
  await page.getByRole('button', { name: /^Pause 127/ }).click();
  await page.getByRole('status').getByText('Paused').waitFor();
  await everyVariant(page, 'settings-sources');
  await page.getByRole('button', { name: /^Resume 127/ }).click();
  await page.getByRole('status').getByText('Resumed').waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Export' }).click()]);
  assert.equal(download.suggestedFilename(), 'frank.opml');
  await page.goto(`${params.base}/user/frank`);
  assert.equal(await page.getByRole('link', { name: new URL(home).hostname }).getAttribute('rel'), 'me nofollow');
  await page.context().close();

  // The rest by keyboard, without script.
  const plain = await newPerson(browser, PHONE, 'light', { javaScriptEnabled: false });
  forbidOtherHosts(plain);
  await enter(plain, 'frank', '/settings/sources');
  await plain.getByRole('button', { name: 'Check now low-tide' }).press('Enter');
  await plain.getByRole('status').getByText('No new activity').waitFor();
  const item = plain.getByRole('listitem').filter({ hasText: 'low-tide' });
  await item.locator('summary').press('Enter');
  await checkFit(plain, 'without-script-source-removal');
  await item.getByRole('radio', { name: 'Delete from every feed' }).press('Space');
  await item.getByRole('button', { name: 'Yes, remove low-tide' }).press('Enter');
  await plain.getByRole('status').getByText('with all its imported activities').waitFor();
  await plain.context().close();
  console.log('sources');
}

const put = (source, title, more = {}) => send(
  'PUT',
  `${params.base}/200909/activity/alice/from/Pages/${source}`,
  { ServicePSK: params.write_key, 'Content-Type': 'application/json' },
  JSON.stringify({ Category: 'BookmarkShared', Title: title, Bookmark: { Title: title, Url: 'https://example.org/' }, ...more }),
);

async function live(browser) {
  const people = [await newPerson(browser, DESK), await newPerson(browser, PHONE, 'dark')];
  for (const page of people) {
    forbidOtherHosts(page);
    await page.addInitScript(() => {
      window.shifts = 0;
      new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shifts += one.value; }).observe({ type: 'layout-shift', buffered: true });
    });
    await enter(page, 'alice', '/feed');
    await page.waitForLoadState();
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
  const before = await Promise.all(people.map((page) => page.evaluate(() => window.shifts)));
  const source = `live${Date.now()}`;
  assert.equal((await put(source, 'Seen by two')).status, 201);
  for (const [at, page] of people.entries()) {
    await page.getByRole('link', { name: '1 new activity' }).waitFor();
    assert.equal(await page.title(), '(1) Everything · tofrom');
    assert.equal(await page.locator('[data-announce]').textContent(), '1 new activity');
    assert.equal(await page.evaluate(() => window.shifts), before[at], 'something moved');
    await checkFit(page, at ? 'phone-news' : 'news');
    await page.getByRole('link', { name: '1 new activity' }).click();
    await page.getByRole('heading', { name: 'Seen by two' }).waitFor();
  }
  const [page] = people;
  const item = page.getByRole('article', { name: 'Seen by two' });
  await item.locator('.act > summary').click();
  await item.getByText('because you did it').waitFor();
  await item.getByText('Delete …').click();
  await item.getByRole('button', { name: 'Delete from every feed' }).click();
  await page.getByRole('status').getByText('Deleted').waitFor();
  assert.equal(await page.getByRole('heading', { name: 'Seen by two' }).count(), 0);
  for (const one of people) await one.context().close();
  console.log('live');
}

// The line below unread activities, and the number beside the feed, which several devices agree on.
async function unread(browser) {
  const plain = await newPerson(browser, PHONE, 'light', { javaScriptEnabled: false });
  forbidOtherHosts(plain);
  await enter(plain, 'alice', '/feed');
  const shown = async (text) => {
    const deadline = Date.now() + 5000;
    do await plain.goto(`${params.base}/feed`); while (!await plain.getByText(text).count() && Date.now() < deadline);
  };
  const earlier = `earlier${Date.now()}`;
  assert.equal((await put(earlier, 'Read by its form')).status, 201);
  await shown('Mark all as read');
  await plain.getByRole('button', { name: 'Mark all as read' }).click();
  await plain.getByRole('status').getByText('Marked as read.').waitFor();
  assert.equal(await plain.getByText(/unread/i).filter({ visible: true }).count(), 0);
  const source = `unread${Date.now()}`;
  assert.equal((await put(source, 'Not read by anyone')).status, 201);
  await shown('1 unread');
  await plain.getByRole('link', { name: 'Everything 1 unread' }).waitFor();
  const around = (page) => page.locator('.line').evaluate((line) => [line.previousElementSibling ?? line, line].map((one) => one.textContent.trim()));
  const [above, line] = await around(plain);
  assert.ok(above.includes('Not read by anyone') && line === 'Already read', `${above} ${line}`);
  await checkFit(plain, 'without-script-unread');
  await plain.goto(`${params.base}/feed?type=bookmark`);
  assert.equal(await plain.locator('article', { hasText: 'Not read by anyone' }).getByText('Unread', { exact: true }).count(), 1);
  await plain.goto(`${params.base}/settings`);
  assert.ok(await plain.locator('.count').isHidden(), 'only the script asks for the number');

  // A device that only looks on: on a page with a stream, and on one without.
  const other = await newPerson(browser, NARROW, 'dark');
  await enter(other, 'alice', '/settings');
  const number = other.getByRole('link', { name: 'Everything 1 unread' });
  await number.waitFor();
  await checkPage(other, 'badge');
  await checkFit(other, 'badge');
  await other.goto(`${params.base}/feed?type=bookmark`);
  await number.waitFor();
  await checkPage(other, 'unread-filtered');
  await checkFit(other, 'narrow-dark-unread-filtered');
  for (const [viewport, scheme, name] of [[USUAL, 'dark', 'phone-dark-unread'], [USUAL, 'light', 'phone-unread'], [DESK, 'dark', 'dark-unread'], [DESK, 'light', 'unread']]) {
    const page = await newPerson(browser, viewport, scheme);
    forbidOtherHosts(page);
    await page.route('**/feed/seen', (route) => route.fulfill({ status: 204 }));
    await enter(page, 'alice', '/feed');
    await page.locator('.line').waitFor();
    await checkFit(page, name);
    await checkPage(page, name);
    await page.context().close();
  }
  // The page marks the feed as read once the end of what is unread is in view.
  const page = await newPerson(browser, DESK);
  forbidOtherHosts(page);
  await enter(page, 'alice', '/feed');
  await page.getByText('All read').waitFor();
  await page.locator('.line').waitFor();
  await page.locator('.count').waitFor({ state: 'hidden' });
  await number.waitFor({ state: 'hidden' });
  await page.reload();
  await page.getByRole('article').first().waitFor();
  assert.equal(await page.locator('.line, form.unread').count(), 0, 'the line is shown once');
  for (const one of [source, earlier]) await send('DELETE', `${params.base}/200909/activity/alice/from/Pages/${one}`, { ServicePSK: params.write_key });
  for (const one of [plain, other, page]) await one.context().close();
  console.log('unread');
}

// Hostile input stays text everywhere.
async function hostile(browser) {
  const marks = (count) => `e${'\u0301'.repeat(count)}`;
  const [wide, wider] = [marks(990), marks(8_000)];
  const titles = ['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', '\u202Egnp.exe', wide, '{{7*7}}', '</title><b>'];
  for (const [at, title] of titles.entries()) {
    const url = ['javascript:alert(1)', 'data:text/html,<script>alert(1)</script>'][at % 2];
    const answer = await put(`hostile${at}`, title, { Bookmark: { Title: title, Description: title === wide ? wider : title } });
    assert.ok([200, 201].includes(answer.status), answer.text);
    const refused = await put(`scheme${at}`, title, { Bookmark: { Title: title, Url: url } });
    assert.ok([200, 201, 422].includes(refused.status), refused.text);
  }
  const page = await newPerson(browser, PHONE);
  forbidOtherHosts(page);
  page.on('dialog', () => browserErrors.push('a dialog'));
  await enter(page, 'alice', '/feed?collection=from');
  for (const address of ['/feed?collection=from', '/user/alice', '/feed?service=%3Cscript%3Ealert(1)%3C/script%3E', '/settings?done=%3Cb%3E']) {
    await page.goto(`${params.base}${address}`);
    const { wide: width, room } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, room: document.documentElement.clientWidth }));
    assert.ok(width <= room, address);
    const links = await page.locator('a').evaluateAll((all) => all.map((one) => one.protocol));
    assert.deepEqual(links.filter((protocol) => !['http:', 'https:'].includes(protocol)), []);
    assert.equal(await page.locator('main script, main b:has-text("wall"), img[onerror]').count(), 0);
  }
  for (const at of titles.keys()) await send('DELETE', `${params.base}/200909/activity/alice/from/Pages/hostile${at}`, { ServicePSK: params.write_key });
  for (const at of titles.keys()) await send('DELETE', `${params.base}/200909/activity/alice/from/Pages/scheme${at}`, { ServicePSK: params.write_key });
  await page.context().close();
  console.log('hostile words');
}

// By keyboard only: sign in, skip the menu, open the filter, and use it.
async function byKeyboard(browser) {
  const page = await newPerson(browser, DESK);
  forbidOtherHosts(page);
  await page.goto(`${params.base}/`);
  await page.waitForFunction(() => document.activeElement.id === 'username');
  await page.keyboard.type('alice');
  await page.keyboard.press('Tab');
  await page.keyboard.type(params.passwords.alice);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/feed');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to content');
  await page.keyboard.press('Enter');
  const to = async (what) => {
    for (let stops = 0; stops < 60; stops += 1) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        return { text: document.activeElement.id || document.activeElement.textContent.trim() || document.activeElement.value, ring: outlineStyle !== 'none' && parseFloat(outlineWidth) > 1 };
      });
      assert.ok(at.ring, `the focus on ${at.text} does not show`);
      if (at.text === what) return;
    }
    assert.fail(`no way to ${what}`);
  };
  await to('Filter');
  await page.keyboard.press('Enter');
  await to('photo');
  await page.keyboard.press('Space');
  await page.keyboard.press('Enter');
  await page.waitForURL(/type=photo/);
  await to('Remove Photos');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => !url.search.includes('type=photo'));
  await page.context().close();
  console.log('by keyboard');
}

// The same without script, at 200 %: as if the screen were half as wide.
async function withoutScript(browser) {
  const page = await newPerson(browser, { width: 640, height: 400 }, 'light', { javaScriptEnabled: false });
  forbidOtherHosts(page);
  await enter(page, 'alice', '/feed');
  await page.locator('summary').filter({ hasText: /^API$/ }).click();
  await page.getByText('Get this feed from a program').waitFor();
  await page.getByRole('link', { name: 'JSON', exact: true }).click();
  assert.match(page.url(), /\/feed\/raw\?.*format=json/);
  await page.goBack();
  await page.getByRole('link', { name: 'Older' }).click();
  await page.getByRole('link', { name: 'Newest', exact: true }).click();
  await page.locator('details.filter > summary').click();
  await page.getByRole('checkbox', { name: 'Photos' }).check();
  await page.getByRole('button', { name: 'Show activities' }).click();
  await page.waitForURL(/type=photo/);
  await page.getByRole('link', { name: 'Remove Photos' }).click();
  await page.waitForURL((url) => !url.search.includes('type=photo'));
  await page.getByRole('heading', { name: /^(Today|Yesterday) / }).first().waitFor();
  await page.goto(`${params.base}/user/frank`);
  for (const word of ['Follow', 'Unfollow', 'Follow', 'Unfollow']) {
    const button = page.getByRole('button', { name: word, exact: true });
    if (await button.count()) await button.click();
  }
  for (const [address, name, status = 200] of PAGES.alice) {
    const answer = await page.goto(`${params.base}${address}`);
    assert.equal(answer.status(), status, address);
    await checkFit(page, `without-script-${name}`);
  }
  await page.goto(`${params.base}/settings/keys`);
  await page.getByLabel('Name', { exact: true }).fill('Without script');
  await page.getByRole('button', { name: 'Create key' }).click();
  assert.match(await page.locator('#key').textContent(), /^tfk_/);
  await page.locator('summary').filter({ hasText: 'Revoke … Without script' }).click();
  await page.getByRole('button', { name: 'Revoke Without script' }).click();
  await page.locator('details.account > summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.context().close();
  console.log('without script');
}

// The feed on a usual phone: the first item is above the fold, and everything that is touched is large enough.
async function phone(browser) {
  const page = await newPerson(browser, USUAL, 'light', { hasTouch: true, isMobile: true, deviceScaleFactor: 1 });
  forbidOtherHosts(page);
  await enter(page, 'alice', '/feed');
  const first = await page.locator('article').first().boundingBox();
  assert.ok(first.y + first.height <= USUAL.height, `the first item ends at ${first.y + first.height}`);
  const small = () => page.locator('.bar a, .bar summary, .act > summary, details.filter > summary, .sheet .chip, .sheet button, .sheet a').evaluateAll((all) => all
    .map((one) => ({ text: one.textContent.trim(), ...one.getBoundingClientRect().toJSON() }))
    .filter(({ width, height }) => width > 0 && (width < 44 || height < 44)));
  assert.deepEqual(await small(), []);
  await page.screenshot({ path: path.join(process.argv[3], 'phone-feed.png') });
  await page.locator('details.filter > summary').tap();
  assert.deepEqual(await small(), []);
  await page.waitForTimeout(300);
  await page.screenshot({ path: path.join(process.argv[3], 'phone-filter.png') });
  // A tap outside closes the sheet.
  await page.touchscreen.tap(200, 20);
  assert.equal(await page.locator('details.filter').getAttribute('open'), null);
  await page.context().close();
  console.log('on a phone');
}

// The order of the feed, and the times that it shows.
async function days(browser) {
  const put = (source, more) => send(
    'PUT',
    `${params.base}/200909/activity/alice/from/Pages/${source}`,
    { ServicePSK: params.write_key, 'Content-Type': 'application/json' },
    JSON.stringify({ Category: 'VideoLiked', Title: 'Alice liked a video: Kingfisher', Video: { Title: 'Kingfisher', Url: 'https://example.org/' }, ...more }),
  );
  const long = 'w'.repeat(200);
  assert.equal((await put('days', { PublishedDate: '2026-01-02T03:04:05Z' })).status, 201);
  assert.equal((await put('long', { Title: long, Video: { Title: long } })).status, 201);
  assert.equal((await put('rtl', { Title: 'שלום עולם, זה וידאו', Video: { Title: 'שלום עולם, זה וידאו', Url: 'https://example.org/rtl' } })).status, 201);
  const page = await newPerson(browser, NARROW, 'light', { timezoneId: 'Pacific/Auckland' });
  forbidOtherHosts(page);
  await enter(page, 'alice', '/feed');
  const item = page.getByRole('article', { name: 'liked Kingfisher' }).first();
  assert.match(await item.locator('h3').textContent(), /^Alice .* liked Kingfisher$/);
  assert.equal(await item.getByText('Kingfisher', { exact: true }).count(), 1, 'said twice');
  assert.equal(await item.locator('.at time').textContent(), 'just now');
  const published = item.locator('time.date');
  assert.match(await published.textContent(), /^2 January/);
  assert.equal(await published.getAttribute('datetime'), '2026-01-02T03:04:05.000Z');
  await checkFit(page, 'narrow-long-names');
  // Every item is in the section of its day in the reader's time zone, and the days go back.
  const placed = await page.locator('article[data-at]').evaluateAll((all) => all.map((one) => {
    const date = new Date(one.dataset.at);
    const day = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Pacific/Auckland' }).format(date);
    return [day, one.closest('.day').dataset.day, one.dataset.at];
  }));
  for (const [day, section, at] of placed) assert.equal(section, day, at);
  assert.deepEqual(placed.map(([, , at]) => at), placed.map(([, , at]) => at).sort().reverse());
  for (const source of ['days', 'long', 'rtl']) await send('DELETE', `${params.base}/200909/activity/alice/from/Pages/${source}`, { ServicePSK: params.write_key });
  await page.context().close();
  console.log('days');
}

// Shortcuts, and older activities on scrolling.
async function shortcuts(browser) {
  const page = await newPerson(browser, DESK);
  forbidOtherHosts(page);
  await enter(page, 'alice', '/feed');
  const script = await (await page.request.get(await page.locator('script').first().evaluate((one) => one.src))).body();
  assert.ok(script.length <= LARGEST_SCRIPT, `${script.length} bytes of script`);
  const articles = page.locator('article');
  const focused = () => page.evaluate(() => [...document.querySelectorAll('article')].indexOf(document.activeElement));
  for (const [key, at] of [['j', 0], ['j', 1], ['j', 2], ['k', 1]]) {
    await page.keyboard.press(key);
    assert.equal(await focused(), at, key);
  }
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await dialog.waitFor();
  await checkPage(page, 'shortcuts');
  await page.screenshot({ path: path.join(process.argv[3], 'shortcuts.png') });
  await dialog.getByRole('checkbox').uncheck();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await page.keyboard.press('j');
  assert.equal(await focused(), 1, 'shortcuts are off');
  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
  await dialog.getByRole('checkbox').check();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement.type), 'search');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('f');
  assert.equal(await page.evaluate(() => document.activeElement.type), 'checkbox');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('details.filter').getAttribute('open'), null);

  const some = await articles.count();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.waitForFunction((before) => document.querySelectorAll('article').length > before, some);
  const ids = await page.locator('[id^="a-"]').evaluateAll((all) => all.map((one) => one.id));
  assert.equal(new Set(ids).size, ids.length, 'an activity is shown twice');
  const keys = await page.locator('.day').evaluateAll((all) => all.map((one) => one.dataset.day));
  assert.deepEqual(keys, [...new Set(keys)].sort().reverse());
  // Going back returns to the same place.
  const far = articles.nth(some + 2);
  const id = await far.getAttribute('data-at');
  await far.scrollIntoViewIfNeeded();
  const y = await page.evaluate(() => scrollY);
  await far.locator('a.at').first().click();
  await page.getByRole('heading', { name: 'Details' }).waitFor();
  await page.goBack();
  await page.waitForFunction((at) => document.querySelector(`article[data-at="${at}"]`), id);
  await page.waitForFunction((before) => Math.abs(scrollY - before) < 50, y);
  // With the keyboard, "o" opens the focused activity.
  await page.goto(`${params.base}/feed?collection=from`);
  await page.keyboard.press('j');
  const target = await articles.first().locator('a.what, .note a, a.at').first().getAttribute('href');
  assert.ok(target);
  const opened = page.waitForRequest((request) => request.isNavigationRequest());
  const failed = page.waitForEvent('requestfailed');
  await page.route('**/*', (route) => route.abort());
  await page.keyboard.press('o');
  assert.equal((await opened).url(), new URL(target, params.base).href);
  await failed;
  browserErrors.splice(0);
  await page.context().close();
  console.log('shortcuts');
}

// Files that browsers look for.
async function files(browser) {
  const page = await newPerson(browser, DESK);
  await page.goto(`${params.base}/sign-in`);
  const get = (address) => page.request.get(new URL(address, params.base).href);
  assert.equal((await get('/favicon.ico')).headers()['content-type'], 'image/x-icon');
  assert.match(await (await get('/robots.txt')).text(), /^Disallow: \/$/m);
  const manifest = await (await get(await page.locator('link[rel=manifest]').getAttribute('href'))).json();
  assert.equal(manifest.display, 'standalone');
  for (const { src, sizes } of manifest.icons) {
    const png = await (await get(src)).body();
    assert.equal(`${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`, sizes);
  }
  await page.context().close();
  console.log('files');
}

async function main() {
  const browser = await launch();
  const parts = [everyPage, keys, applications, hooks, secondFactor, profile, joining, firstSteps, posting, search, sources, live, unread, hostile, byKeyboard, withoutScript, phone, days, shortcuts, files];
  for (const part of parts.filter(({ name }) => !process.env.ONLY || process.env.ONLY === name)) {
    await part(browser);
    // Chromium itself logs every page with an error status, and requests that were pending when a page was left.
    const rest = browserErrors.filter((text) => !/status of (400|403|404|409|422)|net::ERR_ABORTED/.test(text));
    assert.deepEqual(rest, [], part.name);
    browserErrors.splice(0);
  }
  await browser.close();
}

main().catch((error) => {
  console.error(error, browserErrors);
  process.exit(1);
});
