// The log of one plugin as it comes.

import { read } from './client.js';
import { h, section } from './elements.js';
import { clock } from './units.js';

// Lines that stay on the page, and lines of the time before.
const LINES_MAX = 500;
const FIRST_LINES = 100;
const KINDS = { ERROR: 'bad', WARN: 'busy' };

export class Log {
  #path;
  #stream = null;
  // The host refuses the log. The text is the host's.
  #refused = false;
  #status = h('p', { role: 'status' });
  #list = h('ol', { class: 'log', tabindex: 0, 'aria-live': 'off', 'aria-label': 'Lines of the log', hidden: true });
  element = section('Log', this.#status, this.#list);

  constructor(name) {
    this.#path = `/plugins/${encodeURIComponent(name)}/logs`;
  }

  // Begins once the plugin is there. A plugin that is gone may come again.
  update(isThere) {
    this.element.hidden = !isThere;
    if (!isThere) {
      this.end();
      this.#refused = false;
    } else if (!this.#stream && !this.#refused) {
      this.#follow();
    }
  }

  end() {
    this.#stream?.close();
    this.#stream = null;
  }

  #follow() {
    const stream = new EventSource(`${this.#path}?follow=true&tailLines=${FIRST_LINES}`);
    this.#stream = stream;
    stream.addEventListener('open', () => {
      this.#list.replaceChildren();
      this.#list.hidden = true;
      this.#status.textContent = 'There is no line yet.';
    }, { once: true });
    stream.addEventListener('line', ({ data }) => this.#add(row(JSON.parse(data))));
    stream.addEventListener('missed', () => this.#add(h('li', { class: 'detail' }, 'Some lines are missing here.')));
    stream.addEventListener('error', () => {
      // The browser connects again by itself, unless the host refuses.
      if (stream.readyState !== EventSource.CLOSED) return;
      this.end();
      this.#refused = true;
      read(`${this.#path}?tailLines=0`).then(
        () => {
          this.#refused = false;
          this.#status.textContent = 'The host has no place for one more stream. The log begins once there is one.';
        },
        (error) => {
          this.#refused = error.status === 403;
          this.#status.textContent = error.message;
        });
    });
  }

  #add(line) {
    // A reader who has scrolled up reads on there.
    const isAtEnd = this.#list.scrollHeight - this.#list.scrollTop - this.#list.clientHeight < 8;
    this.#status.textContent = '';
    this.#list.hidden = false;
    this.#list.append(line);
    while (this.#list.children.length > LINES_MAX) this.#list.firstChild.remove();
    if (isAtEnd) this.#list.scrollTop = this.#list.scrollHeight;
  }
}

function row({ timestamp, level, message, fields }) {
  const kind = KINDS[level] ?? 'plain';
  return h('li', {}, h('span', { class: 'detail' }, clock(timestamp)), ' ',
    level !== 'INFO' && [h('span', { class: `badge ${kind}` }, level.toLowerCase()), ' '],
    message, fields && h('span', { class: 'detail' }, ` ${fields}`));
}
