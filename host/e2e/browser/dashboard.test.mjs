// Every page and every action of the dashboard, in a real browser beside a real host.

import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
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

// The host's page of one plugin, for the user of `informant ui`, or for another one.
async function openPlugin(other, name, options = {}) {
  const page = await open(`plugin?name=${name}`, { ...options, url: other.url });
  if (options.acts !== false) await takeToken(page, other.ask('ui'));
  await page.getByRole('heading', { level: 1, name }).waitFor();
  return page;
}

// Opens the address with the token, waits until the page has taken it, and comes back.
async function takeToken(page, address) {
  const before = page.url();
  await page.goto(address);
  await page.waitForFunction(() => !location.hash.includes('token'));
  await page.goto(before);
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

test('times come from the buckets of a histogram', async () => {
  const page = await open('plugins');
  const check = async (buckets, share, expect) => {
    const ask = async ([buckets, share]) => (await import('/ui/history.js')).quantile(buckets, share);
    assert.equal(await page.evaluate(ask, [buckets, share]), expect);
  };
  await check([[1, 0], [2, 10], [null, 0]], 0.5, 1.5);
  await check([[1, 9], [2, 1], [null, 0]], 0.95, 1.5);
  await check([[1, 0], [2, 0], [null, 3]], 0.5, 2);
  await check([[1, 0], [null, 0]], 0.5, null);
  await check([[1, -1], [null, 2]], 0.5, null);
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
  await page.waitForFunction(() => /^[a-z0-9./]+$/.test(document.getElementById('resource').value));
  await page.getByLabel('Resource').fill('v1/pods');
  await page.getByRole('button', { name: 'Show' }).click();
  const changes = page.locator('.changes > li');
  await changes.filter({ hasText: 'updated' }).locator('code').first().waitFor();
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

test('a resource has the words of the commands', async () => {
  const page = await open('objects?resource=po');
  await page.getByRole('region', { name: 'v1/pods' }).getByText('Running').first().waitFor();
  assert.match(page.url(), /resource=v1%2Fpods$/);
  for (const word of ['pods', 'Pod']) {
    await page.goto(`${host.url}/ui/#/changes?resource=${word}`);
    await page.getByText('Changes appear here.').waitFor();
    assert.match(page.url(), /resource=v1%2Fpods$/);
  }
  await page.goto(`${host.url}/ui/#/objects?resource=deployments.apps&namespace=shop`);
  await page.getByRole('region', { name: 'apps/v1/deployments' }).getByText('cart').first().waitFor();
  await close(page);
});

test('all columns of the plugins are in sight on a screen of 1200 px', async () => {
  const page = await open('plugins', { viewport: { width: 1200, height: 800 } });
  await page.getByText('which is not granted').waitFor();
  // Two looks make a rate.
  await page.locator('td.number', { hasText: '/s' }).first().waitFor();
  const region = page.getByRole('region', { name: 'Plugins' });
  const over = await region.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
  await page.screenshot({ path: `${PICTURES}/plugins-1200.png` });
  assert.ok(over <= 0, `the table is ${over} px too wide`);
  const heads = await page.locator('thead th').allInnerTexts();
  assert.equal(heads.indexOf('Why it does not work'), 2, heads.join(', '));
  await close(page);
});

test('what the host refuses is shown in its words', async () => {
  const page = await open('objects?resource=v1/podz');
  await page.getByText('the cluster has no resource v1/podz').waitFor();
  for (const view of ['objects', 'changes']) {
    await page.goto(`${host.url}/ui/#/${view}?resource=podz`);
    await page.getByText('the host serves no resource podz; write VERSION/PLURAL').waitFor();
    await page.goto(`${host.url}/ui/#/${view}?resource=v1//`);
    await page.getByText('v1// is no resource; write VERSION/PLURAL').waitFor();
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
  await page.getByText('there is no plugin').first().waitFor();
  assert.equal(await page.locator('main img, main script').count(), 0);
  // The browser itself logs the refused requests.
  page.complaints = page.complaints.filter((text) => !text.startsWith('Failed to load resource'));
  await close(page);
});

// Clicks a button, and waits for the host's word about the action.
async function act(page, part, button, expect) {
  const region = page.locator('section', { has: page.getByRole('heading', { name: part, exact: true }) });
  await region.getByRole('button', { name: button }).click();
  if (button.endsWith('…')) await page.getByRole('dialog').getByRole('button').last().click();
  await region.getByRole('status').filter({ hasText: expect }).waitFor();
}

function focused(page) {
  return page.evaluate(() => document.activeElement.textContent);
}

function badge(page) {
  return page.locator('h1 + div .badge');
}

test('a page without the token has no buttons, and says how to get them', async () => {
  const page = await openPlugin(host, 'event-printer', { acts: false });
  await page.getByText('informant ui prints the address').waitFor();
  assert.equal(await page.locator('section .buttons button:visible').count(), 0);
  await close(page);
});

test('the token goes from the address into the tab', async () => {
  const page = await open('');
  const address = host.ask('ui');
  const token = address.split('token=')[1];
  await page.goto(address);
  await updated(page).waitFor();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  assert.equal(page.url(), `${host.url}/ui/#/`);
  assert.equal(await page.evaluate(() => sessionStorage.getItem('token')), token);
  assert.ok(!(await page.content()).includes(token), 'it is on the page');
  await page.goBack();
  assert.ok(!page.url().includes(token), 'it is in the history');
  await close(page);
});

test('the address of informant ui is the first page', async () => {
  const context = await chromium.newContext(DESK);
  const page = await context.newPage();
  const address = host.ask('ui');
  await page.goto(address);
  await updated(page).waitFor();
  assert.equal(page.url(), `${host.url}/ui/#/`);
  await page.getByRole('link', { name: 'Plugins' }).click();
  await page.getByRole('link', { name: 'event-printer' }).click();
  await page.getByRole('button', { name: 'Reload' }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Reload' }).waitFor();
  await context.close();
});

test('a page of another origin does not act', async () => {
  const token = host.ask('ui').split('token=')[1];
  const served = createServer((_, answer) => answer.writeHead(200, { 'content-type': 'text/html' }).end('<title>other</title>'));
  await new Promise((resolve) => served.listen(0, '127.0.0.1', resolve));
  try {
    const page = await (await chromium.newContext(DESK)).newPage();
    await page.goto(`http://127.0.0.1:${served.address().port}/`);
    const pause = `${host.url}/plugins/event-printer/pause`;
    const tries = await page.evaluate(async ([pause, token]) => {
      const ask = (options) => fetch(pause, { method: 'POST', ...options }).then(({ type, status }) => `${type} ${status}`, () => 'blocked');
      const headers = { authorization: `Bearer ${token}`, 'x-informant-action': 'true' };
      return [await ask({}), await ask({ headers }), await ask({ headers, mode: 'no-cors' }), await ask({ headers, credentials: 'include' })];
    }, [pause, token]);
    assert.deepEqual(tries, ['blocked', 'blocked', 'opaque 0', 'blocked']);
    await page.evaluate(async ([pause, ui]) => {
      // Without its name first, the form would open a window.
      const frame = (name) => document.body.appendChild(Object.assign(document.createElement('iframe'), { name }));
      const loaded = (frame) => new Promise((resolve) => { frame.onload = resolve; });
      const target = frame('target');
      const form = Object.assign(document.createElement('form'), { method: 'POST', action: pause, target: 'target' });
      document.body.append(form);
      const sent = loaded(target);
      form.submit();
      await sent;
      const framed = frame('framed');
      const shown = loaded(framed);
      framed.src = ui;
      await shown;
    }, [pause, `${host.url}/ui/#token=${token}`]);
    assert.match(page.frame('framed').url(), /^chrome-error:/, 'the dashboard is in a frame');
    const plugins = await fetch(`${host.url}/plugins`).then((answer) => answer.json());
    assert.equal(plugins.find(({ name }) => name === 'event-printer').state, 'running');
    await page.context().close();
  } finally {
    served.closeAllConnections();
    served.close();
  }
});

test('a plugin is paused, resumed, reloaded and rolled back', async () => {
  const other = await Host.start('actions', ['event-printer.wasm', 'event-printer.yaml']);
  try {
    const page = await openPlugin(other, 'event-printer');
    await act(page, 'Actions', 'Pause', 'Done: paused; its events wait.');
    await badge(page).getByText('paused').waitFor();
    // The button keeps its place and the focus, and does nothing more.
    const [pause, resume] = ['Pause', 'Resume'].map((name) => page.getByRole('button', { name, exact: true }));
    await page.locator('button[aria-disabled]', { hasText: 'Pause' }).waitFor();
    assert.equal(await focused(page), 'Pause');
    assert.equal(await pause.getAttribute('title'), 'It is paused.');
    await page.keyboard.press('Enter');
    await resume.click();
    await page.getByRole('status').filter({ hasText: 'Done: resumed.' }).waitFor();
    await badge(page).getByText('running').waitFor();
    await page.locator('button[aria-disabled]', { hasText: 'Resume' }).waitFor();
    assert.equal(await focused(page), 'Resume');
    await act(page, 'Actions', 'Reload', 'took over');
    assert.equal(await focused(page), 'Reload');

    // While the host has not answered, nothing but a pause begins.
    let answers;
    const held = new Promise((resolve) => { answers = resolve; });
    await page.route('**/reload', async (route) => { await held; await route.continue(); });
    await page.getByRole('button', { name: 'Reload' }).click();
    const isHeld = page.locator('button[aria-disabled]', { hasText: 'Roll back…' });
    await isHeld.waitFor();
    assert.equal(await isHeld.getAttribute('title'), 'The host has not answered yet: reload.');
    assert.deepEqual(await wrong(page), []);
    await page.screenshot({ path: `${PICTURES}/under-way.png` });
    await pause.click();
    const results = page.locator('section', { has: page.getByRole('heading', { name: 'Actions', exact: true }) }).getByRole('status');
    await results.filter({ hasText: 'Done: paused' }).waitFor();
    assert.match(await results.innerText(), /Asking for: reload…/);
    answers();
    await results.filter({ hasText: 'took over' }).waitFor();
    await page.unroute('**/reload');
    await act(page, 'Actions', 'Resume', 'Done: resumed.');
    await page.route('**/reload', (route) => route.abort());
    await act(page, 'Actions', 'Reload', 'No answer, so the host may have acted or not');
    await page.unroute('**/reload');

    const rollback = page.getByRole('button', { name: 'Roll back…' });
    await rollback.click();
    const dialog = page.getByRole('dialog', { name: 'Roll back event-printer?' });
    await dialog.waitFor();
    assert.equal(await focused(page), 'Cancel');
    assert.deepEqual(await wrong(page), []);
    await page.screenshot({ path: `${PICTURES}/question.png` });
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await focused(page), 'Roll back…');
    // The host refuses: the same content is not another version. Chromium logs each refusal by itself.
    await act(page, 'Actions', 'Roll back…', 'Refused: there is no version before this one');
    page.complaints = page.complaints.filter((text) => !text.startsWith('Failed to load resource'));
    await writeFile(`${other.place}/plugins/event-printer.wasm`, await readFile(`${process.env.INFORMANT_PLUGINS}/counter.wasm`));
    await page.locator('.tile', { hasText: 'Reloads' }).getByText('3', { exact: true }).waitFor();
    await act(page, 'Actions', 'Roll back…', 'took over');
    await close(page);
  } finally {
    await other.end();
  }
});

test('dead letters are sent again and deleted, one or all', async () => {
  // The Pods change seldom, so most letters are those of the beginning.
  const config = 'config: {as: handler, resource: v1/pods, namespace: shop, mood: gives-up}';
  const settings = { 'moods.yaml': `apiVersion: informant.dev/v1alpha1\nkind: PluginConfiguration\n${config}\n` };
  const other = await Host.start('letters', ['moods.wasm'], ['--traffic', '0.1'], settings);
  try {
    const page = await openPlugin(other, 'moods');
    const rows = page.locator('.letters > li');
    await rows.nth(2).waitFor();
    const stranger = await openPlugin(other, 'moods', { acts: false });
    await stranger.getByText('They are for the host’s user').waitFor();
    await close(stranger);
    const region = page.locator('section', { has: page.getByRole('heading', { name: 'Dead letters', exact: true }) });
    const result = region.getByRole('status');
    const first = rows.first();
    const id = (await first.locator('.detail').first().innerText()).trim();
    await first.getByRole('button', { name: 'Delete' }).waitFor();
    await page.screenshot({ path: `${PICTURES}/letters.png`, fullPage: true });
    assert.deepEqual(await wrong(page), []);

    const phone = await openPlugin(other, 'moods', { ...PHONE, colorScheme: 'dark' });
    await phone.locator('.letters').getByRole('button', { name: 'Delete' }).first().click();
    await phone.getByRole('dialog').waitFor();
    assert.deepEqual(await wrong(phone), []);
    await phone.screenshot({ path: `${PICTURES}/question-dark-phone.png` });
    await phone.getByRole('button', { name: 'Cancel' }).click();
    assert.deepEqual(await wrong(phone), []);
    const wide = await phone.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `the letters are ${wide} px wider than a phone`);
    await phone.screenshot({ path: `${PICTURES}/letters-dark-phone.png`, fullPage: true });
    await close(phone);

    // The keyboard alone: the next letter has the focus once this one is gone.
    const second = await rows.nth(1).getByRole('button', { name: 'Delete' }).getAttribute('aria-label');
    assert.ok(second, 'a button has a name of its own');
    await first.getByRole('button', { name: 'Delete' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: `Delete dead letter ${id} of moods?` }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await result.filter({ hasText: 'Done: 1 dead letter thrown away.' }).waitFor();
    await page.getByRole('button', { name: `Delete… dead letter ${id}`, exact: true }).waitFor({ state: 'detached' });
    assert.ok(await page.evaluate(() => document.activeElement.closest('.letters, .outcome')), 'the focus is lost');

    await rows.first().getByRole('button', { name: /Send again: dead letter \d+/ }).click();
    await result.filter({ hasText: 'Done: 1 dead letter sent again' }).waitFor();
    await region.getByRole('button', { name: 'Send all again' }).click();
    await result.filter({ hasText: /Done: \d+ dead letters? sent again/ }).waitFor();
    other.ask('plugin', 'pause', 'moods');
    await badge(page).getByText('paused').waitFor();
    await page.waitForFunction(() => {
      const tile = [...document.querySelectorAll('.tile')].find((tile) => tile.querySelector('dt').textContent === 'Dead letters');
      return Number(tile.querySelector('dd').textContent) === document.querySelectorAll('.letters > li').length;
    });
    await region.getByRole('button', { name: 'Delete all…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await region.getByRole('button', { name: 'Delete all…' }).click();
    // What is listed is what goes.
    const listed = await rows.count();
    const sent = page.waitForRequest('**/dead-letters/purge');
    await page.getByRole('dialog', { name: `Delete all dead letters (${listed}) of moods?` }).getByRole('button', { name: 'Delete' }).click();
    assert.equal((await sent).postDataJSON().ids.length, listed);
    await result.filter({ hasText: 'thrown away' }).waitFor();
    await page.getByText('There are none.').waitFor();
    assert.equal(await rows.count(), 0);

    // The result stays when the plugin goes.
    await rm(`${other.place}/plugins/moods.wasm`);
    await page.getByText('The host has no plugin of this name.').waitFor();
    assert.match(await result.innerText(), /thrown away/);
    await close(page);
  } finally {
    await other.end();
  }
});

test('letters that could not be read are read again', async () => {
  const page = await open('plugin?name=event-printer');
  await takeToken(page, host.ask('ui'));
  let fails = true;
  const letter = { id: 7, change: 'added', resource: 'v1/pods', namespace: 'shop', name: 'web', attempts: 20, at: new Date().toISOString(), error: 'no' };
  await page.route('**/dead-letters?*', (route) => fails ? route.fulfill({ status: 503, json: { msg: 'the host stops' } }) : route.fulfill({ json: [letter] }));
  await page.route('**/plugins', async (route) => {
    const answer = await route.fetch();
    const plugins = await answer.json();
    for (const plugin of plugins) plugin.deadLetters = 1;
    await route.fulfill({ response: answer, json: plugins });
  });
  await page.getByText('the host stops').waitFor();
  fails = false;
  const time = page.locator('.letters time');
  await time.waitFor();
  // The age is that of now.
  const age = await time.innerText();
  await page.waitForFunction((age) => document.querySelector('.letters time').textContent !== age, age);
  await page.unrouteAll({ behavior: 'wait' });
  page.complaints = page.complaints.filter((text) => !text.startsWith('Failed to load resource'));
  await close(page);
});

test('the page drops its token once the host does not answer', async () => {
  const other = await Host.start('restarted', ['event-printer.wasm', 'event-printer.yaml']);
  try {
    const page = await openPlugin(other, 'event-printer');
    const pause = page.getByRole('button', { name: 'Pause' });
    const token = () => page.evaluate(() => sessionStorage.getItem('token'));
    await pause.waitFor();
    await other.end();
    await page.getByText('this page has given up its token').waitFor();
    assert.equal(await token(), null);
    await other.again();
    await updated(page).waitFor();
    await page.getByText('This page has given up its token, because the host did not answer.').waitFor();
    await pause.waitFor({ state: 'hidden' });

    // A tab that is opened again may have the token of the host before.
    await page.evaluate(() => sessionStorage.setItem('token', 'x'.repeat(43)));
    await page.getByText('the token is not that of this host').waitFor();
    await takeToken(page, other.ask('ui'));
    await act(page, 'Actions', 'Pause', 'Done: paused');
    await page.context().close();
  } finally {
    await other.end();
  }
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
      const address = host.ask('ui');
      for (const [name, path] of Object.entries({ ...VIEWS, object })) {
        const page = await open(path, { ...options, colorScheme });
        if (name === 'plugin') {
          await takeToken(page, address);
          await page.getByRole('button', { name: 'Reload' }).waitFor();
        }
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
