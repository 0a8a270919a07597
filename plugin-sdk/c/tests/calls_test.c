/* The host's calls and their arguments: events, the configuration, snapshots, the cache. */
#include "plugin_under_test.h"

static informant_outcome tells(const informant_event *event) {
  informant_string old = event->old.is_some ? event->old.value : TEXT("");
  informant_optional_string name = informant_field_text(event->change == INFORMANT_DELETED, TEXT("/metadata/name"));
  informant_log_with(INFORMANT_INFO, informant_change_text(event->change),
                     INFORMANT_PAIRS(INFORMANT_PAIR("key", informant_key_text(event->key)),
                                     INFORMANT_PAIR("subscription", informant_unsigned_text(event->subscription)),
                                     INFORMANT_PAIR("object", informant_unsigned_text(event->object.value.len)),
                                     INFORMANT_PAIR("old", informant_unsigned_text(old.len > 0)),
                                     INFORMANT_PAIR("name", name.value)));
  return INFORMANT_DONE;
}

static informant_outcome changes(const informant_event *event) {
  (void)event;
  informant_strings pointers = INFORMANT_STRINGS(TEXT("/metadata/labels/app"), TEXT("/none"));
  informant_optional_strings new = informant_fields(INFORMANT_NEW, pointers), old = informant_fields(INFORMANT_OLD, pointers);
  informant_testing_is("what is not there is none", new.count == 2 && !new.items[1].is_some);
  informant_testing_is("what changed", informant_changed(TEXT("/metadata/labels/app")) && !informant_changed(TEXT("/spec")));
  informant_testing_is("objects", informant_object(INFORMANT_NEW).is_some && informant_object(INFORMANT_OLD).is_some);
  informant_testing_is("a number is no text", !informant_field_text(INFORMANT_NEW, TEXT("/metadata/labels")).is_some);
  return informant_give_up(INFORMANT_CONCAT(old.items[0].value, TEXT(" to "), new.items[0].value));
}

static void events_are_told(void) {
  informant_testing_starts("x");
  handler = tells;
  informant_testing_succeeds(informant_testing_add("v1/pods", POD("web", "a", "nginx")));
  informant_testing_succeeds(informant_testing_update("v1/pods", POD("web", "a", "nginx"), POD("web", "b", "nginx")));
  informant_testing_succeeds(informant_testing_delete("v1/pods", POD("web", "b", "nginx")));
  informant_testing_succeeds(informant_testing_add("v1/nodes", "{\"metadata\":{\"name\":\"one\"}}"));
  informant_testing_succeeds(informant_testing_add("v1/services", "{\"spec\":{},\"kind\":\"S\",\"metadata\":{\"name\":\"two\"}}"));
  informant_testing_expect(
      "info added key=shop/web subscription=0 object=127 old=0 name=web\n"
      "info updated key=shop/web subscription=0 object=127 old=1 name=web\n"
      "info deleted key=shop/web subscription=0 object=0 old=1 name=web\n"
      "info added key=one subscription=1 object=0 old=0 name=one\n"
      "info added key=two subscription=2 object=38 old=0 name=two\n");
  handler = changes;
  informant_outcome outcome = informant_testing_update("v1/pods", POD("web", "a", "nginx"), POD("web", "b", "nginx"));
  informant_testing_fails(outcome, "\"a\" to \"b\"");
  informant_testing_is("it is given up", outcome.failure.retry == INFORMANT_NEVER);
  informant_testing_succeeds(informant_testing_fire("hourly", 3600000));
  informant_testing_expect("warn hourly at=3600000\n");
  informant_testing_succeeds(informant_testing_synced("v1/nodes"));
  informant_testing_same("the keys", informant_text(informant_testing_keys()), "1");
}

static void starts_and_reloads(void) {
  informant_testing_refuses("nothing", "nothing is asked for");
  informant_testing_refuses("refuse", "state.set: refused: state is written in handlers, reconcilers and timers only");
  informant_testing_starts("first");
  informant_testing_same("what was kept", kept, "kept first");
  informant_testing_same("a refusal", informant_testing_reload("0").text, "too old");
  informant_testing_is("it is carried over", !informant_testing_reload("1").is_error);
  handler = tells;
  informant_testing_succeeds(informant_testing_add("v1/pods", POD("web", "a", "nginx")));
  informant_testing_same("what was kept over calls", kept, "kept first");
  informant_testing_expect("info added key=shop/web subscription=0 object=127 old=0 name=web\n");
}

