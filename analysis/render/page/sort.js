"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = table.tHead.rows[0].cells;
  const figure = (cell) => parseFloat(cell.textContent.replace(/[^0-9.\-]/g, ""));
  for (const [column, head] of [...heads].entries()) {
    head.firstElementChild.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => {
        const [x, y] = [a.cells[column], b.cells[column]];
        const [m, n] = [figure(x), figure(y)];
        const by = Number.isNaN(m) || Number.isNaN(n) ? x.textContent.localeCompare(y.textContent) : m - n;
        return up ? by : -by;
      });
      table.tBodies[0].append(...rows);
    });
  }
}
