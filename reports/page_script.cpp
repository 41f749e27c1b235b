// SPDX-License-Identifier: Apache-2.0
// The script that sorts and filters tables, and its hash for the policy of the page.
#include "reports/page_script.hpp"

#include "reports/sha256.hpp"

namespace ulpscope::reports {

std::string page_script() {
  return R"js(
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Numbers by value, powers of two by their exponent, then words; what is not a number comes last either way.
  const value = cell => {
    const text = cell ? cell.textContent.trim() : "";
    const power = /^2\^(-?\d+)$/.exec(text);
    if (power) return Number(power[1]);
    if (/^-?inf$/.test(text)) return text[0] == "-" ? -Infinity : Infinity;
    const number = parseFloat(text.replace(/^[<>]/, ""));
    return Number.isNaN(number) ? text : number;
  };
  const compare = (a, b, sign) => {
    const last = v => v === "" || v === "nan" ? 2 : typeof v == "string" ? 1 : 0;
    return last(a) - last(b) || sign * (a < b ? -1 : a > b ? 1 : 0);
  };
  for (const table of all("table.data")) {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 2) continue;
    all("thead th", table).forEach((head, column) => {
      head.tabIndex = 0;
      head.classList.add("sorts");
      head.title = "sort";
      const sort = () => {
        const sign = head.ariaSort == "ascending" ? -1 : 1;
        all("thead th", table).forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        body.append(...[...body.rows].sort((a, b) => compare(value(a.cells[column]), value(b.cells[column]), sign)));
      };
      head.addEventListener("click", sort);
      head.addEventListener("keydown", event => { if (event.key == "Enter") sort(); });
    });
  }

  // Rows that stand for the same things as the sections below them are filtered together with these.
  const items = all("table.data tbody tr, table.heat tbody tr").filter(row => !row.closest("details.item"))
    .map(row => ({element: row, words: row.textContent + " " + all("[title]", row).map(e => e.title).join(" ")}))
    .concat(all("details.item").map(item => ({element: item, words: item.querySelector("summary").textContent})));
  if (items.length < 16) return;
  const box = document.createElement("input");
  box.type = "search";
  box.className = "filter";
  box.placeholder = "filter rows by words";
  box.setAttribute("aria-label", box.placeholder);
  box.addEventListener("input", () => {
    const wanted = box.value.toLowerCase().split(/\s+/).filter(word => word);
    for (const {element, words} of items) element.hidden = !wanted.every(word => words.toLowerCase().includes(word));
    for (const holder of all("table.heat, details.group")) {
      const held = all(holder.tagName == "TABLE" ? "tbody tr" : "details.item", holder);
      holder.hidden = held.length > 0 && held.every(element => element.hidden);
    }
  });
  document.querySelector("main").prepend(box);
})();
)js";
}

std::string page_script_source() {
  Sha256 digest;
  digest.add(page_script());
  return "'sha256-" + digest.base64() + "'";
}

}  // namespace ulpscope::reports
