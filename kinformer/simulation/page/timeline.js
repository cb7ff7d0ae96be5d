// Leaves rows out, and marks all rows about one object. The page is complete without it.
const rows = [...document.querySelectorAll("tbody tr")];
const search = document.querySelector("#search");
const boxes = [...document.querySelectorAll("form input[type=checkbox]")];
const count = document.querySelector("#count");
let chosen = null;

function show() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const left_out = new Set(boxes.filter((box) => !box.checked).flatMap((box) => box.value.split(" ")));
  let shown = 0;
  for (const row of rows) {
    const marked = row.classList.contains("cause") || row.classList.contains("shows");
    const text = row.textContent.toLowerCase();
    row.hidden = (!marked && left_out.has(row.dataset.what)) || !words.every((word) => text.includes(word));
    shown += row.hidden ? 0 : 1;
    row.classList.toggle("chosen", chosen !== null && row.dataset.object === chosen);
  }
  count.textContent = `${shown} of ${rows.length} rows`;
}

document.querySelector("form").hidden = false;
document.querySelector("form").addEventListener("input", show);
document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
document.querySelector("tbody").addEventListener("click", (event) => {
  const object = event.target.closest("tr")?.dataset.object ?? null;
  if (window.getSelection().isCollapsed) {
    chosen = object === chosen || object === "" ? null : object;
    show();
  }
});
show();
