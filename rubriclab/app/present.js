// The slides of a presentation over the whole window. Keys and buttons move; Python keeps the slide in the address.
export default function ({ data, parentElement, setTriggerValue }) {
  const stage = parentElement.querySelector('.stage');
  const slide = stage.querySelector('.slide');
  const count = stage.querySelector('.count');
  const last = data.slides.length - 1;
  // Python hears of a move later than the eye: its number counts only when the slides are opened.
  if (stage.dataset.at === undefined) stage.dataset.at = String(data.at);

  function draw() {
    const at = Number(stage.dataset.at);
    slide.innerHTML = data.slides[at]; // made by the lab's own template, which escapes what it prints
    count.textContent = `${at + 1} of ${data.slides.length} · ${data.foot}`;
    stage.querySelector('.back').disabled = at === 0;
    stage.querySelector('.next').disabled = at === last;
  }
  function move(to) {
    const at = Math.max(0, Math.min(last, to));
    if (at === Number(stage.dataset.at)) return;
    stage.dataset.at = String(at);
    draw();
    setTriggerValue('at', at);
  }
  function wide() {
    if (document.fullscreenElement) document.exitFullscreen();
    else stage.requestFullscreen().catch(() => {}); // a browser may forbid it
  }
  function leave() {
    if (document.fullscreenElement) document.exitFullscreen();
    setTriggerValue('leave', true);
  }
  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = Number(stage.dataset.at);
    const moves = { ArrowRight: at + 1, PageDown: at + 1, ' ': at + 1, ArrowLeft: at - 1, PageUp: at - 1, Home: 0, End: last };
    if (event.key in moves) {
      // A focused button takes the space bar as a click.
      if (event.key === ' ' && event.composedPath()[0].tagName === 'BUTTON') return;
      event.preventDefault();
      move(moves[event.key]);
    } else if (event.key === 'f' || event.key === 'F') wide();
    else if (event.key === 'Escape' && !document.fullscreenElement) leave();
  }

  stage.querySelector('.back').onclick = () => move(Number(stage.dataset.at) - 1);
  stage.querySelector('.next').onclick = () => move(Number(stage.dataset.at) + 1);
  stage.querySelector('.wide').onclick = wide;
  stage.querySelector('.leave').onclick = leave;
  // Each rerun of the page calls this function again, on the same elements.
  stage.forget?.();
  stage.forget = () => document.removeEventListener('keydown', pressed);
  document.addEventListener('keydown', pressed);
  draw();
  return stage.forget;
}
