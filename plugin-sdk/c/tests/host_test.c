/* The plugin's use of the host: its state, series, keys, writes and requests; and texts. */
#include "plugin_under_test.h"

static informant_outcome keeps(const informant_event *event) {
  (void)event;
  informant_optional_string value;
  informant_strings keys;
  bool was_set;
  fine("set", informant_state_set(TEXT("b/1"), (informant_string){"a\0b", 3}));
  fine("set", informant_state_set(TEXT("b/0"), TEXT("")));
  fine("set", informant_state_set(TEXT("a"), TEXT("1")));
  fine("get", informant_state_get(TEXT("b/1"), &value));
  informant_testing_is("bytes", value.is_some && value.value.len == 3);
  fine("get", informant_state_get(TEXT("b/0"), &value));
  informant_testing_is("nothing is not none", value.is_some && value.value.len == 0);
  fine("swap", informant_state_compare_and_set(TEXT("a"), informant_some(TEXT("2")), INFORMANT_NONE, &was_set));
  informant_testing_is("another value", !was_set);
  fine("swap", informant_state_compare_and_set(TEXT("a"), informant_some(TEXT("1")), informant_some(TEXT("2")), &was_set));
  informant_testing_is("this value", was_set);
  fine("swap", informant_state_compare_and_set(TEXT("c"), INFORMANT_NONE, informant_some(TEXT("3")), &was_set));
  informant_testing_is("no value", was_set);
  fine("remove", informant_state_remove(TEXT("c")));
  fine("keys", informant_state_keys(TEXT("b/"), &keys));
  informant_testing_same("keys", informant_concat(keys.items, keys.count), "b/0b/1");
  wrong(informant_state_set(TEXT(""), TEXT("1")), "state.set: refused: keys have 1 to 512 bytes");
  return INFORMANT_DONE;
}

static informant_outcome keeps_in_vain(const informant_event *event) {
  (void)event;
  fine("set", informant_state_set(TEXT("a"), TEXT("9")));
  fine("remove", informant_state_remove(TEXT("b/0")));
  return informant_fail_after(TEXT("not now"), 5);
}

static void state_is_kept(void) {
  informant_testing_starts("");
  check(keeps, "");
  handler = keeps_in_vain;
  informant_testing_fails(informant_testing_add("v1/pods", POD("web", "a", "nginx")), "not now");
  informant_testing_same("of a call that failed nothing stays", informant_text(informant_testing_state("a")), "2");
  informant_testing_is("nothing is gone", informant_testing_state("b/0") && !informant_testing_state("c"));
}

static informant_outcome counts(const informant_event *event) {
  (void)event;
  informant_pairs labels = INFORMANT_PAIRS(INFORMANT_PAIR("a", TEXT("b")), INFORMANT_PAIR("c", TEXT("d")));
  fine("counter", informant_metrics_counter_add(TEXT("seen_total"), labels, 1.5));
  fine("counter", informant_metrics_counter_add(TEXT("seen_total"), labels, 2));
  fine("gauge", informant_metrics_gauge_set(TEXT("there"), INFORMANT_NO_PAIRS, -4));
  fine("histogram", informant_metrics_histogram_observe(TEXT("took"), INFORMANT_NO_PAIRS, 0.25));
  wrong(informant_metrics_counter_add(TEXT("seen_total"), labels, -1),
        "metrics.counter-add: refused: what is added to a counter is not negative");
  wrong(informant_metrics_gauge_set(TEXT("a b"), labels, 1),
        "metrics.gauge-set: refused: its name, labels or value can be no series's: a b");
  informant_testing_is("who it is", informant_is_leader() && informant_shard().count == 1 && informant_host_version().len > 0);
  informant_testing_same("its name", informant_plugin_name(), "test");
  informant_testing_is("levels", informant_log_enabled(INFORMANT_INFO) && !informant_log_enabled(INFORMANT_TRACE));
  informant_workqueue_add(TEXT("k1"));
  informant_workqueue_add_after(TEXT("k2"), 10);
  informant_workqueue_add_rate_limited(TEXT("k1"));
  informant_workqueue_forget(TEXT("k1"));
  informant_testing_is("two keys", informant_workqueue_len() == 2 && informant_workqueue_num_requeues(TEXT("k1")) == 0);
  return INFORMANT_DONE;
}

