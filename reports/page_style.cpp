// SPDX-License-Identifier: Apache-2.0
// The rules, and the dark counterparts of the figures' colours.
#include "reports/page_style.hpp"

#include <fmt/format.h>

#include "reports/palette.hpp"

namespace ulpscope::reports {
namespace {

constexpr auto base = R"css(
:root { color-scheme: light dark; --page: #ffffff; --ink: #1c2025; --soft: #59616b; --line: #dcdfe4; --raised: #f6f7f9;
  --link: #0b5a9c; --bad: #b3261e; --bad-tint: #fdeceb; --warning: #855300; --warning-tint: #fdf3dc; --good: #176b3a;
  --good-tint: #e6f5eb; }
@media screen and (prefers-color-scheme: dark) {
  :root { --page: #14171b; --ink: #e3e6ea; --soft: #a0a8b2; --line: #363c45; --raised: #1c2026; --link: #7fb8f0; --bad: #ff9d96;
    --bad-tint: #43211f; --warning: #f5c563; --warning-tint: #3c2f12; --good: #7fdba0; --good-tint: #17351f; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 2rem 1.5rem 3rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; overflow-wrap: anywhere; }
[hidden] { display: none !important; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 0 0 .5rem; }
h3 { font-size: 1.08rem; margin: 0 0 .4rem; }
h4 { font-size: 1rem; margin: 0; }
p { max-width: 60rem; margin: .5rem 0; }
a { color: var(--link); text-decoration: none; }
a:hover, a:focus { text-decoration: underline; }
header p, .facts, figcaption, footer, .note { color: var(--soft); }
header p, .facts { margin: 0; }
main { margin-top: 1.4rem; }
ul { list-style: none; margin: 0; padding: 0; }
section { margin-top: 2.2rem; }
section > :is(h2, h3, h4) { display: inline-block; margin-right: .6rem; }
section.level-2 { border-top: 1px solid var(--line); padding-top: 1.3rem; }
.mark { display: inline-block; justify-self: start; border-radius: 1rem; padding: 0 .6rem; font-size: .82rem; font-weight: 600;
  line-height: 1.5rem; white-space: nowrap; }
.bad > .mark, .bad > summary .mark { color: var(--bad); background: var(--bad-tint); }
.warning > .mark, .warning > summary .mark { color: var(--warning); background: var(--warning-tint); }
.good > .mark, .good > summary .mark { color: var(--good); background: var(--good-tint); }
details { margin: .3rem 0; }
details.group { border-top: 1px solid var(--line); padding-top: .5rem; }
details > div { padding: .2rem 0 .6rem 1.1rem; }
summary { cursor: pointer; }
summary :is(h2, h3, h4, h5, h6) { display: inline; font-size: 1rem; }
.note { font-size: .9rem; }
.findings { margin: .8rem 0; }
.findings li { display: grid; grid-template-columns: 6.5rem 1fr; gap: .8rem; align-items: baseline; padding: .2rem 0; }
.findings li.said { display: list-item; list-style: disc; margin-left: 1.1rem; max-width: 60rem; }
figure { margin: 1.2rem 0; }
figcaption { font-size: .9rem; margin-bottom: .5rem; max-width: 60rem; }
figcaption strong { color: var(--ink); }
.scroll { overflow-x: auto; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: .4rem 1.6rem;
  align-items: start; }
.panels > figure { margin: .6rem 0; }
.figure { display: block; width: 100%; max-width: 38rem; height: auto; }
.filter { font: inherit; color: inherit; background: var(--raised); border: 1px solid var(--line); border-radius: .4rem;
  padding: .35rem .7rem; width: min(100%, 24rem); margin-bottom: .6rem; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
table.data { min-width: min(100%, 40rem); margin: .6rem 0; }
th, td { padding: .4rem .55rem; text-align: right; vertical-align: top; white-space: nowrap; border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 500; vertical-align: bottom; white-space: normal; }
table.data thead th { min-width: 4.4rem; }
th.sorts { cursor: pointer; }
th.sorts:hover { color: var(--ink); }
th[aria-sort="ascending"]::after { content: " \25B2"; }
th[aria-sort="descending"]::after { content: " \25BC"; }
th.text, td.text { text-align: left; }
td.text { white-space: normal; min-width: 5rem; max-width: 34rem; }
tbody th { text-align: left; font-weight: 600; }
td.loss { color: var(--bad); font-weight: 600; }
.maps { columns: 23rem; column-gap: 1.6rem; }
.maps.wide { columns: 32rem; }
table.heat { width: 100%; table-layout: fixed; break-inside: avoid; margin-bottom: .9rem; font-size: .82rem; border-spacing: 2px;
  border-collapse: separate; }
table.heat caption { text-align: left; font-weight: 600; padding: .2rem 0 .1rem 2px; }
table.heat th, table.heat td { padding: .12rem .2rem; border: 0; text-align: center; overflow: hidden; line-height: 1.35; }
table.heat tbody th { text-align: left; font-weight: 400; white-space: normal; }
table.heat thead td { width: 36%; }
table.heat thead th { font-size: .76rem; overflow-wrap: anywhere; }
table.heat tbody td { border-radius: .2rem; }
.wide table.heat thead td { width: 27%; }
.wide table.heat thead th { font-size: .68rem; }
sup { line-height: 0; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: .86rem; margin: .4rem 0 .7rem; }
.chip { display: inline-block; width: 1.6rem; height: .8rem; border-radius: .2rem; }
.b-other, .b-kept, .b-subnormal, .b-zero, .b-overflow {
  background: linear-gradient(var(--bar), var(--bar)) 100% 100% / 0 4px no-repeat; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.2rem; font-size: .9rem; }
pre { background: var(--raised); color: var(--ink); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem .9rem;
  white-space: pre-wrap; font-size: .85rem; }
@media (max-width: 44rem) {
  body { padding: 1.2rem 1rem 2rem; }
  .findings li { grid-template-columns: 1fr; gap: 0; padding: .35rem 0; }
  details > div { padding-left: .3rem; }
  .wide table.heat { font-size: .7rem; }
  .wide table.heat td { padding: .16rem 0; }
  .wide table.heat thead th { font-size: .6rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  figure, tr, .findings { break-inside: avoid; }
  h2 { break-after: avoid; }
  .scroll { overflow: visible; }
  th, td { padding: .25rem .3rem; }
  table.data thead th { min-width: 0; }
  .mark { border: 1px solid; }
  .filter { display: none; }
  td { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  details::details-content { display: block; content-visibility: visible; }
}
)css";

std::string in_the_dark(Colour colour) {
  return fmt::format("  [fill=\"{0}\"] {{ fill: {1}; }} [stroke=\"{0}\"] {{ stroke: {1}; }}\n", colour.light, colour.dark);
}

/// Cells of heat maps: s0, s1, ... in the order of HeatMap::Shade.
std::string shades_of_cells() {
  std::string css, dark = "@media screen and (prefers-color-scheme: dark) {\n";
  for (std::size_t i = 0; i < palette::shades.size(); ++i) {
    css += fmt::format(".s{} {{ background: {}; }}\n", i, palette::shades[i].light);
    dark += fmt::format("  .s{} {{ background: {}; }}\n", i, palette::shades[i].dark);
  }
  return css + dark + "}\n";
}

/// Bars of the table's cells, in the colours of the figures.
std::string bars_in_cells() {
  struct Bar {
    std::string_view name;
    Colour colour;
  };
  constexpr std::array all{Bar{"other", palette::grid}, Bar{"kept", palette::bars}, Bar{"subnormal", palette::subnormal},
                           Bar{"zero", palette::becomes_zero}, Bar{"overflow", palette::overflow}};
  std::string css;
  for (const Bar& bar : all) css += fmt::format(".b-{} {{ --bar: {}; }}\n", bar.name, bar.colour.light);
  css += "@media screen and (prefers-color-scheme: dark) {\n";
  for (const Bar& bar : all) css += fmt::format("  .b-{} {{ --bar: {}; }}\n", bar.name, bar.colour.dark);
  css += "}\n";
  for (int length = 1; length <= bar_lengths; ++length)
    css += fmt::format(".w{} {{ background-size: {:.1f}% 4px; }}\n", length, 100.0 * length / bar_lengths);
  return css;
}

}  // namespace

std::string style_sheet() {
  std::string css = base;
  css += bars_in_cells() + shades_of_cells();
  css += "@media screen and (prefers-color-scheme: dark) {\n";
  for (const auto& colour : palette::shared) css += in_the_dark(colour);
  for (const auto& colour : palette::formats) css += in_the_dark(colour);
  return css + "}\n";
}

}  // namespace ulpscope::reports
