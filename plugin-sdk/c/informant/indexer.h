/* The shared cache: the resources of the plugin's subscriptions and of the descriptor's `reads`. Reads never block
 * and never reach the API server. */
#ifndef INFORMANT_INDEXER_H
#define INFORMANT_INDEXER_H

#include "error.h"

/* One object's JSON. None if the object does not exist. */
INFORMANT_MUST_CHECK const informant_error *informant_indexer_get(informant_string resource, informant_object_key key,
                                                                  informant_optional_string *object);

/* The JSON value at one JSON pointer of one object. None if there is no value or no object. Much cheaper than the
 * whole object. */
INFORMANT_MUST_CHECK const informant_error *informant_indexer_field(informant_string resource,
                                                                    informant_object_key key, informant_string pointer,
                                                                    informant_optional_string *value);

/* One JSON value for each pointer, at most 256, in their order. Without the object there are no values (count 0). */
INFORMANT_MUST_CHECK const informant_error *informant_indexer_fields(informant_string resource,
                                                                     informant_object_key key,
                                                                     informant_strings pointers,
                                                                     informant_optional_strings *values);

/* An answer in pages. Begin with a page of zeros, optionally with a limit, and ask again with the same page while
 * it has `next`:
 *
 *   informant_page page = {0};
 *   do {
 *     const informant_error *error = informant_indexer_list(PODS, INFORMANT_NONE, labels, &page);
 *     if (error) return informant_failed(error);
 *     for (size_t i = 0; i < page.items.count; i++) use(page.items.items[i]);
 *   } while (page.next.is_some);
 *
 * All pages are memory of the call. If there may be many pages, take a mark before the loop, and release at its end
 * if there is a `next`: page.next.value = informant_memory_release(mark, page.next.value). */
typedef struct {
  informant_strings items; /* objects as JSON, or values of an index */
  informant_optional_string next;
  uint32_t limit; /* 0 is the host's default, 500 */
} informant_page;

typedef struct {
  informant_object_keys keys;
  informant_optional_string next;
  uint32_t limit;
} informant_key_page;

/* Objects of a namespace, or of all (INFORMANT_NONE), that match the label selector in kubectl's notation. The
 * empty selector matches all objects. */
INFORMANT_MUST_CHECK const informant_error *informant_indexer_list(informant_string resource,
                                                                   informant_optional_string namespace,
                                                                   informant_string label_selector,
                                                                   informant_page *page);

/* Objects that have this value at the pointer of one of the descriptor's `indexes`. */
INFORMANT_MUST_CHECK const informant_error *informant_indexer_by_index(informant_string resource,
                                                                       informant_string index, informant_string value,
                                                                       informant_page *page);

/* Only the keys of these objects. */
INFORMANT_MUST_CHECK const informant_error *informant_indexer_index_keys(informant_string resource,
                                                                         informant_string index, informant_string value,
                                                                         informant_key_page *page);

/* All values of an index. */
INFORMANT_MUST_CHECK const informant_error *informant_indexer_index_values(informant_string resource,
                                                                           informant_string index,
                                                                           informant_page *page);

/* The number of objects that the plugin sees in a namespace, or in all (INFORMANT_NONE). */
INFORMANT_MUST_CHECK const informant_error *informant_indexer_count(informant_string resource,
                                                                    informant_optional_string namespace,
                                                                    uint64_t *count);

/* Whether the first list is complete. Before that, an absent object may exist. */
INFORMANT_MUST_CHECK const informant_error *informant_indexer_has_synced(informant_string resource, bool *has);

#endif
