/* Informant plugins in C: this header, and informant.c to compile along. Freestanding: no libc, no WASI, no
 * bindings generator. It covers `lifecycle`, `handler`, `log` and `event-data` of the contract
 * (plugin-sdk/wit/plugin.wit), whose words it uses; plugins/hello-c is an example.
 *
 * A plugin defines the four plugin_* functions at the end.
 *
 * Memory: what the host hands over and what informant_alloc gives live until the call into the plugin ends; then
 * all of it is free again. Copy what must stay into memory of the plugin's own.
 *
 * The structs have the canonical ABI's layout: C's own alignment rules give exactly that on wasm32. */
#ifndef INFORMANT_H
#define INFORMANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* UTF-8 text or JSON; not terminated by a zero. */
typedef struct {
  const char *data;
  size_t len;
} informant_string;

/* A string from a literal. */
#define INFORMANT_STRING(literal) ((informant_string){(literal), sizeof(literal) - 1})

typedef struct {
  informant_string namespace; /* empty for cluster-scoped objects */
  informant_string name;
} informant_object_key;

typedef enum { INFORMANT_ADDED, INFORMANT_UPDATED, INFORMANT_DELETED } informant_change;

typedef enum {
  INFORMANT_INITIAL,
  INFORMANT_WATCH,
  INFORMANT_RELIST,
  INFORMANT_RESYNC,
  INFORMANT_RELOAD,
  INFORMANT_REDRIVE
} informant_reason;

typedef enum { INFORMANT_GONE_DELETED, INFORMANT_LEFT_VIEW, INFORMANT_UNKNOWN } informant_gone;

typedef struct {
  uint8_t is_some;
  informant_string value;
} informant_optional_string;

typedef struct {
  uint64_t seq;
  uint32_t subscription;
  uint8_t change; /* informant_change */
  uint8_t reason; /* informant_reason */
  informant_object_key key;
  informant_string uid;
  informant_string resource_version;
  uint8_t has_gone; /* only with INFORMANT_DELETED */
  uint8_t gone;     /* informant_gone */
  uint32_t coalesced;
  uint32_t attempt;
  informant_optional_string object; /* JSON; none with INFORMANT_DELETED */
  informant_optional_string old;    /* JSON */
} informant_event;

/* What plugin_describe and plugin_start answer: a text that is the descriptor or the error. */
typedef struct {
  uint8_t is_error;
  informant_string text;
} informant_result;

typedef enum { INFORMANT_BACKOFF, INFORMANT_AFTER_MS, INFORMANT_NEVER } informant_retry;

/* What plugin_handle answers; all zero is success. */
typedef struct {
  uint8_t is_error;
  struct {
    informant_string message;
    uint8_t retry;     /* informant_retry */
    uint64_t after_ms; /* with INFORMANT_AFTER_MS */
  } failure;
} informant_outcome;

typedef enum {
  INFORMANT_TRACE,
  INFORMANT_DEBUG,
  INFORMANT_INFO,
  INFORMANT_WARN,
  INFORMANT_ERROR
} informant_level;

typedef enum { INFORMANT_NEW, INFORMANT_OLD } informant_side;

/* One line in the host's log. */
void informant_log(informant_level level, informant_string message);

/* The JSON text of the value at a JSON pointer in the event's object. The host finds it, so a plugin in C needs no
 * JSON parser. Only inside plugin_handle. */
informant_optional_string informant_field(informant_side side, informant_string pointer);

/* Whether the value at the pointer differs between the old and the new object. Only inside plugin_handle. */
bool informant_changed(informant_string pointer);

/* Memory until the call ends; traps when there is no more. */
void *informant_alloc(size_t size);

/* The parts one after the other, in memory of informant_alloc. */
informant_string informant_concat(const informant_string *parts, size_t count);

/* To be defined by the plugin. */
informant_result plugin_describe(informant_string config); /* the descriptor, as JSON */
informant_result plugin_start(informant_string config);
informant_outcome plugin_handle(const informant_event *event);
void plugin_stop(void);

#endif
