// The panel below the canvas: the details of an event, or the sums of a range. It is hidden
// without a selection.

// Links of one relation.
const MAX_LINKS = 6;
const MAX_SUMS = 500;

function element(name, text = '', attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function button(text, act, attributes = {}) {
  const made = element('button', text, {type: 'button', ...attributes});
  made.addEventListener('click', act);
  return made;
}

// A heading that a script can focus.
function headingOf(text) { return element('h2', text, {tabindex: '-1'}); }

class Panel {
  // `actions` are select(item), searchFor(text), labelBy(name) and close().
  constructor(section, scene, colours, actions) {
    Object.assign(this, {section, scene, colours, actions});
    this.order = {key: 'total', sign: -1};
  }

  hide() {
    this.section.hidden = true;
    this.section.replaceChildren();
  }

  // Shows a heading, and a button that closes the panel. The focus goes to the heading if it was in
  // the panel.
  show(name, heading, ...content) {
    const head = element('div', '', {class: 'head'}), isFocused = this.section.contains(document.activeElement);
    head.append(...heading, button('✕', this.actions.close, {'aria-label': 'Close', title: 'Esc'}));
    this.section.replaceChildren(head, ...content);
    this.section.setAttribute('aria-label', name);
    this.section.hidden = false;
    this.section.scrollTop = 0;
    if (isFocused) head.querySelector('h2').focus();
  }

  item(item, arrows) {
    const {heading, pairs, arguments: entries} = describe(this.scene, item);
    const [first, ...rest] = pairs[0][0] === 'duration' ? pairs : [null, ...pairs];
    const list = document.createElement('dl');
    for (const [name, text] of [...first ? [first] : [], ...rest]) list.append(element('dt', name), element('dd', text));
    for (const [name, text] of entries) list.append(this.argumentName(item, name), element('dd', text, {class: 'argument'}));
    const title = [headingOf(heading)];
    if (first) title.unshift(element('strong', duration(times(this.scene, item)[1] - times(this.scene, item)[0]), {class: 'length'}));
    this.show('Selected event', title, ...this.links(item, arrows), list);
  }

  argumentName(item, name) {
    const term = element('dt', isSlice(item) ? '' : name, {class: 'argument'});
    if (isSlice(item)) term.append(button(name, () => this.actions.labelBy(name), {class: 'link', title: `Label durations by ${name}`}));
    return term;
  }

  links(item, arrows) {
    const links = linksOf(this.scene, item), drawn = arrows.own.length, isPart = arrows.count > drawn;
    if (!links.length && !isPart) return [];
    const nav = element('nav', '', {'aria-label': 'Related events'});
    for (const name of new Set(links.map((link) => link.name))) {
      const group = links.filter((link) => link.name === name);
      nav.append(element('span', name), ...group.slice(0, MAX_LINKS).map((link) => this.link(link)));
      if (group.length > MAX_LINKS) nav.append(element('span', `and ${group.length - MAX_LINKS} more`));
    }
    if (isPart) nav.append(element('span', `${drawn} of ${arrows.count} arrows are drawn`));
    return [nav];
  }

  link({name, item}) {
    const [from, to] = times(this.scene, item);
    const text = `${this.colours.name(columnsOf(item).label[item.place])} ${duration(to - from)}`;
    return button(text, () => this.actions.select(item), {class: 'link', 'aria-label': `${name} ${text}`});
  }

  range(range) {
    const {from, to, rows} = range, sums = sumRange(this.scene, range), {scene} = this;
    const where = rows.length === scene.rows.length ? 'all rows' : count(rows.length, 'row');
    const number = sums.reduce((total, {count}) => total + count, 0);
    const length = element('strong', duration(to - from), {class: 'length'});
    const heading = headingOf(`${count(number, 'duration')} in ${where}, from ${duration(from - scene.data.from)} to ${duration(to - scene.data.from)}`);
    this.show('Selected range', [length, heading], this.table(sums));
    return `${duration(to - from)} selected, ${heading.textContent}`;
  }

  table(sums) {
    const {key, sign} = this.order;
    const value = (sum) => key === 'name' ? this.colours.name(sum.label) : sum[key] ?? -1;
    sums.sort((a, b) => sign * (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0));
    const table = document.createElement('table'), body = document.createElement('tbody');
    for (const sum of sums.slice(0, MAX_SUMS)) body.append(this.sum(sum));
    if (sums.length > MAX_SUMS) body.append(element('tr', `${sums.length - MAX_SUMS} names more`));
    table.append(this.tableHead(table, sums), body);
    return table;
  }

  tableHead(table, sums) {
    const head = document.createElement('thead'), row = document.createElement('tr');
    for (const [key, title] of [['name', 'Name'], ['count', 'Count'], ['total', 'Total'], ['self', 'Self'], ['median', 'P50']]) {
      const isSorted = this.order.key === key;
      const cell = element('th', '', {scope: 'col', 'aria-sort': isSorted ? (this.order.sign < 0 ? 'descending' : 'ascending') : 'none'});
      cell.append(button(title, () => {
        this.order = {key, sign: isSorted ? -this.order.sign : key === 'name' ? 1 : -1};
        const sorted = this.table(sums);
        table.replaceWith(sorted);
        [...sorted.querySelectorAll('th button')].find((other) => other.textContent === title).focus();
      }, {class: 'link'}));
      row.append(cell);
    }
    head.append(row);
    return head;
  }

  sum({label, isOperation, count, total, self, median}) {
    const row = document.createElement('tr'), name = element('th', '', {scope: 'row'}), text = this.colours.name(label);
    name.append(button(text, () => this.actions.searchFor(text), {class: 'link', title: 'Search'}));
    if (isOperation) name.append(element('span', ' async'));
    const cells = [String(count), duration(total), self === null ? '–' : duration(self), duration(median)];
    row.append(name, ...cells.map((cell) => element('td', cell)));
    return row;
  }
}
