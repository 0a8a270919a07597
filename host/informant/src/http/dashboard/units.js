// Numbers and times as people read them.

export function count(number) {
  return number === null || number === undefined ? '–' : Math.round(number).toLocaleString('en');
}

export function rate(number) {
  if (number === null || number === undefined) return '–';
  if (number === 0) return '0/s';
  return `${number < 10 ? number.toFixed(number < 0.1 ? 2 : 1) : count(number)}/s`;
}

export function bytes(number) {
  if (number === null || number === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit += 1;
  }
  return `${number < 10 && unit > 0 ? number.toFixed(1) : Math.round(number)} ${units[unit]}`;
}

export function share(number) {
  return number === null || number === undefined ? '–' : `${(number * 100).toFixed(1)} %`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 0.001) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 1) return `${(seconds * 1e3).toFixed(1)} ms`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

// How long ago a time in RFC 3339 was.
export function ago(time, now = Date.now()) {
  return time ? duration(Math.max(0, (now - Date.parse(time)) / 1000)) : '–';
}

export function clock(time) {
  return new Date(time).toLocaleTimeString('en-GB');
}