static informant_outcome works(informant_string key, informant_optional_u64 *again_after_ms) {
  informant_log(INFORMANT_DEBUG, key);
  if (informant_equal(key, TEXT("k1"))) *again_after_ms = (informant_optional_u64){1, 5};
  return informant_equal(key, TEXT("k2")) ? informant_give_up(TEXT("no")) : INFORMANT_DONE;
}

static void keys_are_worked_on(void) {
  informant_testing_starts("");
  check(counts, "");
  informant_testing_is("a counter", informant_testing_series("seen_total{a=b,c=d}") == 3.5);
  informant_testing_is("a gauge", informant_testing_series("there") == -4);
  informant_testing_is("a histogram", informant_testing_series("took") == 0.25 && informant_testing_series("none") == 0);
  worker = works;
  informant_testing_succeeds(informant_testing_reconcile());
  informant_testing_same("it comes again", informant_text(informant_testing_keys()), "k2 k1");
  informant_testing_fails(informant_testing_reconcile(), "no");
  informant_testing_same("it does not", informant_text(informant_testing_keys()), "k1");
  informant_testing_expect("debug k1\ndebug k2\n");
  informant_testing_succeeds(informant_testing_add("v1/configmaps", "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"one\"}}"));
  informant_testing_enqueue("by hand");
  informant_testing_same("keys of rules", informant_text(informant_testing_keys()), "k1 shop/one map/one by hand");
}

#define SIZED(NAME, SIZE, MORE) "{\"metadata\":{\"name\":\"" NAME "\"},\"size\":" SIZE ",\"more\":" MORE "}"

static void conditions_count(void) {
  informant_testing_starts("");
  informant_testing_succeeds(informant_testing_add("v1/endpoints", SIZED("added", "1", "1")));
  informant_testing_succeeds(informant_testing_update("v1/endpoints", SIZED("same", "1", "1"), SIZED("same", "1", "2")));
  informant_testing_succeeds(informant_testing_update("v1/endpoints", SIZED("changed", "1", "1"), SIZED("changed", "2", "1")));
  informant_testing_succeeds(informant_testing_delete("v1/endpoints", SIZED("deleted", "2", "1")));
  informant_testing_same("keys", informant_text(informant_testing_keys()), "changed deleted");
}

static informant_outcome writes(const informant_event *event) {
  informant_kube_target pod = {.resource = PODS, .key = event->key};
  informant_kube_target status = {.resource = PODS, .key = event->key, .subresource = TEXT("status")};
  informant_string answer;
  fine("patch", informant_kube_patch(status, INFORMANT_APPLY_FORCED, INFORMANT_JSON({"a": 1}), &answer));
  informant_testing_same("the object", answer, "{\"b\":2}");
  wrong(informant_kube_update(pod, TEXT("{}"), &answer), "kube.update: the API server answered 409 Conflict: changed");
  informant_testing_same("no object", answer, "");
  wrong(informant_kube_create(pod, TEXT("{}"), NULL),
        "kube.create: not granted: the test has no answer to: create v1/pods shop/web");
  fine("delete", informant_kube_delete(pod, informant_some(TEXT("uid-1"))));
  fine("event", informant_kube_record_event(pod, true, TEXT("Bad"), TEXT("it is bad")));
  return informant_failed(informant_kube_patch(pod, INFORMANT_JSON_PATCH, TEXT("[]"), NULL));
}

static void cluster_is_written(void) {
  informant_testing_starts("");
  informant_testing_answer_write("patch", "v1/pods/status", "shop/web", "{\"b\":1}");
  informant_testing_answer_write("patch", "v1/pods/status", "shop/web", "{\"b\":2}");
  informant_testing_refuse_write("update", "v1/pods", "shop/web", 409, "Conflict", "changed", 0);
  informant_testing_answer_write("delete", "v1/pods", "shop/web", "");
  informant_testing_answer_write("record-event", "v1/pods", "shop/web", "");
  informant_testing_refuse_write("patch", "v1/pods", "shop/web", 429, "TooManyRequests", "slower", 700);
  handler = writes;
  informant_outcome outcome = informant_testing_add("v1/pods", POD("web", "a", "nginx"));
  informant_testing_fails(outcome, "kube.patch: the API server answered 429 TooManyRequests: slower");
  informant_testing_is("when it says", outcome.failure.retry == INFORMANT_AFTER_MS && outcome.failure.after_ms == 700);
  informant_testing_expect(
      "kube.patch v1/pods/status shop/web apply-forced {\"a\": 1}\n"
      "kube.update v1/pods shop/web {}\n"
      "kube.create v1/pods shop/web {}\n"
      "kube.delete v1/pods shop/web uid-1\n"
      "kube.record-event v1/pods shop/web warning Bad it is bad\n"
      "kube.patch v1/pods shop/web json-patch []\n");
}

