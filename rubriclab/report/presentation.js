// Moves a presentation through its three steps, and the list through its orders.
(() => {
  "use strict";
  const find = id => document.getElementById(id), all = query => [...document.querySelectorAll(query)];
  const orders = JSON.parse(find("orders").textContent), still = matchMedia("(prefers-reduced-motion: reduce)");
  const steps = all(".step"), stops = all(".stop"), dots = all(".dot"), rows = all("#rows > li"), list = find("rows");
  const root = document.documentElement, PACE = 1700, said = document.querySelector(".deck").dataset;
  let step = 0, order = -1, timer = 0;

  // The rows in another order: each starts where it stood and glides to where it stands (FLIP).
  const sort = read => {
    const before = rows.map(row => row.getBoundingClientRect().top);
    read.order.forEach(index => list.append(rows[index]));
    rows.forEach(row => row.classList.remove("lit"));
    read.order.forEach((index, place) => { rows[index].querySelector("bdi").textContent = read.labels[place]; });
    if (!still.matches) rows.forEach((row, index) => {
      row.style.transition = "none";
      row.style.transform = `translateY(${before[index] - row.getBoundingClientRect().top}px)`;
    });
    list.getBoundingClientRect(); // the browser has to see the start before the end
    rows.forEach(row => { row.style.transition = row.style.transform = ""; });
  };
  const tell = (read, index) => {
    if (index !== order) return;
    if (read.lit !== null) rows[read.order[read.lit]].classList.add("lit");
    const big = find("big");
    big.textContent = read.answer;
    big.classList.remove("turn"); void big.offsetWidth; big.classList.add("turn");
    dots.forEach((dot, k) => { dot.classList.toggle("now", k === index); if (k <= index || k === index) dot.classList.add("seen"); });
    find("count").textContent = said.count.replace("{order}", index + 1).replace("{orders}", orders.length);
  };
  const show = index => {
    if (index < 0 || index >= orders.length) return;
    order = index;
    sort(orders[index]);
    if (still.matches) tell(orders[index], index); else setTimeout(() => tell(orders[index], index), 520);
  };
  const label = () => { find("play").textContent = timer ? said.pause : order >= orders.length - 1 ? said.again : said.play; };
  const stop = () => { clearInterval(timer); timer = 0; label(); };
  const play = () => {
    if (order >= orders.length - 1) { order = -1; dots.forEach(dot => dot.classList.remove("seen", "now")); }
    show(order + 1);
    clearInterval(timer);
    timer = setInterval(() => { if (order >= orders.length - 1) stop(); else { show(order + 1); label(); } }, PACE);
    label();
  };

  const go = (to, quietly) => {
    to = Math.max(0, Math.min(steps.length - 1, to));
    root.classList.toggle("back", to < step);
    step = to;
    steps.forEach((part, k) => part.classList.toggle("here", k === step));
    stops.forEach((part, k) => { part.classList.toggle("done", k <= step); if (k === step) part.setAttribute("aria-current", "step"); else part.removeAttribute("aria-current"); });
    find("back").disabled = step === 0; find("next").disabled = step === steps.length - 1;
    scrollTo(0, 0);
    if (step !== 1) stop(); else if (still.matches) show(Math.max(order, 0)); else if (order < orders.length - 1) play();
    if (!quietly) steps[step].focus({preventScroll: true});
    try { history.replaceState(null, "", `#${step + 1}`); } catch { /* a frame without an address of its own */ }
  };
  const full = () => {
    if (document.fullscreenElement) document.exitFullscreen();
    else if (root.requestFullscreen) root.requestFullscreen().catch(() => { find("full").disabled = true; });
  };
  const byHand = by => { stop(); show(Math.max(0, Math.min(orders.length - 1, order + by))); label(); };
  const keys = {
    ArrowRight: () => go(step + 1), PageDown: () => go(step + 1), " ": () => go(step + 1), Enter: () => go(step + 1),
    ArrowLeft: () => go(step - 1), PageUp: () => go(step - 1), Backspace: () => go(step - 1),
    Home: () => go(0), End: () => go(steps.length - 1), f: full, F: full,
    Escape: () => { if (document.fullscreenElement) document.exitFullscreen(); else if (timer) stop(); else go(0); },
    ArrowDown: () => { if (step === 1) byHand(1); }, ArrowUp: () => { if (step === 1) byHand(-1); }, p: () => { if (step === 1) { if (timer) stop(); else play(); } },
  };
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && step !== 1) return; // these scroll
    if (event.target.closest("button") && (event.key === " " || event.key === "Enter")) return; // a button's own keys
    event.preventDefault();
    keys[event.key]();
  });
  document.querySelector(".deck").addEventListener("click", event => {
    if (!event.target.closest("button, a, blockquote, .rl-cards, dl, .notes") && getSelection().isCollapsed) go(step + 1);
  });
  let from = null;
  addEventListener("touchstart", event => { from = event.touches.length === 1 ? [event.touches[0].clientX, event.touches[0].clientY] : null; }, {passive: true});
  addEventListener("touchend", event => {
    if (!from) return;
    const across = event.changedTouches[0].clientX - from[0], down = event.changedTouches[0].clientY - from[1];
    from = null;
    if (Math.abs(across) > 60 && Math.abs(across) > 2 * Math.abs(down)) go(step + (across < 0 ? 1 : -1));
  }, {passive: true});
  find("back").onclick = () => go(step - 1); find("next").onclick = () => go(step + 1); find("full").onclick = full;
  find("play").onclick = () => { if (timer) stop(); else play(); };
  stops.forEach((part, k) => { part.onclick = () => go(k); });
  dots.forEach((dot, k) => { dot.onclick = () => { stop(); show(k); dots.forEach((other, j) => { if (j <= k) other.classList.add("seen"); }); }; });
  if (!document.fullscreenEnabled) find("full").hidden = true;
  root.classList.add("js");
  go(Math.max(0, (parseInt(location.hash.slice(1), 10) || 1) - 1), true);
})();
