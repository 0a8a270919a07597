/* How the parts declare the host's functions. In native tests informant_testing.c defines those. */
#ifndef INFORMANT_IMPORT_H
#define INFORMANT_IMPORT_H

#include "types.h"

#ifdef __wasm__
#define INFORMANT_IMPORT(interface, function) \
  __attribute__((import_module("informant:plugin/" interface "@0.1.0"), import_name(function)))
#else
#define INFORMANT_IMPORT(interface, function)
#endif

/* Texts and options as the canonical ABI passes them. */
#define INFORMANT_TEXT(text) (text).data, (text).len
#define INFORMANT_OPTION(option) (option).is_some, (option).value.data, (option).value.len

/* Offsets and sizes of the contract, which only a machine with pointers of 32 bits has. */
#ifdef __wasm__
#define INFORMANT_LAYOUT(condition) _Static_assert(condition, "the contract's layout")
#else
#define INFORMANT_LAYOUT(condition) _Static_assert(1, "")
#endif

/* result<_, string>, and result<T, string> where T is a text or smaller. */
typedef struct {
  unsigned char is_error;
  informant_string text;
} informant_text_result;

#endif
