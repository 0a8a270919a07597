// The actions on one plugin.

import { act, readOfPlugin } from './client.js';
import { h, section } from './elements.js';

// States that a resumption ends.
const HELD = ['paused', 'tripped'];

export class Actions {
  // The actions that the caller may ask for.
  permitted = [];
  #plugin;
  #asked = false;
  #isKnown = false;
  #learned;
  #reason = h('p', { class: 'detail' });
  #buttons;
  #hold;
  #rest;

  // `done` is called once the host has changed something, and `learned` once it is known what is permitted.
  constructor(plugin, done, learned) {
    this.#plugin = plugin;
    this.#learned = learned;
    const outcome = new Outcome(() => {
      // A right may have come or gone.
      this.#asked = false;
      done();
    });
    const ask = (action) => outcome.of(`Asking for: ${action}…`, () => act(plugin, action));
    this.#hold = h('button', { type: 'button', onclick: () => ask(this.#hold.value) });
    this.#rest = [
      h('button', { type: 'button', value: 'reload', onclick: () => ask('reload') }, 'Reload'),
      h('button', { type: 'button', value: 'rollback', onclick: async () => {
        const detail = 'The version before runs again, until the file changes. A second rollback returns to the newer version.';
        if (await confirmed(`Roll back ${plugin}?`, detail, 'Roll back')) ask('rollback');
      } }, 'Roll back…'),
    ];
    this.#buttons = h('div', { class: 'buttons' }, this.#hold, this.#rest);
    this.element = section('Actions', this.#buttons, this.#reason, outcome.element);
    this.element.hidden = true;
  }

  update(plugin) {
    if (plugin && !this.#asked) this.#ask();
    this.element.hidden = !plugin || !this.#isKnown;
    if (!plugin) return;
    // The button stays the same element, so it keeps the focus.
    const isHeld = HELD.includes(plugin.state);
    this.#hold.value = isHeld ? 'resume' : 'pause';
    const title = isHeld ? 'Resume' : 'Pause';
    if (this.#hold.textContent !== title) this.#hold.textContent = title;
    for (const button of [this.#hold, ...this.#rest]) button.hidden = !this.permitted.includes(button.value);
    this.#buttons.hidden = this.permitted.length === 0;
  }

  // The host knows what it would refuse. So a caller sees no button in vain.
  #ask() {
    this.#asked = true;
    readOfPlugin(this.#plugin, 'actions').then(
      ({ actions, reason }) => {
        this.permitted = actions;
        this.#reason.textContent = reason ? `Not everything is permitted here: ${reason}` : '';
        this.#reason.hidden = !reason;
      },
      (error) => {
        this.#reason.textContent = error.message;
        this.#reason.hidden = false;
        // A host that has no answer now is asked again at the next look.
        this.#asked = error.status < 500;
      }).then(() => {
      this.#isKnown = true;
      // Without this the page would wait for the next look.
      if (this.#asked) this.#learned();
    });
  }
}

// One action at a time, and its result where it was asked for.
export class Outcome {
  element = h('p', { role: 'status', tabindex: -1, class: 'outcome' });
  #done;
  #isBusy = false;

  constructor(done) {
    this.#done = done;
  }

  // True: it was carried out.
  async of(begun, asked) {
    if (this.#isBusy) return false;
    this.#isBusy = true;
    this.#say(begun, 'outcome');
    try {
      this.#say(`Done: ${await asked()}.`, 'outcome good');
      return true;
    } catch (error) {
      this.#say(`Refused: ${error.message}`, 'outcome bad');
      return false;
    } finally {
      this.#isBusy = false;
      this.#done();
    }
  }

  #say(text, kind) {
    this.element.className = kind;
    this.element.textContent = text;
  }
}

// Asks the person. The focus is on the way back, and returns to the button that opened the question.
export function confirmed(question, detail, yes) {
  return new Promise((resolve) => {
    const close = (value) => () => dialog.close(value);
    const dialog = h('dialog', { 'aria-labelledby': 'question', 'aria-describedby': 'consequence', onclose: () => {
      window.removeEventListener('hashchange', leave);
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    } },
    h('h2', { id: 'question' }, question), h('p', { id: 'consequence' }, detail),
    h('div', { class: 'buttons' }, h('button', { type: 'button', onclick: close('') }, 'Cancel'),
      h('button', { type: 'button', class: 'final', onclick: close('yes') }, yes)));
    const leave = close('');
    window.addEventListener('hashchange', leave);
    document.body.append(dialog);
    dialog.showModal();
  });
}
