"use strict";
(() => {
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const form = find("#filters"), panel = find("#panel"), details = find("#details"), heads = [...find("#grid thead tr").cells].slice(1);
  const fields = ["q", "status", "area", "level", "strategy", "implementation", "replicas"];
  const legend = new Map(all("#legend [data-status]").map((entry) => [entry.dataset.status, {
    group: entry.dataset.group, gravity: Number(entry.dataset.gravity), mark: find(".status", entry),
  }]));
  const rows = all("#grid tr[data-id]").map((row) => {
    const article = document.getElementById(row.dataset.id);
    return {
      row, id: row.dataset.id, level: row.dataset.level, strategies: row.dataset.strategies.split(" "), area: row.parentNode.dataset.area, found: [],
      text: `${find("h3", article).textContent} ${find(".statement", article).textContent}`.toLowerCase(),
      cells: [...row.cells].slice(1).map((cell) => {
        const link = find("a", cell);
        const cases = link ? link.dataset.cases.split(" ").map((text) => text.split(":")) : [];
        return { cell, link, cases };
      }),
    };
  });
  const areas = all("#grid tbody").map((body) => ({ body, rows: rows.filter((row) => row.row.parentNode === body) }));
  let drawnFor = "";
  let opened = "";

  // The hash is the state, so that every view has an address: "#RUN-03", or "#q=gather&status=FAIL&id=RUN-03@jax".
  function read() {
    const text = location.hash.slice(1);
    const given = new URLSearchParams(text.includes("=") ? text : "");
    for (const name of fields) {
      form.elements[name].value = given.get(name) || "";
      if (form.elements[name].selectedIndex === -1) form.elements[name].value = "";
    }
    let id = given.get("id") || "";
    if (!text.includes("=")) {
      try { id = decodeURIComponent(text); } catch { id = text; }
    }
    apply();
    show(id);
  }

  function write(push) {
    const state = new URLSearchParams();
    for (const name of fields) if (form.elements[name].value) state.set(name, form.elements[name].value);
    const hash = opened && ![...state].length ? encodeURI(opened) : new URLSearchParams([...state, ...(opened ? [["id", opened]] : [])]).toString();
    history[push ? "pushState" : "replaceState"](null, "", `#${hash}`);
  }

  function worst(cases, replicas) {
    const names = cases.filter(([count]) => !replicas || count === replicas).map(([, name]) => name);
    return names.sort((one, other) => legend.get(one).gravity - legend.get(other).gravity)[0];
  }

  function matches(row, status, column) {
    const found = row.found.filter((name, index) => name && (column < 0 || index === column));
    if (status === "implementations-differ") return new Set(row.found.filter(Boolean)).size > 1;
    if (status === "replicas-differ") return row.cells.some(({ cases }, index) => (column < 0 || index === column) && new Set(cases.map(([, name]) => name)).size > 1);
    return found.some((name) => !status || name === status || legend.get(name).group === status);
  }

  function apply() {
    const [q, status, area, level, strategy, implementation, replicas] = fields.map((name) => form.elements[name].value);
    const column = heads.findIndex((head) => implementation && head.textContent === implementation);
    const words = q.toLowerCase().split(/\s+/).filter(Boolean);
    draw(replicas);
    for (const row of rows) {
      row.row.hidden = !((!area || row.area === area) && (!level || row.level === level) && (!strategy || row.strategies.includes(strategy))
        && words.every((word) => row.text.includes(word)) && matches(row, status, column));
    }
    // What is searched for is shown, even in an area that is folded.
    const filtered = fields.some((name) => form.elements[name].value);
    for (const { body, rows: own } of areas) {
      body.hidden = own.every(({ row }) => row.hidden);
      body.classList.toggle("folded", !filtered && !("unfolded" in body.dataset));
      find(".fold", body).setAttribute("aria-expanded", !body.classList.contains("folded"));
    }
    find("#unfold").textContent = areas.every(({ body }) => "unfolded" in body.dataset) ? "Fold all" : "Unfold all";
    for (const row of find("#grid").rows) {
      for (const cell of [...row.cells].slice(1)) cell.hidden = column >= 0 && cell.cellIndex !== column + 1;
    }
    const shown = rows.filter(({ row }) => !row.hidden).length;
    find("output", form).textContent = `${shown} of ${rows.length} shown`;
    find("#nothing").hidden = shown > 0;
    find("#grid").hidden = shown === 0;
  }

  // With one replica count, the statuses are those of its cases only.
  function draw(replicas) {
    for (const row of rows) row.found = row.cells.map(({ cases }) => worst(cases, replicas));
    if (replicas === drawnFor) return;
    drawnFor = replicas;
    for (const row of rows) {
      row.cells.forEach(({ link }, index) => {
        if (!link) return;
        const mark = row.found[index] ? legend.get(row.found[index]).mark.cloneNode(true) : document.createTextNode("-");
        link.firstChild.replaceWith(mark);
        for (const note of all(".note", link)) note.hidden = Boolean(replicas);
      });
    }
    for (const { body, rows: own } of areas) {
      all(".totals", body).forEach((totals, index) => {
        const parts = [...legend].map(([name, { group, mark }]) => {
          const count = own.filter((row) => row.found[index] === name).length;
          const part = document.createElement("span");
          part.className = group;
          part.textContent = `${count} ${mark.lastChild.textContent.trim()}`;
          return count ? part : "";
        });
        totals.replaceChildren(...parts);
      });
    }
  }

  function show(target) {
    const id = target.split("@")[0];
    const article = rows.some((row) => row.id === id) && document.getElementById(id);
    const body = find(".panel-body", panel);
    details.append(...body.childNodes);
    opened = article ? target : "";
    if (!article) {
      if (panel.open) panel.close();
      return;
    }
    body.append(article);
    for (const command of all(".command", article)) addCopy(command);
    for (const section of all("section", article)) {
      section.classList.toggle("pointed", section.id === target);
      if (section.id === target) section.parentNode.prepend(section);
    }
    const around = neighbours(id);
    for (const button of all("[value=previous], [value=next]", panel)) button.disabled = !around[button.value];
    if (!panel.open) panel.showModal();
    panel.setAttribute("aria-labelledby", `${id}-title`);
    reach(article);
    find("h3", article).focus({ preventScroll: true });
    panel.scrollTop = 0;
  }

  function neighbours(id) {
    const shown = rows.filter(({ row, id: own }) => !row.hidden || own === id).map((row) => row.id);
    const place = shown.indexOf(id);
    return { previous: shown[place - 1], next: shown[place + 1] };
  }

  function addCopy(command) {
    if (find("button", command)) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    command.append(button);
  }

  // What has to be scrolled can be scrolled with the keyboard too.
  function reach(within) {
    for (const text of all("code, pre", within)) {
      const cut = text.scrollWidth > text.clientWidth || text.scrollHeight > text.clientHeight;
      text.toggleAttribute("tabindex", cut);
      if (cut) text.tabIndex = 0;
    }
  }

  async function copy(button) {
    const code = find("code", button.parentNode);
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      // Where a page may not write to the clipboard, the text is selected for the reader to copy.
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }

  document.addEventListener("click", (event) => {
    const target = event.target;
    const link = target.closest("[data-open]"), button = target.closest("button");
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (link) {
      event.preventDefault();
      show(link.dataset.open);
      write(true);
    } else if (target === panel || button?.value === "close") {
      panel.close();
    } else if (button?.value === "previous" || button?.value === "next") {
      const [id, name] = opened.split("@");
      const other = neighbours(id)[button.value];
      show(name ? `${other}@${name}` : other);
      write(false);
    } else if (button?.className === "copy") {
      copy(button);
    } else if (button?.id === "unfold" || target.closest("tr.area th")) {
      const chosen = button?.id === "unfold" ? areas.map(({ body }) => body) : [target.closest("tbody")];
      const unfold = chosen.some((body) => !("unfolded" in body.dataset));
      for (const body of chosen) {
        if (unfold) body.dataset.unfolded = "";
        else delete body.dataset.unfolded;
      }
      apply();
    } else if (target.closest("#nothing button")) {
      form.reset();
    } else if (target.closest(".filter")) {
      requestAnimationFrame(() => form.scrollIntoView());
    }
  });
  panel.addEventListener("close", () => {
    if (!opened) return;
    show("");
    write(false);
  });
  form.addEventListener("input", () => { apply(); write(false); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { apply(); write(false); }));
  addEventListener("hashchange", read);
  // The browser itself goes to what the address names, and takes the focus along; the start of the panel comes first.
  addEventListener("load", () => { if (opened) show(opened); });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || panel.open || event.ctrlKey || event.metaKey || event.target.matches("input, select")) return;
    event.preventDefault();
    form.elements.q.focus();
  });
  new ResizeObserver(() => {
    const sticky = getComputedStyle(form).position === "sticky";
    document.documentElement.style.setProperty("--filters-height", `${sticky ? form.offsetHeight : 0}px`);
  }).observe(form);

  const themes = [["light dark", "as the system"], ["light", "light"], ["dark", "dark"]];
  let theme = 0;
  function paint() {
    document.documentElement.style.colorScheme = themes[theme][0];
    find("#theme").textContent = `Theme: ${themes[theme][1]}`;
  }
  try { theme = Math.max(0, themes.findIndex(([value]) => value === localStorage.getItem("theme"))); } catch { /* It is not kept. */ }
  find("#theme").addEventListener("click", () => {
    theme = (theme + 1) % themes.length;
    try { localStorage.setItem("theme", themes[theme][0]); } catch { /* It is not kept. */ }
    paint();
  });

  for (const command of all(".broken-list .command")) addCopy(command);
  reach(document);
  paint();
  read();
})();
