/* Lists of the cache of tests: by labels, by index, counted. */
#include "host.h"

/* The selection of objects. */
typedef struct {
  informant_string resource;
  informant_optional_string namespace;
  informant_string selector;
  informant_string pointer, value; /* of an index; without one the pointer is empty */
} question;

/* Called for each value at a pointer, in which * steps into every member. */
typedef bool seen(void *context, informant_string value);

static bool each_at(informant_string json, informant_string pointer, seen *see, void *context) {
  if (!pointer.len) return see(context, json);
  size_t ends = 1;
  while (ends < pointer.len && pointer.data[ends] != '/') ends++;
  informant_string step = {pointer.data, ends}, rest = {pointer.data + ends, pointer.len - ends}, value;
  if (!informant_equal(step, INFORMANT_STRING("/*")))
    return informant_json_find(json, step, &value) == INFORMANT_JSON_FOUND && each_at(value, rest, see, context);
  informant_json_walk walk = informant_json_walk_of(json);
  while (informant_json_next(&walk))
    if (each_at(walk.value, rest, see, context)) return true;
  return false;
}

static informant_string unquoted(informant_string value) {
  informant_string text = value;
  return informant_json_text(value, &text) == INFORMANT_JSON_FOUND ? text : value;
}

static bool is_value(void *wanted, informant_string value) {
  return informant_equal(unquoted(value), *(informant_string *)wanted);
}

/* Checks one `name=value` of a label selector; tests support no other forms. */
static bool has_label(informant_string json, informant_string requirement) {
  size_t is = 0;
  while (is < requirement.len && requirement.data[is] != '=') is++;
  if (is == requirement.len || is == 0 || requirement.data[is - 1] == '!')
    testing_ends("tests know selectors of the form a=b,c=d", requirement);
  size_t value = is + 1 < requirement.len && requirement.data[is + 1] == '=' ? is + 2 : is + 1;
  informant_string labels, wanted = {requirement.data + value, requirement.len - value};
  if (informant_json_find(json, INFORMANT_STRING("/metadata/labels"), &labels) != INFORMANT_JSON_FOUND) return false;
  informant_json_walk walk = informant_json_walk_of(labels);
  while (informant_json_next(&walk))
    if (informant_equal(walk.name, (informant_string){requirement.data, is})) return informant_equal(unquoted(walk.value), wanted);
  return false;
}

static bool is_selected(informant_string json, informant_string selector) {
  for (size_t at = 0; at < selector.len;) {
    size_t begins = at;
    while (at < selector.len && selector.data[at] != ',') at++;
    if (!has_label(json, (informant_string){selector.data + begins, at - begins})) return false;
    at++;
  }
  return true;
}

static bool is_asked_for(const cached *object, const question *asked) {
  informant_string json = informant_text(object->json);
  informant_string value = asked->value;
  if (!informant_equal(informant_text(object->resource), asked->resource)) return false;
  informant_object_key key = informant_key(informant_text(object->key));
  if (asked->namespace.is_some && !informant_equal(key.namespace, asked->namespace.value)) return false;
  if (asked->pointer.len && !each_at(json, asked->pointer, is_value, &value)) return false;
  return is_selected(json, asked->selector);
}

/* A page of objects. */
typedef struct {
  const cached **items;
  size_t count;
  informant_optional_string next;
} found_page;

static found_page ask(const question *asked, uint32_t limit, informant_optional_string cursor) {
  found_page page = {informant_alloc(object_count * sizeof(cached *)), 0, INFORMANT_NONE};
  limit = limit == 0 ? LIMIT_DEFAULT : limit > 1000 ? 1000 : limit;
  const char *after = cursor.is_some ? testing_copy(cursor.value) : NULL;
  for (size_t i = 0; i < object_count; i++) {
    bool is_before = after && strcmp(objects[i].key, after) <= 0;
    if (is_before || !is_asked_for(&objects[i], asked)) continue;
    if (page.count == limit) {
      page.next = informant_some(informant_text(page.items[limit - 1]->key));
      break;
    }
    page.items[page.count++] = &objects[i];
  }
  free((void *)after);
  return page;
}

static void answer_objects(const found_page *page, informant_indexer_answer *answer) {
  informant_string *items = informant_alloc(page->count * sizeof *items);
  for (size_t i = 0; i < page->count; i++) items[i] = informant_text(page->items[i]->json);
  answer->value.page.items = (informant_strings){items, page->count};
  answer->value.page.next = page->next;
}

/* The pointer of an index. If the index does not exist, sets the error. */
static bool index_pointer(informant_string resource, informant_string index, informant_string *pointer,
                          informant_indexer_answer *answer) {
  if (!may_read(resource, answer)) return false;
  informant_json_walk walk = testing_descriptor("indexes");
  while (informant_json_next(&walk)) {
    if (!testing_has(walk.value, "resource", resource) || !testing_has(walk.value, "name", index)) continue;
    return informant_json_find_text(walk.value, INFORMANT_STRING("/pointer"), pointer) == INFORMANT_JSON_FOUND;
  }
  refuse(answer, UNKNOWN_INDEX, INFORMANT_STRING("the descriptor's indexes have none called "), index);
  return false;
}

