/* Memory in tests: every block is separate, so that a sanitizer finds uses after its end. */
#include "host.h"

typedef struct block {
  struct block *next;
  uintptr_t serial;
  max_align_t data[];
} block;

static block *blocks;
static block *kept_blocks;
static uintptr_t serial;

void *testing_memory(void *old, size_t size) {
  void *memory = realloc(old, size ? size : 1);
  if (memory) return memory;
  fprintf(stderr, "no memory is left for the test\n");
  exit(2);
}

char *testing_copy(informant_string text) {
  char *copy = testing_memory(NULL, text.len + 1);
  if (text.len) memcpy(copy, text.data, text.len);
  copy[text.len] = 0;
  return copy;
}

void *informant_alloc(size_t size) {
  block *new = testing_memory(NULL, sizeof(block) + size);
  new->next = blocks;
  new->serial = ++serial;
  blocks = new;
  return new->data;
}

static void free_since(block **list, uintptr_t mark) {
  while (*list && (*list)->serial > mark) {
    block *next = (*list)->next;
    free(*list);
    *list = next;
  }
}

void informant_memory_keep(void) {
  while (blocks) {
    block *next = blocks->next;
    blocks->next = kept_blocks;
    kept_blocks = blocks;
    blocks = next;
  }
}

informant_mark informant_memory_mark(void) {
  return (informant_mark){serial};
}

informant_string informant_memory_release(informant_mark mark, informant_string kept) {
  char *copy = testing_copy(kept);
  free_since(&blocks, mark.at);
  char *moved = informant_alloc(kept.len);
  memcpy(moved, copy, kept.len);
  free(copy);
  return (informant_string){moved, kept.len};
}

void informant_memory_end_call(void) {
  free_since(&blocks, 0);
}

void testing_forget_memory(void) {
  informant_memory_end_call();
  free_since(&kept_blocks, 0);
}
