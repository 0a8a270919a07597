/* The interface `indexer`: see indexer.h. */
#include "indexer.h"

#include "import.h"
#include "indexer_host.h"

INFORMANT_LAYOUT(offsetof(informant_indexer_answer, value) == 4 && sizeof(informant_indexer_answer) == 24);
INFORMANT_LAYOUT(offsetof(informant_indexer_count_answer, value) == 8);

static const informant_error *indexer_error(const char *operation, const informant_indexer_error *error) {
  static const informant_error_kind kinds[] = {INFORMANT_NOT_GRANTED,   INFORMANT_UNKNOWN_RESOURCE,
                                               INFORMANT_UNKNOWN_INDEX, INFORMANT_NOT_SYNCED,
                                               INFORMANT_EXPIRED,       INFORMANT_INVALID};
  bool is_known = error->kind < sizeof kinds / sizeof *kinds;
  informant_error_kind kind = is_known ? kinds[error->kind] : INFORMANT_REFUSED;
  /* Only the error about an old cursor has no text. */
  bool has_text = kind != INFORMANT_EXPIRED;
  return informant_error_new(kind, operation, has_text ? error->text : INFORMANT_STRING(""));
}

static const informant_error *page_of(const char *operation, const informant_indexer_answer *answer,
                                      informant_page *page) {
  page->items = (informant_strings){0};
  page->next = INFORMANT_NONE;
  if (answer->is_error) return indexer_error(operation, &answer->value.error);
  page->items = answer->value.page.items;
  page->next = answer->value.page.next;
  return NULL;
}

const informant_error *informant_indexer_get(informant_string resource, informant_object_key key,
                                             informant_optional_string *object) {
  informant_indexer_answer answer;
  informant_host_indexer_get(INFORMANT_TEXT(resource), INFORMANT_TEXT(key.namespace), INFORMANT_TEXT(key.name), &answer);
  *object = answer.is_error ? INFORMANT_NONE : answer.value.object;
  return answer.is_error ? indexer_error("indexer.get", &answer.value.error) : NULL;
}

const informant_error *informant_indexer_fields(informant_string resource, informant_object_key key,
                                                informant_strings pointers, informant_optional_strings *values) {
  informant_indexer_answer answer;
  informant_host_indexer_fields(INFORMANT_TEXT(resource), INFORMANT_TEXT(key.namespace), INFORMANT_TEXT(key.name),
                                pointers.items, pointers.count, &answer);
  *values = (informant_optional_strings){0};
  if (answer.is_error) return indexer_error("indexer.fields", &answer.value.error);
  if (answer.value.fields.is_some) *values = answer.value.fields.values;
  return NULL;
}

const informant_error *informant_indexer_field(informant_string resource, informant_object_key key,
                                               informant_string pointer, informant_optional_string *value) {
  informant_optional_strings values;
  informant_strings pointers = {&pointer, 1};
  const informant_error *error = informant_indexer_fields(resource, key, pointers, &values);
  *value = values.count ? values.items[0] : INFORMANT_NONE;
  return error;
}

const informant_error *informant_indexer_list(informant_string resource, informant_optional_string namespace,
                                              informant_string label_selector, informant_page *page) {
  informant_indexer_answer answer;
  informant_host_indexer_list(INFORMANT_TEXT(resource), INFORMANT_OPTION(namespace), INFORMANT_TEXT(label_selector),
                              page->limit, INFORMANT_OPTION(page->next), &answer);
  return page_of("indexer.list", &answer, page);
}

const informant_error *informant_indexer_by_index(informant_string resource, informant_string index,
                                                  informant_string value, informant_page *page) {
  informant_indexer_answer answer;
  informant_host_indexer_by_index(INFORMANT_TEXT(resource), INFORMANT_TEXT(index), INFORMANT_TEXT(value), page->limit,
                                  INFORMANT_OPTION(page->next), &answer);
  return page_of("indexer.by-index", &answer, page);
}

const informant_error *informant_indexer_index_keys(informant_string resource, informant_string index,
                                                    informant_string value, informant_key_page *page) {
  informant_indexer_answer answer;
  informant_host_indexer_index_keys(INFORMANT_TEXT(resource), INFORMANT_TEXT(index), INFORMANT_TEXT(value), page->limit,
                                    INFORMANT_OPTION(page->next), &answer);
  page->keys = (informant_object_keys){0};
  page->next = INFORMANT_NONE;
  if (answer.is_error) return indexer_error("indexer.index-keys", &answer.value.error);
  page->keys = answer.value.key_page.keys;
  page->next = answer.value.key_page.next;
  return NULL;
}

const informant_error *informant_indexer_index_values(informant_string resource, informant_string index,
                                                      informant_page *page) {
  informant_indexer_answer answer;
  informant_host_indexer_index_values(INFORMANT_TEXT(resource), INFORMANT_TEXT(index), page->limit,
                                      INFORMANT_OPTION(page->next), &answer);
  return page_of("indexer.index-values", &answer, page);
}

const informant_error *informant_indexer_count(informant_string resource, informant_optional_string namespace,
                                               uint64_t *count) {
  informant_indexer_count_answer answer;
  informant_host_indexer_count(INFORMANT_TEXT(resource), INFORMANT_OPTION(namespace), &answer);
  *count = answer.is_error ? 0 : answer.value.count;
  return answer.is_error ? indexer_error("indexer.count", &answer.value.error) : NULL;
}

const informant_error *informant_indexer_has_synced(informant_string resource, bool *has) {
  informant_indexer_answer answer;
  informant_host_indexer_has_synced(INFORMANT_TEXT(resource), &answer);
  *has = !answer.is_error && answer.value.has;
  return answer.is_error ? indexer_error("indexer.has-synced", &answer.value.error) : NULL;
}
