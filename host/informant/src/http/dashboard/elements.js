// Elements of the page. All texts become text nodes, so no text of the cluster is ever markup.

const SVG = 'http://www.w3.org/2000/svg';

// An element of HTML. An attribute that is `false`, `null` or `undefined` is left out; `onclick` and its like are listeners.
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// An element of SVG.
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  const shown = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...shown.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

// States, and ends of deliveries, by the colour that they have. Others are plain.
const KINDS = {
  good: ['running', 'synced', 'ok', 'delivered', 'added', 'enqueued'],
  busy: ['created', 'loading', 'syncing', 'waiting', 'waits', 'paused', 'reloading', 'draining', 'updated'],
  bad: ['stale', 'forbidden', 'absent', 'tripped', 'stopped', 'failed', 'backing-off', 'deleted', 'given-up'],
};

export function kindOf(state) {
  return Object.keys(KINDS).find((kind) => KINDS[kind].includes(state)) ?? 'plain';
}

// A state in words and colour.
export function badge(state) {
  return h('span', { class: `badge ${kindOf(state)}` }, state);
}

// A number with its name.
export function tile(name, value, detail) {
  return h('div', { class: 'tile' }, h('dt', {}, name), h('dd', {}, value), detail && h('dd', { class: 'detail' }, detail));
}

export function tiles(...all) {
  return h('dl', { class: 'tiles' }, all);
}

export function section(title, ...children) {
  return h('section', {}, h('h2', {}, title), children);
}

// Names and values, of which those without a value are left out.
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return h('dl', { class: 'facts' }, shown.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}

// Whether somebody is about to use a part of the element, which must not be replaced now.
export function isInUse(element) {
  return element.querySelector(':focus, a:active') !== null;
}

export function json(value) {
  return h('pre', { tabindex: 0, 'aria-label': 'JSON' }, JSON.stringify(value, null, 2));
}

// A button for an action. It does nothing while it is held.
export function actionButton(action, title, asked, label) {
  const button = h('button', { type: 'button', value: action, 'aria-label': label,
    onclick: () => button.getAttribute('aria-disabled') !== 'true' && asked() }, title);
  return button;
}

// Holds a button and says why, or lets it go. It keeps its place and the focus.
export function hold(button, why) {
  if (why) {
    button.setAttribute('aria-disabled', 'true');
    button.title = why;
  } else {
    button.removeAttribute('aria-disabled');
    button.removeAttribute('title');
  }
}
