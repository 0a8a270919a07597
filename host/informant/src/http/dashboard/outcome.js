// The actions that a part of the page has asked for, and their results where they were asked for.

import { h } from './elements.js';

export class Outcome {
  // The focus may come here once a button is gone.
  element = h('div', { role: 'status', tabindex: -1, class: 'outcome' });
  #changed;
  #done;
  // The words of the actions under way.
  #underWay = new Map();

  // `changed` is called at the begin and at the end of each action, and `done` once the host may have changed something.
  constructor(changed, done) {
    this.#changed = changed;
    this.#done = done;
  }

  // Why no other action may begin now. Null: none is under way.
  get busy() {
    const [words] = this.#underWay.values();
    return words ? `The host has not answered yet: ${words}.` : null;
  }

  asksFor(words) {
    return [...this.#underWay.values()].includes(words);
  }

  get isEmpty() {
    return this.element.childElementCount === 0;
  }

  async of(words, asked) {
    if (this.#underWay.size === 0) this.element.replaceChildren();
    const line = h('p', {}, `Asking for: ${words}…`);
    this.element.append(line);
    this.#underWay.set(line, words);
    this.#changed();
    try {
      say(line, `Done: ${await asked()}.`, 'good');
    } catch (error) {
      const refused = error.status !== undefined;
      say(line, refused ? `Refused: ${error.message}` : `No answer, so the host may have acted or not: ${error.message}`, 'bad');
    } finally {
      this.#underWay.delete(line);
      this.#changed();
      this.#done();
    }
  }
}

function say(line, text, kind) {
  line.className = kind;
  line.textContent = text;
}
