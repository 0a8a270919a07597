;; A plugin without a language: a bare core module, written by hand against the canonical ABI. It logs
;; `hello from WAT: <namespace>/<name>` for every pod event. Nothing in it says which world it is made for;
;; the host finds that out from the names of its exports.
;;
;; The ABI, as far as it shows here:
;; - Strings and lists are two words, pointer and length. What the host passes in, it first puts into memory
;;   that it asks `cabi_realloc` for; it then belongs to the module.
;; - Up to 16 flat parameters come as such, more come as one pointer to the record in memory. An event has 22.
;; - A result of more than one word is a pointer to it in memory; when the host has read it, it calls
;;   `cabi_post_<export>`.
(module
  (import "informant:plugin/log@0.1.0" "log"
    (func $log (param $level i32) (param $message i32) (param $message_len i32)
               (param $fields i32) (param $fields_len i32)))

  (memory (export "memory") 1)

  ;; 0..255 is not used, so that no pointer is null.
  ;; 256: result<json, string>, ok with the descriptor at 512.
  (data (i32.const 256) "\00\00\00\00\00\02\00\00\4d\00\00\00")
  ;; 320: every other result, ok: the first byte is 0, as memory is from the start.
  (data (i32.const 512) "{\"version\":\"0.1.0\",\"subscriptions\":[{\"name\":\"v1/pods\",\"resource\":\"v1/pods\"}]}")
  (global $greeting i32 (i32.const 768))
  (global $greeting_len i32 (i32.const 16))
  (data (i32.const 768) "hello from WAT: ")

  ;; Memory from here on is handed out upwards, and is all free again after each call.
  (global $heap_start i32 (i32.const 1024))
  (global $heap (mut i32) (i32.const 1024))

  ;; The only size that matters is the new one: nothing is ever grown in place.
  (func $realloc (export "cabi_realloc")
    (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $block i32) (local $pages i32)
    ;; block = heap rounded up to align, a power of two
    (local.set $block
      (i32.and
        (i32.add (global.get $heap) (i32.sub (local.get $align) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get $align))))
    (global.set $heap (i32.add (local.get $block) (local.get $size)))
    ;; grow by as many pages as the new end lies beyond the old one
    (local.set $pages
      (i32.sub
        (i32.shr_u (i32.add (global.get $heap) (i32.const 65535)) (i32.const 16))
        (memory.size)))
    (if (i32.gt_s (local.get $pages) (i32.const 0))
      (then
        (if (i32.eq (memory.grow (local.get $pages)) (i32.const -1))
          (then unreachable))))
    (memory.copy (local.get $block) (local.get $old)
      (select (local.get $old_size) (local.get $size)
        (i32.lt_u (local.get $old_size) (local.get $size))))
    (local.get $block))

  (func $free_all (param $result i32)
    (global.set $heap (global.get $heap_start)))

  ;; lifecycle
  (func (export "informant:plugin/lifecycle@0.1.0#describe") (param $config i32) (param $len i32) (result i32)
    (i32.const 256))
  (func (export "cabi_post_informant:plugin/lifecycle@0.1.0#describe") (param i32)
    (call $free_all (local.get 0)))

  (func (export "informant:plugin/lifecycle@0.1.0#start") (param $config i32) (param $len i32) (result i32)
    (i32.const 320))
  (func (export "cabi_post_informant:plugin/lifecycle@0.1.0#start") (param i32)
    (call $free_all (local.get 0)))

  (func (export "informant:plugin/lifecycle@0.1.0#stop"))

  ;; handler: the event's key stands at offset 16 as namespace (pointer, length) and name (pointer, length)
  (func (export "informant:plugin/handler@0.1.0#handle") (param $event i32) (result i32)
    (local $line i32) (local $end i32)
    (local.set $line
      (call $realloc (i32.const 0) (i32.const 0) (i32.const 1)
        (i32.add
          (i32.add (global.get $greeting_len) (i32.const 1))
          (i32.add
            (i32.load offset=20 (local.get $event))
            (i32.load offset=28 (local.get $event))))))
    (local.set $end
      (call $append (local.get $line) (global.get $greeting) (global.get $greeting_len)))
    (local.set $end
      (call $append (local.get $end)
        (i32.load offset=16 (local.get $event)) (i32.load offset=20 (local.get $event))))
    (i32.store8 (local.get $end) (i32.const 47)) ;; a slash
    (local.set $end
      (call $append (i32.add (local.get $end) (i32.const 1))
        (i32.load offset=24 (local.get $event)) (i32.load offset=28 (local.get $event))))
    (call $log
      (i32.const 2) ;; info
      (local.get $line) (i32.sub (local.get $end) (local.get $line))
      (i32.const 0) (i32.const 0)) ;; no fields
    (i32.const 320))
  (func (export "cabi_post_informant:plugin/handler@0.1.0#handle") (param i32)
    (call $free_all (local.get 0)))

  ;; Copies a text and returns where it ends.
  (func $append (param $to i32) (param $from i32) (param $len i32) (result i32)
    (memory.copy (local.get $to) (local.get $from) (local.get $len))
    (i32.add (local.get $to) (local.get $len)))
)