static informant_outcome asks(const informant_event *event) {
  informant_response response;
  informant_request get = {.url = TEXT("https://a.example"), .headers = INFORMANT_PAIRS(INFORMANT_PAIR("b", TEXT("c")))};
  informant_request post = {.method = TEXT("POST"), .url = TEXT("https://a.example/x"), .body = event->key.name};
  fine("get", informant_http_send(&get, &response));
  informant_testing_is("an answer", response.status == 500);
  informant_testing_same("its body", response.body, "no");
  informant_testing_is("no header", !informant_http_header(&response, TEXT("content-type")).is_some);
  const informant_error *error = informant_http_send(&post, &response);
  informant_testing_is("no answer", error && error->kind == INFORMANT_TRANSPORT && response.status == 0);
  wrong(error, "http.send: transport: cut off");
  post.url = TEXT("https://b.example");
  wrong(informant_http_send(&post, &response), "http.send: not granted: the test has no answer to: POST https://b.example");
  return INFORMANT_DONE;
}

static informant_outcome asks_in_vain(const informant_event *event) {
  informant_request get = {.url = TEXT("https://a.example")};
  informant_response response;
  informant_kube_target pod = {.resource = PODS, .key = event->key};
  wrong(informant_http_send(&get, &response), "http.send: another replica of the host acts; nothing was sent");
  wrong(informant_kube_delete(pod, INFORMANT_NONE), "kube.delete: another replica of the host acts; nothing was sent");
  return INFORMANT_DONE;
}

static void servers_are_asked(void) {
  informant_testing_starts("");
  informant_testing_answer_request("GET", "https://a.example", 500, "no");
  informant_testing_break_request("POST", "https://a.example/x", "cut off");
  check(asks, "http.send GET https://a.example b=c\nhttp.send POST https://a.example/x web\nhttp.send POST https://b.example web\n");
  informant_testing_lead(false);
  check(asks_in_vain, "http.send GET https://a.example\nkube.delete v1/pods shop/web\n");
}

static void words_are_said(void) {
  static const char *const changes[] = {"added", "updated", "deleted"}, *const gone[] = {"deleted", "left-view", "unknown"};
  static const char *const reasons[] = {"initial", "watch", "relist", "resync", "reload", "redrive"};
  for (uint8_t i = 0; i < sizeof changes / sizeof *changes; i++)
    informant_testing_same("a change", informant_change_text(i), changes[i]);
  for (uint8_t i = 0; i < sizeof gone / sizeof *gone; i++) informant_testing_same("what is gone", informant_gone_text(i), gone[i]);
  for (uint8_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    informant_testing_same("a reason", informant_reason_text(i), reasons[i]);
}

static void texts_are_made(void) {
  const char *const bad[] = {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5", "\xe2\x82"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    informant_testing_is(bad[i], informant_utf8_len(informant_text(bad[i])) == 0);
  const char *const good[] = {"a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    informant_testing_is(good[i], informant_utf8_len(informant_text(good[i])) == informant_text(good[i]).len);
  informant_testing_same("bytes", informant_utf8(TEXT("a\xff\xe2\x82z")), "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz");
  informant_testing_same("a key", informant_key_text(informant_key(TEXT("a/b/c"))), "a/b/c");
  informant_testing_is("cluster-scoped", informant_key(TEXT("node")).namespace.len == 0);
  informant_testing_is("beginnings", informant_starts_with(TEXT("abc"), TEXT("ab")) && !informant_starts_with(TEXT("a"), TEXT("ab")));
  int64_t number;
  informant_testing_is("numbers", informant_integer(TEXT("-12"), &number) && number == -12);
  informant_testing_is("no numbers", !informant_integer(TEXT("-"), &number) && !informant_integer(TEXT(""), &number) &&
                                         !informant_integer(TEXT("1a"), &number));
}

int main(void) {
  state_is_kept();
  keys_are_worked_on();
  conditions_count();
  cluster_is_written();
  servers_are_asked();
  texts_are_made();
  words_are_said();
  return informant_testing_end();
}
