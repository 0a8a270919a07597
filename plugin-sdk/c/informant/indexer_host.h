/* The host's functions of `indexer`, with the canonical ABI's signatures: for indexer.c, and for a test's host. */
#ifndef INFORMANT_INDEXER_HOST_H
#define INFORMANT_INDEXER_HOST_H

#include "import.h"

typedef struct {
  uint8_t kind;
  informant_string text;
} informant_indexer_error;

typedef struct {
  uint8_t is_error;
  union {
    informant_indexer_error error;
    informant_optional_string object;
    struct {
      uint8_t is_some;
      informant_optional_strings values;
    } fields;
    struct {
      informant_strings items;
      informant_optional_string next;
    } page;
    struct {
      informant_object_keys keys;
      informant_optional_string next;
    } key_page;
    uint8_t has;
  } value;
} informant_indexer_answer;

typedef struct {
  uint8_t is_error;
  union {
    informant_indexer_error error;
    uint64_t count;
  } value;
} informant_indexer_count_answer;

INFORMANT_IMPORT("indexer", "get")
void informant_host_indexer_get(const char *resource, size_t resource_len, const char *namespace, size_t namespace_len,
                                const char *name, size_t name_len, informant_indexer_answer *answer);
INFORMANT_IMPORT("indexer", "fields")
void informant_host_indexer_fields(const char *resource, size_t resource_len, const char *namespace,
                                   size_t namespace_len, const char *name, size_t name_len,
                                   const informant_string *pointers, size_t count, informant_indexer_answer *answer);
INFORMANT_IMPORT("indexer", "list")
void informant_host_indexer_list(const char *resource, size_t resource_len, int32_t has_namespace,
                                 const char *namespace, size_t namespace_len, const char *selector,
                                 size_t selector_len, uint32_t limit, int32_t has_cursor, const char *cursor,
                                 size_t cursor_len, informant_indexer_answer *answer);
INFORMANT_IMPORT("indexer", "by-index")
void informant_host_indexer_by_index(const char *resource, size_t resource_len, const char *index, size_t index_len,
                                     const char *value, size_t value_len, uint32_t limit, int32_t has_cursor,
                                     const char *cursor, size_t cursor_len, informant_indexer_answer *answer);
INFORMANT_IMPORT("indexer", "index-keys")
void informant_host_indexer_index_keys(const char *resource, size_t resource_len, const char *index, size_t index_len,
                                       const char *value, size_t value_len, uint32_t limit, int32_t has_cursor,
                                       const char *cursor, size_t cursor_len, informant_indexer_answer *answer);
INFORMANT_IMPORT("indexer", "index-values")
void informant_host_indexer_index_values(const char *resource, size_t resource_len, const char *index,
                                         size_t index_len, uint32_t limit, int32_t has_cursor, const char *cursor,
                                         size_t cursor_len, informant_indexer_answer *answer);
INFORMANT_IMPORT("indexer", "count")
void informant_host_indexer_count(const char *resource, size_t resource_len, int32_t has_namespace,
                                  const char *namespace, size_t namespace_len, informant_indexer_count_answer *answer);
INFORMANT_IMPORT("indexer", "has-synced")
void informant_host_indexer_has_synced(const char *resource, size_t resource_len, informant_indexer_answer *answer);

#endif
