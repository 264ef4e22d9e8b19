// The orders that were asked, one column each. A click sends the order to Python as a trigger.
export default function ({ data, parentElement, setTriggerValue }) {
  const strip = parentElement.querySelector('.strip');
  const focused = strip.getRootNode().activeElement;
  const held = [...strip.children].indexOf(focused);
  strip.classList.toggle('few', data.columns.length < 5);
  strip.replaceChildren(...data.columns.map((column) => {
    const made = document.createElement('button');
    made.type = 'button';
    made.className = 'column';
    made.disabled = data.locked;
    made.title = column.label;
    made.setAttribute('aria-label', column.label);
    made.setAttribute('aria-pressed', column.order.join(' ') === data.order.join(' '));
    for (const cell of column.cells) {
      const drawn = document.createElement('div');
      drawn.className = `cell ${cell.kind}`.trim();
      drawn.textContent = cell.text;
      made.append(drawn);
    }
    const result = document.createElement('div');
    result.className = column.result.length > 3 ? 'result long' : 'result';
    result.textContent = column.result;
    made.append(result);
    if (data.columns.some((other) => other.live)) {
      const live = document.createElement('div');
      live.className = 'live';
      live.textContent = column.live ? 'live' : '';
      made.append(live);
    }
    made.onclick = () => setTriggerValue('picked', { order: column.order });
    return made;
  }));
  if (held >= 0 && strip.children[held]) strip.children[held].focus();
}
