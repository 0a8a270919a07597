;; The golden plugin without a language. It has no SDK, and so no twin: it looks at one field of a lazy event, fails for some objects, and logs the rest.
;; How the canonical ABI shows in such a module: `plugins/hello-wat/hello-wat.wat`.
(module
  (import "informant:plugin/log@0.1.0" "log"
    (func $log (param $level i32) (param $message i32) (param $message_len i32)
               (param $fields i32) (param $fields_len i32)))
  (import "informant:plugin/event-data@0.1.0" "fields"
    (func $fields (param $side i32) (param $pointers i32) (param $pointers_len i32) (param $answer i32)))
  (import "informant:plugin/event-data@0.1.0" "changed"
    (func $changed (param $pointer i32) (param $pointer_len i32) (result i32)))

  (memory (export "memory") 1)

  ;; 256: result<json, string>, ok with the descriptor at 512.
  (data (i32.const 256) "\00\00\00\00\00\02\00\00\4e\00\00\00")
  ;; 320: every other result that is ok.
  ;; 352: the failure that comes again after 50 ms: error, message at 640, retry 1 with a number of 64 bits.
  (data (i32.const 352) "\01\00\00\00\00\00\00\00\80\02\00\00\0d\00\00\00\01\00\00\00\00\00\00\00\32\00\00\00\00\00\00\00")
  ;; 384: the failure that never comes again: message at 656, retry 2.
  (data (i32.const 384) "\01\00\00\00\00\00\00\00\90\02\00\00\10\00\00\00\02")
  ;; 448: a list of one pointer, at 720.
  (data (i32.const 448) "\d0\02\00\00\14\00\00\00")
  ;; 464: where the fields' list is answered.

  (data (i32.const 512) "{\"version\":\"0.1.0\",\"subscriptions\":[{\"resource\":\"v1/pods\",\"delivery\":\"lazy\"}]}")
  (data (i32.const 640) "asked to fail")
  (data (i32.const 656) "asked to give up")
  (data (i32.const 688) "told ")
  (data (i32.const 696) " of app ")
  (data (i32.const 704) "none")
  (data (i32.const 720) "/metadata/labels/app")
  (data (i32.const 752) ", labels changed")
  (data (i32.const 784) "stopped")
  (data (i32.const 800) "fails")
  (data (i32.const 808) "gives-up")

  ;; Memory from here on is handed out upwards, and is all free again after each call.
  (global $heap (mut i32) (i32.const 1024))

  (func $realloc (export "cabi_realloc")
    (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $block i32) (local $pages i32)
    (local.set $block
      (i32.and
        (i32.add (global.get $heap) (i32.sub (local.get $align) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get $align))))
    (global.set $heap (i32.add (local.get $block) (local.get $size)))
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
    (global.set $heap (i32.const 1024)))

  ;; Whether two texts are the same.
  (func $is (param $one i32) (param $one_len i32) (param $other i32) (param $other_len i32) (result i32)
    (local $at i32)
    (if (i32.ne (local.get $one_len) (local.get $other_len)) (then (return (i32.const 0))))
    (block $end
      (loop $next
        (br_if $end (i32.eq (local.get $at) (local.get $one_len)))
        (if (i32.ne
              (i32.load8_u (i32.add (local.get $one) (local.get $at)))
              (i32.load8_u (i32.add (local.get $other) (local.get $at))))
          (then (return (i32.const 0))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (i32.const 1))

  ;; Puts a text behind the line, which is the last thing that was handed out.
  (func $append (param $from i32) (param $len i32)
    (memory.copy
      (call $realloc (i32.const 0) (i32.const 0) (i32.const 1) (local.get $len))
      (local.get $from) (local.get $len)))

  ;; lifecycle
  (func (export "informant:plugin/lifecycle@0.1.0#describe") (param $config i32) (param $len i32) (result i32)
    (i32.const 256))
  (func (export "cabi_post_informant:plugin/lifecycle@0.1.0#describe") (param i32)
    (call $free_all (local.get 0)))

  (func (export "informant:plugin/lifecycle@0.1.0#start") (param $config i32) (param $len i32) (result i32)
    (i32.const 320))
  (func (export "cabi_post_informant:plugin/lifecycle@0.1.0#start") (param i32)
    (call $free_all (local.get 0)))

  (func (export "informant:plugin/lifecycle@0.1.0#stop")
    (call $log (i32.const 2) (i32.const 784) (i32.const 7) (i32.const 0) (i32.const 0)))

  ;; handler: of the event, 12 is the change, 16 the namespace, 24 the name, 56 the attempt.
  (func (export "informant:plugin/handler@0.1.0#handle") (param $event i32) (result i32)
    (local $name i32) (local $name_len i32) (local $change i32) (local $field i32) (local $line i32)
    (local $has_changed i32)
    (local.set $name (i32.load offset=24 (local.get $event)))
    (local.set $name_len (i32.load offset=28 (local.get $event)))
    (local.set $change (i32.load8_u offset=12 (local.get $event)))
    (if (i32.and
          (call $is (local.get $name) (local.get $name_len) (i32.const 800) (i32.const 5))
          (i32.eq (i32.load offset=56 (local.get $event)) (i32.const 1)))
      (then (return (i32.const 352))))
    (if (call $is (local.get $name) (local.get $name_len) (i32.const 808) (i32.const 8))
      (then (return (i32.const 384))))
    ;; the old object of a deletion, the new one of all else; the answer is a list, and its one item says at 0 whether there is a text at 4
    (call $fields (i32.eq (local.get $change) (i32.const 2)) (i32.const 448) (i32.const 1) (i32.const 464))
    (local.set $field (i32.load (i32.const 464)))
    (if (i32.eq (local.get $change) (i32.const 1))
      (then (local.set $has_changed (call $changed (i32.const 720) (i32.const 16)))))
    ;; the line
    (local.set $line (global.get $heap))
    (call $append (i32.const 688) (i32.const 5))
    (call $append (i32.load offset=16 (local.get $event)) (i32.load offset=20 (local.get $event)))
    (call $append (i32.const 720) (i32.const 1)) ;; a slash
    (call $append (local.get $name) (local.get $name_len))
    (call $append (i32.const 696) (i32.const 8))
    (if (i32.load8_u (local.get $field))
      (then (call $append (i32.load offset=4 (local.get $field)) (i32.load offset=8 (local.get $field))))
      (else (call $append (i32.const 704) (i32.const 4))))
    (if (local.get $has_changed)
      (then (call $append (i32.const 752) (i32.const 16))))
    (call $log
      (i32.const 2) ;; info
      (local.get $line) (i32.sub (global.get $heap) (local.get $line))
      (i32.const 0) (i32.const 0)) ;; no fields
    (i32.const 320))
  (func (export "cabi_post_informant:plugin/handler@0.1.0#handle") (param i32)
    (call $free_all (local.get 0)))
)
