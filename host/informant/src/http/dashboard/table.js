// A table whose columns sort it. It keeps its order while its rows are replaced.

import { h, isInUse } from './elements.js';

// Rows that are drawn: a browser with some thousand of them is slow, and nobody reads them.
const ROWS_MAX = 500;

export class Table {
  #columns;
  #caption;
  #sorted;
  #rows = [];
  #body = h('tbody');
  #more = h('p', { class: 'detail' });
  #heads = [];

  // A column is `{name, value, show, number}`: `value` of a row sorts, `show` is drawn, `number` stands on the right.
  constructor(caption, columns, sortedBy = 0, falls = false) {
    this.#caption = caption;
    this.#columns = columns;
    this.#sorted = { column: sortedBy, falls };
  }

  element() {
    this.#heads = this.#columns.map((column, number) =>
      h('th', { scope: 'col', class: column.number && 'number' },
        h('button', { type: 'button', onclick: () => this.#sortBy(number) }, column.name)));
    const table = h('table', {}, h('caption', {}, this.#caption), h('thead', {}, h('tr', {}, this.#heads)), this.#body);
    // A wide table scrolls by itself, also by the keyboard.
    return h('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': this.#caption }, table, this.#more);
  }

  rows(rows) {
    this.#rows = rows;
    if (!isInUse(this.#body)) this.#draw();
  }

  #sortBy(column) {
    const { number } = this.#columns[column];
    const same = this.#sorted.column === column;
    this.#sorted = { column, falls: same ? !this.#sorted.falls : Boolean(number) };
    this.#draw();
  }

  #draw() {
    const { column, falls } = this.#sorted;
    const value = this.#columns[column].value;
    const sorted = [...this.#rows].sort((a, b) => compare(value(a), value(b)) * (falls ? -1 : 1));
    this.#heads.forEach((head, number) => {
      if (number === column) head.setAttribute('aria-sort', falls ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    const cells = (row) => this.#columns.map((column, number) => {
      const shown = (column.show ?? column.value)(row);
      return number === 0 ? h('th', { scope: 'row' }, shown) : h('td', { class: column.number && 'number' }, shown);
    });
    this.#body.replaceChildren(...sorted.slice(0, ROWS_MAX).map((row) => h('tr', {}, cells(row))));
    const left = sorted.length - ROWS_MAX;
    this.#more.textContent = left > 0 ? `${left} more rows are not shown. Use the filter.` : '';
    this.#more.hidden = left <= 0;
  }
}

function compare(a, b) {
  if (typeof a === 'number' || typeof b === 'number') return (a ?? -1) - (b ?? -1);
  return String(a ?? '').localeCompare(String(b ?? ''));
}
