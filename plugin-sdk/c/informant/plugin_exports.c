/* The exports of every plugin on wasm32, and the memory for answers until the host has read them: see
 * plugin_exports.h. */
#include "plugin.h"

#include "import.h"

INFORMANT_LAYOUT(offsetof(informant_reconciled, value) == 8 && sizeof(informant_reconciled) == 32);
INFORMANT_LAYOUT(offsetof(informant_snapshot, value) == 4 && sizeof(informant_snapshot) == 16);
INFORMANT_LAYOUT(offsetof(informant_result, text) == 4);

const informant_outcome *informant_answer(informant_outcome outcome) {
  static informant_outcome kept;
  kept = outcome;
  return &kept;
}

const informant_reconciled *informant_answer_reconciled(informant_outcome outcome, informant_optional_u64 again) {
  static informant_reconciled kept;
  kept.is_error = outcome.is_error;
  if (outcome.is_error) kept.value.failure = outcome.failure;
  else kept.value.again_after_ms = again;
  return &kept;
}

const informant_snapshot *informant_answer_snapshot(informant_result result, informant_optional_string data) {
  static informant_snapshot kept;
  kept.is_error = result.is_error;
  if (result.is_error) kept.value.error = result.text;
  else kept.value.data = data;
  return &kept;
}

const informant_result *informant_answer_result(informant_result result) {
  static informant_result kept;
  kept = result;
  return &kept;
}

INFORMANT_EXPORT("informant:plugin/lifecycle@0.1.0#describe")
const informant_result *informant_export_describe(const char *config, size_t len);
const informant_result *informant_export_describe(const char *config, size_t len) {
  return informant_answer_result(plugin_describe((informant_string){config, len}));
}

INFORMANT_EXPORT_POST(informant_post_describe, "lifecycle@0.1.0#describe")

INFORMANT_EXPORT("informant:plugin/lifecycle@0.1.0#start")
const informant_result *informant_export_start(const char *config, size_t len);
const informant_result *informant_export_start(const char *config, size_t len) {
  return informant_answer_result(plugin_start((informant_string){config, len}));
}

INFORMANT_EXPORT_POST(informant_post_start, "lifecycle@0.1.0#start")

INFORMANT_EXPORT("informant:plugin/lifecycle@0.1.0#stop")
void informant_export_stop(void);
void informant_export_stop(void) {
  plugin_stop();
}
