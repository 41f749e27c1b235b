// SPDX-License-Identifier: Apache-2.0
// Reads the request of a check.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "requests/words.hpp"
#include "verify/audit/operation_audit.hpp"
#include "verify/evidence/public_study.hpp"

namespace ulpscope::verify {

std::unique_ptr<const OperationSource> operation_of(const PublicCheck& check, std::uint64_t seed) {
  const std::string said = check.check + ": request '" + check.request + "': ";
  const std::vector<std::string> words = requests::split_words(check.request, said);
  if (words.size() < 2 || words.front() != "audit") throw Error(said + "it does not begin with audit OPERATION");
  try {
    OperationAuditRequest request(find_check_operation(words[1]));
    requests::Fields fields = requests::fields_of(request);
    requests::set_words(fields, std::span(words).subspan(2));
    fields.at("seed").set({std::to_string(seed)});
    fields.at("threads").set({"1"});
    return std::make_unique<const OperationSource>(*request.operation, *request.check, seed);
  } catch (const Error& error) {
    throw Error(said + error.what());
  }
}

}  // namespace ulpscope::verify
