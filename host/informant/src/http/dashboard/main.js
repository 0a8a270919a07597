// The page: it reads the host every two seconds, and shows the view that the address names.

import { h } from './elements.js';
import { dropToken, isTokenDropped, probe, read, takeToken } from './client.js';
import { History } from './history.js';
import { clock } from './units.js';
import * as overview from './overview.js';
import * as plugins from './plugins.js';
import * as plugin from './plugin.js';
import * as informers from './informers.js';
import * as changes from './changes.js';
import * as objects from './objects.js';
import * as object from './object.js';
import * as health from './health.js';

const EVERY_MILLISECONDS = 2000;
const DEADLINE_MILLISECONDS = 10000;

// A view is made by `show(host, parameters)`. It has an `element`, and may have `update(host)` and `end()`.
const VIEWS = { '': overview, plugins, plugin, informers, changes, objects, object, health };
const PAGES = [['', 'Overview'], ['plugins', 'Plugins'], ['informers', 'Informers'], ['changes', 'Changes'],
  ['objects', 'Objects'], ['health', 'Health']];
// The page of a view that has no link of its own.
const PAGE_OF = { plugin: 'plugins', object: 'objects' };

// Ends the present wait for the next look.
let hurry = () => {};
// The newest known state of the host. `again` reads it soon, because something has changed it.
const host = { plugins: [], informers: [], problems: [], ready: null, live: null, history: new History(), again: () => hurry() };

const content = document.getElementById('content');
const connection = document.getElementById('connection');
const pages = document.getElementById('pages');
let shown = null;
let isLeaving = false;

// `#/plugin?name=a` is the view `plugin` with the parameters `{name: "a"}`.
function address() {
  const [view, query] = location.hash.replace(/^#\/?/, '').split('?');
  return { view: Object.hasOwn(VIEWS, view) ? view : '', parameters: Object.fromEntries(new URLSearchParams(query)) };
}

function open() {
  shown?.end?.();
  const { view, parameters } = address();
  const link = ([name, title]) =>
    h('a', { href: `#/${name}`, 'aria-current': (PAGE_OF[view] ?? view) === name && 'page' }, title);
  pages.replaceChildren(...PAGES.map(link));
  shown = VIEWS[view].show(host, parameters);
  content.replaceChildren(shown.element);
  document.title = `${content.querySelector('h1')?.textContent ?? 'Overview'} · Informant`;
  // Before the first answer nothing is known.
  if (host.ready) shown.update?.(host);
}

async function look() {
  const signal = AbortSignal.timeout(DEADLINE_MILLISECONDS);
  const pages = ['/plugins', '/informers', '/problems'].map((path) => read(path, signal));
  const answers = [...pages, ...['/readyz', '/livez'].map((path) => probe(path, signal))];
  try {
    [host.plugins, host.informers, host.problems, host.ready, host.live] = await Promise.all(answers);
    isLeaving = false;
  } catch (error) {
    // A host that is slow still has its port. A page that is being left ends its own requests.
    if (error.status === undefined && error.name !== 'TimeoutError' && !isLeaving) dropToken();
    throw error;
  }
  host.history.push(Date.now(), host.plugins, host.informers);
}

async function run() {
  for (;;) {
    // A page that nobody sees asks nothing.
    if (!document.hidden) {
      try {
        await look();
        connection.textContent = `Updated ${clock(Date.now())}`;
        connection.className = '';
        connection.removeAttribute('role');
        shown.update?.(host);
      } catch (error) {
        const dropped = isTokenDropped() ? '; this page has given up its token, and informant ui prints the address with another one' : '';
        connection.textContent = `No new state: ${error.message}${dropped}`;
        connection.className = 'lost';
        connection.setAttribute('role', 'alert');
      }
    }
    await new Promise((resolve) => {
      hurry = resolve;
      setTimeout(resolve, EVERY_MILLISECONDS);
    });
  }
}

// The address of the page is that of a view.
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  content.focus();
});
window.addEventListener('hashchange', () => {
  takeToken();
  open();
  content.focus();
});
window.addEventListener('beforeunload', () => { isLeaving = true; });
takeToken();
open();
run();
