// SPDX-License-Identifier: Apache-2.0
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
body { margin: 0 auto; max-width: 66rem; padding: 2rem 1.5rem 3rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 0; }
a { color: var(--link); text-decoration: none; }
a:hover, a:focus { text-decoration: underline; }
header p, .facts, figcaption, footer, .note { color: var(--soft); }
header p, .facts { margin: 0; }
.tally { margin: 1.6rem 0 .5rem; font-weight: 600; }
ul { list-style: none; margin: 0; padding: 0; }
.summary { border: 1px solid var(--line); border-radius: .5rem; overflow: hidden; }
.summary li { display: grid; grid-template-columns: 6rem minmax(8rem, 22rem) 1fr; gap: .2rem 1rem; align-items: baseline;
  padding: .5rem .9rem; font-size: .94rem; }
.summary li + li { border-top: 1px solid var(--line); }
.summary a { font-weight: 600; }
.mark { display: inline-block; justify-self: start; border-radius: 1rem; padding: 0 .6rem; font-size: .82rem; font-weight: 600;
  line-height: 1.5rem; white-space: nowrap; }
.bad .mark { color: var(--bad); background: var(--bad-tint); }
.warning .mark { color: var(--warning); background: var(--warning-tint); }
.good .mark { color: var(--good); background: var(--good-tint); }
.tensor { margin-top: 2.6rem; border-top: 1px solid var(--line); padding-top: 1.5rem; }
details.tensor { margin-top: 0; padding: .7rem 0; }
.summary + details.tensor { margin-top: 2.6rem; }
summary { cursor: pointer; }
summary h2 { display: inline; font-size: 1.05rem; }
.verdicts { margin: .9rem 0 1.2rem; }
.verdicts li { display: grid; grid-template-columns: 6.5rem 1fr; gap: .8rem; align-items: baseline; padding: .2rem 0; }
.seen { margin: 1.4rem 0; padding-left: 1.1rem; list-style: disc; max-width: 54rem; }
.seen li { padding: .15rem 0; }
figure { margin: 1.4rem 0; }
figcaption { font-size: .88rem; margin-bottom: .5rem; max-width: 54rem; }
figcaption strong { color: var(--ink); }
.scroll { overflow-x: auto; }
.figure { display: block; width: 100%; min-width: 40rem; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: .4rem .55rem; text-align: right; vertical-align: top; white-space: nowrap; border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 500; vertical-align: bottom; white-space: normal; min-width: 4.4rem; }
th.text, td.text { text-align: left; }
tbody th { text-align: left; font-weight: 600; }
td.loss { color: var(--bad); font-weight: 600; }
.b-other, .b-kept, .b-subnormal, .b-zero, .b-overflow { background: linear-gradient(var(--bar), var(--bar)) 100% 100% / 0 4px no-repeat; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.2rem; font-size: .9rem; }
pre { background: var(--raised); color: var(--ink); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem .9rem;
  white-space: pre-wrap; font-size: .85rem; }
@media (max-width: 44rem) {
  body { padding: 1.2rem 1rem 2rem; }
  .summary li { grid-template-columns: 1fr; }
  .verdicts li { grid-template-columns: 1fr; gap: 0; padding: .35rem 0; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  figure, tr, .summary li, .verdicts { break-inside: avoid; }
  h2 { break-after: avoid; }
  .figure { min-width: 0; }
  .scroll { overflow: visible; }
  th, td { padding: .25rem .3rem; }
  thead th { min-width: 0; }
  .mark { border: 1px solid; }
  svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  details::details-content { display: block; content-visibility: visible; }
}
)css";

std::string in_the_dark(Colour colour) {
  return fmt::format("  [fill=\"{0}\"] {{ fill: {1}; }} [stroke=\"{0}\"] {{ stroke: {1}; }}\n", colour.light, colour.dark);
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
  css += bars_in_cells();
  css += "@media screen and (prefers-color-scheme: dark) {\n";
  for (const auto& colour : palette::shared) css += in_the_dark(colour);
  for (const auto& colour : palette::formats) css += in_the_dark(colour);
  return css + "}\n";
}

}  // namespace ulpscope::reports