void informant_host_indexer_list(const char *resource, size_t resource_len, int32_t has_namespace,
                                 const char *namespace, size_t namespace_len, const char *selector,
                                 size_t selector_len, uint32_t limit, int32_t has_cursor, const char *cursor,
                                 size_t cursor_len, informant_indexer_answer *answer) {
  question asked = {.resource = testing_text(resource, resource_len),
                    .namespace = {has_namespace != 0, testing_text(namespace, namespace_len)},
                    .selector = testing_text(selector, selector_len)};
  if (!may_read(asked.resource, answer)) return;
  found_page page = ask(&asked, limit, (informant_optional_string){has_cursor != 0, {cursor, cursor_len}});
  answer_objects(&page, answer);
}

void informant_host_indexer_by_index(const char *resource, size_t resource_len, const char *index, size_t index_len,
                                     const char *value, size_t value_len, uint32_t limit, int32_t has_cursor,
                                     const char *cursor, size_t cursor_len, informant_indexer_answer *answer) {
  question asked = {.resource = testing_text(resource, resource_len), .value = testing_text(value, value_len)};
  if (!index_pointer(asked.resource, testing_text(index, index_len), &asked.pointer, answer)) return;
  found_page page = ask(&asked, limit, (informant_optional_string){has_cursor != 0, {cursor, cursor_len}});
  answer_objects(&page, answer);
}

void informant_host_indexer_index_keys(const char *resource, size_t resource_len, const char *index, size_t index_len,
                                       const char *value, size_t value_len, uint32_t limit, int32_t has_cursor,
                                       const char *cursor, size_t cursor_len, informant_indexer_answer *answer) {
  question asked = {.resource = testing_text(resource, resource_len), .value = testing_text(value, value_len)};
  if (!index_pointer(asked.resource, testing_text(index, index_len), &asked.pointer, answer)) return;
  found_page page = ask(&asked, limit, (informant_optional_string){has_cursor != 0, {cursor, cursor_len}});
  informant_object_key *keys = informant_alloc(page.count * sizeof *keys);
  for (size_t i = 0; i < page.count; i++) keys[i] = informant_key(informant_text(page.items[i]->key));
  answer->value.key_page.keys = (informant_object_keys){keys, page.count};
  answer->value.key_page.next = page.next;
}

static int compared_texts(const void *left, const void *right) {
  const informant_string *a = left, *b = right;
  int order = memcmp(a->data, b->data, a->len < b->len ? a->len : b->len);
  return order ? order : (a->len > b->len) - (a->len < b->len);
}

typedef struct {
  informant_string *items;
  size_t count;
} value_list;

static bool take_value(void *context, informant_string value) {
  value_list *list = context;
  informant_string text = unquoted(value);
  for (size_t i = 0; i < list->count; i++)
    if (informant_equal(list->items[i], text)) return false;
  list->items = testing_memory(list->items, (list->count + 1) * sizeof *list->items);
  list->items[list->count++] = text;
  return false;
}

/* All values on one page, up to a limit. A cursor is the last value of a page. */
void informant_host_indexer_index_values(const char *resource, size_t resource_len, const char *index,
                                         size_t index_len, uint32_t limit, int32_t has_cursor, const char *cursor,
                                         size_t cursor_len, informant_indexer_answer *answer) {
  informant_string of = testing_text(resource, resource_len), pointer, after = {cursor, cursor_len};
  value_list list = {NULL, 0};
  if (!index_pointer(of, testing_text(index, index_len), &pointer, answer)) return;
  for (size_t i = 0; i < object_count; i++)
    if (informant_equal(informant_text(objects[i].resource), of))
      each_at(informant_text(objects[i].json), pointer, take_value, &list);
  if (list.count) qsort(list.items, list.count, sizeof *list.items, compared_texts);
  informant_string *items = informant_alloc(list.count * sizeof *items);
  size_t count = 0, most = limit == 0 ? LIMIT_DEFAULT : limit > 1000 ? 1000 : limit;
  for (size_t i = 0; i < list.count; i++) {
    if (has_cursor && compared_texts(&list.items[i], &after) <= 0) continue;
    if (count == most) {
      answer->value.page.next = informant_some(items[count - 1]);
      break;
    }
    items[count++] = list.items[i];
  }
  free(list.items);
  answer->value.page.items = (informant_strings){items, count};
}

void informant_host_indexer_count(const char *resource, size_t resource_len, int32_t has_namespace,
                                  const char *namespace, size_t namespace_len, informant_indexer_count_answer *answer) {
  informant_indexer_answer refused;
  question asked = {.resource = testing_text(resource, resource_len),
                    .namespace = {has_namespace != 0, testing_text(namespace, namespace_len)}};
  memset(answer, 0, sizeof *answer);
  if (!may_read(asked.resource, &refused)) {
    answer->is_error = 1;
    answer->value.error = refused.value.error;
    return;
  }
  for (size_t i = 0; i < object_count; i++) answer->value.count += is_asked_for(&objects[i], &asked);
}

void informant_host_indexer_has_synced(const char *resource, size_t resource_len, informant_indexer_answer *answer) {
  if (may_read(testing_text(resource, resource_len), answer)) answer->value.has = 1;
}
