// The dead letters of one plugin, to be sent again or deleted.

import { confirmed } from './actions.js';
import { act, isKnownCaller, readOfPlugin } from './client.js';
import { actionButton, badge, h, hold, section } from './elements.js';
import { Outcome } from './outcome.js';
import { ago } from './units.js';

const LETTERS_MAX = 100;
const [REDRIVE, PURGE] = ['dead-letters/redrive', 'dead-letters/purge'];

export class Letters {
  #plugin;
  #outcome;
  // By their numbers, as they are drawn.
  #rows = new Map();
  // How many the plugin has, the listed ones and others.
  #count = 0;
  #list = h('ol', { class: 'letters' });
  #note = h('p', { class: 'detail' });
  #all;
  #permitted = [];
  // What the list was read for: the numbers that change with the letters.
  #known = '';
  // Counts the readings: the answer to an older one is not drawn.
  #readings = 0;

  // `done` is called once the host has changed something.
  constructor(plugin, done) {
    this.#plugin = plugin;
    this.#outcome = new Outcome(() => this.#hold(), () => {
      this.#known = '';
      done();
    });
    this.#all = h('div', { class: 'buttons' },
      actionButton(REDRIVE, 'Send all again', () => this.#ask(REDRIVE, 'all dead letters', { all: true })),
      actionButton(PURGE, 'Delete all…', () => this.#purgeAll()));
    this.element = section('Dead letters', this.#all, this.#note, this.#outcome.element, this.#list);
    this.element.hidden = true;
  }

  update(plugin, permitted) {
    // The result stays when the plugin goes.
    this.element.hidden = !plugin && this.#outcome.isEmpty;
    this.#count = plugin?.deadLetters ?? 0;
    this.#permit(permitted);
    for (const time of this.#list.querySelectorAll('time')) time.textContent = `${ago(time.dateTime)} ago`;
    const known = plugin
      ? JSON.stringify([plugin.deadLetters, plugin.counters.dead, plugin.queue.depth === 0, permitted, isKnownCaller()]) : 'gone';
    if (known === this.#known) return;
    this.#known = known;
    const reading = this.#readings += 1;
    const newest = (then) => (value) => reading === this.#readings && then(value);
    const none = !plugin ? '' : this.#count === 0 ? 'There are none. An event that fails all its attempts becomes one.'
      : !isKnownCaller() && 'They are for the host’s user, who opens the address of informant ui.';
    if (none !== false) {
      this.#draw([]);
      this.#note.textContent = none;
      return;
    }
    readOfPlugin(this.#plugin, `dead-letters?limit=${LETTERS_MAX}`).then(
      newest((letters) => {
        this.#draw(letters);
        const left = this.#count - letters.length;
        this.#note.textContent = left > 0 ? `The oldest ${letters.length} of ${this.#count} are shown.` : '';
      }),
      newest((error) => {
        this.#draw([]);
        this.#note.textContent = error.message;
        // A host that has no answer now is asked again at the next look.
        if (!(error.status < 500) || error.status === 429) this.#known = '';
      }));
  }

  #permit(permitted) {
    this.#permitted = permitted;
    for (const button of this.element.querySelectorAll('button')) button.hidden = !permitted.includes(button.value);
    const isHidden = this.#count === 0 || ![REDRIVE, PURGE].some((action) => permitted.includes(action));
    if (isHidden && this.#all.contains(document.activeElement)) this.#outcome.element.focus();
    this.#all.hidden = isHidden;
    this.#hold();
  }

  #hold() {
    for (const button of this.element.querySelectorAll('button')) hold(button, this.#outcome.busy);
  }

  // Rows of letters that stay are not touched, so that a button keeps the focus.
  #draw(letters) {
    const ids = new Set(letters.map(({ id }) => id));
    const focused = [...this.#rows.values()].findIndex((row) => row.contains(document.activeElement));
    const isLost = focused >= 0 && !ids.has([...this.#rows.keys()][focused]);
    for (const [id, row] of this.#rows) {
      if (ids.has(id)) continue;
      row.remove();
      this.#rows.delete(id);
    }
    for (const letter of letters) {
      if (this.#rows.has(letter.id)) continue;
      const row = this.#row(letter);
      this.#rows.set(letter.id, row);
      this.#list.append(row);
    }
    this.#list.hidden = letters.length === 0;
    this.#hold();
    // The letter with the focus is gone: the next one has it, or the result.
    if (isLost) {
      const next = [...this.#rows.values()][focused];
      (next?.querySelector('button:not([hidden])') ?? this.#outcome.element).focus();
    }
  }

  #row({ id, change, resource, namespace, name, attempts, at, error }) {
    const href = `#/object?${new URLSearchParams({ resource, namespace, name })}`;
    const button = (title, action, label, asked) => {
      const button = actionButton(action, title, asked, label);
      button.hidden = !this.#permitted.includes(action);
      return button;
    };
    const [words, letters] = [`dead letter ${id}`, { ids: [id] }];
    return h('li', {}, h('div', {}, h('span', { class: 'detail' }, `${id}`), ' ', badge(change), ' ',
      h('a', { href }, namespace ? `${namespace}/${name}` : name), ' ',
      h('span', { class: 'detail' }, `${resource}, attempt ${attempts}, `, h('time', { datetime: at, title: at }, `${ago(at)} ago`)),
      h('p', { class: 'reason' }, error)),
    h('div', { class: 'buttons' },
      button('Send again', REDRIVE, `Send again: ${words}`, () => this.#ask(REDRIVE, words, letters)),
      button('Delete…', PURGE, `Delete… ${words}`, () => this.#purge(words, letters, 'Its event is lost. The plugin does not get it again.'))));
  }

  // Those that are listed, where these are all. So no letter goes that nobody has seen.
  #purgeAll() {
    const ids = [...this.#rows.keys()];
    const [letters, more] = ids.length === this.#count ? [{ ids }, ''] : [{ all: true }, ' So are those of letters that come meanwhile.'];
    this.#purge(`all dead letters (${this.#count})`, letters, `Their events are lost, and the plugin does not get them again.${more}`);
  }

  async #purge(words, letters, detail) {
    if (await confirmed(`Delete ${words} of ${this.#plugin}?`, detail, 'Delete')) this.#ask(PURGE, words, letters);
  }

  #ask(action, words, letters) {
    this.#outcome.of(words, () => act(this.#plugin, action, letters));
  }
}
