"use strict";
(() => {
  const key = (cell) => {
    const value = cell.dataset.sort;
    return value === undefined ? cell.textContent.trim() : Number(value);
  };

  // Numbers before texts, nothing last in either direction.
  const compare = (a, b, sign) => {
    if (a === b) return 0;
    const emptyA = a === "" || a === "–", emptyB = b === "" || b === "–";
    if (emptyA || emptyB) return emptyA - emptyB;
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return sign * a.localeCompare(b, undefined, { numeric: true });
  };

  const sortBy = (table, column) => {
    const heads = [...table.querySelectorAll(".titles th")];
    const before = heads[column].getAttribute("aria-sort");
    const numeric = heads[column].classList.contains("number");
    const first = numeric ? "descending" : "ascending", second = numeric ? "ascending" : "descending";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", before === first ? second : first);
    const sign = heads[column].getAttribute("aria-sort") === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row.cells[column]), row]);
    rows.sort((a, b) => compare(a[0], b[0], sign));
    body.append(...rows.map((pair) => pair[1]));
  };

  for (const table of document.querySelectorAll("table")) {
    table.querySelectorAll(".titles button").forEach((button, column) => {
      button.addEventListener("click", () => sortBy(table, column));
    });
  }

  for (const input of document.querySelectorAll("input[data-for]")) {
    const rows = [...document.getElementById(input.dataset.for).tBodies[0].rows];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const count = document.querySelector(`[data-count="${input.dataset.for}"]`);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        row.hidden = !words.every((word) => texts[i].includes(word));
        shown += !row.hidden;
      });
      count.textContent = words.length ? `${shown} of ${rows.length} lines` : `${rows.length} lines`;
    });
  }

  const clips = document.getElementById("clips");
  if (clips) {
    const sources = JSON.parse(clips.textContent);
    for (const audio of document.querySelectorAll("audio[data-clip]")) audio.src = sources[audio.dataset.clip];
  }

  document.getElementById("save").addEventListener("click", () => {
    const blob = new Blob([document.getElementById("report-data").textContent], { type: "application/json" });
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: "report.json" });
    link.click();
    URL.revokeObjectURL(link.href);
  });
})();
