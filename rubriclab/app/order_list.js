// The list whose rows can be moved. Python owns the order: this sends every new order as a trigger
// and draws what comes back. Texts are set as text only, because rubrics come from strangers.
const places = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const bench = parentElement.querySelector('.bench');
  const list = bench.querySelector('ol');
  if (!places.has(bench)) places.set(bench, { order: [], stamp: -1, drag: null });
  const place = places.get(bench);
  // While a move is on its way to Python, an older answer of Python must not undo it.
  if (data.stamp >= place.stamp) {
    place.order = [...data.order];
    place.stamp = data.stamp;
  }

  const key = () => place.order.join(' ');

  function send(before) {
    if (key() === before.join(' ')) return;
    place.stamp += 1;
    setTriggerValue('moved', { order: [...place.order], stamp: place.stamp });
  }

  function change(make) {
    if (data.locked) return;
    const before = [...place.order];
    place.order = make([...before]);
    draw();
    send(before);
  }

  function moved(order, entry, to) {
    if (to < 0 || to >= order.length) return order;
    order.splice(order.indexOf(entry), 1);
    order.splice(to, 0, entry);
    return order;
  }

  function shift(entry, by) {
    change((order) => moved(order, entry, order.indexOf(entry) + by));
  }

  function part(name, text) {
    const span = document.createElement('span');
    span.className = name;
    span.textContent = text;
    return span;
  }

  function button(name, text, label, act) {
    const made = document.createElement('button');
    made.type = 'button';
    made.className = name;
    made.textContent = text;
    made.setAttribute('aria-label', label);
    made.disabled = data.locked;
    made.onclick = act;
    return made;
  }

  function row(entry, position) {
    const about = data.entries[entry];
    const mark = (data.marks[key()] || {})[entry] || { kind: '', text: '' };
    const item = document.createElement('li');
    item.tabIndex = 0;
    item.dataset.entry = entry;
    item.className = [mark.kind, place.drag && place.drag.entry === entry ? 'dragging' : '']
      .filter(Boolean).join(' ');
    const grip = part('grip', '⋮⋮');
    grip.setAttribute('aria-hidden', 'true');
    const moves = part('moves', '');
    moves.append(
      button('up', '↑', `Move ${about.label} up`, () => shift(entry, -1)),
      button('down', '↓', `Move ${about.label} down`, () => shift(entry, 1)),
    );
    item.append(grip, part('pos', `${position + 1}.`), part('label', about.label),
      part('text', about.text), part('tag', mark.text), moves);
    return item;
  }

  function draw() {
    // Drawing replaces the rows, and the focus with them, so it is given back.
    const focused = list.getRootNode().activeElement;
    const held = focused && focused.closest ? focused.closest('li') : null;
    const inside = held ? held.dataset.entry : null;
    const control = held && focused !== held ? focused.className : '';
    list.replaceChildren(...place.order.map(row));
    list.setAttribute('aria-label', data.name);
    list.classList.toggle('names', data.names);
    list.classList.toggle('locked', data.locked);
    if (inside !== null) {
      const again = [...list.children].find((item) => item.dataset.entry === inside);
      if (again) (control ? again.querySelector(`.${control}`) : again).focus();
    }
    const spoken = bench.querySelector('.spoken');
    const says = data.results[key()] || data.unknown;
    if (spoken.textContent !== says) spoken.textContent = says;
  }

  list.onkeydown = (event) => {
    if (place.drag && event.key === 'Escape') return stop(false);
    const item = event.target.closest('li');
    if (!item || event.target !== item) return undefined;
    const entry = Number(item.dataset.entry);
    const steps = { ArrowUp: -1, ArrowDown: 1 };
    if (event.key in steps) {
      event.preventDefault();
      shift(entry, steps[event.key]);
    } else if (event.key === 'Home' || event.key === 'End') {
      event.preventDefault();
      change((order) => moved(order, entry, event.key === 'Home' ? 0 : order.length - 1));
    }
    return undefined;
  };

  list.onpointerdown = (event) => {
    const item = event.target.closest('li');
    if (!item || data.locked || event.button !== 0 || event.target.closest('button')) return;
    // A finger on the text scrolls the page; on the grip it moves the row.
    if (event.pointerType === 'touch' && !event.target.closest('.grip')) return;
    place.drag = { entry: Number(item.dataset.entry), before: [...place.order],
      start: event.clientY, moving: false };
  };

  list.onpointermove = (event) => {
    const drag = place.drag;
    if (!drag) return;
    if (!drag.moving) {
      if (Math.abs(event.clientY - drag.start) < 5) return;
      drag.moving = true;
      list.setPointerCapture(event.pointerId);
    }
    const above = [...list.children].filter((item) => {
      const box = item.getBoundingClientRect();
      return Number(item.dataset.entry) !== drag.entry
        && box.top + box.height / 2 < event.clientY;
    }).length;
    if (place.order.indexOf(drag.entry) !== above || !list.querySelector('.dragging')) {
      place.order = moved(place.order, drag.entry, above);
      draw();
    }
  };

  function stop(keep) {
    const drag = place.drag;
    if (!drag) return;
    place.drag = null;
    if (!keep) place.order = drag.before;
    draw();
    if (keep && drag.moving) send(drag.before);
  }

  list.onpointerup = () => stop(true);
  list.onpointercancel = () => stop(false);

  const reverse = bench.querySelector('.reverse');
  reverse.disabled = data.locked;
  reverse.onclick = () => change((order) => order.reverse());
  const shuffle = bench.querySelector('.shuffle');
  shuffle.disabled = data.locked;
  shuffle.onclick = () => change((order) => {
    // An order that was asked shows a score at once.
    const asked = Object.keys(data.results).filter((other) => other !== key());
    if (asked.length) {
      return asked[Math.floor(Math.random() * asked.length)].split(' ').map(Number);
    }
    for (let last = order.length - 1; last > 0; last -= 1) {
      const other = Math.floor(Math.random() * (last + 1));
      [order[last], order[other]] = [order[other], order[last]];
    }
    return order;
  });
  draw();
}
