/* Declarations of the host's functions. In native tests informant_testing.c defines them. */
#ifndef INFORMANT_IMPORT_H
#define INFORMANT_IMPORT_H

#include "types.h"

#ifdef __wasm__
#define INFORMANT_IMPORT(interface, function) \
  __attribute__((import_module("informant:plugin/" interface "@0.1.0"), import_name(function)))
#else
#define INFORMANT_IMPORT(interface, function)
#endif

/* Texts and options with the canonical ABI's parameters. */
#define INFORMANT_TEXT(text) (text).data, (text).len
#define INFORMANT_OPTION(option) (option).is_some, (option).value.data, (option).value.len

/* Offsets and sizes of the contract, which hold only for pointers of 32 bits. */
#ifdef __wasm__
#define INFORMANT_LAYOUT(condition) _Static_assert(condition, "the contract's layout")
#else
#define INFORMANT_LAYOUT(condition) _Static_assert(1, "")
#endif

/* result<_, string>, and result<T, string> if T is a text or smaller. */
typedef struct {
  unsigned char is_error;
  informant_string text;
} informant_text_result;

#endif
