  ;; parts/plain-realloc.wat: nothing is done before memory is handed out.
  (func $before_realloc)
