// The actions on one plugin.

import { act, hasToken, isTokenDropped, readOfPlugin } from './client.js';
import { actionButton, h, hold, section } from './elements.js';
import { Outcome } from './outcome.js';

// States that a resumption ends.
const HELD = ['paused', 'tripped'];

export class Actions {
  // The actions that the caller may ask for.
  permitted = [];
  #plugin;
  #state;
  #asked = false;
  // Whether there was a token when the host was asked.
  #hadToken = false;
  #isKnown = false;
  #learned;
  #reason = h('p', { class: 'detail' });
  #outcome;
  #buttons;

  // `done` is called once the host has changed something, and `learned` once it is known what is permitted.
  constructor(plugin, done, learned) {
    this.#plugin = plugin;
    this.#learned = learned;
    this.#outcome = new Outcome(() => this.#hold(), () => {
      // A right may have come or gone.
      this.#asked = false;
      done();
    });
    const ask = (action) => this.#outcome.of(action, () => act(plugin, action));
    const rollBack = async () => {
      const detail = 'The version before runs again, until the file changes. A second rollback returns to the newer version.';
      if (await confirmed(`Roll back ${plugin}?`, detail, 'Roll back')) ask('rollback');
    };
    // Each keeps its place, so that no look puts another one under the pointer.
    this.#buttons = [
      actionButton('pause', 'Pause', () => ask('pause')),
      actionButton('resume', 'Resume', () => ask('resume')),
      actionButton('reload', 'Reload', () => ask('reload')),
      actionButton('rollback', 'Roll back…', rollBack),
    ];
    this.element = section('Actions', h('div', { class: 'buttons' }, this.#buttons), this.#reason, this.#outcome.element);
    this.element.hidden = true;
  }

  update(plugin) {
    if (!plugin) this.#asked = false;
    else if (!this.#asked || this.#hadToken !== hasToken()) this.#ask();
    // The result stays when the plugin goes.
    this.element.hidden = !this.#isKnown || (!plugin && this.#outcome.isEmpty);
    this.#state = plugin?.state;
    for (const button of this.#buttons) button.hidden = !plugin || !this.permitted.includes(button.value);
    this.#buttons[0].parentElement.hidden = this.#buttons.every((button) => button.hidden);
    this.#reason.hidden = !plugin || this.#reason.textContent === '';
    this.#hold();
  }

  // A pause is for emergencies, and waits for nothing.
  #hold() {
    const { busy } = this.#outcome;
    const [pause, resume, ...rest] = this.#buttons;
    hold(pause, this.#outcome.asksFor('pause') ? busy : this.#state === 'paused' && 'It is paused.');
    hold(resume, busy ?? (!HELD.includes(this.#state) && 'It is neither paused nor tripped.'));
    for (const button of rest) hold(button, busy);
  }

  // The host knows what it would refuse. So a caller sees no button in vain.
  #ask() {
    this.#asked = true;
    this.#hadToken = hasToken();
    readOfPlugin(this.#plugin, 'actions').then(
      ({ actions, reason }) => {
        this.permitted = actions;
        const dropped = isTokenDropped() ? 'This page has given up its token, because the host did not answer. ' : '';
        this.#reason.textContent = reason ? `${dropped}Not everything is permitted here: ${reason}` : '';
      },
      (error) => {
        this.#reason.textContent = error.message;
        // A host that has no answer now is asked again at the next look.
        this.#asked = error.status < 500 && error.status !== 429;
      }).then(() => {
      this.#isKnown = true;
      // Without this the page would wait for the next look.
      if (this.#asked) this.#learned();
    });
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
