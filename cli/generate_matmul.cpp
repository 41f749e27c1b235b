// SPDX-License-Identifier: Apache-2.0
// The command `generate matmul`: its words, its files, and the commands that use them.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/generate_files.hpp"
#include "cli/generate_words.hpp"
#include "cli/output.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/shell_word.hpp"
#include "reports/build_info.hpp"
#include "reports/render.hpp"
#include "verify/generate/generate.hpp"
#include "verify/generate/generate_engine.hpp"
#include "verify/generate/generated_output.hpp"
#include "verify/generate/generated_request.hpp"

namespace ulpscope::cli {
namespace {

using Json = nlohmann::ordered_json;

/// `sm_90/mma` as a file's name.
std::string file_stem(std::string engine) {
  for (char& c : engine)
    if (std::string_view("/:=,").find(c) != std::string_view::npos) c = '_';
  return "engine-" + engine;
}

std::string in_words(const verify::CaseRequest& request) {
  return emu::format_name(request.a) + (request.a == request.b ? "" : "," + emu::format_name(request.b));
}

/// The commands that use the case.
struct Commands {
  std::string matmul, verify;
};

Commands commands(const GenerateMatmulWords& words, const verify::CaseRequest& request, const verify::MatmulCase& made,
                  const std::vector<verify::EngineOutcome>& outcomes, const CaseDirectory& directory) {
  const bool with_c = !made.c.empty();
  std::string operands = emu::shell_word(directory.input("a")) + " " + emu::shell_word(directory.input("b"));
  if (with_c) operands += " " + emu::shell_word(directory.input("c"));
  std::string formats = " --in " + in_words(request) + " --acc " + emu::format_name(request.accumulator) + " --out " +
                        emu::format_name(request.out);
  if (words.codes) {
    formats += " --dtype " + emu::format_name(request.a) + "," + emu::format_name(request.b);
    if (with_c) formats += "," + emu::format_name(request.accumulator);
  }
  std::string check = "ulpscope verify matmul " + operands + " --output YOURS.npy" + formats;
  // Of an engine that rounds more than its accumulator would, the bits are known; its bound may allow zeros.
  const bool by_kind = verify::is_judged_by_kind(verify::find_case_kind(words.request.kind), made);
  const bool by_engine = outcomes.size() == 1 && outcomes.front().differing != 0 && (made.any_order_is_exact || !by_kind);
  if (by_engine) check += " --engine " + outcomes.front().engine + " --against engine";
  if (by_kind && !by_engine) {
    verify::GeneratedRequest generated{.made = words.request, .sums = {}, .output = {}};
    generated.output.output = "YOURS.npy";
    // What the case was made for, as resolved, since another command has no --engine to say it.
    generated.made.acc = emu::format_name(request.accumulator), generated.made.out = emu::format_name(request.out);
    std::vector<std::string> judging{"verify", "generated"};
    const std::vector<std::string> asked = requests::words_of(generated);
    judging.insert(judging.end(), asked.begin(), asked.end());
    check = command_line(judging);
  }
  const std::string engine = words.request.engine.empty() ? "fma" : words.request.engine.front();
  return {"ulpscope matmul " + operands + formats + " --engine " + engine + " --against exact", check};
}

Json facts_of(const verify::MatmulCase& made) {
  Json facts = Json::array();
  for (const verify::CaseFact& fact : made.facts)
    facts.push_back({{"name", fact.name}, {"value", fact.value}, {"meaning", fact.meaning}});
  return facts;
}

Json description(const verify::CaseKind& kind, const verify::CaseRequest& request, const verify::MatmulCase& made,
                 const std::vector<verify::EngineOutcome>& outcomes) {
  Json json{{"ulpscope", reports::version()},
            {"operation", "matmul"},
            {"kind", kind.name},
            {"seed", request.seed},
            {"m", request.m},
            {"n", request.n},
            {"k", request.k},
            {"in_a", emu::format_name(request.a)},
            {"in_b", emu::format_name(request.b)},
            {"acc", emu::format_name(request.accumulator)},
            {"out", emu::format_name(request.out)}};
  if (kind.name == "cancellation") json["condition"] = request.condition;
  json["provokes"] = kind.provokes;
  json["returns"] = verify::right_result(kind, made);
  json["catches"] = kind.catches;
  json["expected"] = "the exact product, rounded once to `out`, to nearest even";
  json["any_order_is_exact"] = made.any_order_is_exact;
  json["facts"] = facts_of(made);
  if (!outcomes.empty()) json["engines"] = Json::array();
  for (const verify::EngineOutcome& outcome : outcomes)
    json["engines"].push_back({{"engine", outcome.engine},
                               {"tensor", file_stem(outcome.engine)},
                               {"differing", outcome.differing},
                               {"count", outcome.d.size()}});
  return json;
}

std::string summary(const verify::CaseKind& kind, const verify::CaseRequest& request, const verify::MatmulCase& made,
                    const std::vector<verify::EngineOutcome>& outcomes) {
  std::string text = std::string(kind.name) + ": " + std::string(kind.provokes) + "\n";
  text += "A " + std::to_string(request.m) + "x" + std::to_string(request.k) + " " + emu::format_name(request.a) + ", B " +
          std::to_string(request.k) + "x" + std::to_string(request.n) + " " + emu::format_name(request.b) + ", accumulator " +
          emu::format_name(request.accumulator) + ", out " + emu::format_name(request.out) + ", seed " +
          std::to_string(request.seed) + "\n\n";
  text += "right    " + verify::right_result(kind, made) + "\n";
  text += "catches  " + std::string(kind.catches) + "\n\n";
  std::size_t width = 0;
  for (const verify::CaseFact& fact : made.facts) width = std::max(width, fact.name.size());
  for (const verify::CaseFact& fact : made.facts)
    text += fact.name + std::string(width - fact.name.size() + 2, ' ') + reports::shortest(fact.value) + "  (" + fact.meaning +
            ")\n";
  for (const verify::EngineOutcome& outcome : outcomes)
    text += "engine " + outcome.engine + ": " + std::to_string(outcome.differing) + " of " + std::to_string(outcome.d.size()) +
            " outputs differ from expected\n";
  return text;
}

std::vector<CaseTensor> tensors_of(const verify::CaseRequest& request, const verify::MatmulCase& made,
                                   const std::vector<verify::EngineOutcome>& outcomes) {
  std::vector<CaseTensor> tensors{{"a", request.a, {request.m, request.k}, made.a},
                                  {"b", request.b, {request.k, request.n}, made.b}};
  if (!made.c.empty()) tensors.push_back({"c", request.accumulator, {request.m, request.n}, made.c});
  tensors.push_back({"expected", request.out, {request.m, request.n}, made.expected});
  for (const verify::EngineOutcome& outcome : outcomes)
    tensors.push_back({file_stem(outcome.engine), request.out, {request.m, request.n}, outcome.d});
  return tensors;
}

}  // namespace

void GenerateMatmulWords::add_to(Command& command) {
  command.add_request(request);
  command.add_written("-o", directory, "a new or empty directory, or one whose case is to be replaced", "DIR")->required();
  command.add_flag("--codes", codes, ".npy files hold codes, not float32 values");
  command.add_flag("--safetensors", safetensors, "one case.safetensors in the formats themselves");
}

void generate_matmul(const GenerateMatmulWords& words) {
  if (words.codes && words.safetensors) throw Error("--codes, --safetensors: give one of them");
  const verify::CaseKind& kind = verify::find_case_kind(words.request.kind);
  const verify::CaseRequest request = verify::resolve(words.request);
  const verify::MatmulCase made = verify::generate_case(kind, request);
  std::vector<verify::EngineOutcome> outcomes;
  for (const std::string& engine : words.request.engine) outcomes.push_back(verify::outcome_on(engine, request, made));

  const Storage storage = words.codes ? Storage::codes : words.safetensors ? Storage::safetensors : Storage::values;
  const CaseDirectory directory(words.directory, storage, tensors_of(request, made, outcomes));
  directory.write(description(kind, request, made, outcomes));

  std::string text = summary(kind, request, made, outcomes) + "\nwrote";
  for (const std::string& name : directory.file_names()) text += " " + name;
  const Commands use = commands(words, request, made, outcomes, directory);
  print(text + " case.json\n" + use.matmul + "\n" + use.verify + "\n");
}

}  // namespace ulpscope::cli
