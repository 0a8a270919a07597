// The picture of the dashboard in the README: a host with workloads that change, and some of the shipped plugins.

import { Host, browser } from './host.mjs';

const PLUGINS = ['counter.wasm', 'event-printer.wasm', 'event-printer.yaml', 'node-watcher.wasm', 'node-watcher.yaml',
  'restart-alert.wasm', 'restart-alert.yaml'];
// Enough for the plots of rates, once all plugins run.
const MILLISECONDS = 120_000;

const WASM = PLUGINS.filter((file) => file.endsWith('.wasm')).length;

const host = await Host.start('picture', PLUGINS, ['--traffic', '20']);
const chromium = await browser();
try {
  const page = await chromium.newPage({ viewport: { width: 1200, height: 860 } });
  await page.goto(`${host.url}/ui/`);
  await page.locator('.tile', { hasText: 'Plugins that run' }).getByText(`${WASM} of ${WASM}`).waitFor({ timeout: 0 });
  await page.waitForTimeout(MILLISECONDS);
  await page.screenshot({ path: process.argv[2] });
} finally {
  await chromium.close();
  await host.end();
}
