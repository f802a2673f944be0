"use strict";

// Colours: the reader's choice, kept for this page, else what the system prefers.
(() => {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light colours" : "Dark colours";
  };
  const current = () => stored() ?? (system.matches ? "dark" : "light");
  button.hidden = false;
  show(current());
  system.addEventListener("change", () => show(current()));
  button.addEventListener("click", () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("theme", next); } catch { /* a page from a file may have no storage */ }
    show(next);
  });
})();

// Tables: a click on a column's header sorts by it, the next click turns the order round.
(() => {
  const NONE = new Set(["", "–", "-"]);
  // The number that a text begins with; NaN leaves the order to the text.
  const number = (text) => {
    const match = /^[+-]?\d+(\.\d+)?/.exec(text);
    return match ? Number(match[0]) : NaN;
  };
  const text = (row, column) => row.cells[column].textContent.trim();
  const isNumber = (value) => NONE.has(value) || /^[+-]?\d+(\.\d+)?$/.test(value);

  const sort = (table, header, column) => {
    const ascending = header.getAttribute("aria-sort") !== "ascending";
    for (const other of header.parentElement.cells) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows];
    const compare = (a, b) => {
      const [x, y] = [text(a, column), text(b, column)];
      if (NONE.has(x) || NONE.has(y)) return NONE.has(x) - NONE.has(y);  // last in both orders
      const order = number(x) - number(y) || x.localeCompare(y, "en", { numeric: true });
      return ascending ? order : -order;
    };
    table.tBodies[0].append(...rows.sort(compare));
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    const rows = [...table.tBodies[0].rows];
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = header.textContent;
      header.replaceChildren(button);
      header.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => sort(table, header, column));
      const numeric = rows.length > 0 && rows.every((row) => isNumber(text(row, column)));
      header.classList.toggle("number", numeric);
      for (const row of rows) {
        row.cells[column].classList.toggle("number", numeric);
        row.cells[column].classList.toggle("long", text(row, column).length > 60);
      }
    });
  }
})();

// Figures: enlarged in a dialog, which Escape closes; the picture is moved there and back, as its
// parts refer to each other by names that must stay unique.
(() => {
  const dialog = document.getElementById("enlarged");
  const canvas = dialog.querySelector(".canvas");
  let home = null;
  const open = (figure) => {
    home = figure.querySelector(".wide");
    document.getElementById("enlarged-title").textContent = figure.querySelector("h3").textContent;
    canvas.append(home.querySelector("svg"));
    dialog.showModal();
  };
  for (const figure of document.querySelectorAll("figure")) {
    const button = figure.querySelector(".enlarge");
    button.hidden = false;
    button.addEventListener("click", () => open(figure));
    figure.querySelector(".plot").addEventListener("click", () => button.click());
  }
  document.getElementById("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => { home.append(canvas.querySelector("svg")); });
})();
