/* The heap on wasm32. It grows upwards from the end of the program's own memory, which the linker defines: see
 * memory.h. */
#include "memory.h"

/* Compilers need these four functions even without a libc, and must not turn the loops in them into calls of them.
 * They are weak, for plugins with their own. */
#define NO_BUILTIN __attribute__((weak, no_builtin))

NO_BUILTIN void *memcpy(void *restrict to, const void *restrict from, size_t len) {
  char *target = to;
  const char *source = from;
  while (len--) *target++ = *source++;
  return to;
}

NO_BUILTIN void *memmove(void *to, const void *from, size_t len) {
  char *target = to;
  const char *source = from;
  if ((uintptr_t)target <= (uintptr_t)source) {
    for (size_t i = 0; i < len; i++) target[i] = source[i];
  } else {
    while (len--) target[len] = source[len];
  }
  return to;
}

NO_BUILTIN void *memset(void *to, int value, size_t len) {
  char *target = to;
  while (len--) *target++ = (char)value;
  return to;
}

NO_BUILTIN int memcmp(const void *left, const void *right, size_t len) {
  const unsigned char *a = left, *b = right;
  for (size_t i = 0; i < len; i++)
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  return 0;
}

extern char __heap_base;
static uintptr_t heap, kept;

static uintptr_t bottom(void) {
  return kept ? kept : (uintptr_t)&__heap_base;
}

static void *allocate(size_t align, size_t size) {
  const size_t page = 65536;
  uintptr_t start = heap ? heap : bottom();
  uintptr_t block = (start + align - 1) & ~(uintptr_t)(align - 1);
  uintptr_t end = block + size;
  size_t have = __builtin_wasm_memory_size(0);
  size_t need = end / page + 1;
  if (block < start || end < block) __builtin_trap();
  if (need > have && __builtin_wasm_memory_grow(0, need - have) == (size_t)-1) __builtin_trap();
  heap = end;
  return (void *)block;
}

void *informant_alloc(size_t size) {
  return allocate(8, size);
}

void informant_memory_keep(void) {
  kept = heap ? heap : bottom();
}

informant_mark informant_memory_mark(void) {
  return (informant_mark){heap ? heap : bottom()};
}

informant_string informant_memory_release(informant_mark mark, informant_string text) {
  /* A text below the mark, or in the program, is not freed and need not move. */
  bool is_freed = (uintptr_t)text.data >= mark.at && (uintptr_t)text.data < heap;
  heap = mark.at < bottom() ? bottom() : mark.at;
  if (!is_freed || (uintptr_t)text.data < heap) return text;
  char *moved = allocate(1, text.len);
  memmove(moved, text.data, text.len);
  return (informant_string){moved, text.len};
}

void informant_memory_end_call(void) {
  heap = bottom();
}

/* The host allocates memory for arguments and answers with this function, also of size 0. */
__attribute__((export_name("cabi_realloc"))) void *informant_realloc(void *old, size_t old_size, size_t align, size_t size);
void *informant_realloc(void *old, size_t old_size, size_t align, size_t size) {
  void *block = allocate(align, size);
  if (old) memcpy(block, old, old_size < size ? old_size : size);
  return block;
}
