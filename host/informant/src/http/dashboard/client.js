// Reads the host. Every path is one of the HTTP API.

// The JSON of a path. An error has the host's own words.
export async function read(path, signal) {
  const answer = await fetch(path, { headers: { accept: 'application/json' }, signal });
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
