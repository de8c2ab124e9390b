// A real browser, and the steps that all page tests share.
'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { chromium } = require('playwright-core');
const { params } = require('./service.js');

// HOME is a folder for the browser, PICTURES one for screenshots.
const [home, pictures] = process.argv.slice(2);
const PHONE = { width: 360, height: 740 };
const DESK = { width: 1100, height: 800 };
// The height of a screenshot at most.
const TALLEST = 1200;

// Errors of the browser, on all pages.
const browserErrors = [];

// A browser that also trusts the demo's authority.
async function launch() {
  const database = path.join(home, '.pki/nssdb');
  fs.mkdirSync(database, { recursive: true });
  execFileSync('certutil', ['-d', `sql:${database}`, '-N', '--empty-password']);
  execFileSync('certutil', ['-d', `sql:${database}`, '-A', '-t', 'C,,', '-n', 'demo', '-i', params.ca]);
  return chromium.launch({
    executablePath: execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim(),
    env: { ...process.env, HOME: home },
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
}

// A fresh browser context.
async function newPerson(browser, viewport, colorScheme = 'light', more = {}) {
  const context = await browser.newContext({ viewport, colorScheme, ...more });
  const page = await context.newPage();
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      console.error(`policy: ${violatedDirective} ${blockedURI}`);
    });
  });
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) browserErrors.push(`${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => browserErrors.push(String(error)));
  page.on('requestfailed', (request) => browserErrors.push(`${request.url()}: ${request.failure().errorText}`));
  return page;
}

// Checks that the page fits, and takes a screenshot if wanted.
async function checkFit(page, name) {
  const { wide, room, tall } = await page.evaluate(() => {
    const { scrollWidth, clientWidth, scrollHeight } = document.documentElement;
    return { wide: scrollWidth, room: clientWidth, tall: scrollHeight };
  });
  assert.ok(wide <= room, `${name}: ${wide} wide on ${room}`);
  const clip = { x: 0, y: 0, width: room, height: Math.min(tall, TALLEST) };
  await page.screenshot({ path: path.join(pictures, `${name}.png`), fullPage: true, clip });
}

async function signIn(page, account, password) {
  await page.getByLabel('Username').fill(account);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

module.exports = { browserErrors, DESK, home, launch, checkFit, newPerson, PHONE, signIn };
