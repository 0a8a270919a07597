// The probes with their checks, and the files that cannot be plugins.

import { badge, h, section } from './elements.js';

export function show() {
  const ready = h('div');
  const live = h('div');
  const problems = h('div');
  return {
    element: h('div', {}, h('h1', {}, 'Health'), section('Ready (/readyz)', ready), section('Alive (/livez)', live),
      section('Problems with files and configuration', problems)),
    update(host) {
      ready.replaceChildren(checks(host.ready));
      live.replaceChildren(checks(host.live));
      problems.replaceChildren(host.problems.length === 0 ? h('p', { class: 'calm' }, 'None.')
        : h('ul', { class: 'attention' }, host.problems.map(({ path, text }) =>
          h('li', {}, h('code', {}, path), ': ', h('span', { class: 'reason' }, text)))));
    },
  };
}

function checks(probe) {
  if (!probe) return h('p', {}, 'Not known yet.');
  const line = (text) => h('li', {}, badge(text.startsWith('[+]') ? 'ok' : 'failed'), ' ', text.slice(3));
  return h('div', {}, h('p', {}, probe.passes ? 'The probe passes.' : 'The probe fails.'), h('ul', { class: 'attention' }, probe.lines.map(line)));
}