static informant_outcome reads(const informant_event *event) {
  informant_optional_string object, field;
  informant_optional_strings fields;
  informant_page page = {0};
  informant_key_page keys = {0};
  uint64_t count;
  bool synced;
  informant_object_key absent = informant_key(TEXT("shop/none"));
  fine("get", informant_indexer_get(PODS, event->key, &object));
  informant_testing_is("it is there", object.is_some && object.value.len > 50);
  fine("get", informant_indexer_get(PODS, absent, &object));
  informant_testing_is("it is not there", !object.is_some);
  fine("field", informant_indexer_field(PODS, event->key, TEXT("/metadata/name"), &field));
  informant_testing_same("a field", field.value, "\"web\"");
  fine("field", informant_indexer_field(PODS, absent, TEXT("/metadata/name"), &field));
  informant_testing_is("no field", !field.is_some);
  informant_strings pointers = INFORMANT_STRINGS(TEXT("/none"), TEXT("/spec/containers/1/image"));
  fine("fields", informant_indexer_fields(PODS, event->key, pointers, &fields));
  informant_testing_is("two fields", fields.count == 2 && !fields.items[0].is_some);
  informant_testing_same("a field", fields.items[1].value, "\"nginx\"");
  fine("count", informant_indexer_count(PODS, INFORMANT_NONE, &count));
  informant_testing_is("all", count == 4);
  fine("count", informant_indexer_count(PODS, informant_some(TEXT("lab")), &count));
  informant_testing_is("one namespace", count == 1);
  fine("has-synced", informant_indexer_has_synced(TEXT("v1/secrets"), &synced));
  informant_testing_is("it has", synced);
  fine("by-index", informant_indexer_by_index(PODS, TEXT("image"), TEXT("nginx"), &page));
  informant_testing_is("two of an image", page.items.count == 2 && !page.next.is_some);
  fine("index-keys", informant_indexer_index_keys(PODS, TEXT("image"), TEXT("redis"), &keys));
  informant_testing_is("one key", keys.keys.count == 1);
  informant_testing_same("the key", informant_key_text(keys.keys.items[0]), "lab/four");
  page = (informant_page){.limit = 2};
  fine("index-values", informant_indexer_index_values(PODS, TEXT("image"), &page));
  informant_testing_same("values", informant_concat(page.items.items, page.items.count), "cachenginx");
  fine("index-values", informant_indexer_index_values(PODS, TEXT("image"), &page));
  informant_testing_same("values", informant_concat(page.items.items, page.items.count), "proxyredis");
  wrong(informant_indexer_get(TEXT("v1/other"), absent, &object),
        "indexer.get: not granted: the descriptor has it neither in subscriptions nor in reads: v1/other");
  wrong(informant_indexer_by_index(PODS, TEXT("none"), TEXT("x"), &page),
        "indexer.by-index: unknown index: the descriptor's indexes have none called none");
  informant_testing_is("after an error there is nothing", page.items.count == 0 && !page.next.is_some);
  return INFORMANT_DONE;
}

/* Reads one page after the other in the same memory. */
static informant_outcome pages(const informant_event *event) {
  (void)event;
  informant_string before = INFORMANT_CONCAT(TEXT("from "), TEXT("before"));
  informant_page page = {.limit = 1};
  informant_mark mark = informant_memory_mark();
  size_t found = 0, asked = 0;
  do {
    fine("list", informant_indexer_list(PODS, informant_some(TEXT("shop")), TEXT("app=a"), &page));
    found += page.items.count;
    asked++;
    page.next.value = informant_memory_release(mark, page.next.value);
  } while (page.next.is_some);
  informant_testing_is("a page each", found == 2 && asked == 2);
  informant_testing_same("what is older than the mark", before, "from before");
  return INFORMANT_DONE;
}

static void cache_is_read(void) {
  informant_testing_starts("");
  informant_testing_put("v1/pods", POD("two", "a", "nginx"));
  informant_testing_put("v1/pods", POD("three", "b", "cache"));
  informant_testing_put("v1/pods", POD("gone", "b", "cache"));
  informant_testing_put("v1/pods", "{\"metadata\":{\"namespace\":\"lab\",\"name\":\"four\"},\"spec\":{\"containers\":[{\"image\":\"redis\"}]}}");
  informant_testing_remove("v1/pods", "shop/gone");
  check(reads, "");
  check(pages, "");
}

int main(void) {
  starts_and_reloads();
  events_are_told();
  cache_is_read();
  return informant_testing_end();
}
