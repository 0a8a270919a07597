/* The canonical ABI for plugins in C, by hand: see informant.h. Compile it along with the plugin. */
#include "informant.h"

#define IMPORT(interface, function) \
  __attribute__((import_module("informant:plugin/" interface "@0.1.0"), import_name(function)))
#define EXPORT(name) __attribute__((export_name(name)))

_Static_assert(offsetof(informant_event, key) == 16, "the contract's event");
_Static_assert(offsetof(informant_event, has_gone) == 48, "the contract's event");
_Static_assert(offsetof(informant_event, object) == 60, "the contract's event");
_Static_assert(sizeof(informant_event) == 88, "the contract's event");
_Static_assert(offsetof(informant_outcome, failure.message) == 8, "the contract's failure");
_Static_assert(offsetof(informant_outcome, failure.after_ms) == 24, "the contract's failure");

typedef struct {
  const informant_optional_string *data;
  size_t len;
} optional_string_list;

IMPORT("log", "log")
void host_log(int32_t level, const char *message, size_t len, const void *fields, size_t field_count);
IMPORT("event-data", "fields")
void host_fields(int32_t side, const informant_string *pointers, size_t count, optional_string_list *answer);
IMPORT("event-data", "changed")
int32_t host_changed(const char *pointer, size_t len);

/* Compilers ask for these two even where there is no libc. */
void *memcpy(void *restrict to, const void *restrict from, size_t len) {
  char *target = to;
  const char *source = from;
  while (len--) *target++ = *source++;
  return to;
}

void *memset(void *to, int value, size_t len) {
  char *target = to;
  while (len--) *target++ = (char)value;
  return to;
}

/* The heap: handed out upwards from where the linker says that the program's own memory ends. */
extern char __heap_base;
static char *heap;

static void *allocate(size_t align, size_t size) {
  const size_t page = 65536;
  uintptr_t start = (uintptr_t)(heap ? heap : &__heap_base);
  uintptr_t block = (start + align - 1) & ~(uintptr_t)(align - 1);
  uintptr_t end = block + size;
  size_t have = __builtin_wasm_memory_size(0);
  size_t need = end / page + 1;
  if (end < block) __builtin_trap();
  if (need > have && __builtin_wasm_memory_grow(0, need - have) == (size_t)-1) __builtin_trap();
  heap = (char *)end;
  return (void *)block;
}

static void free_all(void) {
  heap = &__heap_base;
}

void *informant_alloc(size_t size) {
  return allocate(8, size);
}

informant_string informant_concat(const informant_string *parts, size_t count) {
  size_t len = 0, at = 0;
  for (size_t i = 0; i < count; i++) len += parts[i].len;
  char *text = informant_alloc(len);
  for (size_t i = 0; i < count; at += parts[i++].len) memcpy(text + at, parts[i].data, parts[i].len);
  return (informant_string){text, len};
}

void informant_log(informant_level level, informant_string message) {
  host_log(level, message.data, message.len, 0, 0);
}

informant_optional_string informant_field(informant_side side, informant_string pointer) {
  optional_string_list answer;
  host_fields(side, &pointer, 1, &answer);
  return answer.len ? answer.data[0] : (informant_optional_string){0};
}

bool informant_changed(informant_string pointer) {
  return host_changed(pointer.data, pointer.len);
}

/* How the host puts arguments and answers into this memory. */
EXPORT("cabi_realloc")
void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size) {
  void *block = allocate(align, size);
  if (old) memcpy(block, old, old_size < size ? old_size : size);
  return block;
}

/* Answers stay here until the host has read them. */
static informant_result result;
static informant_outcome outcome;

EXPORT("informant:plugin/lifecycle@0.1.0#describe")
informant_result *export_describe(const char *config, size_t len) {
  result = plugin_describe((informant_string){config, len});
  return &result;
}

EXPORT("cabi_post_informant:plugin/lifecycle@0.1.0#describe")
void post_describe(informant_result *read) {
  (void)read;
  free_all();
}

EXPORT("informant:plugin/lifecycle@0.1.0#start")
informant_result *export_start(const char *config, size_t len) {
  result = plugin_start((informant_string){config, len});
  return &result;
}

EXPORT("cabi_post_informant:plugin/lifecycle@0.1.0#start")
void post_start(informant_result *read) {
  (void)read;
  free_all();
}

EXPORT("informant:plugin/lifecycle@0.1.0#stop")
void export_stop(void) {
  plugin_stop();
}

EXPORT("informant:plugin/handler@0.1.0#handle")
informant_outcome *export_handle(const informant_event *event) {
  outcome = plugin_handle(event);
  return &outcome;
}

EXPORT("cabi_post_informant:plugin/handler@0.1.0#handle")
void post_handle(informant_outcome *read) {
  (void)read;
  free_all();
}
