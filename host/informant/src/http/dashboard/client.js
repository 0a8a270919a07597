// Reads the host, and asks it for actions. Every path is one of the HTTP API.

const TOKEN = 'token';
const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

// Whether this page had a token and has dropped it.
let isDropped = false;

// Takes the token of `informant ui` out of the address, so that nobody sees it over a shoulder or in a bookmark. This tab has it until it
// is closed. A browser may still have the first address in its history, and a tab that is opened again may have the token again.
export function takeToken() {
  const [, token] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (!token) return;
  sessionStorage.setItem(TOKEN, token);
  isDropped = false;
  history.replaceState(null, '', '#/');
}

export function hasToken() {
  return sessionStorage.getItem(TOKEN) !== null;
}

// Drops the token of a host that may be gone: another process may have its port next.
export function dropToken() {
  isDropped ||= hasToken();
  sessionStorage.removeItem(TOKEN);
}

export function isTokenDropped() {
  return isDropped;
}

// Whether the host may know the caller. On loopback it knows the token alone, and refuses dead letters without it.
export function isKnownCaller() {
  return location.protocol === 'https:' || hasToken();
}

// The header with the token. On the secure address there is none: the browser has a certificate, or a proxy adds a token.
function authorization() {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { authorization: `Bearer ${token}` } : {};
}

// The JSON of a path. An error has the host's own words.
export async function read(path, signal, accept = 'application/json') {
  return body(await fetch(path, { headers: { accept }, signal }));
}

// A part of a plugin, for the user of the token.
export async function readOfPlugin(plugin, part) {
  return body(await fetch(ofPlugin(plugin, part), { headers: { accept: 'application/json', ...authorization() } }));
}

// Asks for an action on a plugin, for some of them with dead letters. Returns the host's words about it.
export async function act(plugin, action, letters) {
  const headers = { accept: 'application/json', 'content-type': 'application/json', 'x-informant-action': 'true', ...authorization() };
  const { msg } = await body(await fetch(ofPlugin(plugin, action), { method: 'POST', headers, body: letters && JSON.stringify(letters) }));
  return msg;
}

function ofPlugin(plugin, part) {
  return `/plugins/${encodeURIComponent(plugin)}/${part}`;
}

async function body(answer) {
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text);
  let words = text;
  try {
    const body = JSON.parse(text);
    words = body.msg ?? body.message ?? text;
  } catch {
    // The answer is of something between, and is shown as it is.
  }
  const error = new Error(words || `the host answered ${answer.status}`);
  throw Object.assign(error, { status: answer.status });
}

// The lines of a probe, and whether it passes. A probe that fails is an answer, too.
export async function probe(path, signal) {
  const answer = await fetch(`${path}?verbose`, { signal });
  const lines = (await answer.text()).split('\n').filter((line) => line.startsWith('['));
  return { passes: answer.ok, lines };
}

// The resource of a word as the commands take it, like `pods`, `po` or `deployments.apps`: the host's discovery has the words.
export async function resourceOf(word, signal) {
  if (word.includes('/')) return word;
  const lists = await Promise.all(['/api', '/apis'].map((path) => read(path, signal, DISCOVERY)));
  const [name, ...rest] = word.toLowerCase().split('.');
  const means = ({ resource, singularResource, shortNames, responseKind }) =>
    [resource, singularResource, responseKind?.kind.toLowerCase(), ...shortNames ?? []].includes(name);
  for (const { metadata, versions } of lists.flatMap(({ items }) => items)) {
    const group = metadata.name ?? '';
    for (const { version, resources } of versions) {
      const isHere = rest.length === 0 || [group, `${version}.${group}`].includes(rest.join('.'));
      const found = isHere && resources.find(means);
      if (found) return [group, version, found.resource].filter(Boolean).join('/');
    }
  }
  throw new Error(`the host serves no resource ${word}; write VERSION/PLURAL or GROUP/VERSION/PLURAL, like v1/pods`);
}

// The path of a resource, which is `v1/pods` or `apps/v1/deployments`.
export function pathOf(resource, parameters = {}) {
  const parts = resource.split('/');
  if (![2, 3].includes(parts.length) || parts.includes('')) {
    throw new Error(`${resource} is no resource; write VERSION/PLURAL or GROUP/VERSION/PLURAL, like v1/pods`);
  }
  const [group, version, name] = parts.length === 2 ? ['core', ...parts] : parts;
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  const path = [group, version, name].map(encodeURIComponent).join('/');
  return `/${path}${query.size ? `?${query}` : ''}`;
}
