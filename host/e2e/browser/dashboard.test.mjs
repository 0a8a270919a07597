// Every page and every action of the dashboard, in a real browser beside a real host.

import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { Host, browser } from './host.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PLUGINS = ['event-printer.wasm', 'event-printer.yaml', 'restart-alert.wasm', 'restart-alert.yaml', 'node-watcher.wasm',
  'node-watcher.yaml', 'default-deny.wasm'];
const PICTURES = process.env.INFORMANT_PICTURES;
const DESK = { viewport: { width: 1280, height: 900 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

let host;
let chromium;

before(async () => {
  await mkdir(PICTURES, { recursive: true });
  [host, chromium] = [await Host.start('cluster', PLUGINS), await browser()];
});

after(async () => {
  await chromium?.close();
  await host?.end();
});

// Opens a page of the dashboard, and collects what the browser complains about.
async function open(path, options = {}) {
  const context = await chromium.newContext({ ...DESK, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.complaints = [];
  page.on('console', (message) => message.type() === 'error' && page.complaints.push(message.text()));
  page.on('pageerror', (error) => page.complaints.push(error.message));
  await page.goto(`${options.url ?? host.url}/ui/#/${path}`);
  await updated(page).waitFor();
  return page;
}

// The line that says that the page has a new state.
function updated(page) {
  return page.locator('#connection', { hasText: 'Updated' });
}

async function close(page) {
  assert.deepEqual(page.complaints, []);
  await page.context().close();
}

// What axe finds wrong on the page.
async function wrong(page) {
  // Straight into the page: the page's own policy allows no script of others.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`);
}

test('the overview shows informers, plugins and what needs attention', async () => {
  const page = await open('');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByText('of 4', { exact: false }).first().waitFor();
  await page.locator('.attention').getByText('default-deny', { exact: true }).waitFor();
  await page.locator('.attention').getByText('which is not granted').waitFor();
  await page.locator('svg.flow').getByRole('link', { name: 'v1/pods' }).waitFor();
  await page.locator('svg.flow path.link').first().waitFor({ state: 'attached' });
  // Two looks make a rate.
  await page.locator('.plot', { hasText: 'Changes' }).locator('polyline').waitFor({ state: 'attached' });
  await close(page);
});

test('plugins are sorted, filtered and opened', async () => {
  const page = await open('plugins');
  const names = () => page.locator('tbody tr th').allInnerTexts();
  await page.getByRole('link', { name: 'event-printer' }).waitFor();
  assert.deepEqual(await names(), ['default-deny', 'event-printer', 'node-watcher', 'restart-alert']);
  await page.getByRole('button', { name: 'Plugin' }).click();
  assert.deepEqual(await names(), ['restart-alert', 'node-watcher', 'event-printer', 'default-deny']);
  await page.getByLabel('Filter').fill('event');
  assert.deepEqual(await names(), ['event-printer']);
  await page.getByRole('link', { name: 'event-printer' }).click();
  await page.getByRole('heading', { name: 'event-printer' }).waitFor();
  await page.getByRole('region', { name: 'Subscriptions and reads' }).getByText('synced').first().waitFor();
  await page.getByRole('list', { name: 'Lines of the log' }).getByText('added').first().waitFor();
  await page.getByText('All that /plugins says').click();
  await page.getByText('"name": "event-printer"').waitFor();
  assert.equal(await page.title(), 'event-printer · Informant');
  await close(page);
});

test('informers lead to their objects and changes', async () => {
  const page = await open('informers');
  const row = page.getByRole('row', { name: 'v1/pods' });
  await row.getByText('synced').waitFor();
  await row.getByRole('link').last().click();
  await page.getByRole('heading', { name: 'Objects' }).waitFor();
  await page.getByRole('region', { name: 'v1/pods' }).getByText('Running').first().waitFor();
  await close(page);
});

test('changes come with their differences, stop at a pause, and lead to the object', async () => {
  const page = await open('changes');
  await page.getByText('Choose a resource.').waitFor();
  await page.getByLabel('Resource').fill('v1/pods');
  await page.getByRole('button', { name: 'Show' }).click();
  const changes = page.locator('.changes > li');
  await changes.filter({ hasText: 'modified' }).locator('code').first().waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  const shown = await changes.count();
  const counter = page.getByText(/\d+ changes since/);
  const before = await counter.innerText();
  await page.getByText(before, { exact: true }).waitFor({ state: 'detached' });
  assert.equal(await changes.count(), shown);
  await page.getByRole('button', { name: 'Go on' }).click();
  await changes.nth(shown).waitFor();
  await changes.first().getByRole('link').click();
  await page.getByRole('region', { name: 'Why each plugin' }).getByText('event-printer').waitFor();
  await close(page);
});

test('an object shows why each plugin was called, and its state as text', async () => {
  const page = await open('objects?resource=v1/pods');
  await page.locator('tbody tr th a').first().click();
  const why = page.getByRole('region', { name: 'Why each plugin' });
  await why.getByRole('row', { name: 'event-printer' }).getByText('delivered').waitFor();
  await why.getByRole('row', { name: 'default-deny' }).getByText('not-running').waitFor();
  await page.getByRole('region', { name: 'Deliveries' }).getByText('added').first().waitFor();
  await page.getByText('"kind": "Pod"').waitFor();
  await close(page);
});

test('what the host refuses is shown in its words', async () => {
  const page = await open('objects?resource=v1/podz');
  await page.getByText('the cluster has no resource v1/podz').waitFor();
  for (const view of ['objects', 'changes']) {
    await page.goto(`${host.url}/ui/#/${view}?resource=pods`);
    await page.getByText('pods is no resource; write VERSION/PLURAL').waitFor();
  }
  await page.goto(`${host.url}/ui/#/objects?resource=v1/secrets`);
  await page.getByText('Secrets are not served').waitFor();
  await page.goto(`${host.url}/ui/#/plugin?name=nobody`);
  await page.getByText('The host has no plugin of this name.').waitFor();
  // The browser itself logs each refused request.
  page.complaints = page.complaints.filter((text) => !text.startsWith('Failed to load resource'));
  await close(page);
});

test('texts of the cluster are never markup', async () => {
  const page = await open('plugins');
  const evil = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
  await page.route('**/plugins', async (route) => {
    const answer = await route.fetch();
    const plugins = await answer.json();
    Object.assign(plugins[0], { name: evil, why: [evil], version: evil, state: evil });
    await route.fulfill({ response: answer, json: plugins });
  });
  await page.getByRole('row').getByText('onerror').first().waitFor();
  assert.equal(await page.locator('main img, main script').count(), 0);
  await page.goto(`${host.url}/ui/#/plugin?name=${encodeURIComponent(evil)}`);
  await page.locator('.attention').getByText('onerror').waitFor();
  await page.getByText('there is no plugin').waitFor();
  assert.equal(await page.locator('main img, main script').count(), 0);
  // The browser itself logs the refused request for the log.
  page.complaints = page.complaints.filter((text) => !text.startsWith('Failed to load resource'));
  await close(page);
});

test('health shows checks', async () => {
  const page = await open('health');
  await page.getByText('informer v1/pods ok').waitFor();
  await page.getByText('The probe passes.').first().waitFor();
  await close(page);
});

test('a host without plugins says so, and one with five hundred is drawn', async () => {
  const page = await open('plugins');
  let all = [];
  await page.route('**/plugins', async (route) => {
    const answer = await route.fetch();
    const [first] = await answer.json();
    const copies = all.map((name) => ({ ...first, name }));
    await route.fulfill({ response: answer, json: copies });
  });
  await page.getByText('There is no plugin.').waitFor();
  all = Array.from({ length: 510 }, (_, number) => `plugin-${String(number).padStart(3, '0')}`);
  await page.getByText('10 more rows are not shown.').waitFor();
  assert.equal(await page.locator('tbody tr').count(), 500);
  await page.getByLabel('Filter').fill('plugin-509');
  assert.equal(await page.locator('tbody tr').count(), 1);
  await page.goto(`${host.url}/ui/#/`);
  await page.getByText('498 more plugins').waitFor();
  await close(page);
});

test('the page says that the host is gone, and goes on when it is back', async () => {
  const other = await Host.start('other', ['event-printer.wasm']);
  try {
    const page = await open('', { url: other.url });
    await other.end();
    await page.getByText('No new state').waitFor();
    await other.again();
    await updated(page).waitFor();
    await page.context().close();
  } finally {
    await other.end();
  }
});

test('the keyboard reaches the content and every page', async () => {
  const page = await open('plugins');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'content');
  await page.getByRole('heading', { level: 1, name: 'Plugins' }).waitFor();
  // A link keeps the focus while the state is read again.
  const plugin = page.getByRole('link', { name: 'event-printer' });
  await plugin.focus();
  const before = await updated(page).innerText();
  await page.getByText(before, { exact: true }).waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'event-printer');
  for (const title of ['Informers', 'Changes', 'Objects', 'Health', 'Overview', 'Plugins']) {
    const link = page.getByRole('navigation').getByRole('link', { name: title });
    await link.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    assert.equal(await link.getAttribute('aria-current'), 'page');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'content');
  }
  await close(page);
});

const VIEWS = { overview: '', plugins: 'plugins', plugin: 'plugin?name=event-printer', informers: 'informers',
  changes: 'changes?resource=v1/pods', objects: 'objects?resource=v1/pods', health: 'health' };

for (const colorScheme of ['light', 'dark']) {
  for (const [device, options] of [['desk', DESK], ['phone', PHONE]]) {
    test(`every page is accessible, ${colorScheme}, ${device}`, async () => {
      const pods = await fetch(`${host.url}/core/v1/pods?limit=1&fields=metadata`).then((answer) => answer.json());
      const { namespace, name: pod } = pods.msg[0].metadata;
      const object = `object?${new URLSearchParams({ resource: 'v1/pods', namespace, name: pod })}`;
      for (const [name, path] of Object.entries({ ...VIEWS, object })) {
        const page = await open(path, { ...options, colorScheme });
        await page.locator('tbody tr, .plot polyline, .changes li, .attention li').first().waitFor({ state: 'attached' });
        assert.deepEqual(await wrong(page), [], `${name}, ${colorScheme}, ${device}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(wide <= 0, `${name} is ${wide} px wider than a ${device}`);
        await page.screenshot({ path: `${PICTURES}/${name}-${colorScheme}-${device}.png` });
        await close(page);
      }
    });
  }
}
